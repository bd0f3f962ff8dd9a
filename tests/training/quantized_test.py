# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in int8 are trained: by straight-through gradients, with scales that may
be learned, from a calibrated model to an artifact of integers.

usage: PYTHONPATH=tests/support python tests/training/quantized_test.py BIN_DIR
           LIBRARY [unittest's options]
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test
from batch_norm_test import read_state

ROWS, DEPTH, COLUMNS = 8, 16, 4
STEP = ("--train", "--loss=mse,reduction=sum", "--optimizer=sgd,lr=0.001")


def pair(x, scale, zero, **attributes):
    """Nodes that make integers and floats again of x."""
    return [
        helper.make_node("QuantizeLinear", [x, scale, zero], [x + "_q"], **attributes),
        helper.make_node(
            "DequantizeLinear", [x + "_q", scale, zero], [x + "_d"], **attributes
        ),
    ]


def write(path, nodes, weights, shape=(ROWS, DEPTH)):
    constants = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "main",
        [info("x", TensorProto.FLOAT, shape)],
        [info("y", TensorProto.FLOAT, [ROWS, COLUMNS])],
        constants,
    )
    opset = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)


def levels(x, scale, zero, low, high):
    """The quotient, the level it is rounded to, and where that is no limit."""
    quotient = x / scale
    rounded = np.rint(quotient)
    level = np.clip(rounded, low - zero, high - zero)
    return quotient, level, rounded == level


class QuantizedTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(5)
        self.x = random.normal(0, 1, (ROWS, DEPTH)).astype(np.float32)
        self.target = random.normal(0, 1, (ROWS, COLUMNS)).astype(np.float32)
        np.save(self.folder / "x.npy", self.x)
        np.save(self.folder / "t.npy", self.target)
        # So small that some numbers are beyond the range.
        self.weights = {
            "x_scale": np.float32(0.012),
            "x_zero": np.uint8(120),
            "w": random.normal(0, 0.4, (DEPTH, COLUMNS)).astype(np.float32),
            "w_scale": np.array([0.004, 0.006, 0.01, 0.02], np.float32),
            "w_zero": np.zeros(COLUMNS, np.int8),
        }
        self.nodes = [
            *pair("x", "x_scale", "x_zero"),
            *pair("w", "w_scale", "w_zero", axis=1),
            helper.make_node("MatMul", ["x_d", "w_d"], ["y"]),
        ]

    def write(self, name="model.onnx"):
        write(self.folder / name, self.nodes, self.weights)

    def train(self, artifact, epochs=1):
        data = self.folder / "x.npy", self.folder / "t.npy"
        done = self.run_tool(
            *("graph-run", artifact, "--train", "--data", f"{data[0]},{data[1]}"),
            *("--epochs", str(epochs), "--checkpoint", "state.safetensors"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return read_state(self.folder / "state.safetensors")

    def predict(self, artifact, *options):
        done = self.run_tool(
            *("graph-run", artifact, "--input", "x=x.npy"),
            *("--output-dir", "out", *options),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "out" / "y.npy")

    def gradients(self):
        """By hand, of the sum of squares: by w and by the two scales."""
        w = self.weights
        x = levels(self.x, w["x_scale"], 120, 0, 255)
        v = levels(w["w"], w["w_scale"], 0, -128, 127)
        for _, _, inside in (x, v):
            self.assertGreater((~inside).sum(), 3)
            self.assertGreater(inside.sum(), 10)
        left, right = x[1] * w["x_scale"], v[1] * w["w_scale"]
        dy = 2 * (left @ right - self.target)

        def by_scale(given, quotient, level, inside, high, axis, shared):
            each = given * (level - np.where(inside, quotient, 0))
            return each.sum(axis) / np.sqrt(shared * high)

        dx, dw = dy @ right.T, left.T @ dy
        return (
            np.where(v[2], dw, 0),
            by_scale(dx, *x, 255, None, self.x.size),
            by_scale(dw, *v, 127, 0, DEPTH),
        )

    def assertNear(self, found, expected, tolerance=1e-4):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            np.reshape(found, np.shape(expected)), expected, atol=tolerance * scale
        )

    #===- Gradients ----------------------------------------------------------===#

    def test_straight_through(self):
        self.write()
        self.compile("model.onnx", "step.so", *STEP)
        state = self.train("step.so")
        self.assertEqual(
            set(state), {"w", "optimizer.lr", "optimizer.step"}, "scales stay"
        )
        moved = (self.weights["w"] - state["w"].reshape(DEPTH, COLUMNS)) / 0.001
        self.assertNear(moved, self.gradients()[0], 1e-3)

    def test_learned_scales(self):
        self.write()
        self.compile("model.onnx", "step.so", *STEP, "--learn-scales")
        state = self.train("step.so")
        _, by_x, by_w = self.gradients()
        for name, expected in (("x_scale", by_x), ("w_scale", by_w)):
            before = self.weights[name]
            after = np.maximum(before - 0.001 * expected, before / 2)
            self.assertNear(state[name], after, 1e-4)
            self.assertGreater(np.abs(state[name] / before - 1).max(), 0.01)

    def test_scales_stay_positive(self):
        self.write()
        step = ("--train", "--loss=mse", "--optimizer=sgd,lr=1000000")
        self.compile("model.onnx", "step.so", *step, "--learn-scales",
                     "--trainable=*_scale")  # fmt: skip
        for epochs, least in ((1, 1 / 2), (150, 1 / 1024)):
            state = self.train("step.so", epochs)
            ratios = np.concatenate([
                np.ravel(state[name]) / np.ravel(self.weights[name])
                for name in ("x_scale", "w_scale")
            ])  # fmt: skip
            self.assertGreaterEqual(ratios.min(), 0.9999 * least)
            self.assertTrue(np.isclose(ratios, least).any(), ratios)
            self.assertTrue(np.isfinite(ratios).all(), ratios)

    def test_scales_of_integer_weights(self):
        """There is nothing to round, and so no factor."""
        levels = np.random.default_rng(1).integers(-128, 128, (DEPTH, COLUMNS))
        self.weights["w"] = levels.astype(np.int8)
        self.nodes = [
            helper.make_node(
                "DequantizeLinear", ["w", "w_scale", "w_zero"], ["w_d"], axis=1
            ),
            helper.make_node("MatMul", ["x", "w_d"], ["y"]),
        ]
        self.write()
        step = ("--train", "--loss=mse,reduction=sum", "--optimizer=sgd,lr=1e-8")
        done = self.run_tool("graph-compile", "model.onnx", *step, "-o", "step.so")
        self.fails(done, "the model has no weights that could be trained",
                   "weights that are integers are not trained")  # fmt: skip
        self.compile("model.onnx", "step.so", *step, "--learn-scales")
        state = self.train("step.so")
        before = self.weights["w_scale"]
        dy = 2 * (self.x @ (levels * before) - self.target)
        gradient = (self.x.T @ dy * levels).sum(0)
        self.assertNear(state["w_scale"], before - 1e-8 * gradient, 1e-5)
        self.assertGreater(np.abs(state["w_scale"] / before - 1).max(), 1e-3)

    def test_four_bits(self):
        self.weights["w"] /= 10
        zero = helper.make_tensor("w_zero", TensorProto.INT4, [COLUMNS], [0] * COLUMNS)
        del self.weights["w_zero"]
        path = self.folder / "model.onnx"
        write(path, self.nodes, self.weights)
        model = onnx.load(path)
        model.graph.initializer.append(zero)
        onnx.save(model, path)
        self.compile(path, "step.so", *STEP)
        state = self.train("step.so")
        _, _, inside = levels(
            self.weights["w"], self.weights["w_scale"], 0, -8, 7
        )
        moves = state["w"].reshape(DEPTH, COLUMNS) != self.weights["w"]
        np.testing.assert_array_equal(moves, inside)
        self.assertGreater((~inside).sum(), 3)

    #===- To an artifact -----------------------------------------------------===#

    def test_what_was_trained_is_what_runs(self):
        self.write()
        self.compile("model.onnx", "step.so", *STEP)
        self.train("step.so", epochs=5)
        loaded = "--load-weights=state.safetensors"
        self.compile("model.onnx", "int8.so", loaded)
        trained = self.predict(
            "step.so", "--function=predict", "--load-state=state.safetensors"
        )
        found = self.predict("int8.so")
        self.assertNear(found, trained, 1e-6)
        self.compile("model.onnx", "before.so")
        self.assertGreater(np.abs(self.predict("before.so") - found).max(), 1e-3)
        done = self.run_tool("graph-compile", "model.onnx", loaded, "--emit=optimised")
        self.assertRegex(done.stdout, r"graph\.matmul .*xui8>, .*xi8>")
        # Written as ONNX, it has the weights that were trained.
        self.compile("model.onnx", "trained.onnx", loaded, "--emit=onnx")
        self.compile("trained.onnx", "again.so")
        np.testing.assert_array_equal(self.predict("again.so"), found)

    def test_weights_are_bytes(self):
        def weights(artifact):
            done = self.run_tool("graph-run", artifact, "--list")
            return int(done.stdout.split("weights ")[1].split()[0])

        random = np.random.default_rng(0)
        wide = random.normal(0, 0.1, (256, 512)).astype(np.float32)
        self.weights |= {
            "w": wide,
            "w_scale": np.full(512, 0.002, np.float32),
            "w_zero": np.zeros(512, np.int8),
        }
        self.nodes.append(
            helper.make_node("Slice", ["p", "from", "to", "axes"], ["y"])
        )
        self.nodes[-2].output[0] = "p"
        for name, value in (("from", 0), ("to", COLUMNS), ("axes", 1)):
            self.weights[name] = np.array([value])
        write(self.folder / "model.onnx", self.nodes, self.weights, (ROWS, 256))
        self.compile("model.onnx", "int8.so")
        self.assertLess(weights("int8.so"), 0.27 * wide.nbytes)

    def test_calibrates_and_trains(self):
        self.nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
        self.weights = {"w": self.weights["w"]}
        self.write("f32.onnx")
        np.savez(self.folder / "data.npz", x=self.x)
        self.compile("f32.onnx", "step.so", *STEP, "--quantize=data.npz")
        done = self.run_tool(
            *("graph-quantize", "f32.onnx", "--data", "data.npz"),
            *("--weights=f32", "-o", "qat.onnx"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            (self.folder / "qat.onnx").read_bytes(),
            (self.folder / "step.onnx").read_bytes(),
        )
        tensors = onnx.load(self.folder / "step.onnx").graph.initializer
        kept = [numpy_helper.to_array(t) for t in tensors if t.name == "w"]
        np.testing.assert_array_equal(kept[0], self.weights["w"])
        self.train("step.so", epochs=20)
        loaded = "--load-weights=state.safetensors"
        self.compile("step.onnx", "int8.so", loaded)
        self.compile("step.onnx", "before.so")

        def loss(artifact):
            return ((self.predict(artifact) - self.target) ** 2).sum()

        self.assertLess(loss("int8.so"), 0.9 * loss("before.so"))

    #===- Errors -------------------------------------------------------------===#

    def test_integers_that_are_no_pair(self):
        self.weights["w_scale2"] = self.weights["w_scale"] * 2
        self.nodes[3].input[1] = "w_scale2"
        self.write()
        done = self.run_tool("graph-compile", "model.onnx", *STEP, "-o", "step.so")
        self.fails(done, "no gradient passes these integers", "same scale")

    def test_nothing_to_learn(self):
        self.weights = {"w": self.weights["w"]}
        self.nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
        self.write()
        step = ("graph-compile", "model.onnx", *STEP, "-o", "step.so", "--learn-scales")
        self.fails(self.run_tool(*step), "--learn-scales finds no scale", "graph-quantize")

    def test_wrong_weights(self):
        self.write()
        self.compile("model.onnx", "step.so", *STEP)
        self.train("step.so")
        random = np.random.default_rng(0)

        def refuses(*parts, options=()):
            done = self.run_tool(
                *("graph-compile", "other.onnx", "-o", "other.so", *options),
                "--load-weights=state.safetensors",
            )
            self.fails(done, "other.onnx: error: ", "state.safetensors", *parts)

        original = dict(self.weights)
        self.weights["w"] = random.normal(0, 1, (DEPTH, 1)).astype(np.float32)
        self.nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
        self.write("other.onnx")
        refuses('"w"', "16x4xf32", "16x1xf32")
        self.weights = {"v": original["w"]}
        self.nodes = [helper.make_node("MatMul", ["x", "v"], ["y"])]
        self.write("other.onnx")
        refuses('the tensor "w" is no weight of the model')
        (self.folder / "state.safetensors").write_bytes(b"no tensors")
        refuses()
        (self.folder / "state.safetensors").unlink()
        refuses("cannot read")

    def test_command_line(self):
        self.write()
        for options, message in (
            (["--learn-scales"], "are about --train"),
            (
                [*STEP, "--quantize=data.npz", "--emit=plan"],
                "does not go with --from and --emit",
            ),
            (["--from=normalised", "--load-weights=w"], "--load-weights takes"),
        ):
            done = self.run_tool("graph-compile", "model.onnx", *options, "-o", "m.so")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
        done = self.run_tool(
            *("graph-compile", "model.onnx", *STEP, "--quantize=data.npz"),
            *("-o", "model.so"),
        )
        self.fails(done, "written over 'model.onnx'")


if __name__ == "__main__":
    sys.argv.pop(2)  # The runtime's library.
    tool_test.main()
