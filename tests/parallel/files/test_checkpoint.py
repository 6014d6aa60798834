"""Checkpoints: trees written by some ranks and read by others, and what a fault leaves behind."""

import json
import shutil

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.files import checkpoint

pytest.importorskip("safetensors")
P = pa.PartitionSpec
TREE = """
import numpy as np
import polyad as pa
P, w = pa.PartitionSpec, pa.world()
rng = np.random.default_rng(0)
tree = {"w": rng.normal(size=(7, 5)), "b": rng.normal(size=3).astype(np.float32), "z": rng.normal(size=(4, 2)) + 1j,
        "k": rng.integers(0, 9, (6,)), "m": rng.normal(size=5) > 0, "e": np.zeros((0, 3)), "s": np.array(2.5),
        "long": np.arange(4, dtype=np.longdouble) / 3, "epoch": 3, "name": "x", "none": None,
        "l": [np.arange(2), (1.5, np.arange(3.0))]}
specs = {"w": P("ranks"), "z": P(None, "ranks"), "k": P("ranks"), "m": P("ranks"), "e": P("ranks"), "long": P("ranks")}
sharded = {k: pa.shard(v, specs[k]) if k in specs else v for k, v in tree.items()}

def same(found, right):
    for k, v in right.items():
        a = pa.gather(found[k])
        if k == "l":
            assert a[1][0] == 1.5 and a[0].tolist() == [0, 1] and a[1][1].tolist() == [0.0, 1.0, 2.0]
        elif isinstance(v, np.ndarray):
            assert a.dtype == v.dtype, (k, a.dtype)
            np.testing.assert_array_equal(a, v, err_msg=k)
        else:
            assert type(a) is type(v) and a == v, k
"""


def test_on_other_numbers_of_ranks(tmp_path, mpirun):
    save = TREE + f"pa.save_checkpoint({str(tmp_path)!r}, sharded, step=w.size)\n"
    load = (
        TREE
        + f"""
for step in (1, 2, 3):
    restored = pa.load_checkpoint({str(tmp_path)!r}, like=sharded, step=step)
    same(restored, tree)
    assert restored["w"].layout == sharded["w"].layout and isinstance(restored["b"], np.ndarray)
    wanted = {{k: P(None, "ranks") if k == "w" else None for k in tree}}
    other = pa.load_checkpoint({str(tmp_path)!r}, like=tree, specs=wanted, step=step)
    same(other, tree)
    assert other["w"].spec == P(None, "ranks") and isinstance(other["z"], np.ndarray)
"""
    )
    for ranks in (1, 2, 3):
        mpirun(save, ranks)
    files = sorted(p.name for p in (tmp_path / "step-00000003").iterdir())
    assert files == ["index.json", *[f"rank-0000{k}.safetensors" for k in range(3)]]
    for ranks in (1, 2, 3):
        mpirun(load, ranks)


def test_others_read_what_is_in_it(tmp_path):
    from safetensors.numpy import load_file

    path = pa.save_checkpoint(tmp_path, {"w": np.arange(6.0).reshape(2, 3), "b": {"c": np.float32(2)}})
    found = load_file(path / "rank-00000.safetensors")
    np.testing.assert_array_equal(found["['w']"], np.arange(6.0).reshape(2, 3))
    restored = pa.load_checkpoint(tmp_path)
    assert restored["b"]["c"] == 2 and restored["w"].shape == (2, 3)


def test_old_ones_go(tmp_path):
    for step in range(4):
        pa.save_checkpoint(tmp_path, {"w": np.full(2, float(step))}, step=step, keep=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000002", "step-00000003"]
    assert pa.load_checkpoint(tmp_path)["w"][0] == 3.0 and pa.load_checkpoint(tmp_path, step=2)["w"][0] == 2.0
    pa.save_checkpoint(tmp_path, {"w": np.full(2, 9.0)}, step=3)  # once more
    assert pa.load_checkpoint(tmp_path)["w"][0] == 9.0


def test_a_fault_leaves_what_was_there(tmp_path, monkeypatch):
    pa.save_checkpoint(tmp_path, {"w": np.zeros(2)}, step=1)

    def refuse(*args):
        raise OSError("the disk is full")

    for name in ("_finish", "_stored"):
        with monkeypatch.context() as patched:
            patched.setattr(checkpoint, name, refuse)
            with pytest.raises(OSError, match="the disk is full"):
                pa.save_checkpoint(tmp_path, {"w": np.ones(2)}, step=2)
        assert [p.name for p in tmp_path.iterdir()] == ["step-00000001"]
        assert pa.load_checkpoint(tmp_path)["w"].tolist() == [
            0.0,
            0.0,
        ]
    (tmp_path / "step-00000007").mkdir()  # without an index: not whole
    assert pa.load_checkpoint(tmp_path)["w"].tolist() == [0.0, 0.0]


def damaged(path, how):
    index = json.loads((path / "index.json").read_text())
    file = path / "rank-00000.safetensors"
    if how == "no file":
        file.unlink()
    elif how == "cut off":
        file.write_bytes(file.read_bytes()[:-8])
    elif how == "another shape":
        index["entries"]["['w']"]["parts"][0]["box"] = [[0, 5]]
        index["entries"]["['w']"]["shape"] = [5]
    elif how == "a part is missing":
        index["entries"]["['w']"]["parts"] = []
    elif how == "another format":
        index["format"] = "something"
    (path / "index.json").write_text("{" if how == "no JSON" else json.dumps(index))


@pytest.mark.parametrize(("how", "text"), [
    ("no file", "rank-00000.safetensors is missing, which has a part of"), ("cut off", "cannot be read for"),
    ("another shape", r"where the index says \[5\]"), ("a part is missing", "4 of 4 elements are in no file"),
    ("another format", "is none of 'polyad checkpoint 1'"), ("no JSON", "cannot be read"),
])  # fmt: skip
def test_damage_is_named(tmp_path, how, text):
    damaged(pa.save_checkpoint(tmp_path, {"w": np.arange(4.0)}), how)
    with pytest.raises(pa.CheckpointError, match=text):
        pa.load_checkpoint(tmp_path)


def test_bad_input(tmp_path):
    pa.save_checkpoint(tmp_path, {"w": pa.shard(np.arange(4.0))}, step=3)
    for call, text in [
        (lambda: pa.load_checkpoint(tmp_path / "none"), "has no checkpoint; save_checkpoint writes one"),
        (lambda: pa.load_checkpoint(tmp_path, step=9), "in .* there are: step-00000003"),
        (lambda: pa.load_checkpoint(tmp_path, like={"v": 0}), "it lacks .*v.*, and has .*w.* besides"),
        (lambda: pa.load_checkpoint(tmp_path, like={"w": pa.shard(np.ones(5))}), r"has shape \[4\], where like has \[5\]"),
        (lambda: pa.save_checkpoint(tmp_path, {"w": np.array([object()])}), "Python objects"),
        (lambda: pa.save_checkpoint(tmp_path, {"w": pa.Diagonal(np.ones(2))}), "is a Diagonal; write its arrays"),
        (lambda: pa.save_checkpoint(tmp_path, {}, step=-1), "no integer of at least 0"),
    ]:
        with pytest.raises(pa.CheckpointError, match=text):
            call()
    shutil.rmtree(tmp_path)
