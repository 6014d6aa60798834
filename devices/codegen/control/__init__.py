"""Operations on programs (loops, choices, calls) in C."""

from . import blocks  # noqa: F401  (says of each operation on programs how it is written)
