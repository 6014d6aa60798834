"""What type checkers are told of arrays is what there is: names, parameters, and nothing of it at run time."""

import ast
import inspect

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import annotations

pytestmark = pytest.mark.quick


def declared(name):
    """The members that a class for type checkers has, by their names."""
    tree = ast.parse(inspect.getsource(annotations))
    (found,) = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == name]
    functions = {n.name: n for n in found.body if isinstance(n, ast.FunctionDef)}
    return functions, {n.target.id for n in found.body if isinstance(n, ast.AnnAssign)}


METHODS, VALUES = declared("Operators")
VALUE = pa.ad.Dual[1]  # the class of a followed value


def test_nothing_of_it_is_there_at_run_time():
    assert annotations.Operators is object and annotations.AnyArray is np.ndarray
    assert not hasattr(annotations, "Shaped") and not hasattr(annotations, "Operand")


def test_there_is_all_that_is_promised():
    lacking = [name for name in (*METHODS, *VALUES) if not hasattr(VALUE, name)]
    assert not lacking, f"type checkers are promised what values do not have: {lacking}"


def test_all_is_promised_that_there_is():
    """Methods and operators that the language gives its arrays and NumPy's have, too."""
    here = {name for name in dir(pa.Array) if hasattr(np.ndarray, name) and callable(getattr(pa.Array, name))}
    others = set(dir(object)) | {"__array_ufunc__", "__array_function__"}
    assert not sorted(here - others - METHODS.keys()), "say these in dispatch/annotations.py: class Operators"


@pytest.mark.parametrize("name", sorted(name for name in METHODS if not name.startswith("_")))
def test_parameters(name):
    """Those of a method that says its own; a method by whichever way it is called takes what NumPy's takes."""
    promised, taken = METHODS[name].args, inspect.signature(getattr(VALUE, name)).parameters
    names = {a.arg for a in (*promised.posonlyargs, *promised.args, *promised.kwonlyargs)} - {"self"}
    kinds = {p.kind for p in taken.values()}
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds:
        return
    own = {p.name for p in list(taken.values())[1:] if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    assert names <= own, f"{name} takes no {names - own}"
    assert promised.kwarg or names == own, f"type checkers refuse {name}({own - names}=…)"
