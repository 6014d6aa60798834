"""The C text of a straight line of equations: one function, its temporaries, its loops."""

from ...dsl.avals import UNKNOWN
from ...dsl.card import programs_in
from ...dsl.ir.programs import Var
from .loops.bodies import Graph
from .loops.groups import written
from .loops.outlining import without_repeats
from .loops.unrolling import unrolled
from .plan.memory import STACK, Arena, growing, lifetimes, pointer_into
from .plan.plan import Plan
from .text.expressions import Name, c, call
from .text.indices import Buffer
from .text.math_functions import Functions
from .text.numpy_objects import entry
from .text.printer import Printer
from .text.scalars import memory_type
from .text.statements import Array, Assign, Do, If, Local, changed, needs, reads
from .toolchain.runtime import in_library

FAULTS = {"fault", "memory", "failed"}  # variables of code that may find an error

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

    equations: of operations that have C; inputs, outputs: Vars; constants: Var -> array. Raises Unsupported where one
    has none for its dtypes or parameters. `text` is the source, `pointers` the names of foreign functions whose
    addresses belong in its struct `pointers`, in order, `needs` the parts of the runtime that it needs.
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
        body = unrolled(body)
        self.faults = not FAULTS.isdisjoint(changed(body))
        self.text = self._assemble(equations, body, groups, temporaries, plan, graph)
        self.pointers = list(functions.pointers)

    def _assemble(self, equations, body, groups, temporaries, plan, graph):
        parameters, unknown = [], lambda v: UNKNOWN in v.aval.shape
        for k, v in enumerate(self.inputs):
            parameters.append(Local(f"const {memory_type(v.aval.dtype)} *", f"x{k}"))
            parameters += [Local("const int64_t *", f"d{k}")] if unknown(v) else []
        for k, v in enumerate(self.outputs):
            place = Local("int64_t *", f"y{k}_place")
            parameters.append(place if unknown(v) else Local(f"{memory_type(v.aval.dtype)} *", f"y{k}"))
        lines = [f"int run({', '.join([*[f'{s.type}{s.name}' for s in parameters], 'void **constants'])}) {{"]
        masks = [(k, v.aval.dtype.alignment - 1) for k, v in enumerate(self.inputs)]
        places = [f"((uintptr_t)x{k} & {mask})" for k, mask in masks if mask]
        if places:
            lines.append(f"if ({' | '.join(places)}) return 1;")
        if self.faults:
            lines.append("volatile int fault = 0; int memory = 0, failed = 0; char *base = __builtin_frame_address(0);")
        grow = [graph.buffers[v] for v in self.outputs if unknown(v)]
        head: list = [Local("int64_t", f"x{k}_n", c("{}[0]", Name(f"d{k}"))) for k, v in enumerate(self.inputs) if unknown(v)]
        head += [s for b in grow for s in growing(b)]
        read = {name for s in body for name in reads(s)} if self.constants else ()
        for k, v in enumerate(self.constants):
            if f"c{k}" in read:
                head.append(Local(f"const {memory_type(v.aval.dtype)} *", f"c{k}", f"constants[{k}]"))
        arena, block = Arena(lifetimes({v for v in temporaries if not unknown(v)}, groups, plan.memory)), Name("arena")
        if arena.size > STACK:
            head += [Local("char *", "arena", call("taken", arena.size)), If(c("!{}", block), [Do("return 2")])]
        elif arena.size:
            head.append(Array("char", "arena", arena.size, aligned=True))
        head += [pointer_into(block, graph.buffers[v], offset) for v, offset in arena.offsets.items()]
        grown = [graph.buffers[v] for v in temporaries if unknown(v)]
        head += [s for b in grown for s in growing(b)]
        loops, body = without_repeats([*parameters, *head], body)
        after: list = [Do(call("free", Name(b.name))) for b in grown]
        if arena.size > STACK:
            after.append(Do(call("given", block, arena.size)))
        if grow:
            gone = [s for b in grow for s in (Do(call("free", Name(b.name))), Assign(Name(b.name), "0"))]
            after.append(If(c("{} || {} || {}", *map(Name, ("memory", "failed", "fault"))), gone))
        for b in grow:
            place = Name(f"{b.name}_place")
            after.append(Assign(c("{}[0]", place), c("(int64_t){}", Name(b.name))))
            after.append(Assign(c("{}[1]", place), Name(f"{b.name}_n")))
        self.needs = graph.functions.needs | needs([*head, *body])
        lines += Printer().lines([*head, *body, *after])
        lines += ["return memory ? 2 : failed ? failed : fault ? 3 : 0;" if self.faults else "return 0;", "}"]
        given = (*self.inputs, *self.outputs, *self.constants)
        complex_ = any(v.aval.dtype.kind == "c" for v in given) or has_complex(equations)
        lines.append(entry(self.inputs, self.outputs, memory_type))
        text = "\n".join([graph.functions.text, *loops, *lines]) + "\n"
        return HEAD + (COMPLEX if complex_ else "") + in_library(self.needs) + text


def has_complex(equations):
    """Return whether there are complex numbers in equations, or in programs within them."""
    seen, left = set(), list(equations)
    while left:
        e = left.pop()
        if any(v.aval.dtype.kind == "c" for v in vars_of((*e.inputs, *e.outputs))):
            return True
        inner = [p for value in e.params.values() for p in programs_in(value) if id(p) not in seen]
        seen.update(map(id, inner))
        left += [other for p in inner for other in p.equations]
    return False


def vars_of(atoms):
    """The Vars among atoms, each once."""
    return list(dict.fromkeys(v for v in atoms if isinstance(v, Var)))
