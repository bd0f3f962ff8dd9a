# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops in the forms that they had in ONNX's first operator set, against NumPy.

usage: PYTHONPATH=tests/support python tests/end-to-end/first_opset_test.py
           BIN_DIR [unittest's options]
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test


class FirstOpsetTest(tool_test.ToolTest):
    def test_forms(self):
        x = np.random.default_rng(0).standard_normal((1, 2, 4, 4)).astype(np.float32)
        node = helper.make_node
        two, axis, sizes = np.array([2]), np.array([1]), np.array([1, 3])
        p = 3.0
        selu = 1.0507 * np.where(x > 0, x, 1.6732 * (np.exp(x) - 1))
        windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))
        cases = [
            (node("Cast", ["x"], ["cast"], to="INT32"), [x.astype(np.int32)]),
            (
                node("Pad", ["x"], ["pad"], paddings=[0, 0, 1, 0, 0, 0, 0, 2], value=1.5),
                [np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 2)], constant_values=1.5)],
            ),
            (
                node("Split", ["x", "sizes"], ["left", "right"], axis=3),
                [x[..., :1], x[..., 1:]],
            ),
            (node("Split", ["x"], ["front", "back"], axis=2, split=[3, 1]),
             [x[:, :, :3], x[:, :, 3:]]),
            (node("Tile", ["x", "two", "axis"], ["tile"]), [np.tile(x, (1, 2, 1, 1))]),
            (
                node("Upsample", ["x"], ["up"], height_scale=2.0, width_scale=1.0,
                     mode="nearest"),
                [np.repeat(x, 2, 2)],
            ),
            (node("Selu", ["x"], ["selu"]), [selu]),
            (
                node("LpPool", ["x"], ["pool"], p=p, kernel_shape=[2, 2], strides=[1, 1]),
                [(np.abs(windows) ** p).sum((4, 5)) ** (1 / p)],
            ),
            (
                node("GlobalLpPool", ["x"], ["whole"], p=p),
                [(np.abs(x) ** p).sum((2, 3), keepdims=True) ** (1 / p)],
            ),
        ]  # fmt: skip
        expected = {
            name: y for made, ys in cases for name, y in zip(made.output, ys, strict=True)
        }
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            [made for made, _ in cases],
            "g",
            [info("x", TensorProto.FLOAT, x.shape)],
            [
                info(name, 6 if name == "cast" else 1, y.shape)
                for name, y in expected.items()
            ],
            [
                numpy_helper.from_array(value, name)
                for name, value in {"two": two, "axis": axis, "sizes": sizes}.items()
            ],
        )
        opset = [helper.make_opsetid("", 1)]
        onnx.save(
            helper.make_model(graph, opset_imports=opset, ir_version=3),
            self.folder / "m.onnx",
        )
        np.save(self.folder / "x.npy", x)
        self.compile("m.onnx", "m.so")
        done = self.run_tool(
            "graph-run", "m.so", "--input", "x=x.npy", "--output-dir", "out"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, y in expected.items():
            found = np.load(self.folder / "out" / f"{name}.npy")
            np.testing.assert_allclose(found, y, rtol=1e-5, atol=1e-5, err_msg=name)

    def test_pooled_regions(self):
        """MaxRoiPool: bins that overlap, that are empty, and that lie outside."""
        x = np.random.default_rng(1).standard_normal((2, 3, 6, 8)).astype(np.float32)
        regions = np.array(
            [[0, 0, 0, 15, 11], [1, 3, 1, 9, 5], [1, 5, 5, 5, 5], [0, 13, -4, 40, 3],
             [1, 30, 30, 50, 50]], np.float32,
        )  # fmt: skip
        scale, (high, wide) = 0.5, (3, 2)
        expected = np.zeros((len(regions), 3, high, wide), np.float32)
        for r, (image, *corners) in enumerate(regions):
            x1, y1, x2, y2 = [
                int(np.sign(c) * np.floor(abs(c * scale) + 0.5)) for c in corners
            ]
            for i in range(high):
                for j in range(wide):
                    spans = []
                    for first, last, k, bins, extent in (
                        (y1, y2, i, high, 6),
                        (x1, x2, j, wide, 8),
                    ):
                        bin = np.float32(max(last - first + 1, 1)) / bins
                        begin = first + int(np.floor(k * bin))
                        end = first + int(np.ceil((k + 1) * bin))
                        spans.append(slice(*np.clip([begin, end], 0, extent)))
                    part = x[int(image), :, spans[0], spans[1]]
                    if part.size:
                        expected[r, :, i, j] = part.max((1, 2))
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            [
                helper.make_node(
                    "MaxRoiPool", ["x", "r"], ["y"],
                    pooled_shape=[high, wide], spatial_scale=scale,
                )
            ],
            "g",
            [info("x", 1, x.shape), info("r", 1, regions.shape)],
            [info("y", 1, expected.shape)],
        )  # fmt: skip
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 1)]),
            self.folder / "m.onnx",
        )
        np.save(self.folder / "x.npy", x)
        np.save(self.folder / "r.npy", regions)
        self.compile("m.onnx", "m.so")
        done = self.run_tool(
            "graph-run", "m.so", "--input", "x=x.npy", "--input", "r=r.npy",
            "--output-dir", "out",
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        y = np.load(self.folder / "out" / "y.npy")
        np.testing.assert_array_equal(y, expected)


if __name__ == "__main__":
    tool_test.main()
