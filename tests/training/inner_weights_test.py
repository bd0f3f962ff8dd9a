# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights that belong to the body of a loop or a branch are trained like others.

usage: PYTHONPATH=tests/support:benchmarks python tests/training/inner_weights_test.py
           BIN_DIR LIBRARY [unittest's options]

Each model has its weights within the subgraphs of its nodes, or beside them.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test

ROWS, WIDTH = 4, 6


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def weight(name, *shape):
    random = np.random.default_rng(len(name))
    return numpy_helper.from_array(
        random.normal(0, 0.5, shape).astype(np.float32), name
    )


def loop(within):
    """Three times c = tanh(c · w)."""
    w = weight("w", WIDTH, WIDTH)
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["c", "w"], ["m"]),
            helper.make_node("Tanh", ["m"], ["next"]),
            helper.make_node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [
            value("i", [], TensorProto.INT64),
            value("go", [], TensorProto.BOOL),
            value("c", [ROWS, WIDTH]),
        ],
        [value("go_on", [], TensorProto.BOOL), value("next", [ROWS, WIDTH])],
        [w] if within else [],
    )
    node = helper.make_node("Loop", ["count", "true", "x"], ["y"], body=body)
    others = [
        numpy_helper.from_array(np.array(3), "count"),
        numpy_helper.from_array(np.array(True), "true"),
    ]
    return [node], others + ([] if within else [w])


def branch(within):
    """x · a or x · b, by the sign of the sum of x."""

    def arm(name):
        w = weight(name, WIDTH)
        graph = helper.make_graph(
            [helper.make_node("Mul", ["x", name], [name + "_y"])],
            name + "_arm",
            [],
            [value(name + "_y", [ROWS, WIDTH])],
            [w] if within else [],
        )
        return graph, w

    (first, a), (second, b) = arm("a"), arm("bb")
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node(
            "If", ["positive"], ["y"], then_branch=first, else_branch=second
        ),
    ]
    zero = numpy_helper.from_array(np.array(0, np.float32), "zero")
    return nodes, [zero] + ([] if within else [a, b])


class InnerWeightsTest(tool_test.ToolTest):
    def final_state(self, model, within, *options):
        nodes, initializers = model(within)
        graph = helper.make_graph(
            nodes,
            "graph",
            [value("x", [ROWS, WIDTH])],
            [value("y", [ROWS, WIDTH])],
            initializers,
        )
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]),
            self.folder / "model.onnx",
        )
        self.compile(
            "model.onnx",
            "step.so",
            "--train",
            "--loss=mse",
            "--optimizer=sgd,lr=0.5",
            *options,
        )
        random = np.random.default_rng(3)
        for name in ("x", "target"):
            data = random.normal(size=(3 * ROWS, WIDTH)).astype(np.float32)
            np.save(self.folder / f"{name}.npy", data)
        done = self.run_tool(
            *("graph-run", "step.so", "--train", "--data", "x.npy,target.npy"),
            *("--epochs", "3", "--save-state", "state"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / "state").read_bytes()

    def test_loop(self):
        self.assertEqual(self.final_state(loop, True), self.final_state(loop, False))

    def test_branch(self):
        self.assertEqual(
            self.final_state(branch, True), self.final_state(branch, False)
        )

    def test_some_of_them(self):
        state = self.final_state(branch, True, "--trainable=a")
        self.assertIn(b'"a":', state)
        self.assertNotIn(b'"bb":', state)


if __name__ == "__main__":
    sys.argv.pop(2)  # The runtime's library.
    tool_test.main()
