"""C of operations that are no plain loop over elements: products, sorts, scans, solves. Each file says it of its
operations, with `lowering`; all files here are loaded with the first."""

import importlib
import pkgutil

for file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{file.name}")
