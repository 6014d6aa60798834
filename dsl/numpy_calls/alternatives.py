"""What to use instead of the NumPy functions that no operation answers for, for error messages."""

TEXT = "arrays of text hold nothing to follow; take the strings apart outside of the transformation"
FILES = "files are written and read outside of a transformation: return the value and save the result"
DATES = "dates hold nothing to follow; count days as floating numbers outside of the transformation"
FIELDS = "structured arrays are not followed; keep the fields in a dict or a dataclass, which transformations take apart"
BYTES = "build it outside of the transformation and pass it as an argument"
BITS = "the bits of a number have no derivative; use polyad.bitwise_and and shifts, or do it outside of the transformation"

ALTERNATIVES = {
    "apply_along_axis": "polyad.vmap(f, in_axes=axis, out_axes=axis)",
    "apply_over_axes": "a loop of f(x, axis=k, keepdims=True) over the axes",
    "einsum_path": "polyad.einsum, which chooses the order by itself",
    "histogram2d": "polyad.histogram of polyad.bincount over polyad.digitize, one axis at a time",
    "histogramdd": "polyad.bincount over polyad.digitize, one axis at a time",
    "fromfunction": "f(*polyad.meshgrid(..., indexing='ij'))",
    "fromiter": "polyad.stack of a list",
    "frombuffer": BYTES,
    "fromstring": BYTES,
    "ix_": "index with i[:, None] and j[None, :]",
    "shares_memory": "nothing: whether values of a transformation share elements is polyad's own matter; write to copies",
    "may_share_memory": "nothing: whether values of a transformation share elements is polyad's own matter; write to copies",
    "packbits": BITS,
    "unpackbits": BITS,
    "bitwise_count": BITS,
    "poly": "polyad.polymul of the factors (1, -root) one after the other",
    "polydiv": "polyad.linalg.solve with the matrix of the divisor, or a loop",
    "polyfit": "polyad.linalg.lstsq(polyad.vander(x, deg + 1), y)",
    "roots": "polyad.linalg.eigvals of the companion matrix",
    "sort_complex": "polyad.sort(x.real) or polyad.lexsort",
    "trim_zeros": "a slice; how many zeros there are depends on the values",
    "spacing": "polyad.nextafter(x, inf) - x",
    "isnat": DATES,
    "divmod": "polyad.floor_divide and polyad.remainder",
    "clip": "polyad.clip(x, min, max)",
    **dict.fromkeys(("fromfile", "genfromtxt", "loadtxt", "save", "savetxt", "savez", "savez_compressed"), FILES),
    **dict.fromkeys(("busday_count", "busday_offset", "is_busday", "datetime_as_string"), DATES),
    **{f"lib.scimath.{name}": f"polyad.{name} of x.astype(complex)" for name in (
        "arccos", "arcsin", "arctanh", "log", "log10", "log2", "power", "sqrt")},
    "lib.scimath.logn": "polyad.log(x.astype(complex)) / polyad.log(n)",
}  # fmt: skip


STRINGS = frozenset(
    ("count", "endswith", "find", "index", "isalnum", "isalpha", "isdecimal", "isdigit", "islower", "isnumeric", "isspace",
     "istitle", "isupper", "rfind", "rindex", "startswith", "str_len")
)  # fmt: skip


def alternative(name):
    """Return what to use instead of `np.<name>`, or None."""
    if name.startswith("lib.recfunctions."):
        return FIELDS
    if name.startswith(("char.", "strings.", "_")) or name in STRINGS:
        return TEXT
    if name.startswith("polynomial."):
        return "polyad.polyval, whose coefficients begin with the highest power, or polyad.einsum with polyad.vander"
    return ALTERNATIVES.get(name.partition(".")[0] if name.endswith((".at", ".reduce", ".accumulate", ".reduceat", ".outer"))
                            else name)  # fmt: skip
