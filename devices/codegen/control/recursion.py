"""Programs that call themselves as C functions that do, for as long as the stack has room."""

from ....dsl.control.self_calls import deep
from ..loops.bodies import Graph
from ..loops.unrolling import unrolled
from ..plan.subprograms import simple
from ..text.expressions import Name, call
from ..text.indices import Buffer
from ..text.printer import Printer
from ..text.scalars import Unsupported, literal, memory_type
from ..text.statements import Assign, If, Stop, called, needs, reads, scope
from .bodies import Number, given, known_rows, program_statements, results_of

DEPTH = 512 * 1024  # bytes of the stack that recursion may use; what is deeper runs on a stack of our own, see `run_deep`
HEAP = {"rows_alloc", "grown"}


def function_of(program, graph):
    """Name of the C function `int f(arguments…, results…, constants, base)` of a program; written at its first use."""
    functions = graph.functions
    name = functions.programs.get(id(program))
    if name is not None:
        return name
    name = functions.programs[id(program)] = functions.unique("program")
    try:
        _write(program, name, graph)
    except Unsupported:
        del functions.programs[id(program)]
        raise
    return name


def _write(program, name, graph):
    functions = graph.functions
    body = simple(program)
    inputs = [Buffer(f"p{k}", v.aval.dtype, v.aval.shape) for k, v in enumerate(body.inputs)]
    outputs = [Buffer(f"q{k}", aval.dtype, aval.shape) for k, (_, aval) in enumerate(results_of(body))]
    parameters = [f"const {memory_type(b.dtype)} *{b.name}" for b in inputs]
    parameters += [f"{memory_type(b.dtype)} *{b.name}" for b in outputs]
    head = f"static int {name}({', '.join([*parameters, 'void **constants', 'char *base'])})"
    functions.declared[name] = head + ";"
    inside = Graph(functions)
    inside.literals, inside.constants, inside.everywhere = graph.literals, graph.constants, graph.everywhere
    statements = unrolled(program_statements(body, inside, inputs, outputs))
    if not HEAP.isdisjoint(called(statements)):
        raise Unsupported("recursion over arrays that are not small")
    read = {name for s in statements for name in reads(s)}
    constants = [b for b in graph.everywhere.values() if b.name in read]
    constants = [f"const {memory_type(b.dtype)} *{b.name} = constants[{b.name[1:]}];" for b in constants]
    guard = f"if (base - (char *)__builtin_frame_address(0) > {DEPTH}) return 4;"
    functions.needs |= needs(statements)
    flags, lines = "volatile int fault = 0; int memory = 0, failed = 0;", Printer("return failed;").lines(statements)
    text = [head + " {", guard, flags, *constants, *lines, "return memory ? 2 : fault ? 3 : 0;", "}"]
    functions.defined[name] = "\n".join(text)


def called_function(name, inputs, outputs):
    """The call of such a function, by pointers; a failure leaves the function that calls it."""
    failed = Name("failed")
    return scope(Assign(failed, call(name, *inputs, *outputs, "constants", "base")), If(failed, [Stop()]))


def pointer(x, v):
    """Return where an argument, a Buffer or Number, lies. v: the input that it is for."""
    buffer = x.buffer if isinstance(x, Number) else x
    if buffer is not None:
        return Name(buffer.name)
    return f"&({memory_type(v.aval.dtype)}){{{literal(x.value, v.aval.dtype)}}}"


def call_of_program(e, graph):
    """Statements of a `call`."""
    program, arguments = e.params["program"], [given(graph, x) for x in e.inputs]
    outputs = [graph.buffers[v] for v in e.outputs]
    known_rows(results_of(program))
    if not deep(program):
        return program_statements(simple(program), graph, arguments, outputs)
    inputs = [pointer(x, v) for x, v in zip(arguments, program.inputs, strict=True)]
    return [called_function(function_of(program, graph), inputs, [Name(b.name) for b in outputs])]
