"""Reverse mode: the tape, its nodes, and the walk back."""
