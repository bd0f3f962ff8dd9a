# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts that are loaded with other weights than they were compiled with.

usage: PYTHONPATH=tests/support python tests/artifact/weights_test.py BIN_DIR
"""

import json
import random
import struct

import tool_test

SHAPES = {
    "conv.weight": [8, 3, 3, 3],
    "norm.scale": [8],
    "norm.bias": [8],
    "norm.mean": [8],
    "norm.var": [8],
    "fc.weight": [128, 10],
    "fc.bias": [10],
    "out.bias": [10],
    "out.scale": [1],
}


def count(shape):
    return shape[0] * count(shape[1:]) if shape else 1


def make_weights(seed):
    """Values by name; those of seed 0 have biases that are equal."""
    numbers = random.Random(seed)
    weights = {}
    for name, shape in SHAPES.items():
        values = [numbers.uniform(0.5, 1.5) for _ in range(count(shape))]
        if seed == 0 and name.endswith(".bias"):
            values = [0.0] * len(values)
        packed = struct.pack(f"<{len(values)}f", *values)
        weights[name] = list(struct.unpack(f"<{len(values)}f", packed))
    return weights


def safetensors(weights, shapes=SHAPES):
    header, data = {}, b""
    for name, values in weights.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shapes[name]}
        header[name]["data_offsets"] = [begin, len(data)]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class LoadableWeights(tool_test.ToolTest):
    def make_model(self, name, weights):
        """Batch norm, packing and comparisons, which the compiler does ahead of
        time."""

        def node(op, inputs, output, **attributes):
            return {
                "op": op,
                "inputs": inputs.split(),
                "outputs": [output],
                "attributes": attributes,
            }

        norm = "norm.scale norm.bias norm.mean norm.var"
        model = {
            "tinh": 1,
            "name": "net",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3, 4, 4]}],
            "weights": [
                {"name": key, "dtype": "f32", "shape": SHAPES[key], "data": values}
                for key, values in weights.items()
            ],
            "nodes": [
                node("conv", "x conv.weight", "c", padding=[1, 1, 1, 1]),
                node("batch_norm", f"c {norm}", "n", epsilon=1e-5),
                node("relu", "n", "r"),
                node("reshape", "r", "f", shape=[2, 128]),
                node("matmul", "f fc.weight", "g"),
                node("add", "g fc.bias", "h"),
                node("compare", "fc.bias out.bias", "is_less", predicate="less"),
                node("where", "is_less g h", "chosen"),
                node("tanh", "chosen", "t"),
                node("add", "t out.bias", "u"),
                node("mul", "u out.scale", "y"),
            ],
            "outputs": ["y"],
        }
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(model))
        (self.folder / f"{name}.weights").write_bytes(safetensors(weights))
        return path

    def setUp(self):
        super().setUp()
        self.weights = [make_weights(seed) for seed in range(2)]
        for i, weights in enumerate(self.weights):
            path = self.make_model(f"m{i}", weights)
            self.compile(path, f"m{i}.so", "--loadable-weights")

    def run_with(self, artifact, *arguments):
        done = self.run_tool(
            "graph-run", artifact, "--input", "x=random", "--output-dir", "out",
            *arguments,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return (self.folder / "out" / "y.npy").read_bytes()

    def refuses(self, message, weights, shapes=SHAPES):
        (self.folder / "wrong").write_bytes(safetensors(weights, shapes))
        done = self.run_tool(
            "graph-run", "m0.so", "--input", "x=random", "--load-weights", "wrong"
        )
        self.fails(done, message)

    def test_they_give_what_compiling_with_them_gives(self):
        own = [self.run_with(f"m{i}.so") for i in range(2)]
        self.assertNotEqual(own[0], own[1])
        for i in range(2):
            loaded = self.run_with(
                f"m{i}.so", "--load-weights", f"m{1 - i}.weights"
            )
            self.assertEqual(loaded, own[1 - i])

    def test_it_computes_what_other_artifacts_compute(self):
        self.compile("m1.json", "fixed.so")
        fixed = struct.unpack("<20f", self.run_with("fixed.so")[-80:])
        loadable = struct.unpack("<20f", self.run_with("m1.so")[-80:])
        for found, expected in zip(loadable, fixed):
            self.assertAlmostEqual(found, expected, places=4)

    def test_external_weights(self):
        self.compile(
            "m0.json", "beside.so", "--loadable-weights", "--weights=external"
        )
        self.assertEqual(
            self.run_with("beside.so", "--load-weights", "m1.weights"),
            self.run_with("m1.so"),
        )

    def test_what_is_not_asked_for_does_not_matter(self):
        more = {"moment": [1.0], **self.weights[1]}
        shapes = {"moment": [1], **SHAPES}
        (self.folder / "more").write_bytes(safetensors(more, shapes))
        loaded = self.run_with("m0.so", "--load-weights", "more")
        self.assertEqual(loaded, self.run_with("m1.so"))

    def test_files_that_do_not_fit(self):
        missing = dict(self.weights[1])
        del missing["norm.mean"]
        self.refuses("cannot load weights from 'wrong': it lacks 'norm.mean'", missing)
        self.refuses(
            "its 'fc.weight' is f32 [10, 128], and f32 [128, 10] is expected",
            self.weights[1],
            dict(SHAPES, **{"fc.weight": [10, 128]}),
        )

    def test_artifacts_that_take_none(self):
        self.compile("m1.json", "fixed.so")
        done = self.run_tool(
            "graph-run", "fixed.so", "--input", "x=random",
            "--load-weights", "m0.weights",
        )
        self.fails(done, "the model 'm1' takes no other weights; compile it with")

    def test_models_without_weights(self):
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [2]}],
            "nodes": [{"op": "relu", "inputs": ["x"], "outputs": ["y"]}],
            "outputs": ["y"],
        }
        (self.folder / "none.json").write_text(json.dumps(model))
        done = self.run_tool(
            "graph-compile", "none.json", "--loadable-weights", "-o", "none.so"
        )
        self.fails(done, "the model has no weights that could be loaded")

    def test_usage(self):
        for option in ("--emit=json", "--from=fused"):
            done = self.run_tool(
                "graph-compile", "m0.json", "--loadable-weights", option, "-o", "out.x"
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("error: --loadable-weights ", done.stderr)


if __name__ == "__main__":
    tool_test.main()
