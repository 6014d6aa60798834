"""The C text of a straight line of equations: one function, its temporaries, its loops."""

from ...dsl.avals import UNKNOWN
from ...dsl.ir.programs import Var
from .loops.bodies import Graph
from .loops.groups import written
from .loops.outlining import without_repeats
from .plan.memory import STACK, Arena, lifetimes
from .plan.plan import Plan
from .text.indices import Buffer
from .text.math_functions import Functions
from .text.numpy_objects import entry
from .text.scalars import memory_type
from .toolchain.runtime import in_library

FAULTS = ("fault = 1", "memory = 1", "failed = ")  # signs of code that may find an error

# What large headers declare is declared here, or where it is used (text/math_functions.py): reading them takes
# longer than most programs.
HEAD = """\
#include <stddef.h>
#include <stdint.h>
#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#if defined(__clang__) || !defined(__GNUC__)
#define VECTORIZED
#else
#define VECTORIZED __attribute__((simd("notinbranch")))
#endif
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
static int threads = 1;
void one_thread(void) { threads = 0; }
void *malloc(size_t);
void *realloc(void *, size_t);
void *aligned_alloc(size_t, size_t);
void free(void *);
void release(void *memory) { free(memory); }
"""
COMPLEX = """\
#include <complex.h>
#ifndef CMPLX
#define CMPLX(a, b) __builtin_complex((double)(a), (double)(b))
#define CMPLXF(a, b) __builtin_complex((float)(a), (float)(b))
#endif
"""


class Source:
    """C of a function `run(inputs…, outputs…, constants)` that returns 0, or 1 for memory that is not aligned, 2 for memory
    that is not there, 3 for an index out of range, 4 for recursion too deep for the stack.

    equations: all lowerable; inputs, outputs: Vars; constants: Var -> array. `text` is the source, `pointers` the names of
    foreign functions whose addresses belong in its struct `pointers`, in order.
    """

    def __init__(self, equations, inputs, outputs, constants, literals):
        self.inputs, self.outputs, self.constants = inputs, outputs, constants
        functions = Functions()
        graph = Graph(functions)
        graph.literals, graph.constants = dict(literals), dict(constants)
        for prefix, group in (("x", inputs), ("y", outputs), ("c", constants)):
            for k, v in enumerate(group):
                graph.buffers[v] = Buffer(f"{prefix}{k}", v.aval.dtype, v.aval.shape)
        graph.everywhere = {v: graph.buffers[v] for v in constants}
        plan = Plan(equations, outputs, graph)
        groups, temporaries, body = written(plan, graph)
        self.faults = any(sign in line for line in body for sign in FAULTS)
        self.text = self._assemble(body, groups, temporaries, plan, graph)
        self.pointers = list(functions.pointers)

    def _assemble(self, body, groups, temporaries, plan, graph):
        parameters, unknown = [], lambda v: UNKNOWN in v.aval.shape
        for k, v in enumerate(self.inputs):
            parameters += [f"const {memory_type(v.aval.dtype)} *x{k}", *([f"const int64_t *d{k}"] if unknown(v) else [])]
        grow = [(f"y{k}", memory_type(v.aval.dtype)) for k, v in enumerate(self.outputs) if unknown(v)]
        for k, v in enumerate(self.outputs):
            parameters.append(f"int64_t *y{k}_place" if unknown(v) else f"{memory_type(v.aval.dtype)} *y{k}")
        lines = [f"int run({', '.join([*parameters, 'void **constants'])}) {{"]
        masks = [(k, v.aval.dtype.alignment - 1) for k, v in enumerate(self.inputs)]
        places = [f"((uintptr_t)x{k} & {mask})" for k, mask in masks if mask]
        if places:
            lines.append(f"if ({' | '.join(places)}) return 1;")
        lines += [f"int64_t x{k}_n = d{k}[0];" for k, v in enumerate(self.inputs) if unknown(v)]
        lines += [f"{t} *{y} = 0; int64_t {y}_n = 0;" for y, t in grow]
        if self.faults:
            lines.append("volatile int fault = 0; int memory = 0, failed = 0; char *base = __builtin_frame_address(0);")
        for k, v in enumerate(self.constants):
            t = memory_type(v.aval.dtype)
            if any(f"c{k}" in line for line in body):
                lines.append(f"const {t} *c{k} = constants[{k}];")
        arena = Arena(lifetimes({v for v in temporaries if UNKNOWN not in v.aval.shape}, groups, plan.memory))
        if arena.size > STACK:
            lines += [f"char *arena = taken({arena.size});", "if (!arena) return 2;"]
        elif arena.size:
            lines.append(f"char arena[{arena.size}] __attribute__((aligned(64)));")
        for v, offset in arena.offsets.items():
            lines.append(f"{memory_type(v.aval.dtype)} *{graph.buffers[v].name} = (void *)(arena + {offset});")
        grown = [graph.buffers[v] for v in temporaries if UNKNOWN in v.aval.shape]
        lines += [f"{memory_type(b.dtype)} *{b.name} = 0; int64_t {b.name}_n = 0;" for b in grown]
        functions, body = without_repeats(lines, [line.replace("STOP;", "") for line in body])
        lines += body
        lines += [f"free({b.name});" for b in grown]
        if arena.size > STACK:
            lines.append(f"given(arena, {arena.size});")
        if grow:
            failed = f"if (memory || failed || fault) {{ {' '.join(f'free({y}); {y} = 0;' for y, _ in grow)} }}"
            lines += [failed, *[f"{y}_place[0] = (int64_t){y}; {y}_place[1] = {y}_n;" for y, _ in grow]]
        lines += ["return memory ? 2 : failed ? failed : fault ? 3 : 0;" if self.faults else "return 0;", "}"]
        lines.append(entry(self.inputs, self.outputs, memory_type))
        text = "\n".join([graph.functions.text, *functions, *lines]) + "\n"
        return HEAD + (COMPLEX if "complex" in text else "") + in_library(text) + text


def vars_of(atoms):
    """The Vars among atoms, each once."""
    return list(dict.fromkeys(v for v in atoms if isinstance(v, Var)))
