"""Arrays in files: each rank reads and writes its own part, of NumPy's `.npy`, HDF5 and zarr."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...dispatch import StructureError, describe, is_container
from ..communicator import world
from ..mesh import mesh_here
from ..sharded.array import Sharded
from ..sharded.layout import Layout
from ..sharded.partition_spec import PartitionSpec
from ..together import on_all_ranks
from .boxes import box_of, index_of, is_writer

KINDS = {".npy": "npy", ".h5": "h5", ".hdf5": "h5", ".zarr": "zarr"}


def read_array(path: Any, spec: Any = None, mesh: Any = None, dataset: str | None = None) -> Any:
    """Read an array from a file, each rank its own block.

    path: of a `.npy` file (of any dtype and order), an HDF5 file (`.h5`, `.hdf5`, by h5py) or a zarr store (`.zarr`, by zarr).
    spec, mesh: as for `shard`. dataset: the name of the array in an HDF5 file or zarr group. Returns a Sharded array. All ranks
    call it; where one cannot read its part, all raise: its own error there, CollectiveError on the others. ImportError where
    the library for a file is not installed, ValueError for arrays of Python objects.

    >>> import numpy as np, os, polyad as pa, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> np.save(path, np.arange(6.0))
    >>> x = pa.read_array(path)
    >>> x.shape, float(pa.sum(x))
    ((6,), 15.0)
    """
    mesh = mesh_here() if mesh is None else mesh
    layout = block = None
    with on_all_ranks(f"read_array of {path}"), opened(path, dataset, "r") as stored:
        dtype = np.dtype(stored.dtype)
        if dtype.hasobject:
            raise ValueError(f"read_array: {path} holds Python objects, which are not read")
        first = PartitionSpec(mesh.axis_names[0]) if stored.shape else PartitionSpec()
        layout = Layout(mesh, stored.shape, first if spec is None else spec, where="read_array")
        block = np.array(stored[index_of(box_of(layout))], dtype.newbyteorder("="))
    return Sharded(block, layout)


def write_array(path: Any, x: Any, dataset: str | None = None) -> None:
    """Write an array to one file, each rank its own block.

    path, dataset: as for `read_array`; x: Sharded array, or a plain one that is the same on all ranks. A `.npy` file is written
    by all ranks at once, HDF5 and zarr by one after the other. It is written beside the file and then takes its place, so that
    a reader never sees a part and a job that fails leaves the old one; other datasets of an HDF5 file or zarr store stay, and
    are not protected so. All ranks call it and leave it when the file is there. Errors as of `read_array`.

    >>> import numpy as np, os, polyad as pa, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> pa.write_array(path, pa.shard(np.arange(3.0)))
    >>> np.load(path)
    array([0., 1., 2.])
    """
    if not isinstance(x, Sharded) and is_container(x):
        raise StructureError(f"write_array: {describe(x)} is no plain array; write its arrays, or save_checkpoint")
    x = x if isinstance(x, Sharded) else on_every_rank(np.asarray(x))
    x = x if not x.layout.partial else on_every_rank(x.dense())
    write = _write_at_once if kind_of(path) == "npy" else _write_in_turn
    write(Path(path), x, dataset)


def on_every_rank(x):
    """A plain array as a Sharded one that each rank has."""
    return Sharded(x, Layout(mesh_here(), x.shape))


def kind_of(path):
    """The kind of a file by its name. Raises ValueError."""
    kind = KINDS.get(Path(path).suffix.lower())
    if kind is None:
        raise ValueError(f"{path}: the name of a file of arrays ends in one of {', '.join(KINDS)}")
    return kind


@contextmanager
def opened(path, dataset, mode):
    """An array in a file, to be read or written by index."""
    kind = kind_of(path)
    if kind == "npy":
        yield np.load(path, mmap_mode=mode, allow_pickle=False)
    elif kind == "h5":
        with imported("h5py", path).File(path, mode) as file:
            yield file[named(dataset, path)]
    else:
        store = imported("zarr", path).open(str(path), mode=mode)
        yield store[dataset] if dataset else store


def imported(name, path):
    """A library, or an ImportError that says what it is for."""
    try:
        return __import__(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"{path} is read and written by {package}, which is not installed: pip install {package}") from error


def named(dataset, path):
    """The name of an array in a file that holds several."""
    if not dataset:
        raise ValueError(f"{path} holds arrays by name: give dataset='…'")
    return dataset


def _write_at_once(path, x, dataset):
    comm, beside = world(), path.with_name(path.name + ".part")
    what = f"write_array of {path}"
    with on_all_ranks(what):
        if comm.rank == 0:
            file = np.lib.format.open_memmap(beside, "w+", dtype=x.dtype, shape=x.shape)
            del file
    try:
        with on_all_ranks(what):
            if is_writer(x.layout):
                file = np.load(beside, mmap_mode="r+")
                file[index_of(box_of(x.layout))] = x.block
                file.flush()
                del file
    except BaseException:
        if comm.rank == 0:
            beside.unlink(missing_ok=True)
        raise
    with on_all_ranks(what):
        if comm.rank == 0:
            os.replace(beside, path)


def _write_in_turn(path, x, dataset):
    comm, what = world(), f"write_array of {path}"
    with on_all_ranks(what):
        if comm.rank == 0:
            _created(path, x, dataset)
    for rank in range(comm.size):
        with on_all_ranks(what):
            if comm.rank == rank and is_writer(x.layout):
                with opened(path, dataset, "r+") as stored:
                    stored[index_of(box_of(x.layout)) or ...] = x.block


def _created(path, x, dataset):
    """Make room for an array in a file, in the place of one of that name."""
    if kind_of(path) == "h5":
        with imported("h5py", path).File(path, "a") as file:
            if named(dataset, path) in file:
                del file[dataset]
            file.create_dataset(dataset, shape=x.shape, dtype=x.dtype)
        return
    zarr = imported("zarr", path)
    zarr.create_array(str(path), name=dataset, shape=x.shape, dtype=x.dtype, overwrite=True)
