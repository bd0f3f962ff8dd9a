# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of single nodes side by side, compiled at once and run against NumPy."""

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import tool_test


class Model:
    """One model of many nodes, each with inputs of its own."""

    def __init__(self):
        self.nodes, self.inputs, self.expected = [], {}, {}

    def add(self, op, inputs, expected, domain="com.microsoft", **attributes):
        """`expected` has an array for each output, or None for one that is not
        asked for."""
        number = len(self.nodes)
        names = []
        for i, x in enumerate(inputs):
            names.append("" if x is None else f"x{number}_{i}")
            if x is not None:
                self.inputs[names[-1]] = np.asarray(x)
        outputs = []
        for i, y in enumerate(expected):
            outputs.append("" if y is None else f"y{number}_{op}_{i}")
            if y is not None:
                y = y.astype(np.float32) if y.dtype.kind == "f" else y
                self.expected[outputs[-1]] = y
        self.nodes.append(
            helper.make_node(op, names, outputs, domain=domain, **attributes)
        )

    def save(self, path):
        info = lambda name, x: helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
        )
        graph = helper.make_graph(
            self.nodes,
            "g",
            [info(name, x) for name, x in self.inputs.items()],
            [info(name, y) for name, y in self.expected.items()],
        )
        opsets = [
            helper.make_opsetid("", 12),
            helper.make_opsetid("com.microsoft", 1),
            helper.make_opsetid("ai.onnx.ml", 3),
        ]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def run_in_runtime(op, inputs, outputs, domain, **attributes):
    """What ONNX Runtime makes of a single node with so many outputs."""
    info = helper.make_tensor_value_info
    reads = [f"x{i}" for i in range(len(inputs))]
    makes = [f"y{i}" for i in range(outputs)]
    kinds = [helper.np_dtype_to_tensor_dtype(x.dtype) for x in inputs]
    graph = helper.make_graph(
        [helper.make_node(op, reads, makes, domain=domain, **attributes)],
        "g",
        [info(name, kind, x.shape) for name, kind, x in zip(reads, kinds, inputs)],
        [onnx.ValueInfoProto(name=name) for name in makes],
    )
    opsets = [helper.make_opsetid("", 12), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, dict(zip(reads, inputs)))


class NodeTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(0)

    def random(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def check(self, model, atol=1e-5):
        model.save(self.folder / "m.onnx")
        self.compile("m.onnx", "m.so")
        arguments = ["m.so", "--output-dir", "."]
        for name, x in model.inputs.items():
            np.save(self.folder / f"{name}.npy", x)
            arguments += ["--input", f"{name}={name}.npy"]
        done = self.run_tool("graph-run", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, expected in model.expected.items():
            found = np.load(self.folder / f"{name}.npy")
            self.assertEqual(found.dtype, expected.dtype, name)
            self.assertEqual(found.shape, expected.shape, name)
            if expected.dtype.kind in "iu":
                np.testing.assert_array_equal(found, expected, name)
            else:
                np.testing.assert_allclose(
                    found, expected, rtol=1e-5, atol=atol, err_msg=name
                )

    def refuse(self, op, shapes, text, domain="com.microsoft", **attributes):
        """A node whose inputs, of f32, have these shapes is refused with a message
        that has `text`."""
        names = [f"x{i}" for i in range(len(shapes))]
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node(op, names, ["y"], domain=domain, **attributes)],
            "g",
            [info(name, 1, shape) for name, shape in zip(names, shapes)],
            [info("y", 1, None)],
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 3)]
        onnx.save(
            helper.make_model(graph, opset_imports=opsets), self.folder / "m.onnx"
        )
        done = self.run_tool("graph-compile", "m.onnx", "-o", "m.so")
        self.fails(done, op, text)
