"""Array types, each in one file and written as a user would write it: only public names, loaded after the
operations."""

from .diagonal import Diagonal
from .one_hot import OneHot
from .zeros import Zeros

__all__ = ["Diagonal", "OneHot", "Zeros"]
