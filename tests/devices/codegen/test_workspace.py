"""Memory of temporaries is kept from call to call, and is never that of two calls at once."""

import threading

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen import workspace
from polyad.devices.codegen.toolchain import dynamic_loading, library
from polyad.devices.compilers import find_compiler

pytestmark = [pytest.mark.optimized, pytest.mark.skipif(find_compiler() is None, reason="there is no compiler")]


@pytest.fixture
def served():
    """(take, give) of the runtime: addresses of blocks as numbers."""
    library.load("int nothing;", [])  # finds the compiler's options
    ffi, functions = dynamic_loading.ffi(), library.functions(find_compiler())
    library.release_memory()
    take, give = ffi.cast("char *(*)(size_t)", functions[2]), ffi.cast("void (*)(char *, size_t)", functions[3])
    yield (lambda size: int(ffi.cast("intptr_t", take(size)))), lambda block, size: give(ffi.cast("char *", block), size)
    library.release_memory()


def test_a_block_is_had_again(served):
    take, give = served
    a, b = take(1 << 20), take(1 << 20)
    assert a != b and a % 64 == b % 64 == 0
    give(a, 1 << 20)
    assert take(2 << 20) != a  # another size
    assert take(1 << 20) == a and take(1 << 20) not in (a, b)


def test_no_more_is_kept_than_said(served):
    take, give = served
    part = workspace.MOST // 4
    blocks = [take(part) for _ in range(6)]
    for block in blocks:
        give(block, part)
    assert len({take(part) for _ in range(4)} & set(blocks)) == 4  # of the last ones
    large = take(workspace.MOST + 64)
    give(large, workspace.MOST + 64)  # goes back at once
    small = [take(64 * k) for k in range(1, 3 * workspace.SLOTS)]
    for k, block in enumerate(small, 1):
        give(block, 64 * k)
    again = [take(64 * k) for k in range(1, 3 * workspace.SLOTS)]
    assert len(set(again)) == len(again)  # kept or not, a block is one caller's


def test_calls_at_once_have_memory_of_their_own():
    f = pa.jit(lambda x: pa.cumsum(pa.sort(x[::-1]) * 2)[::-1] + pa.cumsum(x) @ x)
    xs = [np.random.default_rng(k).normal(size=20_000) for k in range(4)]
    wanted, wrong = [f(x) for x in xs], []

    def call(k):
        wrong.extend([k for _ in range(40) if not np.array_equal(f(xs[k]), wanted[k])])

    callers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert not wrong
