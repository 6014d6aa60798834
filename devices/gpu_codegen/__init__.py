"""Kernels for threads in blocks: the expressions and statements of the C code for the host, printed in a dialect.

`source.py` puts kernels together from the host's plan (`..codegen`); `kernels.py`, `reductions.py`, `writes.py` and `fusion.py`
write them; `dialects.py` lists what languages say each in its own way, and `printer.py` prints. The dialects themselves lie in
`..cuda_codegen` and `..opencl_codegen`.
"""
