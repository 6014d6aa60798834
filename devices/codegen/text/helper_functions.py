"""Helper functions in C for the words of card expressions that libm lacks, or has with other edge cases than NumPy.

(word, kind of dtypes) -> C text; see `math_functions.py` for the signs in it. Written without branches around calls, so that
the compiler can vectorize them; comparisons decide between values that are both computed.

Truth values are put together by & and |, and a complex number is chosen part by part, never as a whole: gcc 12 confuses two
choices that hang on the same equality of complex numbers in a loop (`toolchain/compiler_probes.py` looks whether a
compiler does with ours).
"""

H = "static inline"

FOR_KINDS = {  # (word, kinds of dtypes) -> C text
    # ---------------------------------------------------------------- whole numbers: what C leaves undefined is NumPy's
    # (the divisor is made harmless first: compilers move divisions out of branches)
    ("floor_divide", "i"): f"{H} T NAME(T a, T b) {{ T d = (b == 0) | (b == -1) ? 1 : b, q = a / d; "
                           "q -= (T)((a % d != 0) & ((a < 0) != (d < 0))); return b == 0 ? 0 : b == -1 ? (T)-a : q; }",
    ("floor_divide", "u"): f"{H} T NAME(T a, T b) {{ T d = b == 0 ? 1 : b, q = a / d; return b == 0 ? 0 : q; }}",
    ("remainder", "i"): f"{H} T NAME(T a, T b) {{ T d = (b == 0) | (b == -1) ? 1 : b, r = a % d; "
                        "return (T)(r + ((r != 0) & ((r < 0) != (d < 0)) ? d : 0)); }",
    ("remainder", "u"): f"{H} T NAME(T a, T b) {{ T d = b == 0 ? 1 : b; return (T)(a % d); }}",
    ("fmod", "i"): f"{H} T NAME(T a, T b) {{ T d = (b == 0) | (b == -1) ? 1 : b; return (T)(a % d); }}",
    ("fmod", "u"): f"{H} T NAME(T a, T b) {{ T d = b == 0 ? 1 : b; return (T)(a % d); }}",
    ("pow", "iu"): f"{H} T NAME(T a, T b) {{ T y = 1; while (b > 0) {{ if (b & 1) y = (T)(y * a); a = (T)(a * a); b >>= 1; }}"
                   " return y; }",
    ("abs", "i"): f"{H} T NAME(T a) {{ return a < 0 ? (T)-a : a; }}",
    ("abs", "u"): f"{H} T NAME(T a) {{ return a; }}",
    ("abs", "b"): f"{H} T NAME(T a) {{ return a; }}",
    ("shift_left", "iu"): f"{H} T NAME(T a, T b) {{ return (uint64_t)b < BITS ? (T)((uint64_t)a << b) : 0; }}",
    ("shift_right", "iu"): f"{H} T NAME(T a, T b) {{ return (uint64_t)b < BITS ? (T)(a >> b) : (T)(a < 0 ? -1 : 0); }}",
    ("positive_gcd", "iu"): "static uint64_t NAME(T a, T b) { uint64_t p = a < 0 ? -(uint64_t)a : a; "
                            "uint64_t q = b < 0 ? -(uint64_t)b : b; "
                            "while (q) { uint64_t r = p % q; p = q; q = r; } return p; }",
    ("gcd", "iu"): f"{H} T NAME(T a, T b) {{ return (T)@positive_gcd(a, b); }}",
    ("lcm", "iu"): f"{H} T NAME(T a, T b) {{ uint64_t g = @positive_gcd(a, b), p = a < 0 ? -(uint64_t)a : a; "
                   "uint64_t q = b < 0 ? -(uint64_t)b : b; return g == 0 ? 0 : (T)(p / g * q); }",
    # ---------------------------------------------------------------- real numbers
    ("abs", "f"): f"{H} T NAME(T a) {{ return @fabs(a); }}",
    ("sign", "iuf"): f"{H} T NAME(T a) {{ return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; }}",
    ("maximum", "iuf"): f"{H} T NAME(T a, T b) {{ return (a >= b) | (a != a) ? a : b; }}",
    ("minimum", "iuf"): f"{H} T NAME(T a, T b) {{ return (a <= b) | (a != a) ? a : b; }}",
    ("fmax", "f"): f"{H} T NAME(T a, T b) {{ return (a >= b) | (b != b) ? a : b; }}",
    ("fmin", "f"): f"{H} T NAME(T a, T b) {{ return (a <= b) | (b != b) ? a : b; }}",
    ("fmax", "iu"): f"{H} T NAME(T a, T b) {{ return a >= b ? a : b; }}",
    ("fmin", "iu"): f"{H} T NAME(T a, T b) {{ return a <= b ? a : b; }}",
    # p, but 0 where a is: the bits of p where others would branch, since compilers follow zeros through chains of such choices
    ("unless_zero", "f"): f"{H} T NAME(T a, T p) {{ union {{ T number; uintBITS_t bits; }} u; u.number = p; "
                          "u.bits &= -(uintBITS_t)(a != 0); return u.number; }",
    ("unless_zero", "c"): f"{H} T NAME(T a, T p) {{ union {{ R number; uintPARTS_t bits; }} u, v; u.number = __real__ p; "
                          "v.number = __imag__ p; uintPARTS_t m = -(uintPARTS_t)((__real__ a != 0) | (__imag__ a != 0)); "
                          "u.bits &= m; v.bits &= m; T y; __real__ y = u.number; __imag__ y = v.number; return y; }",
    ("unless_zero", "biu"): f"{H} T NAME(T a, T p) {{ return a == 0 ? 0 : p; }}",
    ("isnan", "f"): f"{H} _Bool NAME(T a) {{ return a != a; }}",
    ("isinf", "f"): f"{H} _Bool NAME(T a) {{ return @fabs(a) == INFINITY; }}",
    ("isfinite", "f"): f"{H} _Bool NAME(T a) {{ return @fabs(a) < INFINITY; }}",
    ("isnan", "iu"): f"{H} _Bool NAME(T a) {{ return 0; }}",
    ("isinf", "iu"): f"{H} _Bool NAME(T a) {{ return 0; }}",
    ("isfinite", "iu"): f"{H} _Bool NAME(T a) {{ return 1; }}",
    ("isnan", "b"): f"{H} _Bool NAME(T a) {{ return 0; }}",
    ("isinf", "b"): f"{H} _Bool NAME(T a) {{ return 0; }}",
    ("isfinite", "b"): f"{H} _Bool NAME(T a) {{ return 1; }}",
    ("signbit", "f"): f"{H} _Bool NAME(T a) {{ return __builtin_signbit(a) != 0; }}",
    ("floor_divide", "f"): f"{H} T NAME(T a, T b) {{ T m = @fmod(a, b); if (b == 0) return a / b; T d = (a - m) / b; "
                           "if ((m != 0) & ((b < 0) != (m < 0))) d -= 1; if (d == 0) return @copysign((T)0, a / b); "
                           "T f = @floor(d); return d - f > (T)0.5 ? f + 1 : f; }",
    ("remainder", "f"): f"{H} T NAME(T a, T b) {{ T m = @fmod(a, b); if (b == 0) return m; "
                        "if (m == 0) return @copysign((T)0, b); return (b < 0) != (m < 0) ? m + b : m; }",
    ("heaviside", "f"): f"{H} T NAME(T a, T b) {{ return a != a ? a : a == 0 ? b : a < 0 ? 0 : 1; }}",
    ("ldexp", "f"): f"{H} T NAME(T a, int64_t n) {{ int m = n > 30000 ? 30000 : n < -30000 ? -30000 : (int)n; "
                    "return (T)__builtin_ldexp(a, m); }",
    ("sinc", "f"): f"{H} T NAME(T a) {{ T z = (T)3.141592653589793 * (a == 0 ? (T)1e-20 : a); return @sin(z) / z; }}",
    # (equal ones, infinities among them, differ by 0; a choice behind the calls would be a branch around them)
    ("logaddexp", "f"): f"{H} T NAME(T a, T b) {{ T d = a == b ? 0 : a - b; "
                        "return (a > b ? a : b) + @log1p(@exp(-@fabs(d))); }",
    ("logaddexp2", "f"): f"{H} T NAME(T a, T b) {{ T d = a == b ? 0 : a - b; "
                         "return (a > b ? a : b) + (T)1.4426950408889634 * @log1p(@exp2(-@fabs(d))); }",
    ("expit", "f"): f"{H} T NAME(T a) {{ T e = @exp(-@fabs(a)); return (a >= 0 ? 1 : e) / (1 + e); }}",
    ("tanh_slope", "f"): f"{H} T NAME(T a) {{ T e = @exp(-2 * @fabs(a)), d = 1 + e; return 4 * e / (d * d); }}",
    # x in two halves, whose squares are exact (Dekker): what rounding takes from x²
    ("bell", "f"): f"{H} T NAME(T a, T c) {{ T x = a > 40 ? 40 : a < -40 ? -40 : a, s = x * x, "
                   "w = (T)(sizeof(T) == 8 ? 134217729 : 4097) * x, h = w - (w - x), y = @exp(c * s); "
                   "return y + y * (c * ((h * h - s) + (x - h) * (h + x))); }",
    ("xlogy", "f"): f"{H} T NAME(T a, T b) {{ T y = a * @log(b); return (a == 0) & (b == b) ? 0 : y; }}",
    ("xlog1py", "f"): f"{H} T NAME(T a, T b) {{ T y = a * @log1p(b); return (a == 0) & (b == b) ? 0 : y; }}",
    ("entr", "f"): f"{H} T NAME(T a) {{ T y = -a * @log(a); return a != a ? a : a > 0 ? y : a == 0 ? 0 : -INFINITY; }}",
    ("angle", "f"): f"{H} T NAME(T a) {{ return @atan2(0, a); }}",
    # ---------------------------------------------------------------- complex numbers
    ("multiply", "c"): f"{H} T NAME(T a, T b) {{ R p = __real__ a, q = __imag__ a, r = __real__ b, s = __imag__ b; "
                       "T y; __real__ y = p * r - q * s; __imag__ y = p * s + q * r; return y; }",
    # Smith's method (Comm. ACM 5, 1962), as NumPy divides
    ("divide", "c"): f"{H} T NAME(T a, T b) {{ R p = __real__ a, q = __imag__ a, r = __real__ b, s = __imag__ b; T y; "
                     "R u = %fabs(r), v = %fabs(s); if (u >= v) { if ((u == 0) & (v == 0)) { __real__ y = p / u; "
                     "__imag__ y = q / v; return y; } R t = s / r, d = 1 / (r + s * t); "
                     "__real__ y = (p + q * t) * d; __imag__ y = (q - p * t) * d; return y; } "
                     "R t = r / s, d = 1 / (s + r * t); __real__ y = (p * t + q) * d; "
                     "__imag__ y = (q * t - p) * d; return y; }",
    ("reciprocal", "c"): f"{H} T NAME(T b) {{ R r = __real__ b, s = __imag__ b; T y; "
                         "if (%fabs(s) <= %fabs(r)) { R t = s / r, d = r + s * t; __real__ y = 1 / d; __imag__ y = -t / d; "
                         "return y; } R t = r / s, d = r * t + s; __real__ y = t / d; __imag__ y = -1 / d; return y; }",
    ("abs", "c"): f"{H} R NAME(T a) {{ return %hypot(__real__ a, __imag__ a); }}",
    ("angle", "c"): f"{H} R NAME(T a) {{ return %atan2(__imag__ a, __real__ a); }}",
    ("isnan", "c"): f"{H} _Bool NAME(T a) {{ return (__real__ a != __real__ a) | (__imag__ a != __imag__ a); }}",
    ("isinf", "c"): f"{H} _Bool NAME(T a) {{ return (%fabs(__real__ a) == INFINITY) | (%fabs(__imag__ a) == INFINITY); }}",
    ("isfinite", "c"): f"{H} _Bool NAME(T a) {{ return (%fabs(__real__ a) < INFINITY) & (%fabs(__imag__ a) < INFINITY); }}",
    ("less", "c"): f"{H} _Bool NAME(T a, T b) {{ R p = __real__ a, q = __imag__ a, r = __real__ b, s = __imag__ b; "
                   "return ((p < r) & (q == q) & (s == s)) | ((p == r) & (q < s)); }",
    ("less_equal", "c"): f"{H} _Bool NAME(T a, T b) {{ R p = __real__ a, q = __imag__ a, r = __real__ b, s = __imag__ b; "
                         "return ((p < r) & (q == q) & (s == s)) | ((p == r) & (q <= s)); }",
    ("nonzero", "c"): f"{H} _Bool NAME(T a) {{ return (__real__ a != 0) | (__imag__ a != 0); }}",
    ("equal", "c"): f"{H} _Bool NAME(T a, T b) {{ return (__real__ a == __real__ b) & (__imag__ a == __imag__ b); }}",
    ("select", "c"): f"{H} T NAME(_Bool c, T a, T b) {{ R p = __real__ a, q = __imag__ a, r = __real__ b, s = __imag__ b; "
                     "T y; __real__ y = c ? p : r; __imag__ y = c ? q : s; return y; }",
    ("maximum", "c"): f"{H} T NAME(T a, T b) {{ return @select(@isnan(a) | (!@isnan(b) & @less_equal(b, a)), a, b); }}",
    ("minimum", "c"): f"{H} T NAME(T a, T b) {{ return @select(@isnan(a) | (!@isnan(b) & @less_equal(a, b)), a, b); }}",
    ("fmax", "c"): f"{H} T NAME(T a, T b) {{ return @select(@isnan(b) | (!@isnan(a) & @less_equal(b, a)), a, b); }}",
    ("fmin", "c"): f"{H} T NAME(T a, T b) {{ return @select(@isnan(b) | (!@isnan(a) & @less_equal(a, b)), a, b); }}",
    ("expit", "c"): f"{H} T NAME(T a) {{ _Bool right = __real__ a >= 0; T e = @exp(@select(right, -a, a)), d = e; "
                    "__real__ d += 1; T one; __real__ one = 1; __imag__ one = 0; return @divide(@select(right, one, e), d); }",
    ("log1p", "c"): f"{H} T NAME(T a) {{ R l = %hypot(__real__ a + 1, __imag__ a); T y; __real__ y = %log(l); "
                    "__imag__ y = %atan2(__imag__ a, __real__ a + 1); return y; }",
    ("log2", "c"): f"{H} T NAME(T a) {{ T y = @log(a); __real__ y *= (R)1.4426950408889634; "
                   "__imag__ y *= (R)1.4426950408889634; return y; }",
    ("log10", "c"): f"{H} T NAME(T a) {{ T y = @log(a); __real__ y *= (R)0.4342944819032518; "
                    "__imag__ y *= (R)0.4342944819032518; return y; }",
    ("exp2", "c"): f"{H} T NAME(T a) {{ __real__ a *= (R)0.6931471805599453; __imag__ a *= (R)0.6931471805599453; "
                   "return @exp(a); }",
}  # fmt: skip
HELPERS = {(word, kind): text for (word, kinds), text in FOR_KINDS.items() for kind in kinds}
