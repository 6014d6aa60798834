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
RUNTIME_PARTS = {"threads": threads.IN_LIBRARIES, "memory": workspace.IN_LIBRARIES}  # what comes before C that needs it


def in_library(needs):
    """Return what comes before C that needs these parts of the runtime."""
    return "".join(["void *runtime[4];\n", *[text for part, text in RUNTIME_PARTS.items() if part in needs]])
