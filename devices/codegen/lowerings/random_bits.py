"""Random words of a key in C: Philox4x64-10, the same numbers as the kernel's, bit for bit."""

import math

import numpy as np

from ....dsl import operations
from ...lowering import lowering
from ..loops.bodies import Body
from ..loops.loops import Loop, around
from ..loops.nests import counters
from ..text.expressions import Access, Name, c, call
from ..text.indices import ZERO, Buffer, aligned
from ..text.statements import Array, Assign, Block, Do

PHILOX = """
static inline uint64_t high_word(uint64_t a, uint64_t b, uint64_t *low) {
  uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32, mixed = a1 * b0 + (a0 * b0 >> 32);
  uint64_t middle = a0 * b1 + (uint32_t)mixed;
  *low = a * b;
  return a1 * b1 + (mixed >> 32) + (middle >> 32);
}
#ifdef __SIZEOF_INT128__
#define high_word(a, b, low) (*(low) = (a) * (b), (uint64_t)(((unsigned __int128)(a) * (b)) >> 64))
#endif
static inline void philox(uint64_t k0, uint64_t k1, uint64_t c0, uint64_t c1, uint64_t c3, uint64_t *y) {
  uint64_t c2 = 0, low0, low1, high0, high1;
  for (int q = 0; q < 10; q++) {
    high0 = high_word(c0, 0xD2E7470EE14C6C93ULL, &low0);
    high1 = high_word(c2, 0xCA5A826395121157ULL, &low1);
    c0 = high1 ^ c1 ^ k0; c2 = high0 ^ c3 ^ k1; c1 = low1; c3 = low0;
    k0 += 0x9E3779B97F4A7C15ULL; k1 += 0xBB67AE8584CAA73BULL;
  }
  y[0] = c0; y[1] = c1; y[2] = c2; y[3] = c3;
}"""


@lowering(operations["random_bits"])
def random_bits(e, graph):
    """One block of code."""
    return [Words(e, graph)]


class Words:
    """The words of each key and datum, four at a time."""

    sequential = True
    reduced, roots = (), ()
    kept_first = 0

    def __init__(self, e, graph):
        graph.functions.host_only()
        self.equation, self.writes = e, list(e.outputs)
        shape = e.params.get("shape", ())
        self.count = math.prod(shape)
        whole = e.outputs[0].aval.shape
        self.lead = whole[: len(whole) - len(shape)]
        self.shape, self.work = (*self.lead, self.count), 10
        body = Body(graph)
        self._numbers(body)
        self.reads = body.loads

    def _numbers(self, body):
        """The key's two words and the datum."""
        key, data = self.equation.inputs
        idx, word = counters(self.lead), np.dtype(np.uint64)
        own = aligned((*idx, ZERO), key.aval.shape)[:-1]
        words = [body.at(key, (*own, ZERO + k), word) for k in (0, 1)]
        return [*words, body.operand(data, idx, word)]

    def emit(self, graph, outer=0, parallel=False):
        """Statements."""
        graph.functions.defined["philox"] = PHILOX
        body = Body(graph)
        buffer = graph.buffers[self.writes[0]]
        (k0, k1, datum), idx = self._numbers(body), counters(self.lead)
        inside = len(buffer.shape) - len(self.lead)
        start = buffer.at((*idx, *(ZERO,) * inside))
        stream = f"{int(self.equation.params.get('stream', 0)) % 2**64}ULL"
        q, r, words = Name("q"), Name("r"), Name("w")
        draw = Do(call("philox", k0, k1, c("1 + {}", q), datum, stream, words))
        put = Assign(Access(buffer, c("{} + 4 * {} + {}", start, q, r)), Access(Buffer("w", np.dtype(np.uint64), (4,)), r))
        head = c("for (int {0} = 0; {0} < 4 && 4 * {1} + {0} < {2}; {0}++)", r, q, self.count)
        four = [Array("uint64_t", "w", 4), draw, Block(head, [put], (("int", "r"),))]
        blocks = around([Loop("q", -(-self.count // 4), False)], four, False, parallel and not self.lead)
        loops = [Loop(f"i{a}", n, False) for a, n in enumerate(self.lead) if n != 1]
        return around(loops, [*body.statements, *blocks], False, parallel)
