"""What the checker of statements refuses."""

import importlib.util
from pathlib import Path

import pytest

from polyad.devices.codegen.loops import emission
from polyad.devices.codegen.loops.loops import Loop
from polyad.devices.codegen.text.expressions import Access, Name, c, call
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.statements import Array, Assign, Do, If, Local, count, scope

spec = importlib.util.spec_from_file_location("polyad_checking_itself", Path(__file__).with_name("checking.py"))
checking = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checking)
V = Local("double", "v", "0.5")


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ([Assign(Name("v"), "1")], "nowhere: .'v'"),
        ([Do(c("{} + 1", Name("v"))), V], "nowhere: .'v'"),  # declared too late
        ([scope(V), Do(Name("v"))], "nowhere: .'v'"),  # in another scope
        ([If("1", [V]), Do(Name("v"))], "nowhere: .'v'"),
        ([count("i", 0, 3, []), Do(Name("i"))], "nowhere: .'i'"),
        ([Do(Access(Buffer("x0", None, (3,)), "0"))], "nowhere: .'x0'"),
        ([Array("int", "s", 3), Do(Access(Buffer("s", None, (3,)), Index(0, [("i", 1)])))], "nowhere: .'i'"),
        ([Do("0", ("n",))], "nowhere: .'n'"),
        ([V, V], "v is declared twice"),
        ([V, Do("v + 1")], "v is a name in a string"),
        ([V, Do(c("{} + w", Name("v")))], "w is a name in a string"),
        ([V, "w = v;"], "w = v;"),
        ([V, Assign("v", "1")], "Assign"),
    ],
)
def test_what_is_wrong(statements, said):
    with pytest.raises(AssertionError, match=said):
        checking.check(statements)


def test_what_is_right():
    inner = Local("float", "v", call("(float)", Name("v")))
    checking.check([V, scope(inner), If(Name("v"), [inner]), Assign(Name("fault"), "1"), Do("__syncthreads()")])
    checking.check([Do(Name("x0"))], {"x0"})


def test_a_pass_that_loses_a_declaration(monkeypatch):
    monkeypatch.setattr(emission, "over_vectors", lambda loops, statements, parallel: [statements[-1]])
    checking.installed(monkeypatch)
    with pytest.raises(AssertionError, match="nowhere: .'v'"):
        emission.over_vectors([Loop("i", 3, False)], [V, Do(call("sin", Name("v")))], False)
