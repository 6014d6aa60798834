"""What a layer of one's own is told that lacks something: the class, what to write, and what for."""

import numpy as np
import pytest
from held import Held

import polyad as pa

pytestmark = pytest.mark.quick


class Aimless(pa.Layer):
    """It has no target."""

    __slots__ = ("run", "value")
    holds = "value"
    __init__ = Held.__init__


QUESTIONS = {
    "if": lambda x: 1.0 if x[0] > 0.0 else 2.0,
    "while": lambda x: next(iter([0.0] if not (x[0] > 0.0) else [1.0])),
    "index": lambda x: [1.0, 2.0][pa.astype(x[0], int)],
    "range": lambda x: range(pa.astype(x[0], int)),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("inside", ["alone", "vmap", "grad"])
def test_no_concrete(question, inside):
    f = QUESTIONS[question]
    with pa.Run("held") as run, pytest.raises(pa.PolyadError, match=r"Held\[1\] .*defines no `concrete`.*polyad.where"):
        x = Held[run.depth](np.ones(3), run)
        if inside == "vmap":
            pa.vmap(lambda row: f(pa.stack([row, row])))(x)
        elif inside == "grad":
            pa.grad(lambda x: pa.sum(x) * f(x))(x)
        else:
            f(x)


@pytest.mark.parametrize("operation", [np.sin, lambda x: x + 1.0, lambda x: x[0], lambda x: x @ x])
def test_no_target(operation):
    with pa.Run("aimless") as run:
        x = Aimless[run.depth](np.ones(3), run)
        assert x.shape == (3,)
        with pytest.raises(pa.MissingRuleError, match=r"of a Aimless\[1\]: the class defines no `target`.*classmethod"):
            operation(x)


@pytest.mark.parametrize(
    "slots, holds", [(("run", "value"), "valu"), (None, "value"), ((), "value"), (("run", "value"), 3), (("value",), "value")]
)
def test_holds(slots, holds):
    with pytest.raises(pa.RegistrationError, match=r"^(Kind: holds = .*slots|Kind: it has no slot \"run\")"):
        type(pa.Layer)("Kind", (pa.Layer,), {"holds": holds, **({} if slots is None else {"__slots__": slots})})


def test_holds_an_inherited_slot():
    class Further(Held):
        __slots__ = ("other",)
        holds = "value"

    with pa.Run("further") as run:
        assert Further[run.depth](np.ones(3), run).shape == (3,)


WRITES = {
    "item": lambda x: pa.zeros(3).__setitem__(0, x[1]),
    "slice": lambda x: pa.zeros(3).__setitem__(slice(1, 3), x[1:]),
    "NumPy's": lambda x: np.zeros(3).__setitem__(0, x[1]),
}


@pytest.mark.parametrize("write", WRITES)
def test_no_constant(write):
    class Bare(pa.Run):
        """It has no `constant`."""

    with pytest.raises(pa.ConcreteValueError, match="Bare defines no `constant"), Bare("bare") as run:
        WRITES[write](Held[run.depth](np.ones(3), run))


def test_run_that_is_not_entered():
    class Mine(pa.Run):
        """Nothing more."""

    for name in ("depth", "outer"):
        with pytest.raises(AttributeError, match=f"Mine: this run has not been entered.*{name!r}.*with run:"):
            getattr(Mine("mine"), name)
    with pytest.raises(AttributeError, match="^'Mine' object has no attribute 'deph'$"):
        _ = Mine("mine").deph


def test_run_without_its_init():
    class Mine(pa.Run):
        def __init__(self):
            pass

    with pytest.raises(AttributeError, match=r"Mine.*'name'; .*super\(\).__init__\(name\)"):
        _ = Mine().name
