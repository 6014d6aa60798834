/* CUDA's language on a host: blocks one after the other, the threads of a block as coroutines that stop at barriers. They run
   in turns in both directions, so that a missing barrier shows. Atomics need nothing, for one thread runs at a time. */
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

struct position { unsigned x, y, z; };
static position threadIdx, blockIdx, blockDim, gridDim;
#define __global__
#define __device__
#define __shared__ static

/* Switched by setjmp, without a call of the system; a coroutine waits for the next block when its thread has ended. */
static jmp_buf scheduler, coroutines[1024];
static bool started[1024], ended[1024];
static void (*entry)(void **);
static void **arguments;
enum { STACK = 256 * 1024 };

static void __syncthreads() { if (!_setjmp(coroutines[threadIdx.x])) _longjmp(scheduler, 1); }
static void one_thread() { for (;;) { entry(arguments); ended[threadIdx.x] = true; __syncthreads(); } }

static void go_on(unsigned t) {
  threadIdx.x = t;
  if (_setjmp(scheduler)) return;
  if (started[t]) _longjmp(coroutines[t], 1);
  started[t] = true;
  ucontext_t fresh;
  getcontext(&fresh);
  fresh.uc_stack.ss_sp = malloc(STACK);
  fresh.uc_stack.ss_size = STACK;
  makecontext(&fresh, one_thread, 0);
  setcontext(&fresh);
}

static void run_block(bool barriers) {
  unsigned n = blockDim.x;
  if (!barriers) { for (unsigned t = 0; t < n; t++) { threadIdx.x = t; entry(arguments); } return; }
  for (unsigned t = 0; t < n; t++) ended[t] = false;
  for (unsigned left = n, round = 0; left; round++)
    for (unsigned k = 0; k < n; k++) {
      unsigned t = round % 2 ? k : n - 1 - k;
      if (ended[t]) continue;
      go_on(t);
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
/* the integral over half a turn, whose midpoint sum converges faster than any power of the number of points */
static double turned(double x, double (*f)(double), bool odd) {
  double sum = 0;
  for (int i = 0; i < 200; i++) { double c = cos((i + 0.5) * (M_PI / 200)); sum += odd ? c * f(x * c) : f(x * c); }
  return sum / 200;
}
static double cyl_bessel_i0(double x) { return fabs(x) < 700 ? turned(x, cosh, false) : x != x ? x : INFINITY; }
static double cyl_bessel_i1(double x) { return fabs(x) < 700 ? turned(x, sinh, true) : x != x ? x : copysign(INFINITY, x); }
static float erfinvf(float x) { return erfinv(x); }
static float erfcinvf(float x) { return erfcinv(x); }
static float erfcxf(float x) { return erfcx(x); }
static float normcdff(float x) { return normcdf(x); }
static float normcdfinvf(float x) { return normcdfinv(x); }
static float cyl_bessel_i0f(float x) { return cyl_bessel_i0(x); }
static float cyl_bessel_i1f(float x) { return cyl_bessel_i1(x); }
