"""From statements to text. One printer for a dialect of C; others say what they write otherwise."""

from .expressions import Access, Expression, Hole, Name, Type
from .indices import Index
from .statements import Assign, Do


class Printer:
    """C11 with OpenMP's pragmas. stop: what leaves a function that has failed."""

    def __init__(self, stop=""):
        self.stop = stop

    # ------------------------------------------------------------------ what dialects and renamings say otherwise
    def name(self, name):
        """A variable or an array."""
        return name

    def type(self, name):
        """A type, from C's name for it."""
        return name

    def pragmas(self, block):
        """Lines before a loop."""
        words = ("parallel for" + " simd" * block.simd) if block.shared is not None else "simd" * block.simd
        return [f"#pragma omp {words}{block.clause}{block.shared or ''}"] if words else []

    # ------------------------------------------------------------------ expressions
    def expression(self, x):
        """C of an expression."""
        kind = type(x)
        if kind is str:
            return x
        if kind is Expression:
            return "".join([part if type(part) is str else self.expression(part) for part in x.parts])
        if kind is Name:
            return self.name(x.name)
        if kind is Access:
            return f"{self.name(x.buffer.name)}[{self.expression(x.place)}]"
        if kind is Index:
            return x.text(self.name)
        if kind is Type:
            return self.type(x.name)
        if kind is Hole:
            raise TypeError("an expression without its arguments")
        return str(x)

    # ------------------------------------------------------------------ statements
    def lines(self, statements):
        """C lines of statements."""
        return [line for s in statements for line in getattr(self, f"_{type(s).__name__.lower()}")(s)]

    def text(self, statements):
        """C of statements."""
        return "\n".join(self.lines(statements))

    def _local(self, s):
        start = f"{self.type(s.type)}{'' if s.type.endswith('*') else ' '}{self.name(s.name)}"
        return [f"{start};" if s.value is None else f"{start} = {self.expression(s.value)};"]

    def _array(self, s):
        values = f" = {{{', '.join(map(self.expression, s.values))}}}" if s.values else ""
        aligned = " __attribute__((aligned(64)))" if s.aligned else ""
        return [f"{self.type(s.type)} {self.name(s.name)}[{s.length}]{aligned}{values};"]

    def _assign(self, s):
        return [f"{self.expression(s.target)} = {self.expression(s.value)};"]

    def _do(self, s):
        return [f"{self.expression(s.value)};"]

    def _stop(self, s):
        return [self.stop] if self.stop else []

    def _if(self, s):
        inside, head = self.lines(s.body), f"if ({self.expression(s.condition)})"
        plain = len(s.body) == 1 and type(s.body[0]) in (Assign, Do)
        return [f"{head} {inside[0]}"] if plain else [f"{head} {{", *inside, "}"]

    def _block(self, s):
        head = "" if s.head is None else f"{self.expression(s.head)} "
        return [*self.pragmas(s), f"{head}{{", *self.lines(s.body), "}"]
