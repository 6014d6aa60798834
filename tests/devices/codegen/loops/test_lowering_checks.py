"""What lowerings return is looked at: an error names the operation, and where its lowering is written."""

import numpy as np
import pytest

import polyad as pa


class TestWhatLoweringsReturn:
    """What is no C of the operation is an error that names it and where its lowering is written."""

    x = np.array([1.0, 2.0, 3.0])

    def declared(self, reverse=True):
        @pa.opaque()
        def backwards(x, /):
            """The last axis backwards."""

        @backwards.method
        def backwards_kernel(x: pa.HostArray, /):
            return x[..., ::-1] if reverse else x

        backwards.rule("shape")(lambda x: x)
        return backwards

    def scan(self, made, axis=0):
        from polyad.devices.codegen.lowerings.scans import Scan

        return lambda e, graph: [Scan(e, graph, e.inputs[0], axis, made)]

    def refused(self, match, **facts):
        """In a program by itself, with others, and in a loop."""
        op = self.declared()
        pa.lowering(op, **facts)
        for f in (op, lambda x: op(2 * x) + 1, lambda x: pa.fori_loop(0, 2, lambda i, s: op(s), x)):
            for _ in range(2):
                with pytest.raises(
                    pa.RegistrationError, match=rf"lowering of backwards: \w+ \(.*test_lowering_checks.py:\d+\) {match}"
                ):
                    pa.jit(f)(self.x)

    @pytest.mark.parametrize("nests, match", [
        (lambda e, graph: None, "returned NoneType; it must return a list of nests"),
        (lambda e, graph: "y[0] = 1", "returned str; it must return a list"),
        (lambda e, graph: ["y[0] = 1"], "returned a list with str; a nest is a Nest, or a block such as Scan"),
        (lambda e, graph: [], r"does not fill the result: of float64\[3\] it leaves 3 element\(s\) unwritten"),
    ])  # fmt: skip
    def test_nests(self, nests, match):
        self.refused(match, nests=nests)

    def test_a_nest_over_a_part(self):
        from polyad.devices.codegen.loops.nests import Nest, Store

        self.refused(
            "does not fill .* leaves 1 element", nests=lambda e, graph: [Nest((2,), [Store(e.outputs[0], e.inputs[0])])]
        )

    def test_scans(self):
        loop = lambda statements: statements
        self.refused("does not fill the result: no statement of its Scan stores", nests=self.scan(lambda *made: ([], loop)))
        self.refused("gives its Scan a function that returned list", nests=self.scan(lambda *made: []))
        self.refused("gives its Scan str as a statement", nests=self.scan(lambda *made: (["y[0] = 1"], loop)))
        self.refused(r"makes a Scan along axis 7 of float64\[3\]", nests=self.scan(lambda *made: ([], loop), axis=7))

    def test_index_map(self):
        self.refused("returned NoneType; it must return C", index_map=lambda body, e, idx: None)

    def test_in_full(self):
        """Also of arrays without elements, and backwards by minus."""
        op = self.declared()
        pa.lowering(op, index_map=lambda body, e, idx: body.value(e.inputs[0], (-idx[0] + 2,)))
        np.testing.assert_array_equal(pa.jit(lambda x: op(2 * x) + 1)(self.x), [7, 5, 3])
        empty = self.declared()
        pa.lowering(empty, nests=lambda e, graph: [])
        assert pa.jit(lambda x: empty(x) + 1)(np.zeros(0)).shape == (0,)

    def test_c_that_does_not_compile(self):
        """Each of them is told, with the operations that it may be of; the program runs by their kernels."""
        from polyad.devices.codegen.text.expressions import c

        for word in ("one", "two"):
            op = self.declared(reverse=False)
            pa.lowering(op, index_map=lambda body, e, idx, word=word: c("1" + word))
            f = pa.jit(lambda x, op=op: op(x) + 1)
            with pytest.warns(
                RuntimeWarning, match=rf"{word}.*; C in it that is not the library's: backwards \(.*test_lowering_checks.py:"
            ):
                np.testing.assert_array_equal(f(self.x), self.x + 1)

    def test_expressions_of_arrays(self):
        from polyad.devices.codegen.text.expressions import c

        for wrong in (self.x, None, [1]):
            with pytest.raises(TypeError, match="an expression of C is made of .*; give Pieces"):
                c("{} + 1", wrong)

    def test_reductions_have_axis_and_keepdims(self):
        with pytest.raises(pa.RegistrationError, match=r"lowering of backwards: reduce is of .* not of backwards\(x, /\)"):
            pa.lowering(self.declared(), reduce="+")
