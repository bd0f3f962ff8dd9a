#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-quantize: models in int8, and what it says of wrong data.

usage: PYTHONPATH=tests/support quantize_test.py BIN_DIR
"""

import re
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

import tool_test
from onnx_models import run, write

RANDOM = None  # setUp makes it.
METHODS = ("minmax", "percentile", "entropy", "mse")


def draw(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def residual(path, channels=16):
    """Convolutions, one of them depthwise, with biases, a residual sum, a pool
    and a product."""
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [
        ("Conv", ["x", "w0", "b0"], "first", pads),
        ("Relu", ["first"], "r0", {}),
        ("Conv", ["r0", "w1", "b1"], "depthwise", dict(pads, group=channels)),
        ("Relu", ["depthwise"], "r1", {}),
        ("Conv", ["r1", "w2"], "last", {}),
        ("Add", ["last", "r0"], "sum", {}),
        ("Relu", ["sum"], "r2", {}),
        ("MaxPool", ["r2"], "pooled", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Flatten", ["pooled"], "flat", {}),
        ("Gemm", ["flat", "w3", "b3"], "y", {"transB": 1}),
    ]
    weights = {
        "w0": draw(channels, 3, 3, 3) / 5,
        "b0": draw(channels),
        "w1": draw(channels, 1, 3, 3) / 3,
        "b1": draw(channels),
        "w2": draw(channels, channels, 1, 1) / 4,
        "w3": draw(10, channels * 16) / 16,
        "b3": draw(10),
    }
    return write(path, nodes, weights, {"x": [2, 3, 8, 8]}, {"y": [2, 10]})


def normalised(path, outlier):
    """A layer norm, one of whose channels is `outlier` times as large, a product,
    and the norm again, as a residual."""
    scale = np.ones(32, np.float32)
    scale[5] = outlier
    nodes = [
        ("LayerNormalization", ["x", "scale", "bias"], "norm", {"axis": -1}),
        ("MatMul", ["norm", "w"], "product", {}),
        ("Add", ["product", "norm"], "y", {}),
    ]
    weights = {"scale": scale, "bias": draw(32), "w": draw(32, 32)}
    return write(path, nodes, weights, {"x": [4, 32]}, {"y": [4, 32]})


def sqnr(expected, found):
    noise = ((expected - found).astype(np.float64) ** 2).sum()
    return 10 * np.log10((expected.astype(np.float64) ** 2).sum() / noise)


class Quantize(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        global RANDOM
        RANDOM = np.random.default_rng(3)  # The same whatever ran before.
        self.model = residual(self.folder / "model.onnx")
        self.x = draw(16, 3, 8, 8)
        np.savez(self.folder / "data.npz", x=self.x)
        self.output = self.folder / "int8.onnx"

    def quantize(self, *arguments, model=None, data="data.npz"):
        options = ["--data", self.folder / data, "-o", self.output]
        model = model or self.model
        return self.run_tool("graph-quantize", model, *options, *arguments)

    def succeeds(self, *arguments, **options):
        done = self.quantize(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def layers(self, text):
        """What the table says of each layer: its SQNR and its precision."""
        lines = re.findall(r"^(\S+) +(?:conv|matmul) +([\d.]+) +(.*)$", text, re.M)
        return {name: (float(db), kind) for name, db, kind in lines}

    #===- What it makes -----------------------------------------------------===#

    def test_runs_with_equal_numbers_elsewhere(self):
        self.succeeds()
        model = onnx.load(self.output)
        onnx.checker.check_model(model, full_check=True)
        found = run(self.output, self.x)
        self.assertGreater(sqnr(run(self.model, self.x), found), 25)
        self.compile(self.output, "int8.so")
        for i in range(2):
            np.save(self.folder / "x.npy", self.x[2 * i : 2 * i + 2])
            source = f"x={self.folder / 'x.npy'}"
            done = self.run_tool(
                "graph-run", "int8.so", "--input", source, "--output-dir", "out"
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            ours = np.load(self.folder / "out" / "y.npy")
            self.assertGreater(sqnr(found[2 * i : 2 * i + 2], ours), 40)

    def test_weights_are_bytes_with_a_scale_for_each_channel(self):
        self.succeeds()
        model = onnx.load(self.output)
        tensors = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        scales = {}
        for node in model.graph.node:
            if node.op_type == "DequantizeLinear" and node.input[0] in tensors:
                weights = tensors[node.input[0]]
                self.assertEqual(weights.dtype, np.int8)
                self.assertEqual(np.abs(weights.astype(int)).max(), 127)
                self.assertFalse(tensors[node.input[2]].any())
                scales[weights.shape] = tensors[node.input[1]].shape
        self.assertEqual(
            scales,
            {
                (16, 3, 3, 3): (16,),
                (16, 1, 3, 3): (16,),
                (16, 16, 1, 1): (16,),
                (10, 256): (10,),
            },
        )

    def test_weights_may_stay_floats(self):
        """The same numbers, from weights that a training step can change."""
        self.succeeds()
        integers = run(self.output, self.x)
        text = self.succeeds("--weights=f32")
        self.assertIn(" 0 activations with equalised channels", text)
        model = onnx.load(self.output)
        onnx.checker.check_model(model, full_check=True)
        tensors = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        original = {
            t.name: numpy_helper.to_array(t)
            for t in onnx.load(self.model).graph.initializer
        }
        for name in ("w0", "w1", "w2", "w3"):
            np.testing.assert_array_equal(tensors[name], original[name])
        pairs = {}
        for node in model.graph.node:
            if node.input[0] in original and node.op_type == "QuantizeLinear":
                pairs[node.output[0]] = list(node.input)[1:]
        self.assertEqual(len(pairs), 4)
        for node in model.graph.node:
            if node.input[0] in pairs:  # One scale, not two that are equal.
                self.assertEqual(list(node.input)[1:], pairs[node.input[0]])
        self.assertGreater(sqnr(integers, run(self.output, self.x)), 15)

    def test_layers_of_the_artifact_multiply_bytes(self):
        self.succeeds()
        done = self.run_tool("graph-compile", self.output, "--emit=optimised")
        products = re.findall(r"graph\.(?:conv|matmul) .*", done.stdout)
        self.assertEqual(len(products), 4)
        for product in products:
            self.assertIn("xi8>", product)

    def test_methods(self):
        expected = run(self.model, self.x)
        for method in METHODS:
            with self.subTest(method=method):
                text = self.succeeds(f"--method={method}")
                self.assertEqual(len(self.layers(text)), 4)
                self.assertGreater(sqnr(expected, run(self.output, self.x)), 15)

    def test_ranges_have_zero_in_them(self):
        path = self.folder / "far.onnx"
        nodes = [
            ("Sigmoid", ["x"], "s", {}),
            ("Add", ["s", "c"], "far", {}),
            ("MatMul", ["far", "w"], "y", {}),
        ]
        weights = {"c": np.float32(30), "w": draw(16, 8)}
        write(path, nodes, weights, {"x": [2, 16]}, {"y": [2, 8]})
        x = draw(8, 16)
        np.savez(self.folder / "far.npz", x=x)
        for method in METHODS:
            with self.subTest(method):
                self.succeeds(f"--method={method}", model=path, data="far.npz")
                self.assertGreater(sqnr(run(path, x), run(self.output, x)), 45)

    def test_activations_that_are_constant(self):
        for value in (5, 0):
            x = np.full_like(self.x, value)
            np.savez(self.folder / "same.npz", x=x)
            for method in METHODS:
                with self.subTest(method, value=value):
                    self.succeeds(f"--method={method}", data="same.npz")
                    found = run(self.output, x)
                    self.assertGreater(sqnr(run(self.model, x), found), 25)

    def test_gives_the_same_file_again(self):
        self.succeeds()
        once = self.output.read_bytes()
        self.succeeds()
        self.assertEqual(self.output.read_bytes(), once)

    def test_writes_json(self):
        self.output = self.folder / "int8.json"
        self.succeeds()
        self.assertIn('"op":"quantize"', self.output.read_text())
        self.compile(self.output, "int8.so")

    def test_compiles_at_once(self):
        self.succeeds()
        self.compile(self.output, "two.so")
        self.compile(self.model, "one.so", "--quantize", self.folder / "data.npz")
        self.compile(self.model, "f32.so")
        two, one, f32 = map(self.outputs, ("two.so", "one.so", "f32.so"))
        self.assertEqual(one, two)
        self.assertNotEqual(one, f32)

    def test_compiling_says_what_is_wrong(self):
        def compile(*options):
            output = self.folder / "out.so"
            return self.run_tool("graph-compile", self.model, "-o", output, *options)

        self.fails(compile("--quantize=absent.npz"), "--quantize", "absent.npz")
        for options in (
            ["--loadable-weights"],
            ["--precision=bf16"],
            ["--target=cuda"],
            ["--emit=normalised"],
        ):
            done = compile("--quantize=data.npz", *options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn("--quantize", done.stderr)

    def test_folders(self):
        self.succeeds()
        once = self.output.read_bytes()
        (self.folder / "one").mkdir()
        np.save(self.folder / "one" / "x.npy", self.x)
        for i in range(8):
            folder = self.folder / "many" / str(i)
            folder.mkdir(parents=True)
            np.save(folder / "x.npy", self.x[2 * i : 2 * i + 2])
        np.savez_compressed(self.folder / "packed.npz", x=self.x)
        for data in ("one", "many", "packed.npz"):
            self.succeeds(data=data)
            self.assertEqual(self.output.read_bytes(), once, data)

    def test_inputs_of_other_lengths(self):
        """A sequence and its state: what belongs to a run, whole."""
        nodes = [
            ("MatMul", ["x", "w"], "product", {}),
            ("Add", ["product", "h"], "y", {}),
        ]
        model = write(self.folder / "steps.onnx", nodes, {"w": draw(8, 8)},
                      {"x": [5, 8], "h": [1, 8]}, {"y": [5, 8]})  # fmt: skip
        np.savez(self.folder / "data.npz", x=draw(15, 8), h=draw(3, 8))
        self.assertIn("1 of 1 layers in int8", self.succeeds(model=model))
        self.output.unlink()
        for x, h, parts in (
            (15, 2, ["has 2 samples", "the one before it 3"]),
            (14, 3, ["has 14 rows, and each run takes 5"]),
        ):
            np.savez(self.folder / "wrong.npz", x=draw(x, 8), h=draw(h, 8))
            self.refuses(*parts, model=model)

    def test_a_channel_of_large_numbers(self):
        """One scale for all channels leaves the others few levels."""
        x = draw(64, 32)
        np.savez(self.folder / "data.npz", x=x)
        model = normalised(self.folder / "norm.onnx", outlier=500)
        text = self.succeeds("--method=minmax", model=model)
        self.assertIn("1 activations with equalised channels", text)
        # Of two kinds of channels both lose, by about the root of the ratio.
        self.assertGreater(self.layers(text)["product"][0], 20)
        self.assertGreater(sqnr(run(model, x), run(self.output, x)), 20)

    def test_errors_are_none_on_average(self):
        """One large weight in each column leaves the others coarse, whose errors
        inputs of one sign add up."""
        x = RANDOM.random((256, 32)).astype(np.float32)
        w = draw(32, 8)
        w[3] = 200
        np.savez(self.folder / "data.npz", x=x)
        path = self.folder / "product.onnx"
        nodes = [("MatMul", ["x", "w"], "y", {})]
        write(path, nodes, {"w": w}, {"x": [4, 32]}, {"y": [4, 8]})
        self.succeeds(model=path)
        error = run(path, x) - run(self.output, x)
        self.assertGreater(error.std(0).min(), 0.3)
        self.assertLess(np.abs(error.mean(0)).max(), 0.05)

    #===- What stays in f32 --------------------------------------------------===#

    def kept(self, text):
        return {name for name, (_, kind) in self.layers(text).items() if kind != "int8"}

    def test_keep(self):
        text = self.succeeds("--keep", "dep*", "--keep", "y")
        self.assertEqual(self.kept(text), {"depthwise", "y"})
        self.assertIn("2 of 4 layers in int8", text)
        nodes = onnx.load(self.output).graph.node
        made = {output: node.op_type for node in nodes for output in node.output}
        for node in nodes:
            if node.op_type in ("Conv", "Gemm"):
                kept = node.name.split("_")[0] in ("depthwise", "y")
                is_bytes = made.get(node.input[1]) == "DequantizeLinear"
                self.assertNotEqual(is_bytes, kept, node.name)

    def test_min_sqnr(self):
        all_layers = self.layers(self.succeeds())
        low = sqnr(run(self.model, self.x), run(self.output, self.x))
        text = self.succeeds(f"--min-sqnr={low + 1.5}")
        kept = self.kept(text)
        self.assertIn(len(kept), (1, 2, 3))
        worst = sorted(all_layers, key=lambda name: all_layers[name][0])
        self.assertEqual(kept, set(worst[: len(kept)]))
        self.assertIn("f32, loses most", text)
        after = sqnr(run(self.model, self.x), run(self.output, self.x))
        self.assertGreater(after, low + 1.4)

    def test_outputs_that_are_infinite(self):
        """A mask, which is exact, and a limit that bytes are below of."""
        nodes = [
            ("MatMul", ["x", "w"], "a", {}),
            ("Where", ["mask", "a", "low"], "y", {}),
        ]
        path = self.folder / "infinite.onnx"
        weights = {"mask": np.arange(8) % 3 > 0, "low": np.float32(-np.inf)}
        shapes = {"x": [2, 16]}, {"y": [2, 8]}
        write(path, nodes, dict(weights, w=draw(16, 8)), *shapes)
        x = draw(16, 16)
        np.savez(self.folder / "rows.npz", x=x)
        options = {"model": path, "data": "rows.npz"}
        self.assertIn("1 of 1 layers", self.succeeds("--min-sqnr=20", **options))
        refused = "no layer can be quantised"
        self.fails(self.quantize("--min-sqnr=90", **options), refused)
        # Reciprocals of what rounds to zero.
        nodes = [
            ("MatMul", ["x", "w"], "a", {}),
            ("Reciprocal", ["a"], "y", {}),
        ]
        write(path, nodes, {"w": np.eye(16, 8, dtype=np.float32)}, *shapes)
        x[5, 3] = 1e-6
        np.savez(self.folder / "rows.npz", x=x)
        self.assertIn("outputs: -inf dB", self.succeeds(**options))
        self.fails(self.quantize("--min-sqnr=-500", **options), refused)

    def test_max_top1_mismatch(self):
        self.succeeds("--max-top1-mismatch=0.2")
        expected, found = run(self.model, self.x), run(self.output, self.x)
        changed = expected.argmax(-1) != found.argmax(-1)
        self.assertLessEqual(changed.mean(), 0.2)
        self.fails(self.quantize("--min-sqnr=500"), "no layer can be quantised")

    def test_wrong_patterns(self):
        self.fails(self.quantize("--keep=fc*"), "fits 'fc*'", "'first'")
        self.fails(self.quantize("--keep=*"), "fit '*'", "nothing is left to quantise")

    #===- Wrong data ---------------------------------------------------------===#

    def refuses(self, *parts, data="wrong.npz", **options):
        self.fails(self.quantize(data=data, **options), *parts)
        self.assertFalse(self.output.exists())

    def test_wrong_arrays(self):
        cases = {
            "shape": (draw(16, 3, 8, 9), ["16x3x8x9", "expects Nx3x8x8"]),
            "rank": (draw(16, 3, 8), ["16x3x8,", "expects Nx3x8x8"]),
            "dtype": (self.x.astype(np.float64), ["dtype f64", "expects f32"]),
            "none": (self.x[:0], ["there are 0 samples"]),
            "few": (self.x[:1], ["there are 1 samples", "2 at a time"]),
        }
        for name, (array, parts) in cases.items():
            with self.subTest(name):
                np.savez(self.folder / "wrong.npz", x=array)
                self.refuses(*parts)

    def test_numbers_that_are_none(self):
        x = self.x.copy()
        x[7, 1, 2, 3] = np.nan
        np.savez(self.folder / "wrong.npz", x=x)
        self.refuses("wrong.npz:x", "NaN in sample 7")
        x[7, 1, 2, 3] = np.inf
        np.savez(self.folder / "wrong.npz", x=x)
        self.refuses(": input 'x' is not finite on the samples")

    def test_wrong_names(self):
        np.savez(self.folder / "wrong.npz", image=self.x, label=self.x)
        self.refuses("no array 'x'", "it has image, label")

    def test_wrong_files(self):
        (self.folder / "wrong.npz").write_bytes(b"no archive")
        self.refuses("as an .npz file")
        whole = (self.folder / "data.npz").read_bytes()
        (self.folder / "wrong.npz").write_bytes(whole[: len(whole) // 2])
        self.refuses("wrong.npz")
        self.refuses("there is no", data="absent.npz")
        (self.folder / "empty").mkdir()
        self.refuses("no samples in", "x.npy", data="empty")
        (self.folder / "empty" / "0").mkdir()
        self.refuses("0/x.npy", data="empty")

    #===- Wrong models -------------------------------------------------------===#

    def test_a_model_with_nothing_to_quantise(self):
        path = self.folder / "relu.onnx"
        nodes = [("Relu", ["x"], "y", {})]
        write(path, nodes, {}, {"x": [2, 3, 8, 8]}, {"y": [2, 3, 8, 8]})
        self.refuses("nothing to quantise", model=path, data="data.npz")

    def test_a_model_without_inputs(self):
        path = self.folder / "constant.onnx"
        weights = {"c": draw(2, 16), "w": draw(16, 8)}
        write(path, [("MatMul", ["c", "w"], "y", {})], weights, {}, {"y": [2, 8]})
        (self.folder / "empty").mkdir()
        for data in ("data.npz", "empty"):
            self.refuses("the model takes no inputs", model=path, data=data)
        options = [path, f"--quantize={self.folder / 'data.npz'}", "-o", "c.so"]
        done = self.run_tool("graph-compile", *options)
        self.fails(done, "--quantize: the model takes no inputs")

    def test_a_model_that_is_quantised(self):
        self.succeeds()
        model = self.output.rename(self.folder / "quantised.onnx")
        self.fails(self.quantize(model=model), "quantised already")

    def test_the_model_itself(self):
        before = self.model.read_bytes()
        (self.folder / "link.onnx").symlink_to(self.model)
        for output in (self.model, "link.onnx"):
            for tool, option in (
                ("graph-quantize", "--data=data.npz"),
                ("graph-prune", "--max-macs=0.5"),
            ):
                done = self.run_tool(tool, self.model, option, "-o", output)
                self.fails(done, "is the model itself")
        self.assertEqual(self.model.read_bytes(), before)

    def test_usage(self):
        done = self.run_tool("graph-quantize", self.model, "-o", self.output)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--data", done.stderr)
        for wrong in ("--method=best", "--method=1", "--min-sqnr=nan", "--max-top1-mismatch=-nan"):
            with self.subTest(wrong):
                done = self.quantize(wrong)
                self.assertEqual(done.returncode, 2)
                self.assertIn(wrong.split("=")[0], done.stderr)
                self.assertNotIn("->", done.stderr)
        done = self.run_tool(
            *("graph-quantize", self.model, "--data", "data.npz"),
            *("-o", "absent/int8.onnx"),
        )
        self.fails(done, "error: cannot write 'absent/int8.onnx'")
        self.assertNotIn("node", done.stderr)


if __name__ == "__main__":
    tool_test.main()
