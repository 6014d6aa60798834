"""A user's module, typed throughout: an array type, a generic function, rules, transformations."""

import io

import numpy as np
import numpy.typing as npt

import polyad as pa

Vector = npt.NDArray[np.float64]


@pa.array_type(leaves=("value",), static=("n",), structure_ndim=2, linear=True)
class Scaled(pa.Container):
    """value times the n×n identity matrix."""

    def __init__(self, value: pa.Array | float, n: int) -> None:
        self.value, self.n = value, n

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    @property
    def dtype(self) -> np.dtype[np.float64]:
        return np.dtype(np.float64)

    def dense(self) -> pa.Array:
        return self.value * pa.eye(self.n)


@pa.matmul.method
def matmul_scaled(a: Scaled, b: pa.Array, /) -> pa.Array:
    return a.value * b


@pa.generic
def describe(x: object, /) -> str:
    """A word for x."""
    raise NotImplementedError


@describe.method
def describe_scaled(x: Scaled, /) -> str:
    return f"{x.n} times {x.n}"


@pa.elementwise(partials=[lambda y, x: pa.sin(x)], kernel=None)
def versine(x: pa.Array, /) -> pa.Array:
    """1 - cos(x)."""
    raise NotImplementedError


@versine.method
def versine_dense(x: pa.HostArray, /) -> pa.Array:
    half = 0.5 * x + x * 2 + x[..., :1].T.reshape(-1)[0] * x.shape[0] if x.ndim else x / 2
    y: pa.HostArray = 1.0 - np.cos(x) + 0.0 * half
    return y


class Counted(pa.Layer):
    """A value whose operations are counted."""

    __slots__ = ("run", "value")
    holds = "value"

    def __init__(self, value: pa.Array, run: "Count") -> None:
        self.value, self.run = value, run

    def concrete(self) -> object:
        return pa.concrete(self.value)


class Count(pa.Run):
    """A run that counts."""

    def __init__(self) -> None:
        super().__init__("count")
        self.count = 0

    def constant(self, value: pa.Array) -> Counted:
        counted: Counted = Counted[self.depth](pa.snapshot(value), self)
        return counted


@pa.custom_vjp
def clipped(x: pa.Array) -> pa.Array:
    return x * 1.0


clipped.defvjp(lambda x: (x * 1.0, None), lambda saved, ct: (pa.clip(ct, -1.0, 1.0),))


def loss(w: Vector, x: Vector, bias: float = 0.0) -> pa.Array:
    hidden = pa.tanh(x @ w + bias)
    return pa.mean(clipped(hidden) ** 2 + np.sin(hidden) + versine(hidden[0]))


@pa.jit
def step(w: Vector, x: Vector) -> tuple[pa.Array, Vector]:
    value, slope = pa.value_and_grad(loss)(w, x)
    updated: Vector = w - 0.1 * slope
    return value, updated


def collatz(n: int) -> int:
    count = 0
    while n != 1:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


def main() -> None:
    w, x = np.ones(3), np.linspace(0.0, 1.0, 12).reshape(4, 3)
    value, w = step(w, x)
    step.clear_cache()
    curvature = pa.hessian(loss)(w, x, bias=0.5)
    y, back = pa.vjp(lambda w: loss(w, x), w)
    (ct,) = back(np.float64(1.0))
    lengths = pa.vmap(collatz)(np.arange(1, 5))
    total = pa.pmap(lambda row: pa.psum(pa.sum(row), "rows"), axis_name="rows")(x)
    column = Scaled(2.0, 3) @ w
    gradient = pa.grad(lambda s: pa.sum(s @ w))(Scaled(2.0, 3)).value
    key = pa.random.key(0)
    noise = pa.random.normal(key, (3,)) + pa.zeros(3)[::-1].T
    print(describe(Scaled(2.0, 3)), float(value), curvature.shape, float(y), ct, lengths.max(), total, column, gradient)
    with Count() as run:
        print(run.count, Counted[run.depth](w, run).shape, pa.at(w, 0).set(2.0).sum(), pa.Diagonal(w).diag)
    with pa.Tape() as tape:
        watched = tape.watch(w)
        energy = pa.sum(watched**2)
    print(tape.gradient(energy, watched).shape)
    file = io.BytesIO()
    pa.make_ir(loss)(w, x).save(file)
    file.seek(0)
    print(pa.Program.load(file).name)
    print(noise.shape, -noise[0] > 0, pa.linalg.solve(np.eye(3), w), pa.make_ir(loss)(w, x).code[:3], pa.jit.explain(step)[:3])


main()
