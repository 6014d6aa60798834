"""A wrong program: the lines that end with a comment are errors, and type checkers say so."""

import numpy as np

import polyad as pa

x = np.ones(3)


def loss(w: np.ndarray, scale: float = 1.0) -> pa.Array:
    return pa.sum(w**2) * scale


@pa.jit
def doubled(x: pa.Array) -> pa.Array:
    return 2 * x


pa.sin(x, x)  # one argument
pa.sin("text")  # of arrays and numbers
pa.sum([1.0, 2.0])  # a list is neither
pa.add(None, x)  # nor is this
pa.sinus(x)  # no such operation
pa.sum(x, axes=0)  # no such parameter
value, slope, rest = pa.value_and_grad(loss)(x)  # a pair
y, back, aux = pa.vjp(loss, x)  # without has_aux a pair
value, tangent = pa.jvp(lambda x: (x, "aux"), (x,), (x,), has_aux=True)  # a triple
pa.grad(loss)(x, sclae=2.0)  # the parameters are those of the function
pa.checkpoint(loss)()  # so they are here
doubled(x, x)  # and here
doubled.clear()  # it is clear_cache
pa.custom_vjp(loss).defvpj(loss, loss)  # it is defvjp
pa.array_type(leaf=("value",))  # it is leaves
pa.elementwise(partial=[None])  # it is partials
pa.lowering(pa.sum, reduces="+")  # it is reduce
pa.lowering(pa.sum, reduce="-")  # no sign of those
pa.Run(3)  # it has a name
