/* CUDA's language on a host: blocks one after the other, the threads of a block as coroutines that stop at barriers. They run
   in turns in both directions, so that a missing barrier shows. Atomics need nothing, for one thread runs at a time. */
#include <math.h>
#include <cmath>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

struct position { unsigned x, y, z; };
static position threadIdx, blockIdx, blockDim, gridDim;
#define __global__
#define __device__
#define __shared__ static

static ucontext_t scheduler, coroutines[1024];
static char *stacks[1024];
static bool ended[1024];
static void (*entry)(void **);
static void **arguments;
enum { STACK = 256 * 1024 };

static void __syncthreads() { swapcontext(&coroutines[threadIdx.x], &scheduler); }
static void one_thread() { entry(arguments); ended[threadIdx.x] = true; }

static void run_block(bool barriers) {
  unsigned n = blockDim.x;
  if (!barriers) { for (unsigned t = 0; t < n; t++) { threadIdx.x = t; entry(arguments); } return; }
  for (unsigned t = 0; t < n; t++) {
    if (!stacks[t]) stacks[t] = (char *)malloc(STACK);
    ended[t] = false;
    getcontext(&coroutines[t]);
    coroutines[t].uc_stack.ss_sp = stacks[t];
    coroutines[t].uc_stack.ss_size = STACK;
    coroutines[t].uc_link = &scheduler;
    makecontext(&coroutines[t], one_thread, 0);
  }
  for (unsigned left = n, round = 0; left; round++)
    for (unsigned k = 0; k < n; k++) {
      unsigned t = round % 2 ? k : n - 1 - k;
      if (ended[t]) continue;
      threadIdx.x = t;
      swapcontext(&scheduler, &coroutines[t]);
      left -= ended[t];
    }
}

static void launch(void (*kernel)(void **), void **args, unsigned x, unsigned y, unsigned threads, bool barriers) {
  entry = kernel;
  arguments = args;
  gridDim.x = x; gridDim.y = y; blockDim.x = threads;
  for (blockIdx.y = 0; blockIdx.y < y; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < x; blockIdx.x++) run_block(barriers);
}

template <class T> static T atomicAdd(T *p, T v) { T old = *p; *p = old + v; return old; }
template <class T> static T atomicMax(T *p, T v) { T old = *p; if (v > old) *p = v; return old; }
template <class T> static T atomicCAS(T *p, T seen, T v) { T old = *p; if (old == seen) *p = v; return old; }

/* CUDA's library beyond C's; these here are right, not fast */
static double inverse(double (*f)(double), double y, double low, double high) {
  for (int i = 0; i < 200; i++) { double m = low + (high - low) / 2; if (f(m) < y) low = m; else high = m; }
  return low;
}
static double minus_erfc(double x) { return -erfc(x); }
static double erfinv(double y) { return fabs(y) < 1 ? inverse(erf, y, -7, 7) : fabs(y) == 1 ? y * INFINITY : NAN; }
static double erfcinv(double y) {
  return y > 0 && y < 2 ? inverse(minus_erfc, -y, -7, 28) : y == 0 ? INFINITY : y == 2 ? -INFINITY : NAN;
}
static double erfcx(double x) { return x < 25 ? exp(x * x) * erfc(x) : 0.5641895835477563 / (x + 0.5 / (x + 1 / (x + 1.5 / x))); }
static double normcdf(double x) { return erfc(-x / 1.4142135623730951) / 2; }
static double normcdfinv(double p) { return -1.4142135623730951 * erfcinv(2 * p); }
static double cyl_bessel_i0(double x) { return fabs(x) < 700 ? std::cyl_bessel_i(0.0, fabs(x)) : x != x ? x : INFINITY; }
static double cyl_bessel_i1(double x) {
  return copysign(fabs(x) < 700 ? std::cyl_bessel_i(1.0, fabs(x)) : x != x ? x : INFINITY, x);
}
static float erfinvf(float x) { return erfinv(x); }
static float erfcinvf(float x) { return erfcinv(x); }
static float erfcxf(float x) { return erfcx(x); }
static float normcdff(float x) { return normcdf(x); }
static float normcdfinvf(float x) { return normcdfinv(x); }
static float cyl_bessel_i0f(float x) { return cyl_bessel_i0(x); }
static float cyl_bessel_i1f(float x) { return cyl_bessel_i1(x); }
