"""Places in order: each row's keys are taken with their places into a buffer, and sorted there.

Numbers become unsigned integers of the same order, with all that is not a number behind everything else and -0.0 beside 0.0.
So the same C sorts whatever the dtype, in two widths and stable: few by insertion, more by merging, long rows byte by byte.
Measured on numbers in no order, that is 2 to 7 times as fast as NumPy's stable sort, which programs called before, at any
length from 3 to 1 000 000 (1.2 times for integers of up to 16 bits), so that no length is left to NumPy. Only long rows that
are nearly in order NumPy sorts faster.
"""

from ....dsl import operations
from ...lowering import lowering
from ..text.expressions import Name, c, call
from ..text.scalars import Unsupported, code, ctype
from ..text.statements import NO_MEMORY, Array, Assign, Block, Do, If, Local, count, scope
from .scans import Scan, flattened, line

ON_STACK = 16 * 1024  # bytes of a row's buffer that lie on the stack
LONGEST = 1 << 31  # elements of a row: their places fit beside keys of 32 bits

RUN = 8  # elements that are sorted by insertion
LONG = 64  # elements for each byte of a number from which on it is faster to sort by bytes

# Written out as it is, this has nothing for gcc to vectorize: with -O2 it is as fast, and compiles in less time.
ITEM = """
#if defined(__clang__) || !defined(__GNUC__)
#define SORTS
#else
#define SORTS __attribute__((noinline, optimize("O2")))
#endif
typedef struct { KEY key, place; } item_CODE;"""
INSERTED = """
static SORTS item_CODE *inserted_CODE(int64_t n, item_CODE *x) {
  for (int64_t i = 1; i < n; i++) {
    item_CODE v = x[i];
    int64_t j = i;
    for (; j > 0 && v.key < x[j - 1].key; j--) x[j] = x[j - 1];
    x[j] = v;
  }
  return x;
}"""
# two neighbours at a time, from both ends at once: no branch depends on the data as long as neither is at its end
MERGED = """
static SORTS void together_CODE(const item_CODE *a, int64_t n, int64_t m, item_CODE *o) {
  const item_CODE *b = a + n, *ae = b - 1, *be = b + m - 1;
  item_CODE *e = o + n + m - 1;
  for (int64_t k = n < m ? n : m; k > 0; k--) {
    int64_t later = b->key < a->key, sooner = be->key < ae->key;
    const item_CODE *first = later ? b : a, *last = sooner ? ae : be;
    *o++ = *first; b += later; a += 1 - later;
    *e-- = *last; ae -= sooner; be -= 1 - sooner;
  }
  while (a <= ae && b <= be) *o++ = b->key < a->key ? *b++ : *a++;
  while (a <= ae) *o++ = *a++;
  while (b <= be) *o++ = *b++;
}
static SORTS item_CODE *merged_CODE(int64_t n, item_CODE *x) {
  item_CODE *y = x + n;
  for (int64_t i = 0; i < n; i += RUN) inserted_CODE(n - i < RUN ? n - i : RUN, x + i);
  for (int64_t w = RUN; w < n; w *= 2) {
    for (int64_t i = 0; i < n; i += 2 * w) {
      int64_t p = n - i < w ? n - i : w, q = n - i - p < w ? n - i - p : w;
      if (!q || x[i + p - 1].key <= x[i + p].key) __builtin_memcpy(y + i, x + i, (p + q) * sizeof *x);
      else together_CODE(x + i, p, q, y + i);
    }
    item_CODE *t = x; x = y; y = t;
  }
  return x;
}"""
# by as many bytes as the numbers have, from the last one on, but for those that all keys share
BYTES = """
static SORTS item_CODE *bytes_CODE_MANY(int64_t n, item_CODE *x) {
  item_CODE *y = x + n;
  uint32_t count[MANY][256];
  int64_t k = 1;
  while (k < n && x[k - 1].key <= x[k].key) k++;
  if (k >= n) return x; /* in order already */
  __builtin_memset(count, 0, sizeof count);
  for (int64_t i = 0; i < n; i++) for (unsigned d = 0; d < MANY; d++) count[d][x[i].key >> 8 * d & 255]++;
  for (unsigned d = 0; d < MANY; d++) {
    uint32_t *c = count[d], start = 0;
    if (c[x[0].key >> 8 * d & 255] == n) continue;
    for (int q = 0; q < 256; q++) { uint32_t many = c[q]; c[q] = start; start += many; }
    for (int64_t i = 0; i < n; i++) y[c[x[i].key >> 8 * d & 255]++] = x[i];
    item_CODE *t = x; x = y; y = t;
  }
  return x;
}"""
FLOATING = """
static inline KEY key_CODE(TYPE v) {
  SIGNED bits;
  v += 0; /* -0.0 becomes 0.0 */
  __builtin_memcpy(&bits, &v, sizeof v);
  return v != v ? (KEY)-1 : (KEY)(bits ^ (bits >> (8 * sizeof v - 1) & (SIGNED)((KEY)-1 >> 1))) ^ (KEY)1 << (8 * sizeof v - 1);
}"""


@lowering(operations["argsort"], memory=lambda e: flattened(e, -1))
def argsort(e, graph):
    """Places that sort each row along an axis."""
    graph.functions.host_only()
    x, axis = line(e, graph, -1)
    dtype, n, out = x.aval.dtype, x.aval.shape[axis], e.outputs[0]
    if dtype.kind not in "biuf" or n >= LONGEST:
        raise Unsupported("an order of complex numbers")
    key, bits = _key(dtype, e.params.get("descending", False), graph.functions), 64 if dtype.itemsize == 8 else 32
    item, sorter = f"item_u{bits}", _sorter(n, dtype, bits, graph.functions.defined)
    size = 2 * max(n, 1) * bits // 4  # bytes: every element twice, with its place

    def make(body, idx, counter):
        value = body.at(x, idx, dtype)
        target, row = body.access(graph.buffers[out], idx), lambda name, member: c(f"{{}}[{{}}].{member}", Name(name), counter)
        step = [Assign(row("row", "key"), c(key, value)), Assign(row("row", "place"), counter)]
        done = Local(f"{item} *", "in_order", call(sorter, n, Name("row")))
        put = count(counter.name, 0, n, [Assign(target, row("in_order", "place"))])
        if size <= ON_STACK:
            return step, lambda loop: [Array(item, "row", 2 * max(n, 1)), scope(*loop, done, put)]
        space, rows = Local("char *", "space", call("taken", size)), Local(f"{item} *", "row", c("(void *){}", Name("space")))
        missing, back = If(c("!{}", Name("row")), [NO_MEMORY]), Do(call("given", Name("space"), size))
        return step, lambda loop: [space, rows, missing, Block("else", [*loop, done, put, back])]

    scan = Scan(e, graph, x, axis, make)
    scan.steps = 0  # the sorter takes memory
    scan.work = 8 + 12 * n.bit_length()
    return [scan]


def _key(dtype, descending, functions):
    """Template of C that makes of a number an unsigned integer of its size by which to sort."""
    kind, bits, turned = code(dtype), 8 * dtype.itemsize, "~" if descending else ""
    unsigned = f"(uint{bits}_t)"
    if dtype.kind == "f":
        functions.defined[f"key_{kind}"] = _filled(FLOATING, kind, bits).replace("TYPE", ctype(dtype))
        return f"{turned}key_{kind}({{}})"
    signed = f" ^ {unsigned}1 << {bits - 1}" if dtype.kind == "i" else ""
    return f"{unsigned}{turned}({unsigned}{{}}{signed})"


def _sorter(n, dtype, bits, defined):
    """The C function for so many numbers, as keys of so many bits."""
    what = "inserted" if n <= RUN else "merged" if n < LONG * dtype.itemsize else "bytes"
    needs = {"inserted": [INSERTED], "merged": [INSERTED, MERGED], "bytes": [BYTES.replace("MANY", str(dtype.itemsize))]}
    for text in (ITEM, *needs[what]):
        defined[text, bits] = _filled(text, f"u{bits}", bits)
    return f"{what}_u{bits}" + f"_{dtype.itemsize}" * (what == "bytes")


def _filled(text, name, bits):
    """C with its names and types."""
    return text.replace("KEY", f"uint{bits}_t").replace("SIGNED", f"int{bits}_t").replace("CODE", name).replace("RUN", str(RUN))
