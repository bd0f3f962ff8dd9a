#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tinh.backend, called as programs that are written for any backend do.

Needs the installed package tinh beside onnx and ml_dtypes.
"""

import unittest

import ml_dtypes
import numpy as np
import tinh.backend
from onnx import TensorProto, helper

BOOL, FLOAT, INT64 = TensorProto.BOOL, TensorProto.FLOAT, TensorProto.INT64
STRING = TensorProto.STRING


def model(nodes, inputs, outputs):
    """Of nodes (op, inputs, outputs, attributes) and values (name, type, shape)."""
    values = [[helper.make_tensor_value_info(*v) for v in x] for x in (inputs, outputs)]
    nodes = [helper.make_node(op, x.split(), y.split(), **a) for op, x, y, a in nodes]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.acme", 1)]
    graph = helper.make_graph(nodes, "g", *values)
    return helper.make_model(graph, ir_version=10, opset_imports=opsets)


class InterfaceTest(unittest.TestCase):
    def test_inputs_and_outputs_by_position_and_by_name(self):
        sub = model(
            [("Sub", "a b", "d", {}), ("Neg", "d", "n", {})],
            [("a", FLOAT, [2]), ("b", FLOAT, [2])],
            [("d", FLOAT, [2]), ("n", FLOAT, [2])],
        )
        a, b = np.array([5, 7], "f4"), np.array([1, 2], "f4")
        for inputs in ([a, b], {"b": b, "a": a}):
            outputs = tinh.backend.prepare(sub, threads=1).run(inputs)
            self.assertEqual(outputs[0].tolist(), [4, 5])
            self.assertEqual(outputs["n"].tolist(), [-4, -5])
        outputs = tinh.backend.run_model(sub, [a, b])
        self.assertEqual(outputs.d.tolist(), [4, 5])
        with self.assertRaisesRegex(ValueError, "takes 2 inputs, a, b, found 1"):
            tinh.backend.run_model(sub, [a])

    def test_open_shapes_are_compiled_once_for_each(self):
        relu = model(
            [("Relu", "x", "y", {})], [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])]
        )
        prepared = tinh.backend.prepare(relu)
        for count in (2, 3, 2):
            (y,) = prepared.run([np.arange(count, dtype="f4") - 1])
            self.assertEqual(y.shape, (count,))
        self.assertEqual(len(prepared._compiled), 2)

    def test_strings_are_objects_of_any_length(self):
        split = model(
            [("StringSplit", "x", "parts count", {"delimiter": "-"})],
            [("x", STRING, ["n"])],
            [("parts", STRING, ["n", "m"]), ("count", INT64, ["n"])],
        )
        prepared = tinh.backend.prepare(split, threads=1)
        for texts in (["a-é", "b"], ["x" * 100 + "-y-z", ""], ["a-b", "c-d"]):
            parts, count = prepared.run([np.array(texts, object)])
            expected = [text.split("-") for text in texts]
            self.assertEqual(count.tolist(), [len(x) for x in expected])
            most = max(map(len, expected))
            padded = [x + [""] * (most - len(x)) for x in expected]
            self.assertEqual(parts.tolist(), padded)
        self.assertEqual(len(prepared._compiled), 2)
        node = helper.make_node("StringConcat", ["x", "y"], ["z"])
        (z,) = tinh.backend.run_node(node, [np.array(["a"], object)] * 2)
        self.assertEqual(z.tolist(), ["aa"])

    def test_inputs_that_shapes_depend_on_become_constants(self):
        reshape = model(
            [("Concat", "h w", "s", {"axis": 0}), ("Reshape", "x s", "y", {})],
            [("x", FLOAT, [6]), ("h", INT64, [1]), ("w", INT64, [1])],
            [("y", FLOAT, ["a", "b"])],
        )
        prepared = tinh.backend.prepare(reshape)
        x = np.arange(6, dtype="f4")
        for h, w in ((2, 3), (3, 2), (2, 3)):
            (y,) = prepared.run([x, np.array([h]), np.array([w])])
            self.assertEqual(y.shape, (h, w))
        self.assertEqual(len(prepared._compiled), 2)

    def test_sequences_are_lists_and_optionals_none(self):
        tensor = helper.make_tensor_type_proto(FLOAT, ["n"])
        sequence = helper.make_sequence_type_proto(tensor)
        optional = helper.make_optional_type_proto(tensor)
        insert = model([("SequenceInsert", "s x i", "t", {})], [], [("b", BOOL, [])])
        insert.graph.node.append(helper.make_node("OptionalHasElement", ["o"], ["b"]))
        insert.graph.input.extend(
            [
                helper.make_value_info("s", sequence),
                helper.make_tensor_value_info("x", FLOAT, [1]),
                helper.make_tensor_value_info("i", INT64, []),
                helper.make_value_info("o", optional),
            ]
        )
        insert.graph.output.append(helper.make_value_info("t", sequence))
        prepared = tinh.backend.prepare(insert)
        x, two = np.array([5], "f4"), np.array([1, 2], "f4")
        for s, i, o in (([two, x], 1, None), ([], 0, x), ([two, x], 1, None)):
            has, t = prepared.run([s, x, np.array(i), o])
            self.assertEqual(has, o is not None)
            expected = [*s[:i], x, *s[i:]]
            self.assertEqual([y.tolist() for y in t], [y.tolist() for y in expected])
        self.assertEqual(len(prepared._compiled), 2)
        at = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)
        (y,) = tinh.backend.run_node(at, [[two, x]])
        self.assertEqual(y.tolist(), [1, 2, 5])

    def test_types_that_numpy_does_not_have(self):
        cast = model(
            [("Cast", "x", "y", {"to": TensorProto.INT4})],
            [("x", TensorProto.BFLOAT16, [3])],
            [("y", TensorProto.INT4, [3])],
        )
        (y,) = tinh.backend.run_model(cast, [np.array([1, -8, 7], ml_dtypes.bfloat16)])
        self.assertEqual(y.dtype, ml_dtypes.int4)
        self.assertEqual(y.astype("i4").tolist(), [1, -8, 7])

    def test_nodes(self):
        x, axes = np.ones((2, 3), "f4"), np.array([1])
        node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
        (y,) = tinh.backend.run_node(node, [x, axes])
        self.assertEqual(y.tolist(), [3, 3])
        clip = helper.make_node("Clip", ["x", "", "max"], ["y"])
        (y,) = tinh.backend.run_node(clip, [x, np.float32(0.5)])
        self.assertEqual(y.tolist(), [[0.5] * 3] * 2)
        old = helper.make_node("Add", ["x", "b"], ["y"], broadcast=1, axis=0)
        (y,) = tinh.backend.run_node(old, [x, np.array([1, 2], "f4")], opset_version=6)
        self.assertEqual(y.tolist(), [[2] * 3, [3] * 3])

    def test_what_is_refused(self):
        node = helper.make_node("Frob", ["x"], ["y"], domain="com.acme")
        frob = model([], [("x", FLOAT, [2])], [("y", FLOAT, [2])])
        frob.graph.node.append(node)
        self.assertFalse(tinh.backend.is_compatible(frob))
        with self.assertRaises(tinh.backend.Unsupported) as caught:
            tinh.backend.prepare(frob)
        self.assertIsInstance(caught.exception, unittest.SkipTest)
        self.assertIsInstance(caught.exception, tinh.CompileError)
        self.assertIn("com.acme.Frob (opset 1), 1 node", str(caught.exception))

    def test_devices(self):
        self.assertTrue(tinh.backend.supports_device("CPU"))
        self.assertFalse(tinh.backend.supports_device("TPU"))
        self.assertEqual(
            tinh.backend.supports_device("CUDA"), tinh.cuda_is_available()
        )


if __name__ == "__main__":
    unittest.main()
