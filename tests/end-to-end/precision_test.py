# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are run in bf16 and f16 beside the same in f32.

usage: PYTHONPATH=tests/support:examples/json python
           tests/end-to-end/precision_test.py BIN_DIR [unittest's options]
"""

import json
import re

import numpy as np

import tool_test
from make_weights import write_safetensors

WORDS, WIDTH, TOKENS = 200, 64, 12
# The largest error, as a part of the largest output: several roundings to 8 bits
# of precision, or 11.
TOLERANCE = {"bf16": 3e-2, "f16": 4e-3}


def node(op, inputs, output, **attributes):
    return {
        "op": op,
        "name": f"/{output}",
        "inputs": inputs.split(),
        "outputs": [output],
        "attributes": attributes,
    }


def heads(x, name):
    shape = [1, TOKENS, 4, WIDTH // 4]
    return [
        node("reshape", x, f"{name}.r", shape=shape),
        node("transpose", f"{name}.r", name, permutation=[0, 2, 1, 3]),
    ]


# Embedding, attention, layer norm, dense layers and softmax.
TRANSFORMER = [
    node("gather", "words ids", "e", axis=0),
    node("matmul", "e wq", "q1"),
    node("matmul", "e wk", "k1"),
    node("matmul", "e wv", "v1"),
    *heads("q1", "q"),
    *heads("k1", "k"),
    *heads("v1", "v"),
    node("attention", "q k v", "a", scale=0.25),
    node("transpose", "a", "at", permutation=[0, 2, 1, 3]),
    node("reshape", "at", "ar", shape=[1, TOKENS, WIDTH]),
    node("add", "ar e", "s"),
    node("layer_norm", "s scale bias", "n", axis=2),
    node("matmul", "n up", "u"),
    node("gelu", "u", "g"),
    node("matmul", "g down", "d"),
    node("add", "n d", "z"),
    node("softmax", "z", "y", axis=2),
]
SHAPES = {
    "words": (WORDS, WIDTH),
    **{f"w{name}": (WIDTH, WIDTH) for name in "qkv"},
    "scale": (WIDTH,),
    "bias": (WIDTH,),
    "up": (WIDTH, 4 * WIDTH),
    "down": (4 * WIDTH, WIDTH),
}

# Full and depthwise convolutions, pooling and a dense layer.
CNN = [
    node("conv", "x c1", "a", padding=[1, 1, 1, 1]),
    node("relu", "a", "b"),
    node("conv", "b c2", "c", padding=[1, 1, 1, 1], groups=32),
    node("max_pool", "c", "p", kernel=[2, 2], strides=[2, 2]),
    node("conv", "p c3", "d"),
    node("reduce", "d", "m", kind="mean", axes=[2, 3]),
    node("matmul", "m fc", "y"),
]
CNN_SHAPES = {
    "c1": (32, 3, 3, 3),
    "c2": (32, 1, 3, 3),
    "c3": (128, 32, 1, 1),
    "fc": (128, 40),
}
IDS = {"name": "ids", "dtype": "i64", "shape": [1, TOKENS]}
IMAGE = {"name": "x", "dtype": "f32", "shape": [1, 3, 16, 16]}


def round_to_bf16(x):
    """To the nearest even, as f32."""
    bits = x.view(np.uint32)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return bits.astype(np.uint32).view(np.float32)


class PrecisionTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("transformer", TRANSFORMER, SHAPES, IDS)
        self.write("cnn", CNN, CNN_SHAPES, IMAGE)

    def write(self, name, nodes, shapes, source):
        rng = np.random.default_rng(0)
        weights = {
            key: (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
            for key, shape in shapes.items()
        }
        model = {
            "tinh": 1,
            "inputs": [source],
            "weights": [
                {"name": key, "file": f"{name}.safetensors", "tensor": key}
                for key in shapes
            ],
            "nodes": nodes,
            "outputs": ["y"],
        }
        write_safetensors(self.folder / f"{name}.safetensors", weights)
        (self.folder / f"{name}.json").write_text(json.dumps(model))
        rounded = {key: round_to_bf16(value) for key, value in weights.items()}
        write_safetensors(self.folder / f"{name}-rounded.safetensors", rounded)
        feed = rng.integers(0, WORDS, (1, TOKENS))
        if source is IMAGE:
            feed = rng.standard_normal(IMAGE["shape"]).astype(np.float32)
        np.save(self.folder / f"{name}.npy", feed)

    def run_model(self, name, *options):
        """The output, and what --report prints: bytes of weights and arena."""
        report = self.compile(f"{name}.json", "m.so", "--report", *options)
        sizes = [
            int(re.search(rf"{what}, bytes +([\d,]+)", report)[1].replace(",", ""))
            for what in ("weights", "arena")
        ]
        source = "x" if name == "cnn" else "ids"
        done = self.run_tool(
            *("graph-run", "m.so", "--input", f"{source}={name}.npy"),
            *("--output-dir", "out"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "out" / "y.npy"), *sizes

    def check_close(self, found, full, precision):
        self.assertEqual(found.dtype, np.float32)
        error = np.abs(found - full).max() / np.abs(full).max()
        self.assertGreater(error, 0)
        self.assertLess(error, TOLERANCE[precision])

    def test_results(self):
        for name in ("transformer", "cnn"):
            full, *_ = self.run_model(name)
            for precision in ("bf16", "f16"):
                for cpu in ("native", "x86-64-v3", "emulated+znver4"):
                    with self.subTest(name=name, precision=precision, cpu=cpu):
                        options = (f"--precision={precision}", f"--cpu={cpu}")
                        found, *_ = self.run_model(name, *options)
                        self.check_close(found, full, precision)

    def test_weights_alone(self):
        """A CPU without products of bf16 computes f32 of weights that are bf16."""
        low, *_, arena = self.run_model("cnn", "--precision=bf16", "--cpu=x86-64-v3")
        text = (self.folder / "cnn.json").read_text()
        text = text.replace("cnn.safetensors", "cnn-rounded.safetensors")
        (self.folder / "cnn.json").write_text(text)
        twin, *_, full_arena = self.run_model("cnn", "--cpu=x86-64-v3")
        np.testing.assert_allclose(low, twin, rtol=1e-5, atol=1e-6)
        self.assertEqual(arena, full_arena)

    def test_memory(self):
        """Weights take half, and what lies between products where it is bf16."""
        for name in ("transformer", "cnn"):
            for cpu in ("x86-64-v3", "emulated+znver4"):
                with self.subTest(name=name, cpu=cpu):
                    _, weights, arena = self.run_model(name, f"--cpu={cpu}")
                    _, low_weights, low_arena = self.run_model(
                        name, f"--cpu={cpu}", "--precision=bf16"
                    )
                    self.assertLess(low_weights, 0.52 * weights)
                    if cpu != "x86-64-v3":
                        self.assertLess(low_arena, 0.8 * arena)

    def test_other_cpus(self):
        """Weights are rounded by what compiles, which may be an older CPU."""
        for name in ("transformer", "cnn"):
            for cpu in ("znver4", "sapphirerapids"):
                self.compile(f"{name}.json", "m.so", f"--cpu={cpu}", "--precision=bf16")

    def test_kept(self):
        """All products kept but one, by the names of nodes and of ops."""
        full, weights, _ = self.run_model("transformer")
        low, *_ = self.run_model("transformer", "--precision=bf16")
        kept, kept_weights, _ = self.run_model(
            *("transformer", "--precision=bf16"),
            *("--keep-f32=attention,/[qkv]1,gather", "--keep-f32=/u"),
        )
        errors = [np.abs(found - full).max() for found in (kept, low)]
        self.assertGreater(errors[0], 0)
        self.assertLess(errors[0], errors[1])
        # The weights of the second dense layer are the only ones of 16 bits.
        self.assertEqual(weights - kept_weights, 2 * 4 * WIDTH * WIDTH)

    def test_added_constants_in_files(self):
        """Their numbers are read: f32's lowest one would become minus infinity."""
        lowest, wide = np.finfo(np.float32).min, 4 * WIDTH
        for name, value, element in (("bias", 0.5, "bf16"), ("mask", lowest, "f32")):
            with self.subTest(name):
                nodes = [node("matmul", "x up", "u"), node("add", "u b", "s")]
                nodes += [node("matmul", "s down", "y")]
                shapes = {"up": (WIDTH, wide), "b": (TOKENS, wide)}
                shapes["down"] = (wide, WIDTH)
                source = {"name": "x", "dtype": "f32", "shape": [TOKENS, WIDTH]}
                self.write(name, nodes, shapes, source)
                values = np.zeros(shapes["b"], np.float32)
                values[1, 2] = value
                weights = {k: np.ones(v, np.float32) for k, v in shapes.items()}
                weights["b"] = values
                write_safetensors(self.folder / f"{name}.safetensors", weights)
                text = self.compile(
                    *(f"{name}.json", "-", "--precision=bf16", "--cpu=znver4"),
                    "--emit=differentiated",
                )
                self.assertIn("external", text)
                self.assertRegex(text, rf"graph.add .*-> tensor<\d+x\d+x{element}>")

    def test_f32(self):
        full, weights, _ = self.run_model("cnn")
        same, same_weights, _ = self.run_model("cnn", "--precision=f32")
        np.testing.assert_array_equal(full, same)
        self.assertEqual(weights, same_weights)

    def test_compare(self):
        """graph-compare runs both ways in the precision; its reference is f64."""
        errors = {}
        for precision in ("f32", "bf16", "f16"):
            done = self.run_tool(
                *("graph-compare", "cnn.json", "--runs=1", "--verify", "--json"),
                f"--precision={precision}",
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            errors[precision] = json.loads(done.stdout)["max_rel_error"]
        self.assertLess(errors["f32"], 1e-5)
        for precision in ("bf16", "f16"):
            self.assertGreater(errors[precision], 10 * errors["f32"])
            self.assertLess(errors[precision], TOLERANCE[precision])
        self.assertGreater(errors["bf16"], errors["f16"])


if __name__ == "__main__":
    tool_test.main()
