"""Arrays in files: each rank reads and writes its own part; what is there stays where one of them fails."""

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.files import arrays

P = pa.PartitionSpec


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f4", "i1", "?", "<c16", ">i8"])
def test_npy(tmp_path, order, dtype):
    x = np.asarray((np.random.default_rng(0).normal(size=(4, 5)) * 9).astype(dtype), order=order)
    np.save(tmp_path / "x.npy", x)
    y = pa.read_array(tmp_path / "x.npy", P(None, "ranks"))
    assert y.spec == P(None, "ranks") and y.dtype == x.dtype.newbyteorder("=")
    np.testing.assert_array_equal(np.asarray(y), x)
    pa.write_array(tmp_path / "y.npy", y)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), x)
    pa.write_array(tmp_path / "y.npy", np.arange(3.0))  # in the place of the other
    assert np.load(tmp_path / "y.npy").tolist() == [0.0, 1.0, 2.0] and sorted(p.name for p in tmp_path.iterdir()) == [
        "x.npy",
        "y.npy",
    ]


def test_bad_files(tmp_path):
    np.save(tmp_path / "o.npy", np.array([object()]), allow_pickle=True)
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY")
    for call, error, text in [
        (lambda: pa.read_array(tmp_path / "none.npy"), FileNotFoundError, "none.npy"),
        (lambda: pa.read_array(tmp_path / "o.npy"), ValueError, "object"),
        (lambda: pa.read_array(tmp_path / "cut.npy"), ValueError, None),
        (lambda: pa.read_array(tmp_path / "x.txt"), ValueError, "ends in one of .npy, .h5, .hdf5, .zarr"),
        (lambda: pa.read_array(tmp_path / "x.npy", P("z")), (pa.StructureError, FileNotFoundError), None),
        (lambda: pa.write_array(tmp_path / "x.npy", pa.Diagonal(np.ones(2))), pa.StructureError, "is no plain array"),
        (lambda: pa.write_array(tmp_path / "x.h5", np.ones(2)), ValueError, "give dataset='…'"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_a_library_that_is_not_there(monkeypatch):
    with pytest.raises(ImportError, match="written by no_such_library, which is not installed: pip install no_such_library"):
        arrays.imported("no_such_library", "x.h5")


def test_what_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.npy"
    pa.write_array(path, np.arange(3.0))

    def refuse(*args, **more):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(arrays.np, "load", refuse)
        with pytest.raises(OSError, match="the disk is full"):
            pa.write_array(path, np.arange(5.0))
    assert np.load(path).tolist() == [0.0, 1.0, 2.0] and [p.name for p in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.parametrize(("name", "library"), [("x.h5", "h5py"), ("x.zarr", "zarr")])
def test_other_formats(tmp_path, mpirun, name, library):
    pytest.importorskip(library)
    x = np.arange(42.0).reshape(6, 7)
    path = tmp_path / name
    pa.write_array(path, x, dataset="a")
    pa.write_array(path, pa.shard(2 * x, P(None, "ranks")), dataset="b")
    pa.write_array(path, pa.shard(3 * x), dataset="b")
    np.testing.assert_array_equal(np.asarray(pa.read_array(path, dataset="b")), 3 * x)
    mpirun(
        f"""
        import numpy as np
        import polyad as pa
        P, x = pa.PartitionSpec, np.arange(42.0).reshape(6, 7)
        for spec in (P("ranks"), P(None, "ranks")):
            np.testing.assert_array_equal(pa.gather(pa.read_array({str(path)!r}, spec, dataset="a")), x)
            pa.write_array({str(path)!r}, pa.shard(x * 5, spec), dataset="c")
            np.testing.assert_array_equal(pa.gather(pa.read_array({str(path)!r}, P(), dataset="c")), x * 5)
        """,
        2,
    )


def test_several_ranks(tmp_path, mpirun):
    big = np.random.default_rng(1).normal(size=(1000, 700))
    np.save(tmp_path / "big.npy", big)
    script = f"""
    import os
    import numpy as np
    import polyad as pa
    P, w, folder = pa.PartitionSpec, pa.world(), {str(tmp_path)!r}
    for n in (0, 1, 2, 7):
        x = np.arange(n * 3.0).reshape(n, 3)
        for spec in (P("ranks"), P(None, "ranks"), P(), P(partial="ranks")):
            pa.write_array(folder + "/x.npy", pa.redistribute(pa.shard(x, P()), spec))
            np.testing.assert_array_equal(np.load(folder + "/x.npy"), x)
            for other in (P("ranks"), P(None, "ranks"), P()):
                y = pa.read_array(folder + "/x.npy", other)
                assert y.spec.parts[0] == other.parts[0] if other.parts else True
                np.testing.assert_array_equal(pa.gather(y), x)
            w.barrier()
    uneven = pa.local(np.full((w.rank, 2), float(w.rank)))
    pa.write_array(folder + "/u.npy", uneven)
    np.testing.assert_array_equal(np.load(folder + "/u.npy"), pa.gather(uneven))
    big = pa.read_array(folder + "/big.npy")
    assert abs(float(pa.sum(big)) - np.load(folder + "/big.npy").sum()) < 1e-6 and big.block.shape[0] <= 1000 // w.size + 1
    try:  # one of them cannot
        if w.rank == 1:
            np.load = None
        pa.read_array(folder + "/x.npy")
    except pa.CollectiveError as error:
        assert w.rank != 1 and "rank 1 raised TypeError" in str(error)
    except TypeError:
        assert w.rank == 1
    """
    for ranks in (2, 3):
        mpirun(script, ranks)
