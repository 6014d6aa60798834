# %% [markdown]
# # From trace to machine code
#
# What `pa.jit` does with a function, step by step: the function is run once with stand-ins for its arguments and leaves a
# *program*, a list of equations with types; *passes* make the program smaller; what is left becomes *C*, one function for
# all of it where the arrays are small, one loop for each group of equations that read the same elements where they are large.
# Each stage can be printed, and each gives the same results as the function itself. Then: what it is worth, Python's own
# control flow, and a function that calls itself.

# %%
import tempfile
from pathlib import Path
from time import perf_counter

import matplotlib
import numpy as np

import polyad as pa
from polyad.dsl.ir.passes import ORDER, optimized

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the drawing engine

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2))

# %% [markdown]
# ## 1. The program
#
# A spring of unit stiffness with a cubic correction, and its force: minus the gradient of the energy. `make_ir` runs the
# gradient with stand-ins of the arguments' shapes and dtypes. Each equation is one operation: its result with its type,
# its name, its parameters and its arguments. Nothing of Python is left: the tape of reverse mode, tuples and calls are gone.


# %%
def energy(x, stiffness):
    stretch = np.diff(x) - 1.0
    return np.sum(0.5 * stiffness * stretch**2 + 0.1 * (stretch * stretch) ** 2)


def force(x, stiffness):
    return -pa.grad(energy)(x, stiffness)


rng = np.random.default_rng(0)
x = np.arange(8.0) + 0.1 * rng.normal(size=8)
stiffness = 1.0 + rng.random(7)

program = pa.make_ir(force)(x, stiffness)
print(program)
assert np.allclose(program(x, stiffness), force(x, stiffness))

# %% [markdown]
# `program.code` is the same as Python source, to be read, pasted and run. `program.draw("force.svg")` draws it. Operations
# are the public ones, so a program can be differentiated, mapped and traced again like any function.

# %%
print(program.code)
names = {}
exec(program.code, names)
assert np.allclose(names[program.__name__](x, stiffness), force(x, stiffness))
assert np.allclose(pa.jacobian(program)(x, stiffness), -pa.hessian(energy)(x, stiffness))

# %% [markdown]
# ## 2. The passes
#
# A pass is a function from a program to a better one. `fold_constants` computes what depends on no argument;
# `common_subexpressions` computes equal things once; `specialize_shapes` uses that every shape is known; `simplify` applies
# identities that hold for NaN, infinities and signs of zero, too; `dead_code` drops what no result needs. Three more work on
# the C: `fusion`, `buffer_reuse`, `in_place`. `pa.jit(f, passes=[p for p in pa.PASSES if p != "fusion"])` switches one off.

# %%
smaller = program
for name in ORDER:
    before = len(smaller.equations)
    smaller = optimized(smaller, passes=(name,))
    print(f"{name:22s} {before:3d} -> {len(smaller.equations)} equations")
print(smaller)
assert len(smaller.equations) < len(program.equations)
assert np.allclose(smaller(x, stiffness), program(x, stiffness), rtol=1e-14)

# %% [markdown]
# ## 3. The C
#
# `jit` records, passes, generates and compiles at the first call with arguments of a kind. `jit.source` shows the C. All
# equations are in one function, and equations that read the same elements are in one loop, whose temporaries are variables:
# no array is made between `x` and the result, except where an element is needed by its neighbours. Sums keep NumPy's order
# up to reassociation; everything else is as IEEE has it: no contraction of `a * b - c * d`, no assumption about NaN.

# %%
compiled = pa.jit(force)
assert np.allclose(compiled(x, stiffness), force(x, stiffness), rtol=1e-14)
(text,) = pa.jit.source(compiled)
print(text[text.index("int run(") : text.index("typedef struct { intptr_t count")])
print(pa.jit.explain(compiled))

# %% [markdown]
# ## 4. What it is worth
#
# Small arrays: the time of a gradient is that of Python, operation for operation; compiled, it is one call of a C function.
# Large arrays: the time is that of memory, each operation reading and writing a whole array; compiled, an element goes through
# all of the program while it is in a register. Times are the best of several.


# %%
def seconds(f, *args):
    best, total, runs = np.inf, 0.0, 0
    while total < 0.05 or runs < 3:
        start = perf_counter()
        f(*args)
        took = perf_counter() - start
        best, total, runs = min(best, took), total + took, runs + 1
    return best


def rounds(x):
    for _ in range(10):
        x = 0.5 * x + 0.1 * np.sin(x)
    return x


def slope_of_rounds(x):
    return pa.grad(lambda x: np.sum(rounds(x)))(x)


sizes = [10, 100, 1000, 10_000, 100_000, 1_000_000]
for function, label, axes in ((rounds, "ten rounds of 0.5x + 0.1 sin x", left), (slope_of_rounds, "their gradient", middle)):
    fast = pa.jit(function)
    eager, again, first = [], [], []
    for n in sizes:
        z = rng.normal(size=n)
        start = perf_counter()
        assert np.allclose(fast(z), function(z), rtol=1e-12)
        first.append(perf_counter() - start)
        eager.append(seconds(function, z))
        again.append(seconds(fast, z))
    axes.loglog(sizes, eager, "o-", label="Python")
    axes.loglog(sizes, again, "s-", label="jit")
    axes.loglog(sizes, first, "k.", ms=4, label="jit, first call")
    axes.set(title=label, xlabel="elements", ylabel="seconds")
    axes.legend()
    print(f"{label}: {', '.join(f'{a / b:.0f}' for a, b in zip(eager, again, strict=True))} times faster at 10 … 10⁶ elements")

# %% [markdown]
# ## 5. Python's control flow
#
# An `if` or a `while` over computed values needs their numbers. The trace ends there: the segment so far is compiled and run,
# Python takes its branch, and the next segment begins. So a function is compiled to a tree of segments, and what it does
# is what Python does. A value that changes the way through the tree costs a new branch, not a wrong result.


# %%
@pa.jit
def root(x):
    """The square root by Newton's method."""
    guess = x if x > 1.0 else x + 1.0
    while abs(guess * guess - x) > 1e-9 * x:
        guess = 0.5 * (guess + x / guess)
    return guess


for number in np.array([2.0, 3.0, 0.25, 2.0, 2.5]):
    assert abs(root(number) - number**0.5) < 1e-9 * number**0.5
print(pa.jit.explain(root))
assert abs(pa.grad(root)(np.float64(9.0)) - 1 / 6) < 1e-6

# %% [markdown]
# Where the number of steps is not to be looked at by Python, `while_loop`, `scan` and `cond` are operations of the language:
# they become loops in C. So does the search for where to let go of a pendulum that is to pass the bottom at a given
# time: Newton's method around an integration, with the derivative of the whole integration in each step.


# %%
def angle_at(start, steps=400, h=0.02):
    def step(state, unused):
        angle, speed = state
        middle = angle + 0.5 * h * speed
        speed = speed - h * pa.sin(middle)
        return (middle + 0.5 * h * speed, speed), angle

    (angle, speed), path = pa.scan(step, (start, 0.0 * start), None, length=steps)
    return angle, path


def newton(start):
    def improve(guess):
        angle, slope = pa.value_and_grad(lambda s: angle_at(s)[0])(guess)
        return guess - angle / slope

    return pa.while_loop(lambda guess: pa.abs(angle_at(guess)[0]) > 1e-12, improve, start)


search = pa.jit(newton)
start = search(1.5)
assert abs(angle_at(start)[0]) < 1e-10
assert abs(start - newton(1.5)) < 1e-10
print(f"let go at {start:.6f} rad, the pendulum is at the bottom after {400 * 0.02:.0f} time units")
print(f"the search: {seconds(newton, 1.5) / seconds(search, 1.5):.0f} times faster as one C function")
right.plot(np.arange(400) * 0.02, angle_at(start)[1], label=f"from {start:.3f} rad")
right.plot(np.arange(400) * 0.02, angle_at(1.5)[1], "--", label="first guess")
right.axhline(0, color="0.7", lw=0.8)
right.set(title="found by a compiled Newton's method", xlabel="time", ylabel="angle")
right.legend()

# %% [markdown]
# ## 6. A function that calls itself
#
# Inside `cond` the branches are traced, taken or not, and a function that calls itself there would be traced for ever. Here
# the trace meets the function that it is tracing, and records a call of the program that is being made. One program
# serves every depth; it has derivatives of its own.


# %%
@pa.jit
def factorial(r, x):
    return pa.cond(x <= 1, lambda r, x: r, lambda r, x: factorial(r * x, x - 1), r, x)


assert factorial(1.0, 3.0) == 6.0
assert factorial(1.0, 5.0) == 120.0
print(pa.jit.programs(factorial)[0])
(text,) = pa.jit.source(factorial)
print(text[text.index("static int program1(") : text.index("int run(")])
assert pa.grad(factorial)(2.0, 5.0) == 120.0  # linear in r
assert pa.grad(factorial, argnums=1)(1.0, 3.0) == 3.0 + 2.0  # the product x (x - 1), where it ends
assert np.array_equal(pa.vmap(factorial)(np.ones(4), np.array([1.0, 3.0, 5.0, 4.0])), [1.0, 6.0, 120.0, 24.0])
print(pa.jit.explain(factorial))

# %% [markdown]
# ## 7. Shipping it
#
# A program can be saved without the Python source that made it, in a format that holds numbers and names and can run nothing.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "force.polyad")
    smaller.save(path)
    loaded = pa.Program.load(path)
assert np.array_equal(pa.jit(loaded)(x, stiffness), compiled(x, stiffness))

# %%
figure.tight_layout()
figure.savefig(Path(__file__).with_name("06_trace_to_machine_code.png"), dpi=120)
print("traced, simplified, compiled")
