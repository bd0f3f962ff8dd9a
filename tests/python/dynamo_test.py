"""torch.compile(backend="tinh") and torch modules; where PyTorch is installed:

    build/venv-bench/bin/pip install --no-deps dist/tinh-*-cp311-*.whl
    build/venv-bench/bin/python -m unittest discover -s tests/python -p '*_test.py'
"""

import importlib.util
import unittest
import warnings

import numpy as np
import tinh

if importlib.util.find_spec("torch"):
    import torch
    from tinh import dynamo
else:
    torch = None


def small_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(3, 2, 1, ceil_mode=True),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.3),
        torch.nn.Linear(8 * 5 * 5, 4),
    )


@unittest.skipIf(torch is None, "PyTorch is not installed")
class DynamoTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        dynamo.coverage.__init__()
        self.model = small_net()
        self.x = torch.randn(2, 3, 9, 9, generator=torch.Generator().manual_seed(1))

    def assert_close(self, found, expected):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)

    def compile(self, model, **options):
        return torch.compile(model, backend="tinh", **options)

    def test_inference(self):
        self.model.eval()
        compiled = self.compile(self.model)
        with torch.no_grad():
            self.assert_close(compiled(self.x), self.model(self.x))
        self.assertEqual(dynamo.coverage.fallback_ops, 0)
        self.assertGreater(dynamo.coverage.ops, 5)

    def test_parameters_that_change(self):
        self.model.eval()
        compiled = self.compile(self.model)
        with torch.no_grad():
            for step in range(5):  # Packed again, then inputs.
                self.assert_close(compiled(self.x), self.model(self.x))
                self.model[-1].weight.mul_(2)
                self.model[-1].bias.data = torch.full((4,), float(step))

    def test_training(self):
        other = small_net()
        compiled = self.compile(other)
        labels = torch.tensor([1, 3])
        for model, function in ((self.model, self.model), (other, compiled)):
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            torch.manual_seed(3)
            losses = []
            for _ in range(4):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(function(self.x), labels)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            if model is self.model:
                expected = losses
        np.testing.assert_allclose(losses, expected, rtol=1e-4)
        self.assert_close(other[1].running_var, self.model[1].running_var)
        self.assertEqual(dynamo.coverage.fallback_ops, 0)

    def test_open_shapes(self):
        self.model.eval()
        model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.GELU())
        compiled = self.compile(model, dynamic=True)
        with torch.no_grad():
            for rows in (3, 7, 2, 7):
                x = torch.randn(rows, 6)
                self.assert_close(compiled(x), model(x))
        x = torch.randn(4, 6)
        compiled(x).sum().backward()
        gradient = model[0].weight.grad.clone()
        model.zero_grad()
        model(x).sum().backward()
        self.assert_close(gradient, model[0].weight.grad)

    def test_the_number_of_shapes_is_bound(self):
        limit, dynamo.MAX_SPECIALIZATIONS = dynamo.MAX_SPECIALIZATIONS, 2
        self.addCleanup(setattr, dynamo, "MAX_SPECIALIZATIONS", limit)
        compiled = self.compile(torch.sin, dynamic=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for rows in range(3, 8):
                x = torch.randn(rows)
                self.assert_close(compiled(x), x.sin())
        said = [w for w in caught if "the most there may be" in str(w.message)]
        self.assertEqual(len(said), 1)

    def test_an_op_that_is_missing(self):
        def function(x):
            return torch.linalg.svdvals(x) + 1

        compiled, x = self.compile(function), torch.randn(3, 3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assert_close(compiled(x), function(x))
            self.assert_close(compiled(2 * x), function(2 * x))
        said = [str(w.message) for w in caught if "Tinh lacks" in str(w.message)]
        self.assertEqual(len(said), 1)
        self.assertIn("linalg_svd", said[0])
        self.assertGreater(dynamo.coverage.fallback_ops, 0)

    def test_views_and_mutation(self):
        def function(x, y):
            x.add_(1)
            return x.t(), y, (x * y)[1:], None, 3

        compiled = self.compile(function)
        x, y = torch.ones(3, 3), torch.arange(9.0).reshape(3, 3)
        x2 = x.clone()
        found, expected = compiled(x, y), function(x2, y)
        self.assert_close(x, x2)
        for a, b in zip(found[:3], expected[:3]):
            self.assert_close(a, b)
        self.assertEqual(found[3:], expected[3:])

    def test_tensors_in_and_out(self):
        f = tinh.compile(self.model, (self.x,), threads=1)
        self.model.eval()
        with torch.no_grad():
            y = f(self.x)
            self.assertIsInstance(y, torch.Tensor)
            self.assert_close(y, self.model(self.x))
            out = torch.empty_like(y)
            self.assertIs(f(self.x, out=out), out)
            self.assert_close(out, y)
            channels_last = self.x.to(memory_format=torch.channels_last)
            self.assert_close(f(channels_last), y)
        names = [kernel for kernel, *_ in f.kernels.rows]
        self.assertTrue(any("conv" in name for name in names), names)
        x = self.x.clone().requires_grad_()
        with self.assertRaisesRegex(ValueError, "requires gradients"):
            f(x)
        with self.assertRaisesRegex(TypeError, "example_inputs"):
            tinh.compile(self.model)
        with self.assertRaisesRegex(TypeError, "found torch.float64"):
            f(self.x.double())

    def test_bfloat16(self):
        model = torch.nn.Linear(8, 4).bfloat16().eval()
        x = torch.randn(3, 8).bfloat16()
        f = tinh.compile(model, (x,))
        y = f(x)
        self.assertEqual(y.dtype, torch.bfloat16)
        with torch.no_grad():
            torch.testing.assert_close(y, model(x), rtol=0.02, atol=0.02)

    def test_beside_eager_pytorch(self):
        found = tinh.compare(self.model, (self.x,))
        self.assertEqual(list(found), ["compiled", "torch"])
        self.assertLess(found["torch"]["difference"], 1e-4)


if __name__ == "__main__":
    unittest.main()
