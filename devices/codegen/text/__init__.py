"""Generated C: expressions and statements as objects, their printer, and the words: types, functions, helpers, threads."""
