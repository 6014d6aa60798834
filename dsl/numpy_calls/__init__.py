"""NumPy's functions, operators, methods and in-place code on followed values."""
