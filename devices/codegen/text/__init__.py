"""The words of generated C: types, functions, helpers, threads."""
