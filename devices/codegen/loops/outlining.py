"""Loops that a program repeats, such as the rounds of an unrolled chain: written once, as a function, and called.

A compiler takes as long for the tenth copy of a loop as for the first. Loops are the same if they differ in the names of what
they read and write only; those with calls of vector functions are worth it, beside which a call more is nothing.
"""

import re

from .padding import CALLED

PRAGMA = "#pragma omp simd"
NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)")
TYPE = r"(?:const )?(?:double|float|(?:u?int\d+_t)|_Bool)(?: _Complex| complex)?"
WORD = re.compile(r"for|const|double|float|complex|_Complex|_Bool|NAN|INFINITY|int|u?int\d+_t")
DECLARED = re.compile(rf"(?<![\w*])({TYPE}) (\*?)(\w+)(\[)?")
MORE = re.compile(r", (\w+) = ")  # a second number declared with the first
ASSIGNED = re.compile(r"(?<![\w.])([A-Za-z_]\w*) ?(?:[-+*/&|^]?=(?!=)|\+\+|--)")


def without_repeats(head, lines):
    """(functions, lines) of a body in which repeated loops are calls. head: the lines before it, which declare names too."""
    loops = [(k, _end(lines, k)) for k, line in enumerate(lines) if line.strip() == PRAGMA]
    loops = [(k, end) for k, end in loops if CALLED.search("".join(lines[k:end]))]
    if len(loops) < 2:
        return [], lines
    types, found = _types([*head, *lines]), {}
    for k, end in loops:
        form = _form(lines[k:end], types)
        if form is not None:
            text, names = form
            found.setdefault((text, *[types[name] for name in names]), []).append((k, end, names))
    functions, calls = [], {}
    for number, ((text, *given), places) in enumerate((form, places) for form, places in found.items() if len(places) > 1):
        parameters = ", ".join(f"{t} {'*' * star}a{n}" for n, (t, star) in enumerate(given))
        functions += [f"__attribute__((noinline)) static void loop{number}({parameters}) {{", text, "}"]
        for k, end, names in places:
            calls[k] = end, f"loop{number}({', '.join(names)});"
    kept, k = [], 0
    while k < len(lines):
        end, call = calls.get(k, (k + 1, lines[k]))
        kept.append(call)
        k = end
    return functions, kept


def _end(lines, k):
    """Where the loop after a pragma ends."""
    depth = 0
    for at in range(k + 1, len(lines)):
        depth += lines[at].count("{") - lines[at].count("}")
        if not depth:
            return at + 1
    return len(lines)


def _types(lines):
    """name -> (type, whether it is an array), of names that have one type wherever they are declared."""
    found = {}
    for line in lines:
        for t, star, name, bracket in DECLARED.findall(line):
            found.setdefault(name, set()).add((t, bool(star or bracket)))
            for other in MORE.findall(line) if t == "int64_t" and line.strip().startswith(t) else ():
                found.setdefault(other, set()).add((t, False))
    return {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}


def _form(lines, types):
    """(text of a loop with what it reads and writes named by number, the names in this order); None if it cannot be a
    function: it changes numbers from outside, or names something unknown."""
    text = "\n".join(lines[1:])
    own = {name for _, _, name, _ in DECLARED.findall(text)}
    if not set(ASSIGNED.findall(text)) <= own:
        return None
    names, parts = {}, NAME.split(text)
    changed = {name: f"l{k}" for k, name in enumerate(dict.fromkeys(name for name in parts[1::2] if name in own))}
    for k in range(1, len(parts), 2):
        name = parts[k]
        if name not in changed:
            if parts[k + 1].startswith("(") or WORD.fullmatch(name):
                continue
            if name not in types:
                return None
            names[name] = changed[name] = f"a{len(names)}"
        parts[k] = changed[name]
    return "\n".join([PRAGMA, "".join(parts)]), list(names)
