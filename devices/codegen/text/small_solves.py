"""C functions on one small matrix, for `solving.py`."""

LARGEST = 32  # rows; beyond, the kernels of the array library are as good

# LU factors by rows with partial pivoting, of a copy of the matrix; right-hand sides go through the same steps. Returns the
# sign of the rows' order, 0 where nothing is left of a column: `strict` compares with the rounding errors of what was in it.
ELIMINATE = """
static int eliminate_CODE(int64_t n, int64_t m, TYPE *u, TYPE *x, int strict) {
  TYPE largest[LARGEST];
  int sign = 1;
  for (int64_t j = 0; j < n; j++) largest[j] = 0;
  if (strict) for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j < n; j++) {
    TYPE v = FABS(u[i * n + j]);
    largest[j] = v > largest[j] ? v : largest[j];
  }
  for (int64_t k = 0; k < n; k++) {
    int64_t p = k;
    for (int64_t i = k + 1; i < n; i++) if (FABS(u[i * n + k]) > FABS(u[p * n + k])) p = i;
    if (FABS(u[p * n + k]) <= 8 * EPSILON * largest[k]) return 0;
    if (p != k) {
      sign = -sign;
      for (int64_t j = 0; j < n; j++) { TYPE t = u[k * n + j]; u[k * n + j] = u[p * n + j]; u[p * n + j] = t; }
      for (int64_t j = 0; j < m; j++) { TYPE t = x[k * m + j]; x[k * m + j] = x[p * m + j]; x[p * m + j] = t; }
    }
    TYPE scale = 1 / u[k * n + k];
    for (int64_t i = k + 1; i < n; i++) {
      TYPE f = scale - scale == 0 ? u[i * n + k] * scale : u[i * n + k] / u[k * n + k];
      for (int64_t j = k + 1; j < n; j++) u[i * n + j] -= f * u[k * n + j];
      for (int64_t j = 0; j < m; j++) x[i * m + j] -= f * x[k * m + j];
    }
  }
  return sign;
}
static void back_CODE(int64_t n, int64_t m, const TYPE *u, TYPE *x) {
  for (int64_t i = n - 1; i >= 0; i--) {
    for (int64_t l = i + 1; l < n; l++) for (int64_t j = 0; j < m; j++) x[i * m + j] -= u[i * n + l] * x[l * m + j];
    for (int64_t j = 0; j < m; j++) x[i * m + j] /= u[i * n + i];
  }
}
static void copied_CODE(int64_t n, int64_t m, const TYPE *a, int64_t ai, int64_t aj, TYPE *u) {
  for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j < m; j++) u[i * m + j] = a[i * ai + j * aj];
}
"""

DENSE = {
    "solve": """
static int solve_CODE(int64_t n, int64_t m, const TYPE *a, int64_t ai, int64_t aj, const TYPE *b, int64_t bi, int64_t bj,
    TYPE *x) {
  TYPE u[LARGEST * LARGEST];
  copied_CODE(n, n, a, ai, aj, u);
  copied_CODE(n, m, b, bi, bj, x);
  if (!eliminate_CODE(n, m, u, x, 1)) return 1;
  back_CODE(n, m, u, x);
  return 0;
}
""",
    "inverse": """
static int inverse_CODE(int64_t n, const TYPE *a, int64_t ai, int64_t aj, TYPE *x) {
  TYPE u[LARGEST * LARGEST];
  copied_CODE(n, n, a, ai, aj, u);
  for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j < n; j++) x[i * n + j] = i == j;
  if (!eliminate_CODE(n, n, u, x, 1)) return 1;
  back_CODE(n, n, u, x);
  return 0;
}
""",
    "determinant": """
static void determinant_CODE(int64_t n, const TYPE *a, int64_t ai, int64_t aj, TYPE *y) {
  TYPE u[LARGEST * LARGEST];
  copied_CODE(n, n, a, ai, aj, u);
  TYPE d = eliminate_CODE(n, 0, u, u, 0);
  if (d != 0) for (int64_t i = 0; i < n; i++) d *= u[i * n + i];
  *y = d;
}
""",
    "logarithm": """
static void logarithm_CODE(int64_t n, const TYPE *a, int64_t ai, int64_t aj, TYPE *sign, TYPE *y) {
  TYPE u[LARGEST * LARGEST], d = 0;
  copied_CODE(n, n, a, ai, aj, u);
  int s = eliminate_CODE(n, 0, u, u, 0);
  if (s) for (int64_t i = 0; i < n; i++) {
    TYPE v = u[i * n + i];
    s = v < 0 ? -s : s;
    d += LOG(FABS(v));
  }
  *sign = d == d ? s : d;
  *y = s ? d : -INFINITY;
}
""",
    "triangular": """
static int triangular_CODE(int64_t n, int64_t m, int turned, int lower, int unit, const TYPE *a, int64_t ai, int64_t aj,
    const TYPE *b, int64_t bi, int64_t bj, TYPE *x) {
  if (turned) { int64_t t = ai; ai = aj; aj = t; }
  copied_CODE(n, m, b, bi, bj, x);
  if (!unit) for (int64_t i = 0; i < n; i++) if (a[i * (ai + aj)] == 0) return 1;
  for (int64_t k = 0; k < n; k++) {
    int64_t i = lower ? k : n - 1 - k;
    for (int64_t l = lower ? 0 : i + 1; l < (lower ? i : n); l++) {
      TYPE f = a[i * ai + l * aj];
      for (int64_t j = 0; j < m; j++) x[i * m + j] -= f * x[l * m + j];
    }
    if (!unit) for (int64_t j = 0; j < m; j++) x[i * m + j] /= a[i * (ai + aj)];
  }
  return 0;
}
""",
    "factor": """
static int factor_CODE(int64_t n, int upper, const TYPE *a, int64_t ai, int64_t aj, TYPE *y) {
  TYPE l[LARGEST * LARGEST] = {0};
  if (upper) { int64_t t = ai; ai = aj; aj = t; }
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i; j++) {
      TYPE whole = a[i * ai + j * aj], s = 0;
      for (int64_t k = 0; k < j; k++) s += l[i * n + k] * l[j * n + k];
      s = whole - s;
      if (i != j) l[i * n + j] = s / l[j * n + j];
      else if (!(s > 8 * EPSILON * whole) || s == INFINITY) return 1;
      else l[i * n + i] = SQRT(s);
    }
  }
  for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j < n; j++) y[i * n + j] = upper ? l[j * n + i] : l[i * n + j];
  return 0;
}
""",
}
WORDS = {
    "f8": {
        "TYPE": "double", "FABS": "__builtin_fabs", "SQRT": "__builtin_sqrt", "LOG": "__builtin_log",
        "EPSILON": "2.220446049250313e-16",
    },
    "f4": {
        "TYPE": "float", "FABS": "__builtin_fabsf", "SQRT": "__builtin_sqrtf", "LOG": "__builtin_logf",
        "EPSILON": "1.1920929e-7f",
    },
}  # fmt: skip


def text(used):
    """C of the functions of these pairs (name, code of a dtype)."""
    found = []
    for c in sorted({c for _, c in used}):
        parts = [ELIMINATE, *[DENSE[name] for name, other in sorted(used) if other == c]]
        filled = "".join(parts).replace("CODE", c).replace("LARGEST", str(LARGEST))
        for word, meaning in WORDS[c].items():
            filled = filled.replace(word, meaning)
        found.append(filled.replace("static ", "static __attribute__((unused)) "))
    return found
