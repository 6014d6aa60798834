"""What every CUDA source begins with: names of C's types in C++, complex numbers, sums in memory that many threads share.

NVRTC has no headers, so nothing is included. Where a function of complex numbers has special values they are C99's, Annex G.
"""

HEAD = r"""
#define int8_t signed char
#define int16_t short
#define int32_t int
#define int64_t long long
#define uint8_t unsigned char
#define uint16_t unsigned short
#define uint32_t unsigned int
#define uint64_t unsigned long long
#define INT64_MIN (-9223372036854775807LL - 1)
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif
#define _Bool bool
#define FN static __device__ inline
"""

COMPLEX = r"""
template <class R> struct cplx {
  R re, im;
  __device__ cplx(R re = 0, R im = 0) : re(re), im(im) {}
  template <class S> __device__ explicit cplx(cplx<S> z) : re((R)z.re), im((R)z.im) {}
  __device__ explicit operator bool() const { return re != 0 || im != 0; }
  friend __device__ cplx operator+(cplx a, cplx b) { return cplx(a.re + b.re, a.im + b.im); }
  friend __device__ cplx operator-(cplx a, cplx b) { return cplx(a.re - b.re, a.im - b.im); }
  friend __device__ cplx operator-(cplx a) { return cplx(-a.re, -a.im); }
  friend __device__ cplx operator*(cplx a, cplx b) { return cplx(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
  friend __device__ cplx operator/(cplx a, cplx b) { /* Smith, Comm. ACM 5, 1962 */
    if (fabs(b.re) >= fabs(b.im)) {
      if (b.re == 0 && b.im == 0) return cplx(a.re / fabs(b.re), a.im / fabs(b.re));
      R t = b.im / b.re, d = 1 / (b.re + b.im * t);
      return cplx((a.re + a.im * t) * d, (a.im - a.re * t) * d);
    }
    R t = b.re / b.im, d = 1 / (b.im + b.re * t);
    return cplx((a.re * t + a.im) * d, (a.im * t - a.re) * d);
  }
  friend __device__ bool operator==(cplx a, cplx b) { return a.re == b.re && a.im == b.im; }
  friend __device__ bool operator!=(cplx a, cplx b) { return a.re != b.re || a.im != b.im; }
};
typedef cplx<float> c8;
typedef cplx<double> c16;
#define CMPLXF(a, b) c8(a, b)
#define CMPLX(a, b) c16(a, b)
#define CFN template <class R> static __device__ inline
CFN R creal(cplx<R> z) { return z.re; }
CFN R crealf(cplx<R> z) { return z.re; }
CFN R cimag(cplx<R> z) { return z.im; }
CFN R cimagf(cplx<R> z) { return z.im; }
CFN cplx<R> conj(cplx<R> z) { return cplx<R>(z.re, -z.im); }
CFN R cabs(cplx<R> z) { return hypot(z.re, z.im); }
CFN R carg(cplx<R> z) { return atan2(z.im, z.re); }
CFN cplx<R> cexp(cplx<R> z) {
  if (z.im == 0) return cplx<R>(exp(z.re), z.im);
  if (fabs(z.re) == (R)INFINITY && !(fabs(z.im) < (R)INFINITY)) return z.re < 0 ? cplx<R>(0, 0) : cplx<R>(z.re, (R)NAN);
  R h = exp(z.re / 2); /* twice, for where exp(z.re) is beyond all numbers and the result is not */
  return cplx<R>(h * cos(z.im) * h, h * sin(z.im) * h);
}
CFN cplx<R> clog(cplx<R> z) {
  R a = fabs(z.re), b = fabs(z.im), m = a > b ? a : b, n = a > b ? b : a, h = hypot(a, b), l;
  if (h > (R)0.5 && h < 2) l = log1p((m - 1) * (m + 1) + n * n) / 2;
  else if (h == (R)INFINITY && m < (R)INFINITY) l = log(hypot(a / 2, b / 2)) + (R)0.6931471805599453;
  else l = log(h);
  return cplx<R>(l, atan2(z.im, z.re));
}
CFN cplx<R> csqrt(cplx<R> z) {
  if (z.re == 0 && z.im == 0) return cplx<R>(0, z.im);
  if (fabs(z.im) == (R)INFINITY) return cplx<R>((R)INFINITY, z.im);
  if (fabs(z.re) == (R)INFINITY) {
    R other = z.im != z.im ? z.im : (R)0;
    if (z.re > 0) return cplx<R>(z.re, z.im != z.im ? z.im : copysign((R)0, z.im));
    return cplx<R>(other, copysign((R)INFINITY, z.im));
  }
  if (z.re != z.re || z.im != z.im) return cplx<R>((R)NAN, (R)NAN);
  R scale = fabs(z.re) > 1 || fabs(z.im) > 1 ? (R)0.25 : (R)(1ll << 54), back = scale < 1 ? (R)2 : (R)(1.0 / (1 << 27));
  R a = fabs(z.re) * scale, b = z.im * scale, t = sqrt((a + hypot(a, b)) / 2);
  cplx<R> y = z.re >= 0 ? cplx<R>(t, b / (2 * t)) : cplx<R>(fabs(b) / (2 * t), copysign(t, b));
  return cplx<R>(y.re * back, y.im * back);
}
CFN cplx<R> csinh(cplx<R> z) {
  if (z.im == 0) return cplx<R>(sinh(z.re), z.im);
  if (fabs(z.re) < 80) return cplx<R>(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im));
  R h = exp(fabs(z.re) / 2);
  return cplx<R>(copysign(h / 2, z.re) * cos(z.im) * h, h / 2 * sin(z.im) * h);
}
CFN cplx<R> ccosh(cplx<R> z) {
  if (z.im == 0) return cplx<R>(cosh(z.re), z.re < 0 ? -z.im : z.im);
  if (fabs(z.re) < 80) return cplx<R>(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im));
  R h = exp(fabs(z.re) / 2);
  return cplx<R>(h / 2 * cos(z.im) * h, copysign(h / 2, z.re) * sin(z.im) * h);
}
CFN cplx<R> ctanh(cplx<R> z) { /* Kahan, Branch Cuts for Complex Elementary Functions, 1987 */
  if (z.im == 0) return cplx<R>(tanh(z.re), z.im);
  if (fabs(z.re) > 40) return cplx<R>(copysign((R)1, z.re), 4 * sin(z.im) * cos(z.im) * exp(-2 * fabs(z.re)));
  R t = tan(z.im), b = 1 + t * t, s = sinh(z.re), r = sqrt(1 + s * s), d = 1 + b * s * s;
  return cplx<R>(b * r * s / d, t / d);
}
CFN cplx<R> csin(cplx<R> z) { cplx<R> y = csinh(cplx<R>(-z.im, z.re)); return cplx<R>(y.im, -y.re); }
CFN cplx<R> ccos(cplx<R> z) { return ccosh(cplx<R>(-z.im, z.re)); }
CFN cplx<R> ctan(cplx<R> z) { cplx<R> y = ctanh(cplx<R>(-z.im, z.re)); return cplx<R>(y.im, -y.re); }
"""

ATOMICS = r"""
FN void add_at(float *p, float v) { atomicAdd(p, v); }
FN void add_at(double *p, double v) { atomicAdd(p, v); }
FN void add_at(int *p, int v) { atomicAdd(p, v); }
FN void add_at(unsigned *p, unsigned v) { atomicAdd(p, v); }
FN void add_at(unsigned long long *p, unsigned long long v) { atomicAdd(p, v); }
FN void add_at(long long *p, long long v) { atomicAdd((unsigned long long *)p, (unsigned long long)v); }
/* one or two bytes: within the word around them; memory is given out in whole words */
template <class T> static __device__ inline void add_within(T *p, T v) {
  unsigned shift = (unsigned)((uint64_t)p & 3) * 8, mask = (sizeof(T) == 1 ? 255u : 65535u) << shift;
  unsigned *word = (unsigned *)((uint64_t)p & ~(uint64_t)3), seen = *word, before;
  do {
    before = seen;
    unsigned sum = (((before & mask) >> shift) + (unsigned)v) << shift;
    seen = atomicCAS(word, before, (before & ~mask) | (sum & mask));
  } while (seen != before);
}
FN void add_at(int8_t *p, int8_t v) { add_within(p, v); }
FN void add_at(int16_t *p, int16_t v) { add_within(p, v); }
FN void add_at(uint8_t *p, uint8_t v) { add_within(p, v); }
FN void add_at(uint16_t *p, uint16_t v) { add_within(p, v); }
"""

COMPLEX_ATOMICS = "template <class R> static __device__ inline void add_at(cplx<R> *p, cplx<R> v)"
COMPLEX_ATOMICS += " { atomicAdd(&p->re, v.re); atomicAdd(&p->im, v.im); }\n"


def prelude(complex_, atomic):
    """The beginning of a source, no more than it needs, for compiling takes time. complex_: whether there are complex numbers;
    atomic: whether threads add to the same memory."""
    parts = [HEAD, COMPLEX if complex_ else "", ATOMICS if atomic else "", COMPLEX_ATOMICS if complex_ and atomic else ""]
    return "".join(parts)
