"""Signatures of NumPy's functions, to bind calls by; those written in C tell theirs only from NumPy 2.4 on."""

import functools
import inspect

WRITTEN_IN_C = {
    "bincount": "x, /, weights=None, minlength=0",
    "can_cast": "from_, to, casting='safe'",
    "concatenate": "arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'",
    "copyto": "dst, src, casting='same_kind', where=True",
    "dot": "a, b, out=None",
    "empty_like": "prototype, /, dtype=None, order='K', subok=True, shape=None, *, device=None",
    "inner": "a, b, /",
    "lexsort": "keys, axis=-1",
    "may_share_memory": "a, b, /, max_work=0",
    "min_scalar_type": "a, /",
    "packbits": "a, /, axis=None, bitorder='big'",
    "putmask": "a, /, mask, values",
    "ravel_multi_index": "multi_index, dims, mode='raise', order='C'",
    "result_type": "*arrays_and_dtypes",
    "shares_memory": "a, b, /, max_work=-1",
    "unpackbits": "a, /, axis=None, count=None, bitorder='big'",
    "unravel_index": "indices, shape, order='C'",
    "vdot": "a, b, /",
    "where": "condition, x=None, y=None, /",
}


@functools.cache
def signature(function):
    """The signature of one of NumPy's functions."""
    try:
        return inspect.signature(function)
    except ValueError:
        namespace = {}
        exec(f"def known({WRITTEN_IN_C.get(function.__name__, '*args, **kwargs')}): ...", namespace)
        return inspect.signature(namespace["known"])
