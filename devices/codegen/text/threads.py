"""Threads for compiled loops: a pool that a loop does not wait for.

A parallel loop of OpenMP ends when every thread of its team has been there, so a thread that another process keeps from its
core holds all of them up, for as long as that lasts. Here the threads that come find parts of the loop to do, and those that
come late find none. gcc hands a parallel loop's body over as a function; where it would call OpenMP's library to run that
function, it calls ours.
"""

import os

MOST = 256  # threads


def wanted():
    """Count the threads that share a loop: what OMP_NUM_THREADS says, else one for each processor that this process may use."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if first.isdecimal() and int(first):
        return min(int(first), MOST)
    available = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return min(len(available), MOST)


# In each compiled library, in place of OpenMP's functions of these names (the interface that gcc's code uses). Without a
# pool, or where a loop is not worth it (one thread), the caller does it all.
IN_LIBRARIES = """\
#ifdef POOL
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN void GOMP_parallel_loop_nonmonotonic_dynamic(void (*body)(void *), void *data, unsigned count, long first, long last,
    long step, long part, unsigned flags) {
  ((void (*)(void (*)(void *), void *, long, long, long, int))runtime[0])(body, data, first, last, part, count == 1);
}
HIDDEN void GOMP_parallel_loop_dynamic(void (*body)(void *), void *data, unsigned count, long first, long last,
    long step, long part, unsigned flags) {
  GOMP_parallel_loop_nonmonotonic_dynamic(body, data, count, first, last, step, part, flags);
}
HIDDEN _Bool GOMP_loop_nonmonotonic_dynamic_next(long *first, long *last) {
  return ((int (*)(long *, long *))runtime[1])(first, last);
}
HIDDEN _Bool GOMP_loop_dynamic_next(long *first, long *last) { return GOMP_loop_nonmonotonic_dynamic_next(first, last); }
HIDDEN void GOMP_loop_end_nowait(void) {}
HIDDEN void GOMP_loop_end(void) {}
#endif
"""

# A job is open while its caller works on it. Who comes counts itself as inside first and looks whether the job is open then;
# the caller closes it first and looks whether anybody is inside then. So nobody enters a job that has ended.
SOURCE = """\
typedef struct { void (*body)(void *); void *data; long last, part; atomic_long next; } job;
static job shared;
static atomic_int open = 0, inside = 0, sleeping = 0;
static atomic_long number = 0;
static int threads = 1, started = 0;
static pthread_mutex_t caller = PTHREAD_MUTEX_INITIALIZER, bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t alarm_clock = PTHREAD_COND_INITIALIZER;
static _Thread_local job *mine = 0;
enum { SPIN = 20000, BRIEF = 1000 }; /* looks for the next job before sleep, some 0.3 ms; for the end of one */

static void pause_here(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static void enter(job *j) {
  job *outer = mine;
  mine = j;
  j->body(j->data);
  mine = outer;
}

static void *work(void *seen_at_start) {
  long seen = (long)seen_at_start;
  for (;;) {
    for (int k = 0; k < SPIN && atomic_load(&number) == seen; k++) pause_here();
    if (atomic_load(&number) == seen) {
      pthread_mutex_lock(&bed);
      atomic_fetch_add(&sleeping, 1);
      while (atomic_load(&number) == seen) pthread_cond_wait(&alarm_clock, &bed);
      atomic_fetch_sub(&sleeping, 1);
      pthread_mutex_unlock(&bed);
    }
    seen = atomic_load(&number);
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&open)) enter(&shared);
    atomic_fetch_sub(&inside, 1);
  }
  return 0;
}

static void start(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads that were there */
  while (started < threads - 1) {
    pthread_t made;
    if (pthread_create(&made, 0, work, (void *)atomic_load(&number))) { threads = started + 1; break; }
    pthread_detach(made);
    started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, 0);
}

static void share(void (*body)(void *), void *data, long first, long last, long part, int alone) {
  if (alone || threads < 2 || last - first <= part || pthread_mutex_trylock(&caller)) {
    job j = {body, data, last, last - first > 0 ? last - first : 1, first};
    enter(&j);
    return;
  }
  if (started < threads - 1) start();
  shared.body = body, shared.data = data, shared.last = last, shared.part = part;
  atomic_store(&shared.next, first);
  atomic_store(&open, 1);
  atomic_fetch_add(&number, 1);
  if (atomic_load(&sleeping)) {
    pthread_mutex_lock(&bed);
    pthread_cond_broadcast(&alarm_clock);
    pthread_mutex_unlock(&bed);
  }
  enter(&shared);
  atomic_store(&open, 0);
  for (int k = 0; atomic_load(&inside); k++) {
    if (k < BRIEF) pause_here(); else sched_yield();
  }
  pthread_mutex_unlock(&caller);
}

static int next(long *first, long *last) {
  long at = atomic_fetch_add(&mine->next, mine->part);
  if (at >= mine->last) return 0;
  *first = at;
  *last = mine->part < mine->last - at ? at + mine->part : mine->last;
  return 1;
}

static void in_child(void) { /* of a fork: no thread but the caller's is there, and it holds nothing */
  pthread_mutex_init(&caller, 0), pthread_mutex_init(&bed, 0), pthread_cond_init(&alarm_clock, 0);
  atomic_store(&open, 0), atomic_store(&inside, 0), atomic_store(&sleeping, 0);
  started = 0;
}
"""
