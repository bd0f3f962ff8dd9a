# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Winograd convolutions against direct ones and NumPy in f64.

usage: PYTHONPATH=tests/support python tests/end-to-end/winograd_test.py
           BIN_DIR [unittest's options]
"""

import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test

# CPUs with AVX-512, emulated where this one has none, and with AVX2 alone.
CPUS = ("emulated+icelake-server", "x86-64-v3")


def info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def direct(x, w, padding):
    """The convolution in f64; padding as ONNX has it."""
    top, left, bottom, right = padding
    x = np.pad(
        x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right))
    )
    height, width = x.shape[2] - 2, x.shape[3] - 2
    return sum(
        np.einsum(
            "nchw,kc->nkhw",
            x[:, :, i : i + height, j : j + width],
            w[:, :, i, j].astype(np.float64),
        )
        for i in range(3)
        for j in range(3)
    )


def rms(values):
    return np.sqrt(np.mean(np.square(values)))


class WinogradTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(0)

    def draw(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def save(self, x, w, padding, more=(), constants=None, inputs=None):
        """A model of a convolution c, with a bias, and nodes that make y of it."""
        inputs = {"x": x, **(inputs or {})}
        constants = {"w": w, "b": self.draw(w.shape[0]), **(constants or {})}
        constants = {k: v for k, v in constants.items() if k not in inputs}
        conv = helper.make_node(
            "Conv", ["x", "w", "b"], ["c" if more else "y"], pads=padding
        )
        top, left, bottom, right = padding
        y = (
            x.shape[0],
            w.shape[0],
            x.shape[2] + top + bottom - 2,
            x.shape[3] + left + right - 2,
        )
        tensors = [
            numpy_helper.from_array(value, name)
            for name, value in constants.items()
        ]
        graph = helper.make_graph(
            [conv, *more],
            "g",
            [info(name, value.shape) for name, value in inputs.items()],
            [info("y", y)],
            tensors,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10
        )
        onnx.save(model, self.folder / "m.onnx")
        for name, value in inputs.items():
            np.save(self.folder / f"{name}.npy", value)
        self.inputs = [f"--input={name}={name}.npy" for name in inputs]
        return constants

    def run_model(self, *flags, threads=2):
        self.compile("m.onnx", "m.so", *flags)
        done = self.run_tool(
            "graph-run", "m.so", *self.inputs, "--output-dir", ".",
            "--threads", threads,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return np.load(self.folder / "y.npy")

    def plans(self, *flags):
        """What computes the model's kernels."""
        self.compile("m.onnx", "kernels.mlir", "--emit=kernels", *flags)
        text = (self.folder / "kernels.mlir").read_text()
        return re.findall(r"graph\.plan = #cpu\.(\w+)<", text)

    def check(self, images, channels, columns, size, padding, winograd="fast"):
        x = self.draw(images, channels, *size)
        w = self.draw(columns, channels, 3, 3)
        constants = self.save(x, w, padding)
        expected = direct(x, w, padding) + constants["b"][:, None, None]
        for cpu in CPUS:
            for threads in (1, 2):
                with self.subTest(cpu=cpu, threads=threads, size=size):
                    flags = ("--cpu", cpu, f"--winograd={winograd}")
                    self.assertIn("winograd", self.plans(*flags))
                    y = self.run_model(*flags, threads=threads)
                    self.assertEqual(y.shape, expected.shape)
                    error = np.abs(y - expected).max()
                    self.assertLess(error, 1e-4 * np.abs(expected).max())

    def test_tiles_that_fit(self):
        self.check(1, 64, 64, (26, 26), (1, 1, 1, 1))

    def test_edges_in_all_tiles(self):
        self.check(1, 160, 128, (7, 9), (1, 1, 1, 1), winograd="accurate")

    def test_channels_and_columns_that_fill_no_vector(self):
        self.check(1, 75, 83, (21, 22), (1, 1, 1, 1), winograd="accurate")

    def test_no_padding(self):
        self.check(1, 64, 64, (17, 19), (0, 0, 0, 0))

    def test_padding_that_differs(self):
        self.check(1, 48, 80, (15, 20), (2, 0, 1, 2), winograd="accurate")

    def test_several_images(self):
        self.check(3, 64, 48, (13, 12), (1, 1, 1, 1), winograd="accurate")

    def test_fused_before_and_after(self):
        x, w = self.draw(1, 64, 20, 20), self.draw(64, 64, 3, 3)
        more = [
            helper.make_node("Relu", ["c"], ["r"]),
            helper.make_node("Mul", ["r", "s"], ["m"]),
            helper.make_node("Add", ["m", "x"], ["y"]),
        ]
        scale = self.draw(1, 64, 1, 1)
        constants = self.save(x, w, (1, 1, 1, 1), more, {"s": scale})
        c = direct(x, w, (1, 1, 1, 1)) + constants["b"][:, None, None]
        expected = np.maximum(c, 0) * scale + x
        for cpu in CPUS:
            flags = ("--cpu", cpu)
            self.assertIn("winograd", self.plans(*flags))
            np.testing.assert_allclose(
                self.run_model(*flags), expected, atol=2e-4, rtol=1e-4
            )

    def test_filters_that_are_computed(self):
        """Each run transforms them."""
        x, w = self.draw(2, 48, 24, 21), self.draw(64, 48, 3, 3)
        constants = self.save(x, w, (1, 1, 1, 1), inputs={"w": w})
        expected = direct(x, w, (1, 1, 1, 1)) + constants["b"][:, None, None]
        for cpu in CPUS:
            flags = ("--cpu", cpu)
            self.assertEqual(
                {"winograd", "filter_transform"} - set(self.plans(*flags)), set()
            )
            np.testing.assert_allclose(
                self.run_model(*flags), expected, atol=2e-4, rtol=1e-4
            )

    def errors(self, channels, columns, size, *flags):
        x = self.draw(1, channels, *size)
        w = self.draw(columns, channels, 3, 3)
        constants = self.save(x, w, (1, 1, 1, 1))
        exact = direct(x, w, (1, 1, 1, 1)) + constants["b"][:, None, None]
        result = {}
        for winograd in ("off", "accurate", "fast"):
            y = self.run_model(f"--winograd={winograd}", "--cpu=x86-64-v3", *flags)
            result[winograd] = rms(y - exact)
        return result

    def test_accurate_loses_little(self):
        """At most about twice the error of sums as they are, by default."""
        for channels, size in ((64, (56, 56)), (256, (14, 14))):
            with self.subTest(channels=channels):
                errors = self.errors(channels, 64, size)
                self.assertLess(errors["accurate"], 2.3 * errors["off"])
                # It is not the same code: there is an error of its own.
                self.assertNotEqual(errors["accurate"], errors["off"])
                self.assertLess(errors["fast"], 10 * errors["off"])

    def test_what_it_is_not_for(self):
        x = self.draw(1, 64, 20, 20)
        cases = {
            "strides": (self.draw(64, 64, 3, 3), {"strides": [2, 2]}),
            "dilations": (self.draw(64, 64, 3, 3), {"dilations": [2, 2]}),
            "taps": (self.draw(64, 64, 5, 5), {}),
            "groups": (self.draw(64, 16, 3, 3), {"group": 4}),
        }
        for name, (w, attributes) in cases.items():
            with self.subTest(name):
                node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
                graph = helper.make_graph(
                    [node],
                    "g",
                    [info("x", x.shape)],
                    [helper.make_empty_tensor_value_info("y")],
                    [numpy_helper.from_array(w, "w")],
                )
                graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
                model = helper.make_model(
                    graph,
                    opset_imports=[helper.make_opsetid("", 21)],
                    ir_version=10,
                )
                onnx.save(model, self.folder / "m.onnx")
                self.assertNotIn("winograd", self.plans("--winograd=fast"))

    def test_off(self):
        self.save(
            self.draw(1, 64, 26, 26), self.draw(64, 64, 3, 3), (1, 1, 1, 1)
        )
        self.assertIn("winograd", self.plans())
        self.assertNotIn("winograd", self.plans("--winograd=off"))

    def test_unknown_name(self):
        done = self.run_tool("graph-compile", "m.onnx", "--winograd=quick")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--winograd", done.stderr)


if __name__ == "__main__":
    tool_test.main()
