# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variables in layouts of their own beside variables that lie as their types say.

usage: PYTHONPATH=tests/support:benchmarks python tests/training/layout_test.py
           BIN_DIR LIBRARY [unittest's options]
"""

import json
import pathlib
import re
import struct
import sys

import numpy as np

import tool_test
from tinh_runtime import Model

LIBRARY = None  # libtinh_runtime.so.
PLAIN = "--plain-variables"
N, INPUTS, HIDDEN, OUTPUTS = 64, 37, 45, 19  # None fills panels.
OPTIMIZERS = [
    "sgd,lr=0.05",
    "sgd,lr=0.05,momentum=0.9,nesterov=true",
    "adam,lr=0.01",
    "adamw,lr=0.01",
    "adamax,lr=0.01",
    "nadam,lr=0.01",
    "adagrad,lr=0.05",
    "rmsprop,lr=0.01",
    "lion,lr=0.001",
]


def read_state(path):
    """The tensors in a .safetensors file, all of f32, by their names."""
    data = path.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:end])
    header.pop("__metadata__", None)
    tensors = {}
    for name, tensor in header.items():
        begin, until = tensor["data_offsets"]
        values = np.frombuffer(data[end + begin : end + until], np.float32)
        tensors[name] = values.reshape(tensor["shape"])
    return tensors


class Layers:
    """y = relu(x · w1 + b1) · w2ᵀ + b2."""

    def __init__(self, dtype="f32", inputs=INPUTS, hidden=HIDDEN):
        random = np.random.default_rng(7)
        self.dtype = np.float64 if dtype == "f64" else np.float32
        self.name = dtype
        shapes = {
            "w1": (inputs, hidden),
            "b1": (hidden,),
            "w2": (OUTPUTS, hidden),
            "b2": (OUTPUTS,),
        }
        self.weights = {
            name: random.normal(0, 0.2, shape).astype(self.dtype)
            for name, shape in shapes.items()
        }
        self.feed = {
            "x": random.normal(size=(N, inputs)).astype(self.dtype),
            "target": random.normal(size=(N, OUTPUTS)).astype(self.dtype),
        }

    def json(self):
        def node(op, inputs, output, **attributes):
            node = {"op": op, "inputs": inputs, "outputs": [output]}
            return node | ({"attributes": attributes} if attributes else {})

        return {
            "tinh": 1,
            "name": "layers",
            "inputs": [
                {"name": "x", "dtype": self.name, "shape": list(self.feed["x"].shape)}
            ],
            "weights": [
                {
                    "name": name,
                    "dtype": self.name,
                    "shape": list(value.shape),
                    "data": [float(v) for v in value.flat],
                }
                for name, value in self.weights.items()
            ],
            "nodes": [
                node("matmul", ["x", "w1"], "a"),
                node("add", ["a", "b1"], "b"),
                node("relu", ["b"], "h"),
                node("matmul", ["h", "w2"], "c", transpose_b=True),
                node("add", ["c", "b2"], "y"),
            ],
            "outputs": ["y"],
        }


class LayersWithSums(Layers):
    """The same, and the sum of w1, and those of its columns and of its rows times x,
    in b: the gradient of w1 has terms that are alike in all rows or columns."""

    def json(self):
        model = super().json()

        def node(op, inputs, output, **attributes):
            return {
                "op": op,
                "inputs": inputs,
                "outputs": [output],
                "attributes": attributes,
            }

        model["nodes"][1]["inputs"] = ["a4", "b1"]
        model["nodes"][1:1] = [
            node("reduce", ["w1"], "s1", kind="sum", axes=[0, 1], keepdims=True),
            node("reduce", ["w1"], "s2", kind="sum", axes=[0], keepdims=True),
            node("reduce", ["w1"], "s3", kind="sum", axes=[1], keepdims=True),
            node("matmul", ["x", "s3"], "s4"),
            node("add", ["a", "s1"], "a2"),
            node("add", ["a2", "s2"], "a3"),
            node("add", ["a3", "s4"], "a4"),
        ]
        return model


class LayoutTest(tool_test.ToolTest):
    def compile_layers(self, layers, optimizer, *options, emit="so"):
        self.files = getattr(self, "files", 0) + 1
        output = f"step{self.files}.{emit}"
        (self.folder / "layers.json").write_text(json.dumps(layers.json()))
        self.compile(
            "layers.json",
            output,
            "--train",
            "--loss=mse",
            f"--optimizer={optimizer}",
            f"--emit={emit}",
            *options,
        )
        return self.folder / output

    def train(self, layers, path, steps=10, threads=1):
        model = Model(LIBRARY, path, threads, "train_step")
        run, results = model.bind(layers.feed)
        losses = []
        for _ in range(steps):
            run()
            losses.append(float(results["loss"]))
        return losses, model

    def plan(self, optimizer, *options):
        path = self.compile_layers(Layers(), optimizer, *options, emit="plan")
        return path.read_text()

    def test_trains_as_without(self):
        for optimizer in OPTIMIZERS:
            for cpu in ("native", "x86-64-v3"):
                with self.subTest(optimizer=optimizer, cpu=cpu):
                    self.compare(Layers(), optimizer, f"--cpu={cpu}")

    def test_products_of_few_rows(self):
        # Their tiles are wider than the panels in which they store.
        for hidden in (70, 100, 128):
            self.compare(Layers(inputs=3, hidden=hidden), "adam,lr=0.01")

    def test_gradients_alike_in_rows_or_columns(self):
        for optimizer in ("sgd,lr=0.001", "adam,lr=0.001"):
            for cpu in ("native", "x86-64-v3"):
                self.compare(LayersWithSums(), optimizer, f"--cpu={cpu}")

    def test_doubles(self):
        self.compare(Layers("f64"), "adam,lr=0.01")

    def compare(self, layers, optimizer, *options):
        laid_out = self.compile_layers(layers, optimizer, *options)
        plain = self.compile_layers(layers, optimizer, *options, PLAIN)
        expected, reference = self.train(layers, plain)
        self.assertLess(expected[-1], expected[0])
        for threads in (1, 3):
            losses, model = self.train(layers, laid_out, threads=threads)
            np.testing.assert_allclose(losses, expected, rtol=1e-4)
            for name, value in layers.weights.items():
                np.testing.assert_allclose(
                    model.read_variable(name, value.shape, layers.dtype),
                    reference.read_variable(name, value.shape, layers.dtype),
                    rtol=1e-3,
                    atol=1e-5,
                )

    def test_programs_see_what_the_type_says(self):
        for dtype in ("f32", "f64"):
            layers = Layers(dtype)
            path = self.compile_layers(layers, "adam,lr=0.01")
            model = Model(LIBRARY, path, 1, "train_step")
            for name in ("w1", "w2"):
                first = layers.weights[name]
                shape = first.shape
                read = model.read_variable(name, shape, layers.dtype)
                np.testing.assert_array_equal(read, first)
                new = np.arange(first.size, dtype=layers.dtype).reshape(shape)
                model.write_variable(name, new)
                read = model.read_variable(name, shape, layers.dtype)
                np.testing.assert_array_equal(read, new)
                moment = f"optimizer.{name}.exp_avg"
                read = model.read_variable(moment, shape, layers.dtype)
                np.testing.assert_array_equal(read, np.zeros(shape))

    def test_states_of_either_fit_the_other(self):
        layers = Layers()
        for name, value in layers.feed.items():
            np.save(self.folder / f"{name}.npy", value)
        options = ("adam,lr=0.01",)
        laid_out = self.compile_layers(layers, *options)
        plain = self.compile_layers(layers, *options, PLAIN)

        def train(path, state, *more):
            epochs = () if "--epochs" in more else ("--epochs", "3")
            data = ("--data", "x.npy,target.npy", *epochs)
            done = self.run_tool(
                "graph-run", path, "--train", *data, "--save-state", state, *more
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            return read_state(self.folder / state)

        first = train(laid_out, "a.safetensors")
        self.assertClose(train(plain, "b.safetensors"), first)
        loaded = ("--load-state", "a.safetensors")
        on = train(laid_out, "c.safetensors", *loaded)
        self.assertClose(train(plain, "d.safetensors", *loaded), on)
        self.assertFalse(np.array_equal(on["w1"], first["w1"]))
        # Loaded and saved again, without a step between, it is the same.
        back = train(laid_out, "e.safetensors", *loaded, "--epochs", "0")
        for name, value in first.items():
            np.testing.assert_array_equal(back[name], value)

    def assertClose(self, found, expected):
        self.assertEqual(found.keys(), expected.keys())
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-5)

    def test_no_step_packs_what_the_one_before_has_left(self):
        for optimizer in OPTIMIZERS:
            with self.subTest(optimizer=optimizer):
                plan = self.plan(optimizer)
                laid_out = re.findall(r'plan.variable "([^"]+)".* layout <', plan)
                state = re.findall(r'plan.variable "(optimizer.w1[^"]+)"', plan)
                self.assertLessEqual({"w1", "w2", *state}, set(laid_out))
                step = plan[plan.index("plan.function @train_step") :]
                step = step[: step.index("plan.function", 1)]
                names = re.findall(r'"([^"]+)": ', step[: step.index("outputs(")])
                w1 = f"input {names.index('w1')}["
                uses = [line for line in step.splitlines() if w1 in line]
                self.assertTrue(any("writes(" + w1 in use for use in uses))
                for use in uses:
                    self.assertIn("plan.dispatch", use)  # It is not copied.
                    self.assertNotRegex(use, r"@\w+_(pack|unpack)\b")
                self.assertNotIn(" layout <", self.plan(optimizer, PLAIN))


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
