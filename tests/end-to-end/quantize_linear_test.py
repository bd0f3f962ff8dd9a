# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QuantizeLinear and DequantizeLinear with the scales and blocks that ONNX allows,
against NumPy.

usage: PYTHONPATH=tests/support python tests/end-to-end/quantize_linear_test.py
           BIN_DIR [unittest's options]
"""

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

import tool_test

SHAPE = (4, 6, 8)


def along(parameters, axis, block):
    """The parameters of each element, of which the last block may have fewer."""
    if parameters.ndim < 2:
        return parameters
    return np.repeat(parameters, block, axis)[:, : SHAPE[1]]


class QuantizeLinearTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(0)

    def write(self, op, x, scale, zero, block):
        info = lambda name, dtype: helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(dtype), SHAPE
        )
        result = zero.dtype if op == "QuantizeLinear" else scale.dtype
        node = helper.make_node(op, ["x", "s", "z"], ["y"], axis=1, block_size=block)
        constants = [
            numpy_helper.from_array(scale, "s"), numpy_helper.from_array(zero, "z")
        ]  # fmt: skip
        graph = helper.make_graph(
            [node], "g", [info("x", x.dtype)], [info("y", result)], constants
        )
        opset = [helper.make_opsetid("", 21)]
        proto = helper.make_model(graph, opset_imports=opset, ir_version=10)
        onnx.save(proto, self.folder / "m.onnx")

    def run_op(self, op, x, scale, zero, block=0):
        self.write(op, x, scale, zero, block)
        return self.run_model(x)

    def check_dequantize(self, scale, zero, block=0):
        limits = np.iinfo(zero.dtype)
        x = self.rng.integers(limits.min, limits.max, SHAPE, zero.dtype, True)
        found = self.run_op("DequantizeLinear", x, scale, zero, block)
        levels = x.astype(int) - along(zero, 1, block).astype(int)
        exact = levels * along(scale, 1, block).astype(np.float64)
        self.assertEqual(found.dtype, scale.dtype)
        error = np.abs(found.astype(np.float64) - exact)
        bound = np.abs(exact) * np.finfo(scale.dtype).eps
        least = np.finfo(scale.dtype).smallest_subnormal
        self.assertTrue((error <= bound + float(least)).all(), error.max())

    def check_quantize(self, x, scale, zero, block=0):
        found = self.run_op("QuantizeLinear", x, scale, zero, block)
        scales = along(scale, 1, block).astype(np.float64)
        with np.errstate(over="ignore"):
            levels = np.rint(x / scales) + along(zero, 1, block).astype(int)
        limits = np.iinfo(zero.dtype)
        expected = np.clip(levels, limits.min, limits.max).astype(zero.dtype)
        # A reciprocal may round what lies next to a half otherwise.
        difference = np.abs(found.astype(int) - expected)
        self.assertLessEqual(difference.max(), 1)
        self.assertLess((difference > 0).mean(), 0.02)

    def test_small_scales(self):
        zero = np.uint8(9)
        for dtype, small in ((np.float16, 4e-5), (np.float32, 1e-40)):
            scale = np.array(small, dtype)
            with self.subTest(scale=scale):
                self.check_dequantize(scale, zero)
                # In f32 what is divided is so small, too.
                x = self.rng.normal(0, 50 * small, SHAPE).astype(dtype)
                x[0, 0] = 0
                self.check_quantize(x, scale, zero)

    def test_scales_of_zero(self):
        scale = self.rng.uniform(0.1, 0.5, SHAPE[1]).astype(np.float32)
        scale[[1, 4]] = 0
        zero = self.rng.integers(0, 256, SHAPE[1], np.uint8)
        wide = lambda v: v.reshape(-1, 1)
        x = self.rng.integers(0, 256, SHAPE, np.uint8)
        found = self.run_op("DequantizeLinear", x, scale, zero)
        exact = (x.astype(np.float32) - wide(zero)) * wide(scale)
        np.testing.assert_array_equal(found, exact)
        for wrong, text in ((0, "finite and not 0, found 0"), (np.inf, "finite and")):
            scale[1] = wrong
            self.write("QuantizeLinear", scale, scale, zero, 0)
            done = self.run_tool("graph-compile", "m.onnx", "-o", "m.so")
            self.fails(done, "QuantizeLinear", text)

    def test_blocks(self):
        for block in (3, 4, 5, 7):
            with self.subTest(block=block):
                shape = (SHAPE[0], -(-SHAPE[1] // block), SHAPE[2])
                scale = self.rng.uniform(0.1, 0.5, shape).astype(np.float32)
                zero = self.rng.integers(-128, 128, shape, np.int8)
                self.check_dequantize(scale, zero, block)
                x = self.rng.normal(0, 20, SHAPE).astype(np.float32)
                self.check_quantize(x, scale, zero, block)

    def test_blocks_that_do_not_fit(self):
        scale = np.ones((4, 3, 8), np.float32)
        self.write("DequantizeLinear", np.zeros(SHAPE, np.int8), scale,
                   np.zeros(scale.shape, np.int8), 4)  # fmt: skip
        done = self.run_tool("graph-compile", "m.onnx", "-o", "m.so")
        self.fails(done, "4x3x8", "do not fit axis 1", "in blocks of 4")

    def test_integers_of_few_bits(self):
        """Files hold several in a byte; the last byte may not be full."""
        expected, nodes, constants, outputs = {}, [], [], []
        types = ("INT2", 2, -2), ("UINT2", 2, 0), ("INT4", 4, -8), ("UINT4", 4, 0)
        for name, bits, first in types:
            numbers = first + self.rng.integers(0, 1 << bits, 15)
            places = np.pad(numbers, (0, 1)).reshape(-1, 8 // bits)
            shifts = bits * np.arange(8 // bits)
            packed = ((places & ((1 << bits) - 1)) << shifts).sum(1)
            constants.append(onnx.TensorProto(
                name=name, data_type=onnx.TensorProto.DataType.Value(name),
                dims=[3, 5], raw_data=packed.astype(np.uint8).tobytes(),
            ))  # fmt: skip
            nodes.append(helper.make_node("Cast", [name], ["y" + name], to=1))
            outputs.append(helper.make_tensor_value_info("y" + name, 1, [3, 5]))
            expected["y" + name] = numbers.reshape(3, 5)
        graph = helper.make_graph(nodes, "g", [], outputs, constants)
        opset = [helper.make_opsetid("", 25)]
        onnx.save(helper.make_model(graph, opset_imports=opset), self.folder / "m.onnx")
        self.compile("m.onnx", "m.so")
        done = self.run_tool("graph-run", "m.so", "--output-dir", ".")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, numbers in expected.items():
            np.testing.assert_array_equal(
                np.load(self.folder / f"{name}.npy"), numbers, name
            )

    def test_zero_points_of_constant_nodes(self):
        """INT4 limits whichever node makes the zero point that has it."""
        zero = numpy_helper.from_array(np.array(0, ml_dtypes.int4), "z")
        x = np.linspace(-20, 20, 192).astype(np.float32).reshape(SHAPE)
        makers = {
            "constant": [helper.make_node("Constant", [], ["z"], value=zero)],
            "identity": [
                helper.make_node("Constant", [], ["c"], value=zero),
                helper.make_node("Identity", ["c"], ["z"]),
            ],
            "cast": [helper.make_node("Cast", ["f"], ["z"], to=onnx.TensorProto.INT4)],
        }
        for name, nodes in makers.items():
            nodes.append(helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]))
            nodes.append(helper.make_node("Cast", ["q"], ["y"], to=onnx.TensorProto.INT8))
            info = helper.make_tensor_value_info
            graph = helper.make_graph(
                nodes,
                "g",
                [info("x", 1, SHAPE)],
                [info("y", 3, SHAPE)],
                [
                    numpy_helper.from_array(np.float32(1), "s"),
                    numpy_helper.from_array(np.float32(0), "f"),
                ],
            )
            opset = [helper.make_opsetid("", 21)]
            proto = helper.make_model(graph, opset_imports=opset, ir_version=10)
            onnx.save(proto, self.folder / "m.onnx")
            found = self.run_model(x)
            expected = np.clip(np.rint(x), -8, 7)
            np.testing.assert_array_equal(found, expected, name)

    def run_model(self, x):
        np.save(self.folder / "x.npy", x)
        self.compile("m.onnx", "m.so")
        done = self.run_tool(
            "graph-run", "m.so", "--input", "x=x.npy", "--output-dir", "."
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "y.npy")

    def save_mxfp4(self, depth, output_dtype):
        """A product with weights in blocks of 32 with a power of two each."""
        weights = self.rng.integers(0, 16, (depth, 24), np.uint8).view(
            ml_dtypes.float4_e2m1fn
        )
        powers = self.rng.integers(124, 130, (depth // 32, 24), np.uint8).view(
            ml_dtypes.float8_e8m0fnu
        )
        attributes = {"output_dtype": output_dtype} if output_dtype else {}
        nodes = [
            helper.make_node(
                "DequantizeLinear", ["w", "s"], ["d"], "dequantize", axis=0,
                block_size=32, **attributes,
            ),
            helper.make_node("MatMul", ["x", "d"], ["y"]),
        ]  # fmt: skip
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes,
            "g",
            [info("x", 1, (3, depth))],
            [info("y", 1, (3, 24))],
            [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(powers, "s")],
        )
        opset = [helper.make_opsetid("", 25)]
        proto = helper.make_model(graph, opset_imports=opset, ir_version=12)
        onnx.save(proto, self.folder / "m.onnx")
        scales = np.repeat(powers.astype(np.float32), 32, 0)
        return weights.astype(np.float32) * scales

    def test_products_with_mxfp4(self):
        weights = self.save_mxfp4(64, onnx.TensorProto.FLOAT)
        x = self.rng.standard_normal((3, 64)).astype(np.float32)
        np.testing.assert_allclose(self.run_model(x), x @ weights, rtol=1e-4, atol=1e-4)
        self.save_mxfp4(64, None)
        done = self.run_tool("graph-compile", "m.onnx", "-o", "m.so")
        self.fails(done, "dequantize", "FLOAT8E8M0", "output_dtype is missing")


if __name__ == "__main__":
    tool_test.main()
