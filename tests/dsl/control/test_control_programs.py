"""Programs with control flow: in print, as source code, in files, and what their derivatives keep of each step."""

import io
import json
import random
import subprocess
import sys

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.programs import Equation, Program, Var, check

close = np.testing.assert_allclose
W, XS = np.array([[0.5, -0.2], [0.1, 0.3]]), np.linspace(-1, 1, 6).reshape(3, 2)


def network(w, xs):
    """A scan, a while loop and a choice in it, which reads the scan's result."""
    h, ys = pa.scan(lambda h, x: ((y := pa.tanh(w @ h["h"] + x)), y)[:0] or ({"h": y}, y), {"h": np.zeros(2)}, xs)
    grown = lambda s: (s[0] * pa.cond(s[1] > 1, lambda: h["h"][0], lambda: 2.0), s[1] + 1)
    return {"a": pa.sum(ys) + pa.while_loop(lambda s: s[1] < 3, grown, (h["h"][1], 0))[0], "b": ys}


def loss(w, xs):
    return network(w, xs)["a"]


def runs(program, *args):
    named = {}
    exec(program.code, named)
    return named[program.name if program.name.isidentifier() and program.name != "lambda" else "program"](*args)


def reloaded(program):
    file = io.BytesIO()
    program.save(file)
    file.seek(0)
    return Program.load(file)


# ---------------------------------------------------------------------- print and source
def test_print():
    def f(x, n):
        step = lambda s: (pa.cond(s[0] > 1, lambda: s[0] - x, lambda: s[0] + x), s[1] + 1)
        return pa.while_loop(lambda s: s[1] < n, step, (x, 0))[0]

    f.__name__ = "lambda"
    assert (
        str(pa.make_ir(f)(1.0, 3))
        == """\
lambda(a: float64[], b: int64[]):
  const c: int64[]
  d: float64[], e: int64[] = loop test=test body=body constants=2 a b a c
    test(f: float64[], g: int64[], h: float64[], i: int64[]):
      j: bool[] = less i g
      return j
    body(k: float64[], l: int64[], m: float64[], n: int64[]):
      o: bool[] = greater m 1
      p: int64[] = astype dtype='int64' o
      q: float64[] = choice branches=cond_0,cond_1 p m k
        cond_0(s: float64[], t: float64[]):
          u: float64[] = add s t
          return u
        cond_1(v: float64[], w: float64[]):
          x: float64[] = subtract v w
          return x
      r: int64[] = add n 1
      return q, r
  return d"""
    )


def test_source():
    f = lambda x: pa.scan(lambda c, r: (c * pa.cond(r > 0, lambda: r, lambda: x[0]), c), 1.0, x)
    program = pa.make_ir(f)(XS[0])
    assert (
        program.code
        == """\
import numpy as np
import polyad as pa

b = np.array([1.0], np.dtype('<f8')).reshape(())[()]


def program(a):
    def body_1(carry, inputs):
        (e,) = carry
        (f,) = inputs
        g = pa.greater(f, 0)
        h = pa.astype(g, dtype='int64')
        def branch_2():
            k = pa.index(a, spec=(0,))
            return (k,)
        def branch_3():
            return (f,)
        (i,) = pa.switch(h, [branch_2, branch_3])
        j = pa.multiply(e, i)
        return (j,), (e,)
    (c,), (d,) = pa.scan(body_1, (b,), (a,))
    return (c, d)
"""
    )
    for found, right in zip(runs(program, XS[1]), f(XS[1]), strict=True):
        close(found, right)


transforms = pytest.mark.parametrize("transform", [
    lambda f: f, pa.grad, pa.hessian, lambda f: pa.vmap(pa.grad(f), (None, 0)), lambda f: pa.grad(pa.checkpoint(f)),
    lambda f: lambda w, xs: pa.jvp(lambda w: pa.grad(f)(w, xs), (w,), (w,)),
], ids=["value", "gradient", "hessian", "lanes", "checkpoint", "twice"])  # fmt: skip


@transforms
def test_source_runs_and_can_be_transformed_again(transform):
    xs = XS if "vmap" not in transform.__code__.co_names else np.stack([XS, 2 * XS])
    f = transform(loss)
    program = pa.make_ir(f)(W, xs)
    check(program)
    right = pa.tree.leaves(f(W, xs))
    first = lambda y: y[0] if isinstance(y, tuple) else y
    close(first(runs(program, W, xs)), right[0])
    again = pa.make_ir(lambda w, xs: runs(program, w, xs))(W, xs)
    close(first(again(W, xs)), right[0])
    found = pa.grad(lambda w: pa.sum(pa.sin(first(runs(program, w, xs)))))(W)
    close(found, pa.grad(lambda w: pa.sum(pa.sin(pa.tree.leaves(f(w, xs))[0])))(W))


def test_source_of_recursion():
    factorial = pa.jit(lambda r, x: pa.cond(x <= 1, lambda r, x: r, lambda r, x: factorial(r * x, x - 1), r, x))
    program = pa.make_ir(lambda x: factorial(1.0, x))(3.0)
    check(program)
    assert "@pa.jit" in program.code and program(5.0) == 120 and runs(program, 4.0) == 24
    assert str(program).count("def") == 0 and len(str(program)) < 2000
    assert reloaded(program)(5.0) == 120


def test_picture_and_equations_of_programs_within():
    picture = pa.make_ir(loss)(W, XS).draw()
    assert "subgraph cluster" in picture and "body of" in picture.replace('"', "")


def test_check_looks_into_programs():
    program = pa.make_ir(loss)(W, XS)
    scan = next(e for e in program.equations if "body" in e.params)
    body = scan.params["body"]
    body.equations[0].inputs = [Var(body.inputs[0].aval), *body.equations[0].inputs[1:]]
    with pytest.raises(AssertionError, match="in body of steps_of: matmul uses a value that is not defined"):
        check(program)


def test_programs_that_do_not_fit_are_refused():
    program = pa.make_ir(loss)(W, XS)
    scan = next(e for e in program.equations if "body" in e.params)
    with pytest.raises(pa.ShapeError, match="steps_of: argument 0 of the program body is"):
        pa.eval_shape(scan.op, W[0], np.zeros(2), XS, **scan.params)
    with pytest.raises(pa.ShapeError, match="takes 3 arguments, not 2"):
        pa.eval_shape(scan.op, W, np.zeros(2), **scan.params)


# ---------------------------------------------------------------------- files
@transforms
def test_file(transform, tmp_path):
    xs = XS if "vmap" not in transform.__code__.co_names else np.stack([XS, 2 * XS])
    program = pa.make_ir(transform(loss))(W, xs)
    program.save(tmp_path / "program")
    loaded = Program.load(tmp_path / "program")
    assert str(loaded) == str(program) and loaded.code == program.code
    for found, right in zip(pa.tree.leaves(loaded(W, xs)), pa.tree.leaves(program(W, xs)), strict=True):
        np.testing.assert_array_equal(found, right)
    assert [p.name for p in tmp_path.iterdir()] == ["program"]


def test_trees_constants_and_parameters():
    constant = np.arange(6, dtype=np.int16).reshape(2, 3)
    f = lambda x, d: ({"y": x[1:, None, ::2] + d["a"][0], "n": None, "l": [x.sum(axis=(0, 1)), 2.5]}, constant * np.float32(2),
                      pa.astype(d["a"][1], np.complex64), d["a"][1] * 1j, pa.where(x > 0, x, -np.inf))  # fmt: skip
    args = np.linspace(-1, 1, 12).reshape(3, 4), {"a": (1.5, np.array(2.0, np.float32))}
    program = pa.make_ir(f)(*args)
    loaded = reloaded(program)
    found, right = loaded(*args), program(*args)
    assert pa.tree.structure(found) == pa.tree.structure(right)
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
    with pytest.raises(pa.StructureError, match="was traced for"):
        loaded(np.ones(3), args[1])


def test_names_of_axes_and_effects(capsys):
    inner = lambda x: (pa.debug_print("x = {}", x), x / pa.psum(x, "i"))[1]
    held = []

    def lane(x):
        held.append(pa.make_ir(inner)(x))
        return x

    pa.vmap(lane, axis_name="i")(np.array([1.0, 3.0]))
    loaded = reloaded(held[0])
    close(pa.vmap(loaded, axis_name="i")(np.array([1.0, 3.0])), [0.25, 0.75])
    assert capsys.readouterr().out == "x = 1.0\nx = 3.0\n"
    both = reloaded(pa.make_ir(pa.vmap(inner, axis_name="i"))(np.array([1.0, 3.0])))
    close(both(np.array([1.0, 3.0])), [0.25, 0.75])


def test_served_without_the_source(tmp_path):
    """Another process, which has never seen the function, and may not unpickle."""
    pa.make_ir(pa.grad(loss))(W, XS).save(tmp_path / "g.polyad")
    np.save(tmp_path / "w.npy", W)
    script = """
import pickle, numpy as np, polyad as pa
def refuse(*args, **kwargs): raise RuntimeError("pickle")
pickle.load = pickle.loads = pickle.Unpickler = refuse
g = pa.Program.load("g.polyad")
np.save("out.npy", g(np.load("w.npy"), np.linspace(-1, 1, 6).reshape(3, 2)))
"""
    done = subprocess.run([sys.executable, "-P", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    close(np.load(tmp_path / "out.npy"), pa.grad(loss)(W, XS))


@pytest.mark.parametrize(("make", "text"), [
    (lambda: pa.make_ir(lambda x: pa.callback(np.linalg.norm, pa.Aval((), float), x))(np.ones(2)),
     r"save: pure_call's parameter f: .* cannot be written to a file \(a function of yours\)"),
    (lambda: pa.make_ir(lambda x: pa.Diagonal(x))(np.ones(2)), "takes or returns a Diagonal; a file holds trees of tuples"),
    (lambda: pa.make_ir(lambda x: {1: x})(1.0), "takes or returns a dict"),
])  # fmt: skip
def test_what_a_file_cannot_hold(make, text, tmp_path):
    with pytest.raises(pa.StructureError, match=text):
        make().save(tmp_path / "program")
    assert not list(tmp_path.iterdir())


def test_values_under_way_are_refused():
    def f(x):
        pa.make_ir(lambda y: x * y)(1.0).save(io.BytesIO())
        return x

    with pytest.raises(pa.StructureError, match="of a transformation under way; make it an argument"):
        pa.grad(f)(1.0)


def parts():
    file = io.BytesIO()
    pa.make_ir(loss)(W, XS).save(file)
    data = file.getvalue()
    size = int.from_bytes(data[8:16], "little")
    return json.loads(data[16 : 16 + size]), data[16 + size :]


def packed(header, raw, magic=b"polyad\n1"):
    text = json.dumps(header).encode()
    return magic + len(text).to_bytes(8, "little") + text + raw


def damage(change):
    header, raw = parts()
    changed = change(header, raw)
    return packed(header, raw) if changed is None else changed


def first_step(header):
    return header["programs"][0]["steps"][0]


@pytest.mark.parametrize(("data", "text"), [
    (b"", "does not begin as a file of a program"),
    (b"PK\x03\x04 a zip file", "does not begin"),
    (packed({}, b""), "programs"),
    (packed({}, b"", b"polyad\n2"), "does not begin as a file of a program .of this version"),
    (packed([1], b""), ""),
    (b"polyad\n1" + (1 << 60).to_bytes(8, "little") + b"{}", "its header is cut off"),
    (b"polyad\n1" + (4).to_bytes(8, "little") + b"\xff\xfe{}", ""),
    (b"polyad\n1" + (200000).to_bytes(8, "little") + b"[" * 200000, ""),
    (damage(lambda h, raw: packed(h, raw[:-1])), "its arrays do not follow|more in it"),
    (damage(lambda h, raw: packed(h, raw + b"0")), "there is more in it than its arrays"),
    (damage(lambda h, raw: h["arrays"][0].__setitem__(0, "|O")), "a dtype is none of numbers"),
    (damage(lambda h, raw: h["arrays"][0].__setitem__(1, [10**9, 10**9])), "an array is not as long as its shape says"),
    (damage(lambda h, raw: h["arrays"][0].__setitem__(1, [-2])), "a shape is none"),
    (damage(lambda h, raw: first_step(h).__setitem__(0, "os.system")), "an operation 'os.system', which this version does not"),
    (damage(lambda h, raw: first_step(h).__setitem__(0, ["os", "system"])), "the operation system of the module os: import"),
    (damage(lambda h, raw: first_step(h).__setitem__(1, [999])), "reads a value that is not there"),
    (damage(lambda h, raw: first_step(h).__setitem__(1, [["float", "zero"]])), ""),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("spec", ["object", "Popen", "ls"])), ""),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("other", 1)), "parameter"),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("constants", ["int", "9"])), ""),
    (damage(lambda h, raw: first_step(h)[2].pop("body") and None), "lacks a parameter"),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("body", ["program", 99])), "it names what is not in it"),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("body", ["program", 0])), ""),
    (damage(lambda h, raw: first_step(h)[3][0].__setitem__(0, ["<f8", [7]])), "gives"),
    (damage(lambda h, raw: h["programs"][0].__setitem__("outputs", [0, 0])), "trees do not fit"),
    (damage(lambda h, raw: h["programs"][0]["trees"].__setitem__(1, ["tuple", 0, 0])), "trees do not fit"),
    (damage(lambda h, raw: h["programs"][0]["trees"].__setitem__(1, ["Popen", 0])), ""),
])  # fmt: skip
def test_damaged_files(data, text):
    with pytest.raises(pa.StructureError, match=f"load: the file holds no program that can be run: .*{text}"):
        Program.load(io.BytesIO(data))


def test_any_damage_is_an_error_or_a_program():
    """Never another exception, and what is loaded is consistent."""
    header, raw = parts()
    data, choose = packed(header, raw), random.Random(3)
    refused = 0
    for _ in range(400):
        changed, place = bytearray(data), choose.randrange(len(data))
        kind = choose.randrange(3)
        if kind == 0:
            changed[place] = choose.choice(b'0123456789[]{}",:-abdefilnorstu ')
        elif kind == 1:
            del changed[place : place + choose.randrange(1, 9)]
        else:
            changed[place:place] = choose.choice([b"9", b'"', b"[", b"null,"])
        try:
            check(Program.load(io.BytesIO(bytes(changed))))
        except pa.StructureError:
            refused += 1
    assert refused > 300


def test_text_that_looks_into_objects_is_refused():
    program = pa.make_ir(lambda x: (pa.debug_print("{}", x), x)[1])(1.0)
    e = next(e for e in program.equations if "f" in e.params)
    e.params["f"].text = "{0.__class__}"
    with pytest.raises(pa.StructureError, match="looks into objects"):
        reloaded(program)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Program.load(tmp_path / "none")


# ---------------------------------------------------------------------- what steps keep
def kept(program, steps):
    """Shapes of what the loops forward of a program give per step."""
    forward = [e for e in program.equations if "body" in e.params and not e.params["reverse"]]
    return [v.aval.shape[1:] for e in forward for v in e.outputs if v.aval.shape[:1] == (steps,)]


def test_a_network_keeps_two_vectors_per_step(rng):
    """What is carried, and the argument of tanh, of which its slope is made: the result loses it near 1."""
    w, u, xs = rng.standard_normal((8, 8)) * 0.1, rng.standard_normal((8, 8)), rng.standard_normal((50, 8))
    last = lambda w, u: pa.sum(pa.scan(lambda h, x: (pa.tanh(w @ h + u @ x), None), np.zeros(8), xs)[0])
    assert kept(pa.make_ir(pa.grad(last, (0, 1)))(w, u), 50) == [(8,), (8,)]  # the inputs are at hand
    every = lambda w: pa.sum(pa.scan(lambda h, x: ((y := pa.tanh(w @ h + x)), y), np.zeros(8), xs)[1] ** 2)
    assert kept(pa.make_ir(pa.grad(every))(w), 50) == [(8,), (8,), (8,)]  # and the outputs
    product = lambda xs: pa.scan(lambda c, x: (c * x, None), 1.0, xs)[0]
    assert kept(pa.make_ir(pa.grad(product))(xs[:, 0]), 50) == [()]
    affine = lambda x: pa.scan(lambda c, r: (0.5 * c + r * x, None), 0.0, xs[:, 0])[0]
    assert kept(pa.make_ir(pa.grad(affine))(1.0), 50) == []  # linear in what is followed


def lorenz(p, x):
    return pa.stack([p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]])


def runge_kutta(p, x, h=0.01):
    k1 = lorenz(p, x)
    k2 = lorenz(p, x + h / 2 * k1)
    k3 = lorenz(p, x + h / 2 * k2)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + lorenz(p, x + h * k3))


@pytest.mark.parametrize(("wrap", "most"), [(lambda f: f, 4), (pa.checkpoint, 1)])
def test_a_differential_equation_keeps_its_stages(wrap, most):
    solve = lambda p: pa.sum(pa.scan(lambda x, _: (wrap(lambda x: runge_kutta(p, x))(x), None), np.ones(3), length=30)[0])
    p = np.array([10.0, 28.0, 8 / 3])
    program = pa.make_ir(pa.grad(solve))(p)
    assert len(kept(program, 30)) <= most
    close(program(p), pa.grad(solve)(p), rtol=1e-9)
    ends = [solve(p + h * np.eye(3)[1]) for h in (1e-5, -1e-5)]
    close(program(p)[1], (ends[0] - ends[1]) / 2e-5, rtol=1e-5)


def test_checkpoint_within_a_scan_needs_less_memory(rng):
    import tracemalloc

    n, steps = 64, 600
    w = rng.standard_normal((n, n)) * 0.1

    def peak(wrap, form):
        step = lambda w: lambda h: pa.tanh(w @ pa.sin(w @ pa.tanh(w @ pa.cos(w @ h))))
        f = form(pa.grad(lambda w: pa.sum(pa.scan(lambda h, _: (wrap(step(w))(h), None), np.ones(n), length=steps)[0])))
        value = f(w)
        tracemalloc.start()
        f(w)
        used = tracemalloc.get_traced_memory()[1] / (8 * n * steps)
        tracemalloc.stop()
        return value, used

    with pa.debug_mutation(False):
        plain, all_kept = peak(lambda f: f, lambda f: pa.make_ir(f)(w))
        again, few_kept = peak(pa.checkpoint, lambda f: pa.make_ir(f)(w))
        close(again, plain)
        assert few_kept < 3 < 0.6 * all_kept, (few_kept, all_kept)
        plain, all_kept = peak(lambda f: f, lambda f: f)
        again, few_kept = peak(pa.checkpoint, lambda f: f)
        close(again, plain)
        assert few_kept < 0.8 * all_kept, (few_kept, all_kept)


def test_equations_can_be_made_by_hand():
    program = pa.make_ir(lambda x: x * 2.0)(1.0)
    e = program.equations[0]
    assert str(Equation(e.op, e.inputs, e.params, e.outputs).params) == "{}"
