"""The set for CI: for each operation few cases, in which each two levels of two factors meet."""

import zlib

from .cases import Case, Refused, build, smooth, subjects
from .covering import covering

SIZES = {"few": (3, 1, 8, 2, 9, 7), "many": (17, 300, 16, 1000, 33, 255, 20000)}
DTYPES = {"usual": ("f8", "f4", "c16"), "other": ("f2", "c8", ">f8", "u1", "i4", "?", "i8", ">c16", "u8", "i1", ">f4", ">i4")}
LAYOUTS = {
    "plain": ("plain", "readonly", "offset"),
    "strided": ("fortran", "broadcast", "gaps", "reverse", "unaligned", "swapped", "repeated"),
}
MODES = {"value": ("value",), "derivative": ("gradient", "tangent", "gradient")}
LEVELS = (SIZES, DTYPES, LAYOUTS, MODES)


def calls_of(name, count):
    """The calls of one operation. count: of its samples."""
    found, tries = [], 0

    def accepts(row):
        nonlocal tries
        for _ in range(4):
            tries += 1
            chosen = lambda k, members: members[zlib.crc32(f"{name} {tries} {k}".encode()) % len(members)]
            members = [chosen(k, levels[level]) for k, (levels, level) in enumerate(zip(LEVELS, row))]
            try:
                found.append(build(Case(name, tries % count, *members, seed=tries)))
                return True
            except Refused:
                continue
        return False

    covering([SIZES, DTYPES, LAYOUTS, MODES if smooth(name) else ("value",)], accepts)
    return found


def empty(name, count):
    """The call of an operation with arrays without elements, or None."""
    for k in range(count):
        try:
            return build(Case(name, k, 0, "f8", "plain", "value"))
        except Refused:
            continue
    return None


def names():
    """(operation, number of its samples), without the products, which have a set of their own."""
    return sorted([item for item in subjects().items() if not item[0].startswith("product")])
