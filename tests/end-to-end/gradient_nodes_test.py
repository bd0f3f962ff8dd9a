# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes of ONNX that are the gradients of others, against NumPy.

usage: PYTHONPATH=tests/support python tests/end-to-end/gradient_nodes_test.py
           BIN_DIR [unittest's options]
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test

TRAINING = "ai.onnx.preview.training"


def gradient(inputs, outputs, **attributes):
    return helper.make_node("Gradient", inputs, outputs, domain=TRAINING, **attributes)


class GradientNodesTest(tool_test.ToolTest):
    def save(self, nodes, inputs, outputs, constants=()):
        info = lambda name, shape: helper.make_tensor_value_info(
            name, TensorProto.FLOAT, shape
        )
        graph = helper.make_graph(
            nodes,
            "g",
            [info(name, x.shape) for name, x in inputs.items()],
            [info(name, None) for name in outputs],
            [numpy_helper.from_array(x, name) for name, x in dict(constants).items()],
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)]
        proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        onnx.save(proto, self.folder / "m.onnx")

    def run_model(self, nodes, inputs, outputs, constants=()):
        self.save(nodes, inputs, outputs, constants)
        self.compile("m.onnx", "m.so")
        arguments = ["m.so", "--output-dir", "out"]
        for name, x in inputs.items():
            np.save(self.folder / f"{name}.npy", x)
            arguments += ["--input", f"{name}={name}.npy"]
        done = self.run_tool("graph-run", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [np.load(self.folder / "out" / f"{name}.npy") for name in outputs]

    def test_network(self):
        """By an input, by weights that are constants, and by a tensor between."""
        rng = np.random.default_rng(0)
        draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)
        x, w, v = draw(3, 4), draw(4, 5), draw(5, 2)
        node = helper.make_node
        nodes = [
            gradient(["x", "w"], ["dx", "dw"], xs=["x", "w"], y="loss"),
            node("MatMul", ["x", "w"], ["h"]),
            node("Tanh", ["h"], ["t"]),
            node("MatMul", ["t", "v"], ["p"]),
            node("Mul", ["p", "p"], ["q"]),
            node("ReduceMean", ["q"], ["loss"], keepdims=0),
            gradient(["t"], ["dt"], xs=["t"], y="loss"),
            gradient(["v", "x"], ["none"], xs=["v"], zs=["x"], y="t"),
        ]
        dx, dw, dt, none = self.run_model(
            nodes, {"x": x}, ["dx", "dw", "dt", "none"], {"w": w, "v": v}
        )
        t = np.tanh(x @ w)
        of_t = 2 * (t @ v) @ v.T / 6
        of_h = of_t * (1 - t * t)
        np.testing.assert_allclose(dt, of_t, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(dx, of_h @ w.T, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(dw, x.T @ of_h, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(none, np.zeros_like(v))

    def test_other_points_and_higher_orders(self):
        """Inputs may be others than the tensors that xs and zs name, and a
        gradient a part of what another is of."""
        x = np.array([0.5, -1, 2], np.float32)
        z = np.array([3, 4, 5], np.float32)
        nodes = [
            helper.make_node("Mul", ["a", "a"], ["s"]),
            helper.make_node("Mul", ["s", "b"], ["y"]),
            gradient(["a", "b"], ["first"], xs=["a"], zs=["b"], y="y"),
            gradient(["b", "a"], ["elsewhere"], xs=["a"], zs=["b"], y="y"),
            gradient(["a", "b"], ["second"], xs=["a"], zs=["b"], y="first"),
        ]
        first, elsewhere, second = self.run_model(
            nodes, {"a": x, "b": z}, ["first", "elsewhere", "second"]
        )
        np.testing.assert_allclose(first, 2 * x * z)
        np.testing.assert_allclose(elsewhere, 2 * z * x)
        np.testing.assert_allclose(second, 2 * z)

    def test_errors(self):
        x = {"x": np.zeros(2, np.float32)}
        relu = helper.make_node("Relu", ["x"], ["y"])
        command = ["graph-compile", "m.onnx", "-o", "m.so"]
        for attributes, text in (
            ({"xs": ["x"]}, "expected the attributes y and xs"),
            ({"xs": ["x", "y"], "y": "y"}, "expected 2 inputs, one for each of xs and zs"),
            ({"xs": ["x"], "zs": ["x"], "y": "y"}, 'xs and zs name "x" twice'),
        ):
            self.save([relu, gradient(["x"], ["d"], **attributes)], x, ["d"])
            self.fails(self.run_tool(*command), 'node "d" (Gradient): ' + text)
        # Each gradient of a gradient builds all of those before once more.
        nodes = [helper.make_node("Mul", ["x", "x"], ["y0"])]
        for i in range(24):
            nodes.append(gradient(["x"], [f"d{i}"], xs=["x"], y=f"y{i}"))
            nodes.append(helper.make_node("Mul", [f"d{i}", "x"], [f"y{i + 1}"]))
        self.save(nodes, x, ["y24"])
        self.fails(self.run_tool(*command), "these would be more than 200000 nodes")
        # What is wrong with y is said once.
        wrong = helper.make_node("Softmax", ["x"], ["y"], axis=7)
        self.save([wrong, gradient(["x"], ["d"], xs=["x"], y="y")], x, ["d"])
        done = self.run_tool(*command)
        self.fails(done, 'node "y" (Softmax)')
        self.assertEqual(done.stderr.count("error"), 1, done.stderr)
        whole = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT32)
        self.save([whole, gradient(["x"], ["d"], xs=["x"], y="y")], x, ["d"])
        self.fails(self.run_tool(*command), "expected y to be floats, found 2xi32")


if __name__ == "__main__":
    tool_test.main()
