# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training artifacts against training by hand, in NumPy and f64, and against
what PyTorch has trained (cnn.json).

usage: PYTHONPATH=tests/support:benchmarks python tests/training/training_test.py
           BIN_DIR LIBRARY [unittest's options]
"""

import json
import pathlib
import shutil
import sys

import numpy as np

import cnn
import tool_test
from tinh_runtime import Model

LIBRARY = None  # libtinh_runtime.so.
STEPS = 100
N, INPUTS, HIDDEN, CLASSES = 16, 12, 10, 4


class Network:
    """y = relu(x · w1 + b1) · w2 + b2, and its gradients."""

    def __init__(self, seed=1):
        random = np.random.default_rng(seed)
        shapes = {
            "fc1.weight": (INPUTS, HIDDEN),
            "fc1.bias": (HIDDEN,),
            "fc2.weight": (HIDDEN, CLASSES),
            "fc2.bias": (CLASSES,),
        }
        self.p = {
            name: random.normal(0, 0.5, shape).astype(np.float32)
            for name, shape in shapes.items()
        }
        self.x = random.normal(size=(N, INPUTS)).astype(np.float32)
        self.t = random.normal(size=(N, CLASSES)).astype(np.float32)
        self.labels = random.integers(0, CLASSES, N)

    def json(self):
        return {
            "tinh": 1,
            "name": "network",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [N, INPUTS]}],
            "weights": [
                {
                    "name": name,
                    "dtype": "f32",
                    "shape": list(value.shape),
                    "data": [float(v) for v in value.flat],
                }
                for name, value in self.p.items()
            ],
            "nodes": [
                {"op": "matmul", "inputs": ["x", "fc1.weight"], "outputs": ["a"]},
                {"op": "add", "inputs": ["a", "fc1.bias"], "outputs": ["b"]},
                {"op": "relu", "inputs": ["b"], "outputs": ["h"]},
                {"op": "matmul", "inputs": ["h", "fc2.weight"], "outputs": ["c"]},
                {"op": "add", "inputs": ["c", "fc2.bias"], "outputs": ["y"]},
            ],
            "outputs": ["y"],
        }

    def predict(self):
        p = self.p
        self.h = np.maximum(self.x @ p["fc1.weight"] + p["fc1.bias"], 0)
        return self.h @ p["fc2.weight"] + p["fc2.bias"]

    def gradients(self, dy):
        dh = (dy @ self.p["fc2.weight"].T) * (self.h > 0)
        return {
            "fc1.weight": self.x.T @ dh,
            "fc1.bias": dh.sum(0),
            "fc2.weight": self.h.T @ dy,
            "fc2.bias": dy.sum(0),
        }


def mse(y, network):
    d = y - network.t
    return (d**2).mean(), 2 * d / d.size


def cross_entropy(y, network):
    e = np.exp(y - y.max(1, keepdims=True))
    q = e / e.sum(1, keepdims=True)
    rows = np.arange(N)
    dy = q.copy()
    dy[rows, network.labels] -= 1
    return -np.log(q[rows, network.labels]).mean(), dy / N


class Sgd:
    def __init__(self, lr, momentum=0, weight_decay=0):
        self.lr, self.momentum, self.decay = lr, momentum, weight_decay
        self.velocity = {}

    def update(self, p, g, name, step):
        g = g + self.decay * p
        if self.momentum:
            v = self.velocity.get(name)
            g = g if v is None else self.momentum * v + g
            self.velocity[name] = g
        return p - self.lr * g


class Adam:
    def __init__(self, lr, weight_decay=0, decoupled=False):
        self.lr, self.decay, self.decoupled = lr, weight_decay, decoupled
        self.m, self.v = {}, {}

    def update(self, p, g, name, step):
        if self.decoupled:
            p = p * (1 - self.lr * self.decay)
        else:
            g = g + self.decay * p
        m = self.m[name] = 0.9 * self.m.get(name, 0) + 0.1 * g
        v = self.v[name] = 0.999 * self.v.get(name, 0) + 0.001 * g * g
        m, v = m / (1 - 0.9**step), v / (1 - 0.999**step)
        return p - self.lr * m / (np.sqrt(v) + 1e-8)


class TrainingTest(tool_test.ToolTest):
    def compile_step(self, network, *options, training=None):
        model = network.json()
        if training:
            model["training"] = training
        return self.compile_model(model, *options)

    def compile_model(self, model, *options):
        (self.folder / "network.json").write_text(json.dumps(model))
        result = self.run_tool(
            "graph-compile", "network.json", "--train", *options, "-o", "step.so"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.folder / "step.so"

    def train(self, loss, by_hand, optimizer, expected, trainable=None):
        """Compares the losses of `expected`, an optimizer by hand in f64, with
        those of the compiled step."""
        network = Network()
        options = [f"--loss={loss}", f"--optimizer={optimizer}"]
        options += [f"--trainable={trainable}"] if trainable else []
        path = self.compile_step(network, *options)
        model = Model(LIBRARY, path, 1, "train_step")
        target = network.labels if loss == "cross_entropy" else network.t
        run, results = model.bind({"x": network.x, "target": target})
        network.p = {name: p.astype(np.float64) for name, p in network.p.items()}
        first = None
        for step in range(1, STEPS + 1):
            run()
            value, dy = by_hand(network.predict(), network)
            first = value if first is None else first
            self.assertAlmostEqual(
                float(results["loss"]), value, delta=1e-3 * abs(first), msg=step
            )
            for name, g in network.gradients(dy).items():
                if trainable is None or name.startswith(trainable.rstrip("*")):
                    network.p[name] = expected.update(
                        network.p[name], g, name, step
                    )
        self.assertLess(value, 0.9 * first)

    def test_sgd(self):
        self.train("mse", mse, "sgd,lr=0.05", Sgd(0.05))

    def test_momentum_and_weight_decay(self):
        self.train(
            "cross_entropy",
            cross_entropy,
            "sgd,lr=0.05,momentum=0.9,weight_decay=0.01",
            Sgd(0.05, 0.9, 0.01),
        )

    def test_adam(self):
        self.train("cross_entropy", cross_entropy, "adam,lr=0.01", Adam(0.01))

    def test_adamw(self):
        self.train(
            "mse",
            mse,
            "adamw,lr=0.01,weight_decay=0.1",
            Adam(0.01, 0.1, decoupled=True),
        )

    def test_frozen_weights(self):
        self.train("mse", mse, "sgd,lr=0.05", Sgd(0.05), trainable="fc2*")

    def test_convolutions_and_batch_norms(self):
        """As PyTorch has trained the same network."""
        weights, x, labels = cnn.make()
        expected = json.loads(cnn.RECORDED.read_text())
        path = self.compile_model(
            cnn.graph(weights, x),
            "--loss=cross_entropy",
            "--optimizer=sgd,lr=0.05,momentum=0.9",
        )
        model = Model(LIBRARY, path, 2, "train_step")
        run, results = model.bind({"x": x, "target": labels})
        for loss in expected["losses"]:
            run()
            self.assertAlmostEqual(float(results["loss"]), loss, delta=1e-3)
        for name, values in expected["statistics"].items():
            found = model.read_variable(name, len(values))
            np.testing.assert_allclose(found, values, rtol=1e-3, atol=1e-3)
        self.assertLess(loss, 0.5 * expected["losses"][0])

    def test_other_functions(self):
        """Their results are those of the weights at the beginning."""
        network = Network()
        path = self.compile_step(network, "--loss=mse", "--optimizer=sgd")
        expected = network.predict()
        y = Model(LIBRARY, path, 1, "predict").run({"x": network.x})["y"]
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
        results = Model(LIBRARY, path, 1, "evaluate").run(
            {"x": network.x, "target": network.t}
        )
        np.testing.assert_allclose(results["y"], expected, rtol=1e-4, atol=1e-5)
        value, _ = mse(expected, network)
        np.testing.assert_allclose(results["loss"], value, rtol=1e-4)

    def test_options_of_the_file(self):
        """What the file says is as good as options, which come first."""
        network = Network()
        said = {
            "loss": {"name": "mse", "reduction": "sum"},
            "optimizer": {"name": "sgd", "lr": 0.001, "nesterov": False},
            "trainable": ["fc2*"],
        }
        feed = {"x": network.x, "target": network.t}
        results = []
        for path in (
            self.compile_step(network, training=said),
            self.compile_step(
                network,
                "--loss=mse,reduction=sum",
                "--optimizer=sgd,lr=0.001",
                "--trainable=fc2.weight",
                "--trainable=fc2.bias",
                training={"optimizer": {"name": "adam"}},
            ),
        ):
            run, result = Model(LIBRARY, path, 1, "train_step").bind(feed)
            for _ in range(5):
                run()
            results.append(float(result["loss"]))
        self.assertEqual(*results)

    def test_artifact_that_replaces_a_loaded_one(self):
        """Is refused as long as the library that is loaded has its path."""
        network = Network()
        feed = {"x": network.x, "target": network.t}
        path = self.compile_step(network, "--loss=mse", "--optimizer=sgd")
        first = Model(LIBRARY, path, 1, "evaluate")
        Model(LIBRARY, path, 1, "evaluate")  # The same file once more.
        self.compile_step(network, "--loss=l1", "--optimizer=sgd")
        with self.assertRaisesRegex(RuntimeError, "still in use"):
            Model(LIBRARY, path, 1, "evaluate")
        other = path.with_name("other.so")
        shutil.copy(path, other)
        second = Model(LIBRARY, other, 1, "evaluate")
        self.assertNotEqual(
            float(first.run(feed)["loss"]), float(second.run(feed)["loss"])
        )

    def test_names_that_the_model_has(self):
        """Those of the functions and of the optimizer give way."""
        model = {
            "tinh": 1,
            "name": "names",
            "inputs": [{"name": "target", "dtype": "f32", "shape": [2, 3]}],
            "weights": [
                {"name": n, "dtype": "f32", "shape": [3], "data": [1, 2, 3]}
                for n in ("optimizer.step", "optimizer.lr")
            ],
            "nodes": [
                {
                    "op": "mul",
                    "inputs": ["target", "optimizer.step"],
                    "outputs": ["a"],
                },
                {"op": "mul", "inputs": ["a", "optimizer.lr"], "outputs": ["loss"]},
            ],
            "outputs": ["loss"],
        }
        path = self.compile_model(model, "--loss=mse", "--optimizer=sgd,lr=0.01")
        step = Model(LIBRARY, path, 1, "train_step")
        self.assertEqual([i[0] for i in step.inputs], ["target", "target.1"])
        ones = np.ones((2, 3), np.float32)
        first = float(step.run({"target": ones, "target.1": ones})["loss"])
        self.assertLess(
            float(step.run({"target": ones, "target.1": ones})["loss"]), first
        )
        self.assertEqual(float(step.read_variable("optimizer.step.1", ())), 2)
        evaluate = Model(LIBRARY, path, 1, "evaluate")
        self.assertEqual([o[0] for o in evaluate.outputs], ["loss.1", "loss"])

    def test_comparisons_of_weights(self):
        """They are of the weights that there are then."""
        model = {
            "tinh": 1,
            "name": "absolute",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}],
            "weights": [
                {"name": "w", "dtype": "f32", "shape": [3], "data": [1, -2, 3]},
                {"name": "zero", "dtype": "f32", "shape": [], "data": [0]},
            ],
            "nodes": [
                {
                    "op": "compare",
                    "inputs": ["w", "zero"],
                    "outputs": ["is_less"],
                    "attributes": {"predicate": "less"},
                },
                {"op": "neg", "inputs": ["w"], "outputs": ["m"]},
                {"op": "where", "inputs": ["is_less", "m", "w"], "outputs": ["a"]},
                {"op": "mul", "inputs": ["x", "a"], "outputs": ["y"]},
            ],
            "outputs": ["y"],
        }
        path = self.compile_model(model, "--loss=mse", "--optimizer=sgd,lr=0.1")
        predict = Model(LIBRARY, path, 1, "predict")
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        for w in ([1, -2, 3], [-1, 2, -4]):
            predict.write_variable("w", np.float32(w))
            np.testing.assert_array_equal(predict.run({"x": x})["y"], x * np.abs(w))

    def test_rate_is_a_variable(self):
        """The same code goes for any learning rate."""
        network = Network()
        path = self.compile_step(network, "--loss=mse", "--optimizer=sgd,lr=0.05")
        model = Model(LIBRARY, path, 1, "train_step")
        run, results = model.bind({"x": network.x, "target": network.t})
        run()
        run()
        before = float(results["loss"])
        model.write_variable("optimizer.lr", np.float32(0))
        self.assertEqual(float(model.read_variable("optimizer.step", ())), 2)
        run()
        third = float(results["loss"])
        run()
        self.assertLess(third, before)
        self.assertEqual(float(results["loss"]), third)


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
