"""The one library that serves all compiled programs of a process: its threads, and the memory it keeps for them."""

from .. import workspace
from ..text import threads

HEAD = """\
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
"""
TAIL = """\
static void after_fork(void) { in_child(); pthread_mutex_init(&shelf, 0); }
void set_up(int count) { threads = count; pthread_atfork(0, 0, after_fork); }
void *function(int which) {
  return which == 0 ? (void *)share : which == 1 ? (void *)next : which == 2 ? (void *)take : (void *)give;
}
"""
SOURCE = "\n".join([HEAD, threads.SOURCE, workspace.SOURCE, TAIL])
COUNT = 4  # functions, by number
FLAGS = ("-O1", "-std=gnu11", "-fPIC", "-shared", "-w", "-pthread")
SERVES = {"#pragma omp parallel": threads.IN_LIBRARIES, "= taken(": workspace.IN_LIBRARIES}  # sign in a text -> what it needs


def serves(text):
    """Whether C needs the runtime."""
    return any(sign in text for sign in SERVES)


def in_library(text):
    """What comes before C that needs the runtime."""
    return "".join(["void *runtime[4];\n", *[needs for sign, needs in SERVES.items() if sign in text]])
