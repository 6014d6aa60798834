"""Kernels as text in a dialect."""

from ..codegen.text.printer import Printer
from ..codegen.text.scalars import Long, memory_type
from .dialects import Word


class KernelPrinter(Printer):
    """The statements of kernels, without pragmas. dialect: of them."""

    def __init__(self, dialect):
        super().__init__()
        self.dialect = dialect

    def name(self, name):
        return f"{name}_" if name in self.dialect.reserved else name

    def type(self, name):
        return self.dialect.type(name)

    def pragmas(self, block):
        return []

    def expression(self, x):
        if type(x) is Word:
            return getattr(self.dialect, x.field)
        if type(x) is Long:
            return x.replace("LL", self.dialect.long)
        return super().expression(x)

    def _shared(self, s):
        space, kind = self.dialect.space, self.type(s.type)
        place = "shared" if s.offset is None else f"(({space}char *)shared + {s.offset})"
        return [f"{space}{kind} *{self.name(s.name)} = ({space}{kind} *){place};"]

    def kernel(self, kernel, name, dtypes):
        """The text of a kernel. dtypes: name of a buffer -> dtype."""
        d, given = self.dialect, []
        for b in kernel.buffers:
            form = d.memory if b in kernel.written else d.constant
            given.append(form.format(type=self.type(memory_type(dtypes[b])), name=self.name(b)))
        lines = [f"{d.kernel} {name}({', '.join(given)}) {{", f"typedef {'int64_t' if kernel.wide else 'int'} I;"]
        if kernel.shared:
            lines.append(d.shared.format(-(-kernel.shared // 8)))
        return "\n".join([*lines, *self.lines(kernel.body), "}"])
