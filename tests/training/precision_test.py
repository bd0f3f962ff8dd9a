# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training in bf16 beside training in f32.

usage: PYTHONPATH=tests/support:benchmarks python
           tests/training/precision_test.py BIN_DIR LIBRARY
           [unittest's options]
"""

import json
import pathlib
import re
import struct
import sys

import numpy as np

import cnn
import tool_test
from tinh_runtime import Model
from training_test import Network, mse

LIBRARY = None  # libtinh_runtime.so.
MIXED = "--precision=bf16"
CPUS = ("native", "x86-64-v3")


def rounded(x):
    """To bf16, to nearest even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits += 0x7FFF + ((bits >> 16) & 1)
    return (bits & 0xFFFF0000).astype(np.uint32).view(np.float32)


class PrecisionTest(tool_test.ToolTest):
    def compile_model(self, model, *options, output=None):
        """A file that no other call has made: a library that is loaded is not
        loaded again."""
        self.files = getattr(self, "files", 0) + 1
        output = output or f"step{self.files}.so"
        (self.folder / "network.json").write_text(json.dumps(model))
        self.compile("network.json", output, "--train", *options)
        return self.folder / output

    def losses(self, path, feed, steps, threads=1):
        model = Model(LIBRARY, path, threads, "train_step")
        run, results = model.bind(feed)
        losses = []
        for _ in range(steps):
            run()
            losses.append(float(results["loss"]))
        return losses, model

    def compare(self, model, feed, options, steps, tolerance):
        """Losses differ from those of f32, but by a few percent alone."""
        full, _ = self.losses(self.compile_model(model, *options), feed, steps)
        self.assertLess(full[-1], 0.5 * full[0])
        for cpu in CPUS:
            path = self.compile_model(model, *options, MIXED, f"--cpu={cpu}")
            mixed, _ = self.losses(path, feed, steps, threads=2)
            self.assertNotEqual(full, mixed)
            np.testing.assert_allclose(mixed, full, atol=tolerance * full[0])

    def test_dense_layers(self):
        network = Network()
        feed = {"x": network.x, "target": network.labels}
        for optimizer in ("sgd,lr=0.1,momentum=0.9", "adam,lr=0.01"):
            options = ["--loss=cross_entropy", f"--optimizer={optimizer}"]
            self.compare(network.json(), feed, options, 100, 0.03)

    def test_convolutions_and_batch_norms(self):
        weights, x, labels = cnn.make()
        model = cnn.graph(weights, x)
        options = ["--loss=cross_entropy", "--optimizer=sgd,lr=0.05,momentum=0.9"]
        self.compare(model, {"x": x, "target": labels}, options, cnn.STEPS, 0.03)

    def test_dropout(self):
        """Elements are dropped at random; the same ones as in f32."""
        network = Network()
        model = network.json()
        model["nodes"][3]["inputs"][0] = "d"
        drop = {"op": "dropout", "inputs": ["h"], "outputs": ["d"]}
        model["nodes"].insert(3, {**drop, "attributes": {"ratio": 0.1}})
        feed = {"x": network.x, "target": network.labels}
        options = ["--loss=cross_entropy", "--optimizer=sgd,lr=0.1"]
        self.compare(model, feed, options, 50, 0.03)

    def test_forward_pass(self):
        """Each product reads bf16, and what its kernel stores is rounded; loss
        and results are f32."""
        network = Network()
        p = network.p
        h = rounded(network.x) @ rounded(p["fc1.weight"])
        h = rounded(np.maximum(h + p["fc1.bias"], 0))
        y = h @ rounded(p["fc2.weight"]) + p["fc2.bias"]
        options = ["--loss=mse", "--optimizer=sgd,lr=0.1", MIXED]
        for cpu in CPUS:
            path = self.compile_model(network.json(), *options, f"--cpu={cpu}")
            found = Model(LIBRARY, path, 1, "predict").run({"x": network.x})["y"]
            # Sums in another order may be rounded to the neighbour.
            np.testing.assert_allclose(found, y, rtol=2**-6, atol=2**-7)
            self.assertGreater(np.mean(np.abs(found - y) < 1e-5), 0.8)
            feed = {"x": network.x, "target": network.t}
            results = Model(LIBRARY, path, 1, "evaluate").run(feed)
            np.testing.assert_allclose(
                results["loss"], mse(found.astype(np.float64), network)[0], rtol=1e-5
            )

    def test_small_updates(self):
        """Updates that bf16 weights would lose add up in f32 ones."""
        model = {
            "tinh": 1,
            "name": "line",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [4, 8]}],
            "weights": [{"name": "w", "dtype": "f32", "shape": [8, 2], "data": [1] * 16}],
            "nodes": [{"op": "matmul", "inputs": ["x", "w"], "outputs": ["y"]}],
            "outputs": ["y"],
        }
        rate, steps = 1e-4, 200
        options = ["--loss=l1,reduction=sum", f"--optimizer=sgd,lr={rate}", MIXED]
        x, target = np.full((4, 8), 0.25, np.float32), np.zeros((4, 2), np.float32)
        path = self.compile_model(model, *options)
        losses, model = self.losses(path, {"x": x, "target": target}, steps)
        # The gradient is 4 · 0.25; bf16 has no number between 1 and 1 - 2⁻⁸.
        self.assertEqual(rounded(1 - rate), 1)
        w = model.read_variable("w", (8, 2))
        np.testing.assert_allclose(w, 1 - steps * rate, rtol=1e-5)
        self.assertEqual(losses[0], losses[10])
        self.assertLess(losses[-1], losses[0])

    def test_checkpoint(self):
        """Weights and all that is kept for them are f32 in files, too."""
        weights, x, labels = cnn.make()
        path = self.compile_model(
            cnn.graph(weights, x), "--loss=cross_entropy", "--optimizer=adam", MIXED
        )
        np.save(self.folder / "x.npy", x)
        np.save(self.folder / "y.npy", labels)
        done = self.run_tool(
            *("graph-run", path, "--train", "--data", "x.npy,y.npy", "--epochs", 2),
            *("--checkpoint", "state.safetensors"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "state.safetensors", "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        for name in (*weights, "optimizer.conv1.weight.exp_avg"):
            self.assertEqual(header[name]["dtype"], "F32", name)

    def test_option_of_the_file(self):
        """The file's word is as good as the option; activations take less."""
        weights, x, _ = cnn.make()
        model = cnn.graph(weights, x)
        options = ["--loss=cross_entropy", "--optimizer=sgd", "--emit=plan"]
        plain = self.compile_model(model, *options, output="plain.mlir").read_text()
        mixed = self.compile_model(model, *options, MIXED, output="a.mlir").read_text()
        model["training"] = {"precision": "bf16"}
        said = self.compile_model(model, *options, output="b.mlir").read_text()
        self.assertEqual(mixed, said)
        arenas = [
            int(re.search(r"@train_step.*?arena (\d+)", text, re.DOTALL)[1])
            for text in (mixed, plain)
        ]
        self.assertLess(arenas[0], 0.75 * arenas[1])


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
