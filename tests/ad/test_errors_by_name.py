"""Errors name the transformation that was called, whatever it is made of, and what a user's rule or object got wrong."""

import re

import numpy as np
import pytest

import polyad as pa

X = np.ones((2, 3))


def loss(x):
    return pa.sum(x**3)


def says(error, *parts):
    """A context that expects this error with all these parts in its text."""
    return pytest.raises(error, match="".join(f"(?=[\\s\\S]*{re.escape(p)})" for p in parts))


# ---------------------------------------------------------------------- whose error it is
OF_ONE_FUNCTION = [
    "grad", "value_and_grad", "derivative", "jacfwd", "jacrev", "jacobian", "hessian", "sparse_jacobian", "sparse_hessian",
    "jacobian_sparsity", "hessian_sparsity",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE_FUNCTION)
@pytest.mark.parametrize("f", [3, None, "text", X])
def test_no_function_is_refused_at_once(name, f):
    with says(pa.MethodError, "no function; give a function"):
        getattr(pa, name)(f)


def test_no_function_is_refused_at_once_by_the_others():
    for call in (
        lambda f: pa.derivatives(f, 2), lambda f: pa.aot(f, lambda program, leaves: program), lambda f: pa.hvp(f, X, X),
        lambda f: pa.gvp(f, pa.sin, X, X), lambda f: pa.gvp(loss, f, X, X), lambda f: pa.jet(f, (X,), ([X],)),
        lambda f: pa.linearize(f, X), lambda f: pa.linear_transpose(f, X), pa.custom_jvp, pa.custom_vjp,
    ):  # fmt: skip
        with says(pa.MethodError, "int, no function; give a function"):
            call(3)


@pytest.mark.parametrize("name", [n for n in OF_ONE_FUNCTION if n != "derivative"])
def test_integers_are_refused_by_name(name):
    with says(pa.DTypeError, f"{name}(loss)", "argument 0", "no derivative", "allow_int"):
        getattr(pa, name)(loss)(np.arange(3))


def test_integers_are_refused_in_the_other_styles():
    with pa.Tape(persistent=True) as tape:
        x = tape.watch(X)
        y = loss(x)
    with says(pa.DTypeError, "Tape.gradient: int", "no floating number", "leave it out"):
        tape.gradient(y, 3)
    assert tape.gradient(y, (x, 3))[1] is pa.NoTangent and tape.gradient(y, ()) == ()
    n, z = pa.placeholder((2,), int), pa.placeholder((2,))
    with says(pa.DTypeError, "gradients: Traced[0](int64[2])", "no floating number"):
        pa.gradients(pa.sum(n * z), n)
    with says(pa.DTypeError, "variable: argument 0 is int", "no derivative"):
        pa.variable(3)


def test_products_by_name():
    with says(pa.ShapeError, "hvp(sin): the function returns", "one real number"):
        pa.hvp(pa.sin, X, X)
    with says(pa.ShapeError, "gvp(sin): the function returns", "one real number"):
        pa.gvp(pa.sin, pa.cos, X, X)
    with says(pa.DTypeError, "gvp(loss): argument 0 is int"):
        pa.gvp(loss, lambda x: 3, X, X)
    with says(pa.DTypeError, "gvp(sin): argument 0 is str", "not an array of numbers"):
        pa.gvp(loss, pa.sin, "text", X)


def test_arguments_of_aot():
    f = pa.aot(lambda x, scale=1.0: x, lambda program, leaves: program)
    with says(pa.DTypeError, "aot(<lambda>): argument 0[1] is str"):
        f([1.0, "text"])
    with says(pa.DTypeError, "aot(<lambda>): argument 'scale' is str"):
        f(1.0, scale="text")


def test_a_container_as_result_is_shown_as_it_is():
    with says(pa.ShapeError, "returns Diagonal(float64[3, 3]) of shape [3, 3]", "one real number"):
        pa.grad(pa.Diagonal)(np.ones(3))


def test_half_precision_in_sparse_matrices():
    for transform in (pa.sparse_jacobian, pa.sparse_hessian):
        with says(pa.DTypeError, f"{transform.__name__}(loss)", "float16", "give float32"):
            transform(loss)(np.ones(3, np.float16))


def test_settings_of_debug_nans():
    for on in (loss, X, 3):
        with says(pa.MethodError, "debug_nans: on is True or False", "with polyad.debug_nans()"):
            pa.debug_nans(on)
    with says(pa.MethodError, "debug_nans: inf is True or False"):
        pa.debug_nans(inf="yes")


# ---------------------------------------------------------------------- functions that return functions
def test_second_derivatives_of_functions_of_functions():
    def power(x):
        return lambda n: x**n

    assert pa.hvp(power, 2.0, 1.0)(3) == 12
    assert pa.hessian(power)(2.0)(3) == 12
    for call in (lambda: pa.gvp(power, pa.sin, 2.0, 1.0), lambda: pa.gvp(loss, power, 2.0, 1.0)):
        with says(pa.StructureError, "gvp(power)", "returns a function", "call it inside"):
            call()


# ---------------------------------------------------------------------- objects that keep followed values
class Fit:
    """No tree: a plain object."""

    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize("kept", [Fit, lambda x: {x}, lambda x: frozenset([x]), lambda x: (x, [Fit(x)])])
def test_objects_that_would_lose_the_derivative(kept):
    for call in (
        lambda: pa.jvp(kept, (2.0,), (1.0,)), lambda: pa.vjp(kept, 2.0), lambda: pa.linearize(kept, 2.0),
        lambda: pa.jacfwd(kept)(2.0), lambda: pa.jacrev(kept)(2.0), lambda: pa.derivative(kept)(2.0),
        lambda: pa.grad(kept)(2.0), lambda: pa.jet(kept, (2.0,), ([1.0],)),
        lambda: pa.grad(lambda x: (x * x, kept(x)), has_aux=True)(2.0),
    ):  # fmt: skip
        with says(pa.StructureError, "(<lambda>)" if kept is not Fit else "(", "no tree of arrays", "polyad.tree.register"):
            call()


def test_objects_without_followed_values_are_handed_on():
    fit = Fit(3.0)
    assert pa.jvp(lambda x: (x, fit), (2.0,), (1.0,))[0][1] is fit
    assert pa.grad(lambda x: (x * x, fit), has_aux=True)(2.0)[1] is fit
    inner = lambda x: pa.grad(lambda y: (x * y, Fit(x)), has_aux=True)(3.0)[1]  # keeps a value of the outer one, which goes on
    outer = pa.grad(lambda x: inner(x).x ** 2)
    assert outer(2.0) == 4


# ---------------------------------------------------------------------- rules
def product(**rules):
    """An operation x * y with these rules."""

    @pa.opaque(kernel=None)
    def times(x, y, /):
        """x * y, element by element."""

    @times.method
    def times_dense(x: pa.HostArray, y: pa.HostArray, /):
        return x * y

    for name, rule in rules.items():
        times.rule(name)(rule)
    return times


@pytest.mark.parametrize("wrong", [None, 3.0, object(), len, X])
def test_joint_reverse_rule(wrong):
    op = product(vjp_all=lambda ct, z, x, y: wrong)
    with says(pa.MissingRuleError, "times: its rule vjp_all returned", "for 2 array(s)", "in a tuple or list"):
        pa.grad(lambda x: pa.sum(op(x, X)))(X)


@pytest.mark.parametrize("wrong", [None, "text", X, (2, 3), [pa.Aval((2, 3), np.dtype(float))], (pa.Aval((2, 3), float), None)])
def test_shape_rule(wrong):
    op = product(shape=lambda x, y: wrong)
    with says(pa.MissingRuleError, "times: its shape rule returned", "polyad.Aval(shape, dtype)"):
        pa.make_ir(lambda x: op(x, X))(X)


@pytest.mark.parametrize("wrong", [None, "text", X, 3.0, (X,), [np.ones((4, 2, 3))], np.ones((5, 2, 3))])
def test_batch_rule(wrong):
    op = product(batch=lambda size, xs, batched: wrong)
    with says(pa.ShapeError, "times: its batch rule returned", "4 lane(s)", "axis 0"):
        pa.vmap(lambda x: op(x, X))(np.ones((4, 2, 3)))


@pytest.mark.parametrize("wrong", [X, 3.0, len, object(), {"x": 1}, [X], ["text"], [2]])
def test_partial_derivatives_of_scalar_rule(wrong):
    with says(pa.RegistrationError, "scalar_rule(times)", "partial"):
        pa.scalar_rule(lambda x: x, partials=wrong, name="times")


@pa.array_type(leaves=("half",), linear=True)
class Doubled(pa.Container):
    """Twice an array."""

    def __init__(self, half):
        self.half = half

    shape = property(lambda self: self.half.shape)
    dtype = property(lambda self: self.half.dtype)

    def dense(self):
        return 2 * self.half


def test_shape_of_a_tangent_by_a_rule_for_an_array_type():
    op = product()

    @op.method
    def times_doubled(x: Doubled, y: pa.Array, /):
        return x.dense() * y

    @op.jvp.method
    def times_doubled_jvp(dxs, z, x: Doubled, y: pa.Array):
        return np.ones(5)

    with says(pa.ShapeError, "times.jvp: its forward rule returned", "[5]", "[2, 3]"):
        pa.jvp(lambda x: op(x, X), (Doubled(X),), (Doubled(X),))


# ---------------------------------------------------------------------- settings
def test_positions_of_custom_functions():
    for numbers in (2, -3, (0, 5)):
        with says(pa.StructureError, "nondiff_argnums", "out of range", "2 argument(s)"):
            pa.custom_jvp(lambda x, n: x**n, nondiff_argnums=numbers)
    for numbers in (True, "x", (0, None)):
        with says(pa.StructureError, "custom_vjp(loss)", "nondiff_argnums is a position"):
            pa.custom_vjp(loss, nondiff_argnums=numbers)
    variadic = pa.custom_jvp(lambda *xs: xs[0] ** xs[-1], nondiff_argnums=-1)
    variadic.defjvp(lambda n, xs, dxs: (xs[0] ** n, n * xs[0] ** (n - 1) * dxs[0]))
    assert pa.grad(variadic)(2.0, 3) == 12


def test_compilers_that_return_other_arrays():
    for wrong in (np.ones(5), np.float32(1), "text", 1 + 0j):
        with says(pa.ShapeError, "aot: the compiled program loss returned", "as result 0", "float64[]"):
            pa.aot(loss, lambda program, leaves: lambda *xs: [wrong])(X)  # noqa: B023  called here
    backward = lambda program, leaves: lambda *xs: [np.ones(5)]
    with says(pa.ShapeError, "aot: the compiled program loss_later returned", "as result 0", "float64[2,3]"):
        pa.grad(pa.aot(loss, lambda program, leaves: program, backward))(X)


def test_settings_of_check_grads():
    for setting, wrong in {"eps": "small", "rtol": None, "atol": -1.0, "seed": "a"}.items():
        with says(ValueError, f"check_grads: {setting} is"):
            pa.check_grads(loss, (X,), **{setting: wrong})


def test_others():
    with says(pa.DTypeError, "checkpoint_name: the name is a text, not int"):
        pa.checkpoint_name(X, 3)
    with says(pa.MethodError, "draw_tape: its argument is int, no function"):
        pa.draw_tape(3)
    x = pa.variable(X)
    for write in (lambda: setattr(x, "grad", "text"), lambda: x.assign("text")):
        with says(pa.DTypeError, "str", "give an array of numbers of shape [2, 3]"):
            write()


def test_structures_are_shown_with_what_is_needed():
    with says(pa.StructureError, "tangent of argument 0", "Diagonal([*]) and *", "must have the first"):
        pa.jvp(lambda a: a, (pa.Diagonal(np.ones(3)),), (np.eye(3),))
