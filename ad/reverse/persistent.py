"""Values that are in use beyond what follows them: those of tapes and variables, which belong to no function's run.

While they are followed, what Python asks of them is refused as for every layer value, or answered if the kind says so; when
nothing follows them any more they are what they hold: operations, `print`, `float` and NumPy see the plain array.
"""

import numpy as np

from ...dispatch import isa, settled
from ...dispatch.error_causes import questions
from ...dsl.numpy_calls.array_methods import OF_MEMORY
from .tape import Reverse


class Lasting(Reverse):
    """A value and its node, of a kind that lasts."""

    __slots__ = ()
    lasting = True
    answers = ()  # what Python is told of the value even while it is followed

    @property
    def followed(self):
        """Return whether operations on the value are recorded."""
        return not self.run.closed

    def __repr__(self):
        return super().__repr__() if self.followed else repr(settled(self))

    def __str__(self):
        return super().__str__() if self.followed else str(settled(self))


def question(name, refused):
    """A method by which Python asks for the plain value. refused: what the method does instead while it is followed."""

    def method(self, *args, **kwargs):
        if not self.followed:
            return getattr(settled(self), name)(*args, **kwargs)
        if name in self.answers:
            value = self.value  # NumPy's numbers lack __complex__
            return getattr(np.asarray(value) if isa(value, np.generic) else value, name)(*args, **kwargs)
        return refused(self, *args, **kwargs)

    questions.add(method.__code__)  # one for all
    return method


for asked in ("__array__", "__bool__", "__complex__", "__dlpack__", "__float__", "__format__", "__index__", "__int__",
              "__reduce_ex__", "item", "tolist", *OF_MEMORY):  # fmt: skip
    setattr(Lasting, asked, question(asked, getattr(Reverse, asked)))
