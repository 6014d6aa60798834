"""Where SciPy's function asks a followed value for an array, the error names ours."""

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.signal
import scipy.spatial.distance
import scipy.special

import polyad as pa

X = np.array([[2.0, 0.5], [0.5, 3.0]])
OURS = {
    "polyad.linalg.expm": scipy.linalg.expm, "polyad.linalg.det": scipy.linalg.det, "polyad.linalg.inv": scipy.linalg.inv,
    "polyad.linalg.cholesky and polyad.linalg.cho_solve": scipy.linalg.cho_factor,
    "polyad.linalg.cholesky": scipy.linalg.cholesky, "polyad.linalg.svdvals": scipy.linalg.svdvals,
    "polyad.linalg.cho_solve": lambda x: scipy.linalg.cho_solve((x, True), np.ones(2)),
    "polyad.linalg.solve_triangular": lambda x: scipy.linalg.solve_triangular(x, np.ones(2)),
    "polyad.linalg.norm": scipy.linalg.norm,
    "polyad.linalg.lu": lambda x: scipy.linalg.lu(x)[2], "polyad.logsumexp": scipy.special.logsumexp,
    "polyad.softmax": scipy.special.softmax, "polyad.fft.fft": lambda x: abs(scipy.fft.fft(x)),
    "polyad.convolve": lambda x: scipy.signal.convolve(x[0], x[1]),
    "polyad.cdist": lambda x: scipy.spatial.distance.cdist(x, x),
}  # fmt: skip


@pytest.mark.parametrize("name", OURS)
def test_ours_is_named(name):
    f = lambda x: pa.sum(OURS[name](x))
    for call in (pa.grad(f), pa.jacfwd(f), lambda x: pa.vmap(f)(x[None])):
        with pytest.raises(pa.ConcreteValueError, match=f"SciPy's function loses it: use {name}$"):
            call(X)
    with pytest.raises(pa.ConcreteValueError, match=f"derivative would be lost; use {name}, or write x.item"):
        f(pa.variable(X))
    for path in name.replace(" and ", " ").split():
        found = pa
        for part in path.split(".")[1:]:
            found = getattr(found, part)
        assert callable(found)


def test_others_get_the_usual_advice():
    for f in (scipy.linalg.sqrtm, scipy.linalg.block_diag, np.asarray, lambda x: np.full(3, x[0, 0])):
        with pytest.raises(pa.ConcreteValueError, match="np.asarray.*polyad.asarray"):
            pa.grad(lambda x, f=f: pa.sum(f(x)))(X)
