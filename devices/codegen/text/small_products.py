"""C of products of small matrices, only what a program needs of it: rows of whole vectors, one row, any strides.

out[i, j] = sum over l of x[i, l] y[l, j]. Multiplications and additions may be contracted here, as BLAS does.
"""

from .expressions import Access, Name, c, call, joined
from .indices import Buffer
from .statements import Array, Assign, Do, Local, count

C_TYPES = {"f8": "double", "f4": "float"}
FEW = 256  # multiplications up to which a product is written out
LANES = {"f8": 8, "f4": 16}  # of the widest vectors; a multiple of these is one of the lanes of any

# Written in vectors as they are, these have nothing for gcc to vectorize: with -O2 they run as fast, and compile in a fifth of
# the time.
VECTORS = """\
typedef TYPE vec_CODE __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(TYPE))));
#define W_CODE ((int64_t)(VECTOR_BYTES / sizeof(TYPE)))
#ifndef KERNEL
#if defined(__clang__) || !defined(__GNUC__)
#define KERNEL
#else
#define KERNEL __attribute__((optimize("O2", "fp-contract=fast")))
#endif
#endif
"""

# y in rows of whole vectors: four rows of the result at a time are kept in registers
ROWS = """\
__attribute__((noinline)) KERNEL static void rows_CODE(int64_t n, int64_t w, int64_t k, const TYPE *x, int64_t xi, int64_t xl,
    const TYPE *y, int64_t yl, TYPE *o, int64_t oi, int64_t oj, int64_t m) {
  for (int64_t i = 0; i < n; i += 4) {
    int64_t r1 = i + 1 < n ? xi : 0, r2 = i + 2 < n ? 2 * xi : 0, r3 = i + 3 < n ? 3 * xi : 0, rows = n - i < 4 ? n - i : 4;
    for (int64_t j = 0; j < w; j += 2) {
      vec_CODE c[8] = {{0}};
      const TYPE *a = x + i * xi, *b = y + j * W_CODE;
      if (j + 1 < w) {
        vec_CODE c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0}, d0 = {0}, d1 = {0}, d2 = {0}, d3 = {0};
        for (int64_t l = 0; l < k; l++, a += xl, b += yl) {
          vec_CODE u = *(const vec_CODE *)b, v = *(const vec_CODE *)(b + W_CODE);
          c0 += a[0] * u; c1 += a[r1] * u; c2 += a[r2] * u; c3 += a[r3] * u;
          d0 += a[0] * v; d1 += a[r1] * v; d2 += a[r2] * v; d3 += a[r3] * v;
        }
        c[0] = c0; c[1] = d0; c[2] = c1; c[3] = d1; c[4] = c2; c[5] = d2; c[6] = c3; c[7] = d3;
      } else {
        vec_CODE c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0};
        for (int64_t l = 0; l < k; l++, a += xl, b += yl) {
          vec_CODE u = *(const vec_CODE *)b;
          c0 += a[0] * u; c1 += a[r1] * u; c2 += a[r2] * u; c3 += a[r3] * u;
        }
        c[0] = c0; c[2] = c1; c[4] = c2; c[6] = c3;
      }
      int64_t columns = m - j * W_CODE < 2 * W_CODE ? m - j * W_CODE : 2 * W_CODE;
      TYPE *to = o + i * oi + j * W_CODE * oj;
      if (oj == 1 && columns == 2 * W_CODE) for (int64_t r = 0; r < rows; r++, to += oi) {
        *(vec_CODE *)to = c[2 * r];
        *(vec_CODE *)(to + W_CODE) = c[2 * r + 1];
      }
      else for (int64_t r = 0; r < rows; r++, to += oi)
        for (int64_t q = 0; q < columns; q++) { to[q * oj] = ((const TYPE *)(c + 2 * r))[q]; }
    }
  }
}
"""

# one row of x: y is read as it lies
ROW = """\
KERNEL static void row_CODE(int64_t m, int64_t k, const TYPE *x, int64_t xl, const TYPE *y, int64_t yl, TYPE *o, int64_t oj) {
  int64_t j = 0;
  for (; j + 8 * W_CODE <= m; j += 8 * W_CODE) {
    vec_CODE c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0}, c4 = {0}, c5 = {0}, c6 = {0}, c7 = {0};
    for (int64_t l = 0; l < k; l++) {
      TYPE a = x[l * xl];
      const vec_CODE *b = (const vec_CODE *)(y + l * yl + j);
      c0 += a * b[0]; c1 += a * b[1]; c2 += a * b[2]; c3 += a * b[3];
      c4 += a * b[4]; c5 += a * b[5]; c6 += a * b[6]; c7 += a * b[7];
    }
    vec_CODE c[8] = {c0, c1, c2, c3, c4, c5, c6, c7};
    if (oj == 1) __builtin_memcpy(o + j, c, sizeof c);
    else for (int64_t q = 0; q < 8 * W_CODE; q++) { o[(j + q) * oj] = ((const TYPE *)c)[q]; }
  }
  for (; j + W_CODE <= m; j += W_CODE) {
    vec_CODE c = {0};
    for (int64_t l = 0; l < k; l++) c += x[l * xl] * *(const vec_CODE *)(y + l * yl + j);
    for (int64_t q = 0; q < W_CODE; q++) { o[(j + q) * oj] = ((const TYPE *)&c)[q]; }
  }
  for (; j < m; j++) {
    TYPE s = 0;
    for (int64_t l = 0; l < k; l++) { s += x[l * xl] * y[l * yl + j]; }
    o[j * oj] = s;
  }
}
"""

# any strides: y is packed into rows of whole vectors
PACKED = """\
KERNEL static void packed_CODE(int64_t n, int64_t m, int64_t k, const TYPE *x, int64_t xi, int64_t xl,
    const TYPE *y, int64_t yl, int64_t yj, TYPE *o, int64_t oi, int64_t oj) {
  enum { PACK = 16384 / sizeof(TYPE) };
  TYPE pack[PACK];
  int64_t w = (m + W_CODE - 1) / W_CODE, most = PACK / (k > 0 ? k : 1) / W_CODE;
  if (most < 1) { /* a long inner axis */
    for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j < m; j++) {
      TYPE s = 0;
      for (int64_t b = 0; b < k; b += 4096) { /* in blocks, of which the sums are added */
        TYPE c[8] = {0};
        int64_t end = b + 4096 < k ? b + 4096 : k;
        for (int64_t l = b; l < end; l++) c[l & 7] += x[i * xi + l * xl] * y[l * yl + j * yj];
        s += ((c[0] + c[1]) + (c[2] + c[3])) + ((c[4] + c[5]) + (c[6] + c[7]));
      }
      o[i * oi + j * oj] = s;
    }
    return;
  }
  for (int64_t j = 0; j < w; j += most) {
    int64_t vectors = w - j < most ? w - j : most, width = vectors * W_CODE, columns = m - j * W_CODE;
    if (columns > width) columns = width;
    for (int64_t l = 0; l < k; l++) {
      const TYPE *from = y + l * yl + j * W_CODE * yj;
      TYPE *to = pack + l * width;
      if (yj == 1) __builtin_memcpy(to, from, columns * sizeof *to);
      else for (int64_t q = 0; q < columns; q++) { to[q] = from[q * yj]; }
      for (int64_t q = columns; q < width; q++) { to[q] = 0; }
    }
    rows_CODE(n, vectors, k, x, xi, xl, pack, width, o + j * W_CODE * oj, oi, oj, columns);
  }
}
"""
PARTS = {"rows": (ROWS,), "row": (ROW,), "packed": (ROWS, PACKED)}


def written_out(n, m, k, code, x, y, o, strides):
    """Statements for a few elements, whose numbers compilers then know. Arguments as for `product`."""
    xi, xl, yl, yj, oi, oj = strides
    t, i, j, l = C_TYPES[code], Name("i"), Name("j"), Name("l")
    element = lambda base, *terms: c("({})[{}]", base, joined(" + ", [c("{} * {}", step, at) for step, at in terms]))
    total, first = Access(Buffer("s", None, (m,)), j), Local(t, "a", element(x, (xi, i), (xl, l)))
    add = Do(c("{} += {} * {}", total, Name("a"), element(y, (yl, l), (yj, j))))
    put = Assign(element(o, (oi, i), (oj, j)), total)
    return [count("i", 0, n, [
        Array(t, "s", m, ("0",)), count("l", 0, k, [first, count("j", 0, m, [add])]), count("j", 0, m, [put]),
    ])]  # fmt: skip


def product(n, m, k, code, x, y, o, strides):
    """(part, a call of it) for x of shape (n, k), y of (k, m) and o of (n, m), given as C, with their strides."""
    xi, xl, yl, yj, oi, oj = strides
    if n == 1 and yj == 1 and m >= 4 * LANES[code]:
        return "row", call(f"row_{code}", m, k, x, xl, y, yl, o, oj)
    if yj == 1 and m % LANES[code] == 0:
        return "rows", call(f"rows_{code}", n, f"{m} / W_{code}", k, x, xi, xl, y, yl, o, oi, oj, m)
    return "packed", call(f"packed_{code}", n, m, k, x, xi, xl, y, yl, yj, o, oi, oj)


def text(used):
    """C of the parts used. used: pairs of a code of a dtype and a part."""
    lines = []
    for code in sorted({code for code, _ in used}):
        parts = dict.fromkeys(t for c, part in sorted(used) if c == code for t in PARTS[part])
        ordered = [VECTORS, *[t for t in (ROWS, ROW, PACKED) if t in parts]]
        lines += [t.replace("CODE", code).replace("TYPE", C_TYPES[code]) for t in ordered]
    return lines
