"""A checker of statements: what no pass over loops may break. See `installed`."""

import re

from polyad.devices.codegen import source
from polyad.devices.codegen.control import recursion
from polyad.devices.codegen.loops import emission, loops, unrolling
from polyad.devices.codegen.text.expressions import Access, Expression, Name, Type
from polyad.devices.codegen.text.indices import Index
from polyad.devices.codegen.text.statements import Array, Assign, Block, Do, If, Local, Shared, Stop
from polyad.devices.gpu_codegen.dialects import Word
from polyad.devices.gpu_codegen.printer import KernelPrinter

# what templates may say: C's words, members of structs, macros; not a variable
WORDS = {
    "for", "while", "if", "else", "switch", "case", "default", "break", "return", "void", "sizeof", "float", "double", "int",
    "complex", "char", "unsigned", "long", "bool", "I", "NAN", "INFINITY", "INT64_MIN", "constants", "base", "pointers",
    "W_f8", "W_f4",
}  # fmt: skip
WORD = re.compile(r"""(?<![\w.])[A-Za-z_]\w*(?![\w"(])""")
TYPED = re.compile(r"u?int\d+_t|_Bool")
FLAGS = {"fault", "memory", "failed"}  # of the function around


def check(statements, known=FLAGS):
    """Raise AssertionError if a name is used that is declared neither before, in its scope, nor among those known; if one is
    declared twice in a scope; or if a variable hides in a string of C."""
    missing = free(statements) - set(known)
    assert not missing, f"declared nowhere: {sorted(missing)}"


def free(statements):
    """Names that statements use and do not declare before."""
    found = set()
    _scope(statements, [], found)
    return found


def _scope(statements, around, found):
    names = set()
    scopes = [*around, names]
    for s in statements:
        assert type(s) in (Local, Array, Shared, Assign, Do, If, Block, Stop), s
        assert type(s) is not Assign or type(s.target) in (Name, Access, Expression), s
        own = {name for _, name in s.declares} if type(s) is Block else set()
        used = [name for x in s.expressions for name in _names(x, s)]
        used += s.changes if type(s) is Do else ()
        found.update(name for name in used if not any(name in scope for scope in [*scopes, own]))
        if type(s) in (Local, Array, Shared):
            assert s.name not in names, f"{s.name} is declared twice: {s}"
            names.add(s.name)
        if type(s) is Block or type(s) is If:
            _scope(s.body, [*scopes, own], found)


def _names(x, s):
    """The names in an expression."""
    if isinstance(x, str):
        for word in WORD.findall(x):
            assert word in WORDS or TYPED.fullmatch(word), f"{word} is a name in a string: {s}"
        return []
    if type(x) is Expression:
        return [name for part in x.parts for name in _names(part, s)]
    if type(x) is Access:
        return [x.buffer.name, *_names(x.place, s)]
    assert type(x) in (Name, Index, Type, Word, int), (x, s)
    return [x.name] if type(x) is Name else x.names if type(x) is Index else []


# ---------------------------------------------------------------------- after each pass
def installed(monkeypatch):
    """Check the results of passes over loops, and the whole of each function and kernel, from now on."""
    for name in ("over_vectors", "hoisted"):
        _wrap(monkeypatch, emission, name, lambda given, statements, *more, steps=(), **_: [
            *loops.around(given, [*statements, *(more[1] if len(more) > 1 else steps)]),
        ])  # fmt: skip
    _wrap(monkeypatch, emission, "padded", lambda body, loop, simd: [loop.around(body.statements)])
    check_folded = lambda body, sums, targets, given, *_: loops.around(given, [
        *[s for t, *_ in sums for s in t.begin()], *body.statements,
        *[Assign(y, value) for (_, value, *_), y in zip(sums, targets)],
    ])  # fmt: skip
    _wrap(monkeypatch, emission, "folded", check_folded)
    for module in (source, recursion):
        _wrap(monkeypatch, module, "unrolled", list)
    for name in ("in_variables", "read_before"):
        _wrap(monkeypatch, unrolling, name, list)
    outline, text = source.without_repeats, KernelPrinter.kernel

    def without_repeats(before, statements):
        check([*before, *statements])
        functions, made = outline(before, statements)
        check([*before, *made])
        return functions, made

    def kernel(self, kernel, name, dtypes):
        check(kernel.body, set(dtypes))
        return text(self, kernel, name, dtypes)

    monkeypatch.setattr(source, "without_repeats", without_repeats)
    monkeypatch.setattr(KernelPrinter, "kernel", kernel)


def _wrap(monkeypatch, module, name, before):
    """Let a pass be checked: it may use no name that is not used by `before(*its arguments)`, the statements in plain loops."""
    run = getattr(module, name)

    def checked(*args, **kwargs):
        known = free(before(*args, **kwargs))
        made = run(*args, **kwargs)
        check(made, known)
        return made

    monkeypatch.setattr(module, name, checked)
