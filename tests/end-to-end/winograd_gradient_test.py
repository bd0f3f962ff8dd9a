# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Winograd gradients with respect to filters against NumPy in f64, and steps of
training against those without.

usage: PYTHONPATH=tests/support python tests/end-to-end/winograd_gradient_test.py
           BIN_DIR [unittest's options]
"""

import json
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test

# CPUs with AVX-512, emulated where this one has none, and with AVX2 alone.
CPUS = ("emulated+icelake-server", "x86-64-v3")


def direct(x, dy, padding):
    """The gradient in f64; padding as ONNX has it."""
    top, left, bottom, right = padding
    dy = dy.astype(np.float64)
    x = np.pad(
        x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right))
    )
    height, width = dy.shape[2:]
    taps = [
        np.tensordot(
            dy, x[:, :, i : i + height, j : j + width], axes=((0, 2, 3),) * 2
        )
        for i in range(3)
        for j in range(3)
    ]
    return np.stack(taps, axis=-1).reshape(dy.shape[1], x.shape[1], 3, 3)


def rms(values):
    return np.sqrt(np.mean(np.square(values)))


class WinogradGradientTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(0)

    def draw(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def save(self, images, channels, columns, size, padding, **attributes):
        """A model of the gradient alone; what it should be of what it is given."""
        top, left, bottom, right = padding
        x = self.draw(images, channels, *size)
        dy = self.draw(
            images, columns, size[0] + top + bottom - 2, size[1] + left + right - 2
        )
        inputs = {"x": x, "dy": dy}
        attributes = {
            "kernel": [3, 3],
            "strides": [1, 1],
            "padding": padding,
            "dilations": [1, 1],
            "groups": 1,
            **attributes,
        }
        model = {
            "tinh": 1,
            "inputs": [
                {"name": name, "dtype": "f32", "shape": value.shape}
                for name, value in inputs.items()
            ],
            "weights": [],
            "nodes": [
                {
                    "op": "conv_weight_gradient",
                    "inputs": ["x", "dy"],
                    "outputs": ["z"],
                    "attributes": attributes,
                }
            ],
            "outputs": ["z"],
        }
        (self.folder / "m.json").write_text(json.dumps(model))
        for name, value in inputs.items():
            np.save(self.folder / f"{name}.npy", value)
        return direct(x, dy, padding)

    def run_model(self, *flags, threads=2):
        self.compile("m.json", "m.so", *flags)
        done = self.run_tool(
            "graph-run", "m.so", "--input=x=x.npy", "--input=dy=dy.npy",
            "--output-dir", ".", "--threads", threads,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return np.load(self.folder / "z.npy")

    def plans(self, *flags, model="m.json"):
        self.compile(model, "kernels.mlir", "--emit=kernels", *flags)
        text = (self.folder / "kernels.mlir").read_text()
        return re.findall(r"graph\.plan = #cpu\.(\w+<[^,>]*)", text)

    def check(self, *case, winograd="accurate", positions="2"):
        expected = self.save(*case)
        for cpu in CPUS:
            flags = ("--cpu", cpu, f"--winograd={winograd}")
            self.assertRegex(
                " ".join(self.plans(*flags)),
                f"winograd_gradient<positions = {positions}",
            )
            results = []
            for threads in (1, 2):
                with self.subTest(cpu=cpu, threads=threads, case=case):
                    z = self.run_model(*flags, threads=threads)
                    self.assertEqual(z.shape, expected.shape)
                    error = np.abs(z - expected).max()
                    self.assertLess(error, 1e-5 * np.abs(expected).max())
                    results.append(z)
            np.testing.assert_array_equal(*results)

    def test_tiles_that_fit(self):
        self.check(2, 64, 64, (28, 28), (1, 1, 1, 1))

    def test_positions_and_channels_that_fill_nothing(self):
        self.check(1, 75, 83, (21, 23), (1, 1, 1, 1))

    def test_tiles_of_many_small_images(self):
        self.check(19, 64, 48, (7, 7), (1, 1, 1, 1))

    def test_no_padding(self):
        self.check(3, 48, 40, (17, 14), (0, 0, 0, 0))

    def test_padding_that_differs(self):
        self.check(2, 40, 64, (15, 20), (2, 0, 1, 2))

    def test_parts_of_sums(self):
        self.check(8, 64, 64, (26, 27), (1, 1, 1, 1))

    def test_larger_tiles(self):
        self.check(
            4, 64, 64, (29, 30), (1, 1, 1, 1), winograd="fast", positions="[46]"
        )

    def test_no_less_exact_by_default(self):
        exact = self.save(4, 64, 64, (28, 28), (1, 1, 1, 1))
        errors = {
            winograd: rms(
                self.run_model(f"--winograd={winograd}", "--cpu=x86-64-v3") - exact
            )
            for winograd in ("off", "accurate", "fast")
        }
        self.assertLess(errors["accurate"], 1.05 * errors["off"])
        self.assertNotEqual(errors["accurate"], errors["off"])
        self.assertLess(errors["fast"], 10 * errors["off"])

    def test_what_it_is_not_for(self):
        self.save(2, 64, 64, (28, 28), (1, 1, 1, 1))
        model = json.loads((self.folder / "m.json").read_text())
        shapes = {
            "strides": ({"strides": [2, 2]}, [2, 64, 14, 14]),
            "dilations": ({"dilations": [2, 2]}, [2, 64, 26, 26]),
            "taps": ({"kernel": [5, 5]}, [2, 64, 26, 26]),
        }
        for name, (attributes, shape) in shapes.items():
            with self.subTest(name):
                model["nodes"][0]["attributes"].update(attributes)
                model["inputs"][1]["shape"] = shape
                (self.folder / "m.json").write_text(json.dumps(model))
                plans = self.plans("--winograd=fast")
                self.assertFalse(
                    [p for p in plans if p.startswith("winograd_gradient")]
                )
                self.save(2, 64, 64, (28, 28), (1, 1, 1, 1))
                model = json.loads((self.folder / "m.json").read_text())

    def test_off(self):
        self.save(2, 64, 64, (28, 28), (1, 1, 1, 1))
        plans = self.plans("--winograd=off")
        self.assertFalse([p for p in plans if p.startswith("winograd_gradient")])

    def test_step_of_training(self):
        """Variables lie in panels, and the update follows the gradient."""
        x = self.draw(4, 32, 18, 15)
        weights = {
            "w": 0.1 * self.draw(48, 32, 3, 3),
            "v": 0.1 * self.draw(40, 48, 3, 3),
        }
        nodes = [
            helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("Conv", ["b", "v"], ["y"], pads=[1, 1, 1, 1]),
        ]
        graph = helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
            [
                helper.make_tensor_value_info(
                    "y", TensorProto.FLOAT, (4, 40, 18, 15)
                )
            ],
            [numpy_helper.from_array(v, k) for k, v in weights.items()],
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10
        )
        onnx.save(model, self.folder / "t.onnx")
        np.save(self.folder / "x.npy", x)
        np.save(self.folder / "target.npy", self.draw(4, 40, 18, 15))
        for cpu in CPUS:
            states = {}
            for winograd in ("off", "accurate"):
                flags = (
                    "--train", "--loss=mse", "--optimizer=sgd,lr=0.5,momentum=0.9",
                    "--cpu", cpu, f"--winograd={winograd}",
                )
                plans = self.plans(*flags, model="t.onnx")
                count = plans.count("winograd_gradient<positions = 2")
                self.assertEqual(count, 0 if winograd == "off" else 2)
                self.compile("t.onnx", "t.so", *flags)
                done = self.run_tool(
                    "graph-run", "t.so", "--function=train_step", "--input=x=x.npy",
                    "--input=target=target.npy", "--runs", 2, "--threads", 2,
                    "--save-state", "state.safetensors",
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                states[winograd] = self.load_state("state.safetensors")
            for name, value in weights.items():
                moved = np.abs(states["off"][name] - value.ravel()).max()
                self.assertGreater(moved, 1e-3)
                np.testing.assert_allclose(
                    states["accurate"][name], states["off"][name], atol=1e-4 * moved
                )

    def load_state(self, name):
        data = (self.folder / name).read_bytes()
        size = int.from_bytes(data[:8], "little")
        found = {}
        for key, tensor in json.loads(data[8 : 8 + size]).items():
            if key != "__metadata__" and tensor["dtype"] == "F32":
                begin, end = (8 + size + at for at in tensor["data_offsets"])
                found[key] = np.frombuffer(data[begin:end], np.float32)
        return found


if __name__ == "__main__":
    tool_test.main()
