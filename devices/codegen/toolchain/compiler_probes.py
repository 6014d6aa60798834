"""What a compiler is known to get wrong, tried once for each compiler and processor before its results are used.

gcc 12 with -fno-trapping-math confuses two choices in a loop that hang on the same equality of complex numbers, and what is
computed is wrong in silence. Our C avoids the form (helpers.py). Whether the forms it has are safe with a compiler is seen by
compiling loops of them and looking at their results; where they are not, the option is left out, which costs loops with choices
up to ten times their time. Arithmetic on small whole numbers is exact, so the right results are known.
"""

import hashlib
import re
import tempfile
import threading
from pathlib import Path

from ...compilers import compile_c, compiler_version, flag_sets, processor
from ..text.helper_functions import HELPERS
from ..text.math_functions import Functions
from ..text.scalars import code, ctype, literal
from .dynamic_loading import Opened

RISKY = ("-fno-trapping-math",)
COUNT = 9  # elements: whole vectors, and one that is left over
HEAD = """\
#include <stdint.h>
#define complex _Complex
#define CMPLX(a, b) ((a) + (b) * 1.0i)
#define CMPLXF(a, b) ((a) + (b) * 1.0if)"""
LOOP = """
__attribute__((noinline)) static void loop_CODE(int n, const T *a, const T *b, const T *c, T *p, T *q) {
  #pragma omp simd
  for (int i = 0; i < n; i++) {
    T x = a[i];
    p[i] = UNLESS_ZERO(x, MULTIPLY(x, b[i]));
    q[i] = UNLESS_ZERO(x, MULTIPLY(x, c[i]));
  }
}
static int wrong_CODE(void) {
  static const T a[] = {A}, b[] = {B}, c[] = {C}, right[] = {RIGHT};
  static T made[2 * COUNT];
  const T *volatile x = a, *volatile y = b, *volatile z = c;
  T *volatile m = made;
  volatile int n = COUNT;
  loop_CODE(n, x, y, z, m, m + n);
  return __builtin_memcmp(made, right, sizeof made) != 0;
}
"""


def text():
    """C of the probe, whose `wrong()` is 0 where a compiler is right."""
    functions, loops = Functions(), []
    a, b, c = data()
    rows = {"A": a, "B": b, "C": c, "RIGHT": [x * y for y in (b, c) for x, y in zip(a, y)]}
    for char in "DF":
        found = LOOP.replace("CODE", code(char)).replace("COUNT", str(COUNT))
        for name in ("unless_zero", "multiply"):
            found = found.replace(name.upper(), functions.word(name, char))
        found = re.sub(r"\bT\b", ctype(char), found)
        for name, numbers in rows.items():
            found = found.replace(f"{{{name}}}", f"{{{', '.join(str(literal(x, char)) for x in numbers)}}}")
        loops.append(found)
    return "\n".join([HEAD, functions.text, *loops, "int wrong(void) { return wrong_c16() | wrong_c8(); }\n"])


def data():
    """Three rows of small whole numbers, some of them zeros: all products are exact, and no zero is negative."""
    a = [(k % 3) + (k % 3) * 2j for k in range(COUNT)]
    return a, [k + 1.0 + 1j for k in range(COUNT)], [2.0 * k + 3j for k in range(COUNT)]


_known = {}  # command of a compiler -> whether it is right
_lock = threading.Lock()


def verdict(words, cache):
    """Return whether a compiler is right with all options: as noted in the directory of libraries, None if not tried."""
    if words not in _known:
        noted = cache.note(_key(words))
        if noted is None:
            return None
        _known[words] = noted == "right"
    return _known[words]


def settle(words, cache):
    """Try a compiler, unless that was done, and note what came of it. One that cannot be tried is taken to be wrong here."""
    with _lock:
        if verdict(words, cache) is not None:
            return
        wrong = _tried(words, cache)
        _known[words] = wrong == 0
        if wrong is not None:
            cache.write_note(_key(words), "wrong" if wrong else "right")


def _tried(words, cache):
    """Return what the probe's `wrong()` says, compiled by the first options with which it is; None where it cannot be."""
    try:
        with tempfile.TemporaryDirectory(prefix="new-", dir=cache.path) as folder:
            source, target = Path(folder) / "probe.c", Path(folder) / "probe.so"
            source.write_text(text())
            if all(compile_c(words, flags, source, target) is not None for flags in flag_sets(words)):
                return None
            return Opened(target).library.wrong()
    except OSError:
        return None


def _key(words):
    flags = flag_sets(words)[0]
    parts = LOOP, HELPERS["unless_zero", "c"], " ".join(words), " ".join(flags), compiler_version(words), processor()
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def in_child():
    """After a fork: a lock that another thread held is free."""
    global _lock
    _lock = threading.Lock()


def without(flags):
    """These options without those that are known to go wrong."""
    return tuple(flag for flag in flags if flag not in RISKY)
