"""Half precision in C: numbers of 16 bits in memory, of which C computes in single precision."""

HALF = """\
static inline float half_up(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, digits = h & 1023, bits;
  float y = digits * 0x1p-24f; /* below the normal ones */
  __builtin_memcpy(&bits, &y, 4);
  if (exponent) bits = (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | digits << 13;
  bits |= sign;
  __builtin_memcpy(&y, &bits, 4);
  return y;
}
static inline uint16_t half_down(float x) { /* to the nearest, of two to the even one */
  uint32_t bits, sign;
  __builtin_memcpy(&bits, &x, 4);
  sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return sign | 0x7e00;
  if (bits >= 0x47800000) return sign | 0x7c00;
  if (bits < 0x38800000) {
    __builtin_memcpy(&x, &bits, 4);
    return sign | (uint16_t)__builtin_rintf(x * 0x1p24f);
  }
  return sign | (uint16_t)((bits + 0xfff + (bits >> 13 & 1) - 0x38000000) >> 13);
}
"""
