# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of floats with weights of 4 and 8 bits, floats of 8 bits among them,
against NumPy in f64.

usage: PYTHONPATH=tests/support python tests/end-to-end/quantized_weights_test.py
           BIN_DIR [unittest's options]
"""

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test
from combinations import combinations

# CPUs with AVX-512, emulated where this one has none, and with AVX2 alone.
CPUS = ("emulated+icelake-server", "x86-64-v3")
ROWS = (1, 3, 7, 40)
FLOATS = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
)


def info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, x_shape, y_shape, constants):
    tensors = [numpy_helper.from_array(v, name) for name, v in constants.items()]
    graph = helper.make_graph(
        nodes, "g", [info("x", x_shape)], [info("y", y_shape)], tensors
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def pack_int4(numbers):
    """Pairs along the last axis as bytes."""
    if numbers.shape[-1] % 2:
        numbers = np.concatenate([numbers, np.zeros_like(numbers[..., :1])], -1)
    return (numbers[..., 0::2] | numbers[..., 1::2] << 4).astype(np.uint8)


class QuantizedWeightsTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(0)

    def scales(self, *shape):
        return self.rng.uniform(0.5, 1.5, shape).astype(np.float32) / 64

    def product(self, proto, x, *flags):
        """What the compiled model gives for `x`, and the bytes of its weights."""
        onnx.save(proto, self.folder / "m.onnx")
        np.save(self.folder / "x.npy", x)
        self.compile("m.onnx", "m.so", *flags)
        done = self.run_tool(
            "graph-run", "m.so", "--input", "x=x.npy", "--output-dir", "."
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "y.npy")

    def assertProduct(self, proto, x, weights, bias=0):
        exact = x.astype(np.float64) @ weights.astype(np.float64) + bias
        size = np.abs(x).astype(np.float64) @ np.abs(weights)
        for cpu in CPUS:
            with self.subTest(cpu=cpu, rows=x.shape):
                y = self.product(proto, x, "--cpu", cpu)
                self.assertEqual(y.shape, exact.shape)
                error = np.abs(y - exact) / size
                self.assertLess(error.max(), 1e-6)

    def rows(self, count, depth):
        return self.rng.standard_normal((count, depth)).astype(np.float32)

    # MatMulNBits

    def blocked(self, rows, depth, columns, bits, block, zero=None, bias=False):
        """A model of a MatMulNBits, with its input, weights and bias."""
        blocks = -(-depth // block)
        q = self.rng.integers(0, 2**bits, (columns, blocks, block)).astype(np.uint8)
        scale = self.scales(columns, blocks)
        constants = {"b": pack_int4(q) if bits == 4 else q, "s": scale.reshape(-1)}
        z = np.full((columns, blocks), 2 ** (bits - 1), np.float32)
        if zero == "integers":
            z = self.rng.integers(0, 2**bits, z.shape).astype(np.uint8)
            constants["z"] = (pack_int4(z) if bits == 4 else z).reshape(-1)
        elif zero == "floats":
            z = self.rng.uniform(0, 2**bits, z.shape).astype(np.float32)
            constants["z"] = z.reshape(-1)
        inputs = ["x", "b", "s", "z" if zero else "", ""]
        if bias:
            inputs.append("c")
            constants["c"] = self.scales(columns)
        node = helper.make_node(
            "MatMulNBits",
            inputs,
            ["y"],
            domain="com.microsoft",
            K=depth,
            N=columns,
            bits=bits,
            block_size=block,
        )
        w = (q.astype(np.float64) - z[..., None]) * scale[..., None]
        w = w.reshape(columns, -1)[:, :depth].T
        proto = model([node], [rows, depth], [rows, columns], constants)
        return proto, self.rows(rows, depth), w, constants.get("c", 0)

    def test_matmul_nbits(self):
        zeros = (None, "integers", "floats")
        for rows, zero, bits in combinations(ROWS, zeros, (4, 8)):
            with self.subTest(rows=rows, bits=bits, zero=zero):
                self.assertProduct(
                    *self.blocked(rows, 128, 80, bits, 32, zero, bias=True)
                )

    def test_blocks(self):
        for block in (16, 64, 128):
            for columns in (9, 96, 203):
                with self.subTest(block=block, columns=columns):
                    self.assertProduct(*self.blocked(2, 256, columns, 4, block))

    def test_part_of_a_block(self):
        for bits in (4, 8):
            self.assertProduct(*self.blocked(2, 90, 40, bits, 32, "integers"))

    # DequantizeLinear

    def dequantized(self, rows, dtype, scale, block=0, transpose=False):
        """A product with weights [128, 72] or, transposed, [72, 128]."""
        depth, columns = 128, 72
        shape = (columns, depth) if transpose else (depth, columns)
        if dtype in FLOATS:
            q = self.rng.standard_normal(shape).astype(dtype).astype(np.float64)
            zero = np.zeros(scale.shape)
        else:
            limits = ml_dtypes.iinfo(dtype)
            integers = lambda s: self.rng.integers(limits.min, int(limits.max) + 1, s)
            q, zero = integers(shape), integers(scale.shape)
        axis = 1 if transpose else 0
        constants = {"q": q.astype(dtype), "s": scale, "z": zero.astype(dtype)}
        attributes = {"axis": axis, "block_size": block}
        repeated = [scale, zero]
        if block:
            repeated = [
                np.repeat(p, block, axis).take(range(depth), axis) for p in repeated
            ]
        elif scale.ndim:
            attributes = {"axis": 1 - axis}
            repeated = [np.expand_dims(p, axis) for p in repeated]
        nodes = [
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"], **attributes),
            helper.make_node("Gemm", ["x", "w"], ["y"], transB=int(transpose)),
        ]
        w = (q - repeated[1].astype(np.float64)) * repeated[0]
        proto = model(nodes, [rows, depth], [rows, columns], constants)
        return proto, self.rows(rows, depth), w.T if transpose else w

    def test_dequantize_linear(self):
        dtypes = (np.int8, np.uint8, ml_dtypes.int4, ml_dtypes.uint4, *FLOATS)
        scales = ("of blocks", "of columns", "of all")
        layouts = (False, True)
        for dtype, of, rows, transpose in combinations(
            dtypes, scales, (1, 20), layouts
        ):
            blocks = (72, 4) if transpose else (4, 72)
            shape = {"of blocks": blocks, "of columns": (72,), "of all": ()}[of]
            block = 32 if of == "of blocks" else 0
            with self.subTest(dtype=dtype, scales=of, rows=rows, transpose=transpose):
                scale = np.asarray(self.scales(*shape))
                self.assertProduct(
                    *self.dequantized(rows, dtype, scale, block, transpose)
                )

    def test_part_of_a_dequantized_block(self):
        for dtype in (np.uint8, ml_dtypes.int4):
            for rows in (1, 20):
                for transpose in (False, True):
                    scale = self.scales(*((72, 3) if transpose else (3, 72)))
                    self.assertProduct(
                        *self.dequantized(rows, dtype, scale, 48, transpose)
                    )

    def test_elements_of_int4_that_are_odd_in_number(self):
        q = self.rng.integers(-8, 8, (8, 9)).astype(ml_dtypes.int4)
        constants = {"q": q, "s": self.scales(9)}
        nodes = [
            helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1),
            helper.make_node("MatMul", ["x", "w"], ["y"]),
        ]
        proto = model(nodes, [1, 8], [1, 9], constants)
        self.assertProduct(proto, self.rows(1, 8), q.astype(np.float32) * constants["s"])

    # What is kept

    def test_artifacts_hold_floats_of_8_bits(self):
        for dtype in FLOATS:
            q = self.rng.standard_normal((1024, 512)).astype(dtype)
            constants = {"q": q, "s": self.scales(512)}
            nodes = [
                helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1),
                helper.make_node("MatMul", ["x", "w"], ["y"]),
            ]
            proto = model(nodes, [1, 1024], [1, 512], constants)
            onnx.save(proto, self.folder / "m.onnx")
            self.compile("m.onnx", "m.so")
            size = (self.folder / "m.so").stat().st_size
            self.assertLess(abs(size - 1024 * 512 - 512 * 4), 32768)

    def test_artifacts_hold_integers(self):
        for bits in (4, 8):
            proto, *_ = self.blocked(1, 1024, 512, bits, 32)
            onnx.save(proto, self.folder / "m.onnx")
            self.compile("m.onnx", "m.so")
            weights = 1024 * 512 * bits // 8 + 1024 // 32 * 512 * 4
            self.assertLess(abs((self.folder / "m.so").stat().st_size - weights), 32768)


if __name__ == "__main__":
    tool_test.main()
