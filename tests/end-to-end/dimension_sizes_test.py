#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose outputs' sizes the run decides, against ONNX Runtime.

usage: PYTHONPATH=tests/support python3 dimension_sizes_test.py BIN_DIR
"""

import json

import numpy as np
import onnx
import onnxruntime
import tool_test
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT, np.dtype(bool): BOOL}


def node(op, inputs, outputs, **attributes):
    names = outputs.split()
    return helper.make_node(op, inputs.split(), names, name=names[0], **attributes)


class DimensionSizesTest(tool_test.ToolTest):
    def run_model(self, nodes, inputs, outputs, constants=None):
        """Compiles the model, runs it on each set of inputs, and compares."""
        first = inputs[0]
        graph = helper.make_graph(
            nodes,
            "model",
            [
                helper.make_tensor_value_info(name, TYPES[x.dtype], x.shape)
                for name, x in first.items()
            ],
            [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()],
            [
                numpy_helper.from_array(np.asarray(value), name)
                for name, value in (constants or {}).items()
            ],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        model.ir_version = 9
        onnx.save(model, self.folder / "model.onnx")
        self.succeed("graph-compile", "model.onnx", "-o", "model.so")
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        for case in inputs:
            arguments = []
            for name, x in case.items():
                np.save(self.folder / f"{name}.npy", x)
                arguments += ["--input", f"{name}={name}.npy"]
            self.succeed("graph-run", "model.so", *arguments, "--output-dir", "out")
            for name, wanted in zip(outputs, session.run(list(outputs), case)):
                found = np.load(self.folder / "out" / f"{name}.npy")
                with self.subTest(output=name):
                    self.assertEqual(found.shape, wanted.shape)
                    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)

    def succeed(self, tool, *arguments):
        done = self.run_tool(tool, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def numbers(self, *shape, seed=0):
        return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)

    def test_non_zero(self):
        for shape in [(10,), (4, 5), (2, 3, 4), (1,), (1, 7)]:
            some = (self.numbers(*shape) > 0.3).astype(np.float32)
            inputs = [{"x": x} for x in (some, 0 * some, some + 1)]
            self.run_model([node("NonZero", "x", "y")], inputs, {"y": INT})

    def test_listed_with_bounds(self):
        inputs = [{"x": np.ones((10,), np.float32)}]
        self.run_model([node("NonZero", "x", "y")], inputs, {"y": INT})
        done = self.succeed("graph-run", "model.so", "--list")
        self.assertIn("i64 1x≤10", done.stdout)
        done = self.succeed("graph-run", "model.so", "--list", "--json")
        (function,) = json.loads(done.stdout)["functions"]
        self.assertEqual(function["outputs"][0]["size_outputs"], [-1, 1])

    def test_compress(self):
        x = self.numbers(4, 6)
        chosen = [{"x": x, "c": np.arange(6) % k == 0} for k in (1, 2, 7)]
        self.run_model([node("Compress", "x c", "y", axis=1)], chosen, {"y": FLOAT})

    def test_choices_of_choices(self):
        nodes = [
            node("Compress", "x c", "rows", axis=0),
            node("Compress", "rows d", "y", axis=0),
            node("Split", "rows", "left right", axis=1, num_outputs=2),
            node("Shape", "rows", "shape"),
            node("Mul", "shape twice", "double"),
            node("Expand", "one double", "ones"),
        ]
        constants = {"twice": np.array([2, 1]), "one": np.ones(1, np.float32)}
        x = self.numbers(8, 2)
        inputs = [
            {"x": x, "c": np.arange(8) % k == 1, "d": np.array([True, False, True])}
            for k in (2, 3)
        ]
        outputs = {name: FLOAT for name in "y left right ones".split()}
        self.run_model(nodes, inputs, outputs, constants)

    def test_one_number_for_all_of_a_shape(self):
        """What marks sizes that stay may be one element that is repeated."""
        nodes = [
            node("Compress", "x c", "rows", axis=0),
            node("Shape", "rows", "shape"),
            node("Equal", "shape minus", "isUnknown"),
            node("Where", "isUnknown ones shape", "extents"),
            node("Expand", "one extents", "y"),
            node("Where", "isUnknown minus extents", "others"),
            node("Expand", "one others", "z"),
        ]
        constants = {
            "minus": np.array([-1]),
            "ones": np.array([1, 1, 1]),
            "one": np.ones(1, np.float32),
        }
        x = self.numbers(4, 2, 3)
        inputs = [{"x": x, "c": np.arange(4) % k == 0} for k in (1, 2, 5)]
        self.run_model(nodes, inputs, {"y": FLOAT, "z": FLOAT}, constants)

    def test_choices_in_conditions_of_others(self):
        """Each shape is chosen by, and from, the one before."""
        nodes = [
            node("Compress", "x c", "rows", axis=0),
            node("Shape", "rows", "shape0"),
        ]
        for i in range(24):
            nodes.append(node("Equal", f"shape{i} minus", f"is{i}"))
            nodes.append(node("Where", f"is{i} ones shape{i}", f"shape{i + 1}"))
        nodes.append(node("Expand", "one shape24", "y"))
        constants = {
            "minus": np.array([-1, -1]),
            "ones": np.array([1, 1]),
            "one": np.ones(1, np.float32),
        }
        inputs = [{"x": self.numbers(4, 2), "c": np.arange(4) % 2 == 0}]
        self.run_model(nodes, inputs, {"y": FLOAT}, constants)

    def test_shapes_of_slices(self):
        """A shape that is made of one is bounded; parts of sizes that are written."""
        nodes = [
            node("Compress", "x c", "rows", axis=0),
            node("Slice", "rows start end zero", "first"),
            node("Shape", "first", "shape"),
            node("ConstantOfShape", "shape", "zeros"),
            node("Concat", "zeros first", "y", axis=1),
            node("Split", "rows parts", "one two", axis=0),
            node("Squeeze", "one zero", "row"),
        ]
        constants = {
            "zero": np.array([0]),
            "start": np.array([1]),
            "end": np.array([3]),
            "parts": np.array([1, 2]),
        }
        x, c = self.numbers(8, 2), np.arange(8) % 3 == 1
        inputs = [{"x": x, "c": c}, {"x": x, "c": c[::-1].copy()}]
        outputs = {"y": FLOAT, "row": FLOAT, "two": FLOAT}
        self.run_model(nodes, inputs, outputs, constants)

    def test_regions(self):
        """As detectors have them: what is pooled of some regions, put in its place."""
        nodes = [
            node("NonZero", "c", "found"),
            node("Squeeze", "found zero", "rows"),
            node("Gather", "boxes rows", "regions", axis=0),
            node("Gather", "images rows", "image", axis=0),
            node("RoiAlign", "x regions image", "pooled", output_height=2,
                 output_width=2, sampling_ratio=2, spatial_scale=0.5),
            node("ConvTranspose", "pooled w", "larger", strides=[2, 2]),
            node("Shape", "pooled", "shape"),
            node("ConstantOfShape", "four", "ones",
                 value=helper.make_tensor("one", INT, [1], [1])),
            node("Mul", "ones minus", "unknown"),
            node("Equal", "shape unknown", "isUnknown"),
            node("Where", "isUnknown ones shape", "extents"),
            node("Reshape", "rows column", "places"),
            node("Expand", "places extents", "index"),
            node("ScatterElements", "all index pooled", "y", axis=0),
        ]  # fmt: skip
        corners = np.abs(self.numbers(4, 4, seed=1)) * 3
        constants = {
            "zero": np.array([0]),
            "four": np.array([4]),
            "minus": np.array([-1]),
            "column": np.array([-1, 1, 1, 1]),
            "images": np.array([0, 1, 0, 1]),
            "boxes": corners + np.array([0, 0, 5, 5], np.float32),
            "w": self.numbers(3, 2, 2, 2),
            "all": np.zeros((4, 3, 2, 2), np.float32),
        }
        inputs = [
            {"x": self.numbers(2, 3, 6, 8), "c": np.array(c)}
            for c in ([True, False, True, True], [False] * 4, [True] * 4)
        ]
        outputs = {"pooled": FLOAT, "larger": FLOAT, "y": FLOAT}
        self.run_model(nodes, inputs, outputs, constants)

    def test_ops_along_a_size(self):
        """Rows that a condition chooses, and what is computed along them."""
        nodes = [
            node("Compress", "x c", "rows", axis=0),
            node("ReduceMean", "rows zero", "mean", keepdims=0),
            node("ReduceMax", "rows zero", "max", keepdims=1),
            node("ReduceProd", "rows zero", "prod", keepdims=0),
            node("Softmax", "rows", "softmax", axis=0),
            node("ArgMin", "rows", "argmin", axis=0, keepdims=0),
            node("CumSum", "rows axis", "cumsum"),
            node("CumSum", "rows axis", "rest", reverse=1),
            node("Transpose", "rows", "columns", perm=[1, 0]),
            node("MatMul", "columns rows", "gram"),
            node("Concat", "rows x rows", "thrice", axis=0),
            node("Reshape", "rows flat", "all"),
            node("Reshape", "columns flat", "turned"),
            node("Gather", "rows last", "newest", axis=0),
            node("Slice", "rows start end zero", "tail"),
            node("Pad", "rows pads", "padded"),
            node("Shape", "rows", "shape"),
        ]
        constants = {
            "zero": np.array([0]),
            "axis": np.array(0),
            "flat": np.array([-1]),
            "last": np.array([-1, 0]),
            "start": np.array([-2]),
            "end": np.array([2**40]),
            "pads": np.array([1, 0, 2, 0]),
        }
        outputs = {
            name: FLOAT
            for name in "rows mean max prod softmax cumsum rest gram thrice all "
            "turned newest tail padded".split()
        }
        outputs |= {"argmin": INT, "shape": INT}
        x = self.numbers(8, 3)
        inputs = [{"x": x, "c": np.arange(8) % k == 1} for k in (2, 3, 7)]
        self.run_model(nodes, inputs, outputs, constants)

    def test_first_of_many(self):
        nodes = [
            node("Compress", "x c", "some", axis=0),
            node("TopK", "some k", "values indices"),
        ]
        chosen = np.arange(1024) % 2 == 1
        inputs = [{"x": self.numbers(1024, seed=k), "c": chosen} for k in (1, 2)]
        outputs = {"values": FLOAT, "indices": INT}
        self.run_model(nodes, inputs, outputs, {"k": np.array([100])})

    def test_rows_are_merged_and_divided(self):
        nodes = [
            node("Compress", "x c", "rows", axis=0),
            node("Reshape", "rows flat", "all"),
            node("Relu", "all", "positive"),
            node("Reshape", "positive shape", "y"),
            node("LayerNormalization", "rows scale", "norm", axis=-1),
            node("Unsqueeze", "count zero", "counts"),
            node("Size", "rows", "count"),
        ]
        constants = {
            "flat": np.array([-1]),
            "shape": np.array([-1, 3]),
            "zero": np.array([0]),
            "scale": np.ones(3, np.float32),
        }
        inputs = [{"x": self.numbers(8, 3), "c": np.arange(8) % k == 1} for k in (2, 7)]
        outputs = {"y": FLOAT, "norm": FLOAT, "counts": INT}
        self.run_model(nodes, inputs, outputs, constants)

    def test_refused(self):
        """What would have to know where padding begins, and has no rule for it."""
        cases = [
            (node("Reshape", "rows two", "y"), "the run decides the size"),
            (node("Split", "rows", "y z", axis=0, num_outputs=2), "of input"),
            (node("LayerNormalization", "columns scale", "y"), "the run decides"),
            (node("LRN", "images", "y", size=3), "of input"),
            (node("EyeLike", "rows", "y"), "of input"),
            # Extents that are the bound by chance.
            (node("Reshape", "rows bound", "y"), "does not leave to it"),
            (node("Reshape", "columns bound_last", "y"), "does not leave to it"),
            (node("Add", "rows x", "y"), "whether it is to be repeated"),
        ]
        for last, message in cases:
            nodes = [
                node("Compress", "x c", "rows", axis=0),
                node("Transpose", "rows", "columns", perm=[1, 0]),
                node("Unsqueeze", "rows axes", "images"),
                last,
            ]
            constants = {
                "two": np.array([2, -1, 3]),
                "bound": np.array([8, -1]),
                "bound_last": np.array([-1, 8]),
                "scale": np.ones(1, np.float32),
                "axes": np.array([0, 3]),
            }
            inputs = [{"x": self.numbers(8, 3), "c": np.arange(8) % 2 == 1}]
            with self.subTest(op=last.op_type):
                with self.assertRaisesRegex(AssertionError, message):
                    self.run_model(nodes, inputs, {"y": FLOAT}, constants)

    def test_shapes_of_sizes(self):
        nodes = [
            node("NonZero", "x", "found"),
            node("Shape", "found", "shape"),
            node("Gather", "shape one", "count", axis=0),
            node("Range", "zero count one", "range"),
            node("Unsqueeze", "count axes", "counts"),
            node("ConstantOfShape", "counts", "zeros"),
            node("Concat", "counts four", "table", axis=0),
            node("Expand", "half table", "expanded"),
            node("Transpose", "found", "rows", perm=[1, 0]),
            node("Concat", "counts minus", "wanted", axis=0),
            node("Reshape", "rows wanted", "reshaped"),
            node("Size", "found", "size"),
            node("Min", "counts three", "most"),
            node("TopK", "range most", "top places", largest=0),
        ]
        constants = {
            "zero": np.array(0),
            "one": np.array(1),
            "axes": np.array([0]),
            "four": np.array([4]),
            "three": np.array([3]),
            "minus": np.array([-1]),
            "half": np.array([0.5], np.float32),
        }
        outputs = {
            "range": INT,
            "zeros": FLOAT,
            "expanded": FLOAT,
            "reshaped": INT,
            "size": INT,
            "top": INT,
        }
        x = self.numbers(5, 4)
        inputs = [{"x": np.where(x > t, x, 0)} for t in (-5, 0.5, 1.2)]
        self.run_model(nodes, inputs, outputs, constants)

    def test_branches_of_different_shapes(self):
        branches = {
            name: helper.make_graph(
                nodes, name, [], [helper.make_tensor_value_info("out", FLOAT, None)]
            )
            for name, nodes in {
                "then_branch": [node("Slice", "x zero two zero", "out")],
                "else_branch": [node("Transpose", "x", "out", perm=[1, 0])],
            }.items()
        }
        nodes = [node("If", "c", "y", **branches), node("ReduceSum", "y zero", "sum")]
        constants = {"zero": np.array([0]), "two": np.array([2])}
        x = self.numbers(3, 4)
        inputs = [{"c": np.array(c), "x": x} for c in (True, False)]
        self.run_model(nodes, inputs, {"y": FLOAT, "sum": FLOAT}, constants)

    def boxes(self, batches, count, seed):
        rng = np.random.default_rng(seed)
        corner = rng.uniform(0, 8, (batches, count, 2))
        extent = rng.uniform(1, 4, (batches, count, 2))
        boxes = np.concatenate([corner, corner + extent], axis=2)
        return boxes.astype(np.float32)

    def test_non_max_suppression(self):
        constants = {
            "most": np.array([7]),
            "iou": np.array([0.3], np.float32),
            "score": np.array([0.2], np.float32),
        }
        rng = np.random.default_rng(0)
        inputs = []
        for seed in range(3):
            # Few different scores: of equal ones the first box is taken first.
            scores = rng.integers(0, 9, (2, 3, 20)) / 9
            inputs.append(
                {"b": self.boxes(2, 20, seed), "s": scores.astype(np.float32)}
            )
        for centred in (0, 1):
            nms = node(
                "NonMaxSuppression", "b s most iou score", "y", center_point_box=centred
            )
            self.run_model([nms], inputs, {"y": INT}, constants)

    def test_non_max_suppression_of_as_many_as_the_run_says(self):
        nms = node("NonMaxSuppression", "b s most iou score", "y")
        scores = self.numbers(1, 2, 12)
        inputs = [
            {
                "b": self.boxes(1, 12, 5),
                "s": scores,
                "most": np.array([most]),
                "iou": np.array([iou], np.float32),
                "score": np.array([score], np.float32),
            }
            for most, iou, score in [(100, 0.5, -9), (2, 0.1, -9), (0, 0.5, 0), (5, 0, 9)]
        ]
        self.run_model([nms], inputs, {"y": INT})

    def test_detector(self):
        """As detectors end: candidates, suppression, the best of what is left."""
        nodes = [
            node("ReduceMax", "s classes", "best", keepdims=0),
            node("Greater", "best limit", "good"),
            node("NonZero", "good", "where"),
            node("Gather", "where one", "kept", axis=0),
            node("Gather", "b kept", "kept_boxes", axis=1),
            node("Gather", "s kept", "kept_scores", axis=2),
            node("NonMaxSuppression", "kept_boxes kept_scores most iou", "taken"),
            node("Gather", "taken two", "indices", axis=1),
            node("Gather", "taken one", "labels", axis=1),
            node("Squeeze", "kept_boxes zero", "flat_boxes"),
            node("Gather", "flat_boxes indices", "boxes", axis=0),
            node("GatherND", "kept_scores taken", "scores"),
            node("Unsqueeze", "scores one_axis", "column"),
            node("Concat", "boxes column", "result", axis=1),
            node("ReduceSum", "result", "sum", keepdims=0),
        ]
        constants = {
            "classes": np.array([1]),
            "limit": np.array(0.3, np.float32),
            "zero": np.array([0]),
            "one": np.array(1),
            "two": np.array(2),
            "one_axis": np.array([1]),
            "most": np.array([4]),
            "iou": np.array([0.4], np.float32),
        }
        rng = np.random.default_rng(3)
        inputs = [
            {
                "b": self.boxes(1, 24, seed),
                "s": (scale * rng.uniform(0, 1, (1, 3, 24))).astype(np.float32),
            }
            for seed, scale in enumerate((1, 0.5, 0.35, 0.1))
        ]
        # "where" has a row for the batch, and one for the box.
        self.run_model(nodes, inputs, {"result": FLOAT, "labels": INT, "sum": FLOAT}, constants)


if __name__ == "__main__":
    tool_test.main()
