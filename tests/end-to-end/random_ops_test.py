# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of ONNX that draw random numbers: their distributions, types and seeds.

usage: PYTHONPATH=tests/support python tests/end-to-end/random_ops_test.py
           BIN_DIR [unittest's options]
"""

import math

import numpy as np
import onnx
from onnx import TensorProto, helper

import tool_test

COUNT = 20000
erf = np.vectorize(math.erf)


def distance(samples, cumulative):
    """How far the samples' distribution is from one (Kolmogorov and Smirnov)."""
    expected = cumulative(np.sort(samples.ravel().astype(np.float64)))
    steps = np.arange(samples.size + 1) / samples.size
    return max((expected - steps[:-1]).max(), (steps[1:] - expected).max())


class RandomOpsTest(tool_test.ToolTest):
    def run_nodes(self, nodes, inputs=()):
        """The outputs of nodes that are each (op, inputs, dtype, attributes)."""
        made = [
            helper.make_node(op, names, [f"y{i}"], name=f"n{i}", **attributes)
            for i, (op, names, _, attributes) in enumerate(nodes)
        ]
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            made,
            "g",
            [info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in inputs],
            [info(f"y{i}", dtype, None) for i, (_, _, dtype, _) in enumerate(nodes)],
        )
        opset = [helper.make_opsetid("", 22)]
        proto = helper.make_model(graph, opset_imports=opset, ir_version=10)
        onnx.save(proto, self.folder / "m.onnx")
        self.compile("m.onnx", "m.so")
        arguments = ["m.so", "--output-dir", "."]
        for name, x in inputs:
            np.save(self.folder / f"{name}.npy", x)
            arguments += ["--input", f"{name}={name}.npy"]
        done = self.run_tool("graph-run", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [np.load(self.folder / f"y{i}.npy") for i in range(len(nodes))]

    def check_distribution(self, samples, cumulative):
        # Beyond 1.95 / √n in one of a thousand draws.
        self.assertLess(distance(samples, cumulative), 1.95 / np.sqrt(samples.size))

    def test_uniform(self):
        nodes = [
            ("RandomUniform", [], dtype,
             dict(shape=[COUNT], dtype=dtype, low=-1.0, high=3.0, seed=seed))
            for dtype, seed in ((TensorProto.FLOAT, 1.0), (TensorProto.DOUBLE, 2.0))
        ]  # fmt: skip
        nodes.append(("RandomUniform", [], 10, dict(shape=[COUNT], dtype=10)))
        *wide, half = self.run_nodes(nodes)
        for samples, dtype in zip(wide, (np.float32, np.float64)):
            self.assertEqual(samples.dtype, dtype)
            self.assertTrue((samples >= -1).all() and (samples < 3).all())
            self.check_distribution(samples, lambda x: (x + 1) / 4)
        self.assertEqual(half.dtype, np.float16)
        self.assertTrue((half >= 0).all() and (half < 1).all())

    def test_normal(self):
        x = np.zeros((3, COUNT), np.float64)
        parameters = dict(mean=2.0, scale=0.5)
        like, plain, odd = self.run_nodes(
            [
                ("RandomNormalLike", ["x"], TensorProto.DOUBLE, parameters),
                ("RandomNormal", [], 1, dict(shape=[COUNT], **parameters)),
                ("RandomNormal", [], 1, dict(shape=[7, 3])),
            ],
            [("x", x)],
        )
        cumulative = lambda x: (1 + erf((x - 2) / (0.5 * np.sqrt(2)))) / 2
        self.assertEqual((like.dtype, like.shape), (x.dtype, x.shape))
        for samples in (*like, plain):
            self.check_distribution(samples, cumulative)
        self.assertLess(abs(np.corrcoef(like)[0, 1]), 0.03)
        self.assertEqual((odd.dtype, odd.shape), (np.float32, (7, 3)))

    def test_choices(self):
        p = np.repeat(np.array([0, 0.25, 0.9, 1], np.float32), COUNT).reshape(4, -1)
        logits = np.log(np.array([[1, 2, 0, 5], [3, 3, 1, 1]], np.float32) + 1e-30)
        hits, classes = self.run_nodes(
            [
                ("Bernoulli", ["p"], TensorProto.INT32, dict(dtype=6, seed=5.0)),
                ("Multinomial", ["x"], TensorProto.INT64,
                 dict(dtype=7, sample_size=COUNT, seed=5.0)),
            ],
            [("p", p), ("x", logits)],
        )  # fmt: skip
        np.testing.assert_allclose(hits.mean(1), p[:, 0], atol=0.015)
        self.assertEqual((hits[0].max(), hits[3].min()), (0, 1))
        for row, logit in zip(classes, logits):
            shares = np.bincount(row, minlength=4) / COUNT
            np.testing.assert_allclose(shares, np.exp(logit) / 8, atol=0.015)

    def test_seeds(self):
        uniform = lambda **seed: ("RandomUniform", [], 1, dict(shape=[9], **seed))
        nodes = [uniform(seed=1.0), uniform(seed=1.0), uniform(seed=1.5),
                 uniform(), uniform()]  # fmt: skip
        first = self.run_nodes(nodes)
        np.testing.assert_array_equal(first[0], first[1])
        for a, b in ((0, 2), (0, 3), (3, 4)):
            self.assertFalse((first[a] == first[b]).any())
        for before, after in zip(first, self.run_nodes(nodes)):
            np.testing.assert_array_equal(before, after)

    def test_errors(self):
        for op, attributes, text in (
            ("RandomNormal", {}, "attribute shape is missing"),
            ("RandomUniform", dict(shape=[2], dtype=7), "expected numbers of f64, f32"),
            ("RandomUniform", dict(shape=[-2]), "the shape [-2] is negative"),
        ):
            node = helper.make_node(op, [], ["y"], **attributes)
            y = helper.make_tensor_value_info("y", 1, [2])
            model = helper.make_model(helper.make_graph([node], "g", [], [y]))
            onnx.save(model, self.folder / "m.onnx")
            done = self.run_tool("graph-compile", "m.onnx", "-o", "m.so")
            self.fails(done, op, text)


if __name__ == "__main__":
    tool_test.main()
