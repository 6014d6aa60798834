"""Programs in files: what is read again computes the same, elsewhere too, and what a file cannot hold is named."""

import io
import subprocess
import sys

import numpy as np
import pytest
from network import XS, W, loss, reloaded, transforms

import polyad as pa
from polyad.dsl.ir.programs import Program

close = np.testing.assert_allclose


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
