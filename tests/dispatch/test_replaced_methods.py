"""A method that takes another module's place says so, with both places; a source that is run again does not."""

import importlib
import sys
import types
import warnings

import numpy as np
import pytest

import polyad as pa


def run(source, name, **scope):
    """Run a source as the module `name`; its lines are those of `<name>.py`."""
    scope = {"pa": pa, "np": np, **scope, "__name__": name}
    exec(compile(source, f"{name}.py", "exec"), scope)
    return types.SimpleNamespace(**scope)


def fresh():
    @pa.generic
    def op(x, y, /): ...

    return op


METHOD = """
@op.method
def method(x: float, y: float, /):
    return {0}
"""


def test_another_module_warns_with_both_places():
    op = fresh()
    run(METHOD.format(1), "first", op=op)
    with pytest.warns(pa.ReplacedWarning, match=r"op\(float, float\): second.py:2 takes the place of first.py:2, for the whole "
                      "process; if that is not meant, register it for a type of your own") as found:  # fmt: skip
        run(METHOD.format(2), "second", op=op)
    assert len(found) == 1 and found[0].filename == "second.py" and op(1.0, 1.0) == 2 and len(pa.methods(op)) == 1


def test_another_function_of_the_same_module_is_silent():
    op = fresh()
    run(METHOD.format(1) + METHOD.format(2).replace("def method", "def other"), "m", op=op)
    assert op(1.0, 1.0) == 2


def test_the_same_source_run_again_is_silent():
    op = fresh()
    run(METHOD.format(1), "notebook", op=op)
    run("\n\n" + METHOD.format(2), "notebook", op=op)  # a cell, edited
    assert op(1.0, 1.0) == 2


def test_a_module_loaded_again_is_silent(tmp_path, monkeypatch):
    (tmp_path / "replaced_here.py").write_text("import polyad as pa\n\n\n@pa.generic\ndef op(x, y, /): ...\n")
    (tmp_path / "replacing_here.py").write_text(
        "import polyad as pa\nfrom replaced_here import op\n\n\n@op.method\ndef method(x: int, y: int, /):\n    return 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("replacing_here")
    importlib.reload(module)
    with pytest.warns(pa.ReplacedWarning, match=r"replacing_here.py:5 takes the place of .*replacing_here.py:5|elsewhere"):
        run("@op.method\ndef elsewhere(x: int, y: int, /): ...", "elsewhere", op=module.op)
    for name in ("replacing_here", "replaced_here"):
        del sys.modules[name]


def test_where_warnings_are_errors_nothing_is_replaced():
    """The library's own kernels, which all of the process uses."""
    for op, x in ((pa.sin, np.ones(2)), (pa.sum, np.ones(2))):
        before = list(pa.methods(op))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(pa.ReplacedWarning, match=rf"{op.__name__}\(HostArray\): mine.py:1 takes the place of \S+"):
                run("@op.method\n"
                    "\ndef method(x: HostArray, /, **params): return 0", "mine", op=op, HostArray=pa.HostArray)  # fmt: skip
        assert pa.methods(op) == before and op(x) is not None


TYPE = """
@pa.array_type(leaves=("values",))
class Mine(pa.Container):
    def __init__(self, values):
        self.values = values
    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)
"""
CLAIM = """
@pa.claim(pa.elementwise_family, Mine)
def method(op, *xs, **params):
    return {0}
"""


def test_a_second_claim_warns_once():
    mine = run(TYPE + CLAIM.format(1), "mine")
    run(CLAIM.format(3), "mine", Mine=mine.Mine)
    with pytest.warns(pa.ReplacedWarning, match="theirs.py:2 takes the place of mine.py:2") as found:
        run(CLAIM.format(2), "theirs", Mine=mine.Mine)
    assert len(found) == 1 and pa.exp(mine.Mine(np.ones(2))) == 2


def test_rules_conversions_and_cards():
    mine = run(TYPE, "mine")

    @pa.composite(kernel=None)
    def twice(x, /):
        """2 x."""
        return 2 * x

    rule = "@op.{0}.method\ndef rule(ct, y, x: Mine, /): return {1}"
    for mode in ("jvp", "vjp"):
        run(rule.format(mode, 1), "mine", op=twice, Mine=mine.Mine)
        run(rule.format(mode, 2), "mine", op=twice, Mine=mine.Mine)
        with pytest.warns(pa.ReplacedWarning, match=rf"twice.{mode}\(\S*Mine\): theirs.py:1 takes the place of mine.py:1"):
            run(rule.format(mode, 3), "theirs", op=twice, Mine=mine.Mine)
    convert = "@pa.conversion(Mine, float)\ndef convert(x): return {0}"
    run(convert.format(1.0), "mine", Mine=mine.Mine)
    run(convert.format(2.0), "mine", Mine=mine.Mine)
    with pytest.warns(pa.ReplacedWarning, match=r"conversion of \S*Mine to float: theirs.py:1 takes the place of mine.py:1"):
        run(convert.format(3.0), "theirs", Mine=mine.Mine)
    card = "@op.rule('shape')\ndef shape(x): return x"
    run(card, "mine", op=twice)
    run(card, "mine", op=twice)
    with pytest.warns(pa.ReplacedWarning, match=r"rule 'shape' of twice: theirs.py:1 takes the place of mine.py:1"):
        run(card, "theirs", op=twice)


def test_a_second_promotion_rule_is_an_error():
    mine = run(TYPE, "mine")
    pa.promotion_rule(mine.Mine, float, mine.Mine)
    with pytest.raises(pa.RegistrationError, match="promotion of float and .*Mine is .*Mine already, not float"):
        pa.promotion_rule(float, mine.Mine, float)


def test_opting_out_and_in_again_is_meant():
    mine = run(TYPE, "mine")
    rule = "@op.vjp.method\ndef rule(ct, y, x: Mine, /): return 1"
    for _ in range(2):  # a notebook, run twice
        run(rule, "mine", op=pa.sin, Mine=mine.Mine)
        pa.opt_out(pa.sin, mine.Mine)
        pa.no_derivative(pa.sin, mine.Mine)
