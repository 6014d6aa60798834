"""exp and tanh in C, in line, so that loops with them are vectors without calls, on every processor
and compiler.

With n the whole number nearest to a / ln 2, exp(a) = 2**n exp(r) and |r| <= ln(2) / 2. ln 2 has two parts, and n times the
first is exact (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980). exp(r) is 1 + r + r² p(r) with the
minimax polynomial p, found by Remez's exchange: its relative error is 2**-56.3 in double and 2**-27.9 in single precision. What
rounding takes from r is added last (P. T. P. Tang, ACM Trans. Math. Softw. 15, 1989). The whole error of exp is below one
unit in the last place, that of tanh below three. 2**n is made of two factors, so that results overflow, or lose digits, in the
last multiplication only.

An argument too small for any result is taken as 0, and its last factor is 0: masks of -inf or -1e9 are many of them, and
products that vanish cost many processors a hundred cycles each.
"""

# n comes from an addition that leaves n and a bias in the last bits of a sum, where exponents of 2 are made of them
REDUCED = """\
  TYPE z = FMA_CODE(x, PER_LN2, SHIFT), n = z - SHIFT;
  TYPE first = FMA_CODE(n, -HIGH, x), second = n * LOW, r = first - second, s = r * r;
  TYPE p = first + FMA_CODE(s, POLYNOMIAL, -second);
  BITS k, h, l;
  __builtin_memcpy(&k, &z, sizeof k);
"""
FUSED = """\
#ifndef FMA_CODE
#if defined(FAST) || defined(__FMA__)
#define FMA_CODE __builtin_fmaSUFFIX
#else
#define FMA_CODE(a, b, c) ((a) * (b) + (c))
#endif
#endif
"""
TEXT = {
    "exp": """\
static inline TYPE exp_CODE(TYPE a) {
  TYPE x = a < LEAST ? 0 : a, u, v;
  x = x > MOST ? MOST : x;
REDUCED  h = k >> 1; l = (k - h) << DIGITS; h <<= DIGITS;
  __builtin_memcpy(&u, &h, sizeof u); __builtin_memcpy(&v, &l, sizeof v);
  return (1 + p) * u * (a < LEAST ? 0 : v);
}""",
    # t / (t + 2) for t = exp(2 |a|) - 1, to which p alone is added where it is small
    "tanh": """\
static inline TYPE tanh_CODE(TYPE a) {
TWICE  return __builtin_copysignSUFFIX(y, a);
}""",
    # (1 - |y|) (1 + |y|) with 1 - |y| = 2 / (t + 2): a compiler finds what it has in common with tanh(a)
    "tanh_slope": """\
static inline TYPE tanh_slope_CODE(TYPE a) {
TWICE  w = x > LIMIT ? 0 : q + q;
  return FMA_CODE(w, y, w);
}""",
}
TWICE = """\
  TYPE x = 2 * __builtin_fabsSUFFIX(a), u, t, q, y, w;
REDUCED  h = k << DIGITS;
  __builtin_memcpy(&u, &h, sizeof u);
  t = FMA_CODE(u, p, u - 1);
  q = 1 / (t + 2);
  y = x > ONE_FROM ? 1 : t * q;
"""
SHIFT = {("exp", "f8"): "0x1.80000000007fep+52", ("tanh", "f8"): "0x1.80000000003ffp+52",
         ("exp", "f4"): "0x1.8001fcp+23f", ("tanh", "f4"): "0x1.8000fep+23f"}  # fmt: skip
NUMBERS = {
    "f8": {"TYPE": "double", "BITS": "uint64_t", "DIGITS": "52", "SUFFIX": "", "FAST": "__FP_FAST_FMA",
           "LEAST": "-746.0", "MOST": "710.0", "ONE_FROM": "40.0", "LIMIT": "708.0",
           "PER_LN2": "0x1.71547652b82fep+0", "HIGH": "0x1.62e42feep-1", "LOW": "0x1.a39ef35793c76p-33"},
    "f4": {"TYPE": "float", "BITS": "uint32_t", "DIGITS": "23", "SUFFIX": "f", "FAST": "__FP_FAST_FMAF",
           "LEAST": "-104.0f", "MOST": "89.0f", "ONE_FROM": "20.0f", "LIMIT": "87.0f",
           "PER_LN2": "0x1.715476p+0f", "HIGH": "0x1.62e4p-1f", "LOW": "0x1.7f7d1cp-20f"},
}  # fmt: skip
COEFFICIENTS = {
    "f8": ("0x1.000000000000ap-1", "0x1.55555555554fap-3", "0x1.555555555087cp-5", "0x1.1111111127be6p-7",
           "0x1.6c16c1842a271p-10", "0x1.a01a012a57026p-13", "0x1.a0199a0c2eac4p-16", "0x1.71df2554c3994p-19",
           "0x1.28ad72fee4169p-22", "0x1.ad7f69b90fe09p-26"),
    "f4": ("0x1.fffffcp-2f", "0x1.555492p-3f", "0x1.5558f2p-5f", "0x1.1239e2p-7f", "0x1.6a2438p-10f"),
}  # fmt: skip


def polynomial(coefficients, x, square, fma):
    """C text of a polynomial, lowest coefficient first: the even powers and the odd ones side by side, so that fewer steps wait
    for each other."""

    def chain(terms):
        text = terms[-1]
        for c in reversed(terms[:-1]):
            text = f"{fma}({text}, {square}, {c})"
        return text

    return f"{fma}({x}, {chain(coefficients[1::2])}, {chain(coefficients[::2])})"


def exponential(name, code):
    """C text of `exp`, `tanh` or `tanh_slope`, as a function `exp_f8`, …"""
    text = FUSED + TEXT[name].replace("TWICE", TWICE).replace("REDUCED", REDUCED)
    text = text.replace("SHIFT", SHIFT[name.removesuffix("_slope"), code])
    text = text.replace("POLYNOMIAL", polynomial(COEFFICIENTS[code], "r", "s", f"FMA_{code}"))
    for word, number in NUMBERS[code].items():
        text = text.replace(word, number)
    return text.replace("CODE", code)
