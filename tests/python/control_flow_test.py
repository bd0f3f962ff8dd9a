"""cond, while_loop, scan, custom_gradient and hooks: eager, and traced."""

import unittest

import numpy as np
import tinh


class ControlFlowTest(unittest.TestCase):
    def check(self, function, *inputs, traces=1):
        """Calls that are eager and traced give the same; returns that."""
        traced = tinh.function(function)
        for x in inputs:
            eager, compiled = function(tinh.tensor(x)), traced(tinh.tensor(x))
            np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=1e-6)
        self.assertEqual(traced.statistics["traces"], traces)
        return eager.tolist()

    def test_cond(self):
        taken = []

        def signed(x):
            def plus():
                taken.append("plus")
                return x + 1

            return tinh.cond(x.sum() > 0, plus, lambda: x - 1)

        self.assertEqual(self.check(signed, [1.0, 2.0], [-1.0, -2.0]), [-2, -3])
        self.assertEqual(taken[:2], ["plus", "plus"])

    def test_cond_of_structures(self):
        pair = tinh.cond(True, lambda: {"a": [1.0, tinh.ones(2)]}, lambda: None)
        self.assertEqual(pair["a"][0].item(), 1)
        self.assertEqual(pair["a"][1].tolist(), [1, 1])

        @tinh.function
        def unlike(x):
            return tinh.cond(x.sum() > 0, lambda: (x,), lambda: [x])

        with self.assertRaisesRegex(TypeError, r"expected \(tensor,\), found \[tensor\]"):
            unlike(tinh.ones(1))
        with self.assertRaisesRegex(TypeError, "cond: expected a tensor"):
            tinh.cond(3, lambda: 1, lambda: 2)

    def test_while_loop(self):
        def halved(x):
            count, last = tinh.while_loop(
                lambda s: s[1].abs().max() > 1, lambda s: (s[0] + 1, s[1] / 2), (0, x)
            )
            return last + count

        self.assertEqual(self.check(halved, [1.0, 8.0], [0.5, -3.0]), [2.125, 1.25])

    def test_while_loop_of_another_structure(self):
        with self.assertRaisesRegex(TypeError, "while_loop: what the body gives"):
            tinh.while_loop(lambda s: s < 3, lambda s: [s + 1], tinh.tensor(0))

    def test_scan(self):
        def running(x):
            last, sums = tinh.scan(
                lambda total, row: (total + row, total + row), tinh.zeros(2), x
            )
            return tinh.concat([sums, last.unsqueeze(0)])

        found = self.check(running, [[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(found, [[1, 2], [4, 6], [4, 6]])
        powers = tinh.scan(lambda s, _: (s * 2, {"p": s}), 1.0, length=4)[1]
        self.assertEqual(powers["p"].tolist(), [1, 2, 4, 8])
        with self.assertRaisesRegex(TypeError, "scan: the body is to give a tuple"):
            tinh.scan(lambda s, _: s, 1.0, length=2)

    def test_errors_name_the_callers_line(self):
        for wrong in (
            lambda: tinh.cond(tinh.ones(2), lambda: 1, lambda: 2),
            lambda: tinh.scan(lambda s, row: (s, s), 0, length=-3),
        ):
            with self.assertRaisesRegex(tinh.Error, r"^control_flow_test.py:\d+: "):
                wrong()

    def test_an_error_within(self):
        def body(state):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            tinh.while_loop(lambda s: s < 3, body, tinh.tensor(0))

    def test_gradients_go_through(self):
        def loss(x):
            x = x.requires_grad_()
            total, _ = tinh.scan(lambda s, row: (s * row, ()), tinh.ones(()), x)
            return tinh.grad([total], [x])[0]

        self.assertEqual(loss(tinh.tensor([2.0, 3.0, 4.0])).tolist(), [12, 8, 6])


class OwnGradientsTest(unittest.TestCase):
    def test_custom_gradient(self):
        def straight_through(x):
            return tinh.custom_gradient(
                lambda x: tinh.round(x), lambda inputs, outputs, gradients: gradients, [x]
            )

        def gradient(x):
            x = x.requires_grad_()
            y = straight_through(x * 3)
            return y.detach() + tinh.grad([y.sum()], [x])[0]

        x = tinh.tensor([0.4, 1.0])
        self.assertEqual(gradient(x).tolist(), [4, 6])

    def test_none_is_no_gradient(self):
        x, y = (tinh.tensor(2.0).requires_grad_() for _ in range(2))
        product = tinh.custom_gradient(
            lambda x, y: x * y, lambda i, o, g: [g[0] * i[1], None], [x, y]
        )
        product.backward()
        self.assertEqual(x.grad.item(), 2)
        self.assertIsNone(y.grad)

    def test_hooks(self):
        seen = []
        x = tinh.tensor([1.0, 2.0]).requires_grad_()
        y = x * 2
        y.register_hook(lambda g: seen.append(g.tolist()))
        y.register_hook(lambda g: g * 10)
        y.sum().backward()
        self.assertEqual(seen, [[1, 1]])
        self.assertEqual(x.grad.tolist(), [20, 20])

    def test_an_error_within_a_hook(self):
        def fails(gradient):
            raise ZeroDivisionError("of a hook")

        x = tinh.tensor(1.0).requires_grad_()
        y = x * 2
        y.register_hook(fails)
        with self.assertRaisesRegex(ZeroDivisionError, "of a hook"):
            y.backward()


if __name__ == "__main__":
    unittest.main()
