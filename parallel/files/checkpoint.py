"""Checkpoints: trees of arrays in a folder, written by all ranks, and read by as many or others.

A checkpoint of a step is a folder: `index.json` says what the tree is and which file has which part of which array, and each
rank that has something to write writes one file of the safetensors format. Nothing is pickled. The folder is written beside and
then renamed, with the index as the last, so that one with an index is whole.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ...dispatch import PolyadError, is_container, tree
from ..communicator import world
from ..mesh import mesh_here
from ..sharded.array import Sharded
from ..sharded.layout import Layout
from ..sharded.partition_spec import PartitionSpec
from ..together import on_all_ranks
from .arrays import imported, on_every_rank
from .boxes import box_of, counted_from, index_of, is_writer, shared_box

FORMAT, INDEX = "polyad checkpoint 1", "index.json"
KNOWN = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
PLAIN_VALUES = (bool, int, float, str, type(None))


class CheckpointError(PolyadError, ValueError):
    """A checkpoint that is not there, not whole, or not of the tree that is asked for."""


def save_checkpoint(folder: Any, values: Any, step: int = 0, keep: int | None = None) -> Path:
    """Write a tree of arrays to a folder, each rank what it alone has.

    folder: path. values: tree of arrays (plain ones the same on all ranks, Sharded ones), numbers, texts and None, in dicts,
    lists, tuples and dataclasses. step: integer of at least 0, one checkpoint each. keep: the number of latest steps that stay;
    all by default. Returns the path of the checkpoint. All ranks call it; an error of one is one of all, and leaves what was
    there. Raises CheckpointError for values that cannot be written, ImportError without safetensors.

    >>> import numpy as np, polyad as pa, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = pa.save_checkpoint(folder, {"w": pa.shard(np.arange(4.0)), "epoch": 3}, step=10)
    >>> pa.load_checkpoint(folder)["w"]
    array([0., 1., 2., 3.])
    """
    folder, comm, what = Path(folder), world(), f"save_checkpoint to {folder}"
    path, beside = folder / f"step-{step:08d}", folder / f".step-{step:08d}.part"
    leaves, names = named_leaves(values)
    with on_all_ranks(what):
        if type(step) is not int or step < 0:
            raise CheckpointError(f"save_checkpoint: step {step!r} is no integer of at least 0")
        saver = imported("safetensors.numpy", "a checkpoint").numpy.save_file
        entries: dict[str, Any] = {name: _index_entry(name, leaf) for name, leaf in zip(names, leaves, strict=True)}
        if comm.rank == 0:
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir(parents=True)
    arrays = {name: _as_sharded(leaf) for name, leaf in zip(names, leaves, strict=True) if not isinstance(leaf, PLAIN_VALUES)}
    mine = {name: x for name, x in arrays.items() if _has_to_write(x)}
    try:
        with on_all_ranks(what):
            if mine:
                saver({name: _stored(x.block) for name, x in mine.items()}, beside / _file(comm.rank))
        parts = comm.gather_objects({name: box_of(x.layout) for name, x in mine.items()}, label=what)
        with on_all_ranks(what):
            if comm.rank == 0:
                for rank, boxes in enumerate(parts):
                    for name, box in boxes.items():
                        entries[name]["parts"].append({"file": _file(rank), "box": box})
                _finish(beside, path, {"format": FORMAT, "step": step, "entries": entries})
                _remove_old(folder, keep, path)
    except BaseException:
        if comm.rank == 0:
            shutil.rmtree(beside, ignore_errors=True)
        raise
    return path


def load_checkpoint(folder: Any, like: Any = None, step: int | None = None, specs: Any = None, mesh: Any = None) -> Any:
    """Read a tree of arrays that `save_checkpoint` has written, on any number of ranks.

    folder: path. like: tree of the same structure (its leaves count for where they lie only: a Sharded one is read as it lies,
    a plain one whole); without it a dict of the leaves' paths, nested for nested dicts. step: the latest by default. specs: a
    `PartitionSpec` for all arrays, or a tree of them whose upper part is that of `like`; mesh: as for `shard`. Each rank reads
    the bytes that it needs and no others. Raises CheckpointError, on all ranks, for a checkpoint that is not there, not whole,
    or of another tree.

    >>> import numpy as np, polyad as pa, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = pa.save_checkpoint(folder, {"w": np.arange(4.0), "epoch": 3})
    >>> like = {"w": pa.shard(np.zeros(4)), "epoch": 0}
    >>> restored = pa.load_checkpoint(folder, like)
    >>> restored["w"].spec, restored["epoch"]
    (PartitionSpec('ranks'), 3)
    """
    folder, what, found = Path(folder), f"load_checkpoint from {folder}", {}
    mesh = mesh_here() if mesh is None else mesh
    step = latest_step(folder) if step is None else step
    with on_all_ranks(what):
        entries, path = _index(folder, step)
        if like is None:
            names, structure = list(entries), None
            leaves = [None] * len(names)
        else:
            leaves, names = named_leaves(like)
            structure = tree.structure(numbered(like))
            if sorted(names) != sorted(entries):
                missing, more = sorted(set(names) - set(entries)), sorted(set(entries) - set(names))
                raise CheckpointError(
                    f"{what}: another tree: it lacks {missing or 'nothing'}, and has {more or 'nothing'} besides"
                )
        wanted = [None] * len(leaves)
        if specs is not None:
            model = dict.fromkeys(names, 0) if like is None else numbered(like)
            wanted = tree.broadcast_prefix(specs, model, f"{what}: specs")
        for name, leaf, spec in zip(names, leaves, wanted, strict=True):
            found[name] = _restored(path, name, entries[name], leaf, spec, mesh, what)
    if like is None:
        return _in_dicts(found)
    return tree.unflatten(structure, [found[name] for name in names])


# ---------------------------------------------------------------------- writing
def named_leaves(values):
    """Leaves of a tree, None among them, and a text for the way to each."""
    return tree.flatten(values, _is_unit)[0], tree.paths(numbered(values))


def numbered(values):
    """A tree with a number in the place of each leaf."""
    return tree.map(lambda leaf: 0, values, is_leaf=_is_unit)


def _is_unit(leaf):
    return leaf is None or is_container(leaf)


def _index_entry(name, leaf):
    if isinstance(leaf, PLAIN_VALUES):
        return {"value": leaf}
    if is_container(leaf) and not isinstance(leaf, Sharded):
        raise CheckpointError(f"save_checkpoint: {name} is a {type(leaf).__name__}; write its arrays")
    x = leaf if isinstance(leaf, Sharded) else np.asarray(leaf)
    if x.dtype.hasobject:
        raise CheckpointError(
            f"save_checkpoint: {name} is an array of Python objects ({type(leaf).__name__}); write numbers or text"
        )
    return {"shape": list(x.shape), "dtype": x.dtype.newbyteorder("=").str, "sharded": isinstance(leaf, Sharded), "parts": []}


def _as_sharded(leaf):
    if not isinstance(leaf, Sharded):
        return on_every_rank(np.asarray(leaf))
    return on_every_rank(leaf.dense()) if leaf.layout.partial else leaf


def _has_to_write(x):
    return is_writer(x.layout) or (0 in x.shape and world().rank == 0)


def _stored(block):
    """A block as the format has it: of a dtype that it does not know (complex numbers, long doubles) the bytes, along one more
    axis."""
    block = np.ascontiguousarray(block, block.dtype.newbyteorder("=")).reshape(block.shape)
    return block if block.dtype.name in KNOWN else block.reshape(*block.shape, 1).view(np.uint8)


def _file(rank):
    return f"rank-{rank:05d}.safetensors"


def _finish(beside, path, index):
    """Write the index, and put the checkpoint in its place."""
    text = json.dumps(index, indent=1)
    (beside / INDEX).write_text(text)
    if path.exists():
        old = path.with_name(f".{path.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        os.replace(path, old)
        os.replace(beside, path)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.replace(beside, path)


def _remove_old(folder, keep, path):
    if keep is not None:
        steps = [each for each in sorted(folder.glob("step-*")) if each != path]
        for old in steps[: max(len(steps) - max(keep, 1) + 1, 0)]:
            shutil.rmtree(old, ignore_errors=True)


# ---------------------------------------------------------------------- reading
def latest_step(folder):
    """The latest step of which there is a whole checkpoint, as rank 0 sees it: lists of a folder may differ between nodes."""
    found = [int(each.name.partition("-")[2]) for each in folder.glob("step-*") if (each / INDEX).exists()]
    here, comm = np.array(max(found, default=-1)), world()
    return int(here if comm.size == 1 else comm.bcast(here, 0, label=f"load_checkpoint from {folder}"))


def _index(folder, step):
    """The entries of a checkpoint, and its path."""
    if step < 0:
        raise CheckpointError(f"load_checkpoint: {folder} has no checkpoint; save_checkpoint writes one")
    path = folder / f"step-{step:08d}"
    try:
        index = json.loads((path / INDEX).read_text())
    except FileNotFoundError:
        there = ", ".join([each.name for each in sorted(folder.glob("step-*"))]) or "none"
        raise CheckpointError(f"load_checkpoint: {path} is no checkpoint; in {folder} there are: {there}") from None
    except ValueError as error:
        raise CheckpointError(f"load_checkpoint: the index of {path} cannot be read: {error}") from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise CheckpointError(f"load_checkpoint: the index of {path} is none of {FORMAT!r}")
    return index["entries"], path


def _restored(path, name, entry, leaf, spec, mesh, what):
    """One leaf: the part of this rank, from the files that have some of it."""
    if "value" in entry:
        return entry["value"]
    shape, dtype = tuple(entry["shape"]), np.dtype(entry["dtype"])
    if isinstance(leaf, Sharded) and spec is None:
        layout = leaf.layout.reduced(())
        if layout.shape != shape:
            raise CheckpointError(f"{what}: {name} has shape {list(shape)}, where like has {list(layout.shape)}")
    else:
        layout = Layout(mesh, shape, PartitionSpec() if spec is None else spec, where=f"{what}: {name}")
    box, block, filled = box_of(layout), np.empty(layout.block_shape, dtype), 0
    for part in entry["parts"]:
        there = tuple([tuple(ends) for ends in part["box"]])
        shared = shared_box(box, there)
        if shared is not None:
            stored = _read(path / Path(part["file"]).name, name, dtype, counted_from(shared, there), [b - a for a, b in there])
            block[index_of(counted_from(shared, box))] = stored
            filled += stored.size
    if filled != block.size:
        raise CheckpointError(f"{what}: {name}: {block.size - filled} of {block.size} elements are in no file of {path}")
    return block if spec is None and not isinstance(leaf, Sharded) else Sharded(block, layout)


def _read(file, name, dtype, box, shape):
    """A box of an array in a file of the safetensors format, without the rest."""
    known = dtype.name in KNOWN
    expected = list(shape) if known else [*shape, dtype.itemsize]
    index = index_of(box) if known else (*index_of(box), slice(None))
    try:
        with imported("safetensors", "a checkpoint").safe_open(file, framework="numpy") as opened:
            found = opened.get_slice(name).get_shape()
            if found != expected:
                raise CheckpointError(f"load_checkpoint: {file} has {name} of shape {found}, where the index says {expected}")
            stored = opened.get_slice(name)[index] if index else opened.get_tensor(name)
    except FileNotFoundError:
        raise CheckpointError(f"load_checkpoint: {file} is missing, which has a part of {name}") from None
    except CheckpointError:
        raise
    except Exception as error:  # of the library: a header that is none, a name that is not in it, data that is cut off
        raise CheckpointError(f"load_checkpoint: {file} cannot be read for {name}: {error}") from error
    return stored if known else np.ascontiguousarray(stored).view(dtype)[..., 0]


def _in_dicts(found):
    """Leaves by their paths as dicts in dicts, where all steps of the paths are names."""
    result: Any = {}
    for path, value in found.items():
        steps = path.strip("[]'").split("']['") if path.startswith("['") and path.endswith("']") else [path]
        inner = result
        for step in steps[:-1]:
            inner = inner.setdefault(step, {})
        inner[steps[-1]] = value
    return result
