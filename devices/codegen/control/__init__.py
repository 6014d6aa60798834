"""Operations on programs (loops, choices, calls) in C."""
