"""@tinh.function: what is traced, and when again."""

import json
import pathlib
import tempfile
import unittest

import numpy as np
import tinh


class FunctionTest(unittest.TestCase):
    def test_it_is_traced_once_for_each_signature(self):
        traced = []

        @tinh.function
        def scaled(x, by=2):
            traced.append(by)
            return x * by

        x = tinh.tensor([1.0, 2.0])
        for _ in range(3):
            self.assertEqual(scaled(x).tolist(), [2, 4])
        self.assertEqual(scaled(np.array([3, 4, 5], "f4")).tolist(), [6, 8, 10])
        self.assertEqual(scaled(x, by=3).tolist(), [3, 6])
        self.assertEqual(traced, [2, 2, 3])
        self.assertEqual(scaled.statistics["traces"], 3)
        self.assertEqual(scaled.__name__, "scaled")

    def test_equal_numbers_of_other_types_are_others(self):
        @tinh.function
        def full(x, value):
            return x + (1 if value is True else 10 if type(value) is int else 100)

        x = tinh.zeros(1)
        found = [full(x, v).item() for v in (1, True, 1.0, 1, True)]
        self.assertEqual(found, [10, 1, 100, 10, 1])

    def test_objects_that_print_alike_are_others(self):
        class Option:
            def __init__(self, value):
                self.value = value

            def __repr__(self):
                return "Option()"

        @tinh.function
        def shifted(x, option):
            return x + option.value

        x, one, two = tinh.zeros(1), Option(1), Option(2)
        found = [shifted(x, option).item() for option in (one, two, one)]
        self.assertEqual(found, [1, 2, 1])
        with self.assertRaisesRegex(TypeError, "shifted: .* must be hashable"):
            shifted(x, {1, 2})

    def test_structures(self):
        @tinh.function
        def swapped(pair, named):
            return {"sum": [pair[0] + named["b"], pair[1]], "none": None}

        a, b = tinh.ones(2), tinh.zeros(2)
        found = swapped((a, b), {"b": 3 * a})
        self.assertEqual(found["sum"][0].tolist(), [4, 4])
        self.assertEqual(found["sum"][1].tolist(), [0, 0])
        self.assertIsNone(found["none"])

    def test_captured_tensors_are_read_and_changed(self):
        count = tinh.zeros(())

        @tinh.function
        def step(x):
            count.add_(1)
            return x * count

        x = tinh.tensor(2.0)
        self.assertEqual([step(x).item() for _ in range(3)], [2, 4, 6])
        self.assertEqual(count.item(), 3)

    def test_errors_of_the_function(self):
        @tinh.function
        def wrong(x):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            wrong(tinh.zeros(1))

        @tinh.function
        def looks(x):
            return x if x.item() > 0 else -x

        with self.assertRaisesRegex(tinh.Error, "function_test.py"):
            looks(tinh.zeros(1))

    def test_what_is_saved_runs(self):
        w = tinh.tensor([[1.0], [2.0]])

        @tinh.function
        def product(x):
            return x @ w

        x = np.array([[3, 4]], "f4")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "product.so"
            product.save(path, x)
            self.assertEqual(tinh.load(path)(x).tolist(), [[11]])
        self.assertIn("graph.matmul", product.graph(x))

    def test_names_of_what_is_saved(self):
        w = tinh.ones((3, 2))

        @tinh.function(captured={"weight": w})
        def layer(x, *more, named):
            return (x.T.reshape(2, 3) @ w)[:, 0] + more[1][0] * named["b"]

        one = tinh.ones(2)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "layer.json"
            layer.save(path, tinh.ones((3, 2)), one, (one,), named={"b": one})
            model = json.loads(path.read_text())
        self.assertEqual(
            [i["name"] for i in model["inputs"]], ["x", "more.0", "more.1.0", "named.b"]
        )
        self.assertIn("weight", [w["name"] for w in model["weights"]])
        names = {n["op"]: n.get("name", *n["outputs"][:1]) for n in model["nodes"]}
        for op in ("transpose", "matmul", "mul"):
            self.assertNotIn("view", names[op])
        self.assertEqual(names["matmul"].split("_")[0], "matmul")

    def test_modules_name_operations(self):
        class Block(tinh.nn.Module):
            def __init__(self):
                self.layers = [tinh.nn.Linear(4, 4), tinh.nn.Sequential(tinh.nn.ReLU())]

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        class Net(tinh.nn.Module):
            def __init__(self):
                self.block = Block()
                self.output = tinh.nn.Linear(4, 2)

            def forward(self, x):
                self.was_tracing = tinh.is_tracing()
                with tinh.name_scope("head"):
                    return self.output(self.block(x)).tanh()

        net = Net()
        net.initialize(tinh.Generator(0))
        traced = tinh.function(lambda x: net(x))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.json"
            traced.save(path, tinh.ones((3, 4)))
            nodes = json.loads(path.read_text())["nodes"]
        with self.assertRaisesRegex(ValueError, "not been entered"):
            tinh.name_scope("a").__exit__(None, None, None)
        self.assertTrue(net.was_tracing)
        self.assertFalse(tinh.is_tracing())
        names = [n.get("name", *n["outputs"][:1]) for n in nodes]
        for expected in (
            "head/block/layers/0/linear",
            "head/block/layers/1/",
            "head/output/linear",
            "head/tanh",
        ):
            self.assertTrue(any(n.startswith(expected) for n in names), names)


if __name__ == "__main__":
    unittest.main()
