"""SciPy's functions written to the array API standard follow derivatives and lanes: SCIPY_ARRAY_API=1, read when SciPy is
imported, hence a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

CASES = {
    "special.logsumexp": "scipy.special.logsumexp(x)",
    "special.softmax": "scipy.special.softmax(x)[0]",
    "special.log_softmax": "scipy.special.log_softmax(x)[1]",
    "special.xlogy": "pa.sum(scipy.special.xlogy(x * x, x * x))",
    "stats.zscore": "scipy.stats.zscore(x)[0]",
    "stats.zmap": "scipy.stats.zmap(x, 2 * x)[1]",
    "stats.gmean": "scipy.stats.gmean(pa.exp(x))",
    "stats.hmean": "scipy.stats.hmean(pa.exp(x))",
    "stats.pmean": "scipy.stats.pmean(pa.exp(x), 3)",
    "stats.skew": "scipy.stats.skew(x)",
    "stats.kurtosis": "scipy.stats.kurtosis(x)",
    "stats.moment": "scipy.stats.moment(x, 2)",
    "stats.sem": "scipy.stats.sem(x)",
    "stats.describe": "scipy.stats.describe(x).variance",
    "fft.fft": "pa.sum(pa.abs(scipy.fft.fft(x)))",
    "integrate.trapezoid": "scipy.integrate.trapezoid(x * x)",
    "integrate.cumulative_trapezoid": "pa.sum(scipy.integrate.cumulative_trapezoid(x * x))",
    "optimize.rosen": "scipy.optimize.rosen(x)",
}
PROGRAM = """
import numpy as np, polyad as pa
import scipy.fft, scipy.integrate, scipy.optimize, scipy.special, scipy.stats

cases = {
%s
}
x = np.array([0.3, 1.2, -0.7, 2.0])
lanes = np.stack([x, x[::-1] + 0.5])
step = 1e-6 * np.eye(4)
for name, f in cases.items():
    try:
        slopes = np.array([(f(x + d) - f(x - d)) / 2e-6 for d in step])
        np.testing.assert_allclose(pa.grad(f)(x), slopes, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(pa.jvp(f, (x,), (x,))[1], slopes @ x, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(pa.vmap(f)(lanes), [f(lane) for lane in lanes], rtol=1e-12)
        print(name, "works")
    except Exception as error:
        print(name, f"{type(error).__name__}: {error}".replace("\\n", " "))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    pytest.importorskip("scipy", minversion="1.17")
    program = PROGRAM % "\n".join(f'    "{name}": lambda x: {text},' for name, text in CASES.items())
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(program)], env=environment, cwd=tmp_path_factory.mktemp("scipy"),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return dict(line.split(" ", 1) for line in run.stdout.splitlines())


@pytest.mark.parametrize("name", CASES)
def test_follows_derivatives_and_lanes(results, name):
    assert results[name] == "works"
