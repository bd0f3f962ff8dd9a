# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dropout nodes of ONNX files in compiled training.

usage: PYTHONPATH=tests/support:benchmarks python tests/training/dropout_test.py
           BIN_DIR LIBRARY [unittest's options]
"""

import json
import pathlib
import re
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test
from tinh_runtime import Model

LIBRARY = None  # libtinh_runtime.so.
GENERATOR = "random.generator"
N, WIDTH = 64, 250  # Together 16000 elements.
TRAIN = ("--train", "--loss=l1,reduction=sum", "--optimizer=sgd,lr=1")


def philox(seed, counters):
    """Philox4x32-10: the four words of each block, by Salmon et al."""
    words = [counters & 0xFFFFFFFF, counters >> 32, 0 * counters, 0 * counters]
    keys = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [
            b >> 32 ^ words[1] ^ keys[0],
            b & 0xFFFFFFFF,
            a >> 32 ^ words[3] ^ keys[1],
            a & 0xFFFFFFFF,
        ]
        keys[0] = keys[0] + 0x9E3779B9 & 0xFFFFFFFF
        keys[1] = keys[1] + 0xBB67AE85 & 0xFFFFFFFF
    return np.stack(words, 1)


def factors(seed, counter, shape, ratio):
    """What a dropout multiplies the elements with."""
    count = int(np.prod(shape))
    blocks = np.arange(counter, counter + (count + 3) // 4, dtype=np.uint64)
    units = philox(seed, blocks).flatten()[:count] / 2.0**32
    return ((units < 1 - ratio) / (1 - ratio)).reshape(shape).astype(np.float32)


def value_info(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(path, nodes, inputs, outputs, weights, opset=17):
    graph = helper.make_graph(
        nodes,
        "network",
        inputs,
        outputs,
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


class DropoutTest(tool_test.ToolTest):
    steps = 0  # Compiled.

    def save(self, ratio=0.25, opset=17, outputs=("d",), training=None):
        """y = dropout(x · w), whose gradient by w is that of the mask."""
        node = helper.make_node("Dropout", ["a"], outputs, name="drop")
        weights = {"w": np.ones(WIDTH, np.float32)}
        if opset >= 12:
            weights["ratio"] = np.float32(ratio)
            node.input.append("ratio")
            if training is not None:
                weights["training"] = np.bool_(training)
                node.input.append("training")
        else:
            node.attribute.append(helper.make_attribute("ratio", ratio))
        multiply = helper.make_node("Mul", ["x", "w"], ["a"])
        shape = [N, WIDTH]
        kinds = [TensorProto.FLOAT]
        kinds += [TensorProto.BOOL if opset >= 10 else TensorProto.FLOAT]
        found = [value_info(o, shape, kind) for o, kind in zip(outputs, kinds)]
        found = [info for info in found if info.name]
        save(
            self.folder / "model.onnx",
            [multiply, node],
            [value_info("x", shape)],
            found,
            weights,
            opset,
        )

    def compile_step(self, *options, model="model.onnx"):
        """A file of its own: another one may still be loaded."""
        self.steps += 1
        path = self.folder / f"step{self.steps}.so"
        self.compile(model, path, *TRAIN, *options)
        return path

    def step(self, path, threads=1, seed=0, steps=1, rows=N):
        """The loss and the gradient of the last of so many steps on ones."""
        model = Model(LIBRARY, path, threads, "train_step")
        model.write_variable(GENERATOR, np.array([seed, 0], np.uint64))
        x, target = (np.full((rows, WIDTH), v, np.float32) for v in (1, -1))
        run, results = model.bind({"x": x, "target": target})
        for _ in range(steps):
            model.write_variable("w", np.ones(WIDTH, np.float32))
            run()
        drawn = model.read_variable(GENERATOR, (2,), np.uint64)
        gradient = 1 - model.read_variable("w", (WIDTH,))
        return float(results["loss"]), gradient, drawn

    def check(self, path, ratio, seed=0, steps=1, rows=N):
        """As NumPy computes it from the definition of the numbers."""
        blocks = 0 if ratio == 0 else rows * WIDTH // 4
        if ratio in (0, 1):
            expected = np.full((rows, WIDTH), 1 - ratio, np.float32)
        else:
            expected = factors(seed, (steps - 1) * blocks, (rows, WIDTH), ratio)
        loss, gradient, drawn = self.step(path, seed=seed, steps=steps, rows=rows)
        self.assertAlmostEqual(loss, (expected + 1).sum(), delta=1e-4 * loss)
        np.testing.assert_allclose(gradient, expected.sum(0), rtol=1e-4, atol=1e-4)
        self.assertEqual(drawn.tolist(), [seed, steps * blocks])
        return expected

    def test_numbers(self):
        self.save(0.25)
        path = self.compile_step()
        for seed, steps in ((0, 1), (0, 3), (7, 1), (2**63 + 5, 2)):
            expected = self.check(path, 0.25, seed, steps)
            self.assertAlmostEqual((expected == 0).mean(), 0.25, delta=0.02)
            self.assertAlmostEqual(expected.mean(), 1, delta=0.02)

    def test_parts_of_a_batch(self):
        """Each part draws what comes behind those of the part before."""
        self.save(0.25)
        self.check(self.compile_step("--accumulate=3"), 0.25, 5, 2, rows=3 * N)

    def test_portable_code(self):
        self.save(0.6)
        self.check(self.compile_step("--cpu=x86-64-v3"), 0.6, seed=3, steps=2)

    def test_all_and_nothing(self):
        for ratio in (0.0, 1.0):
            self.save(ratio, outputs=("d", "mask"))
            path = self.compile_step()
            if ratio == 0:
                with self.assertRaisesRegex(RuntimeError, GENERATOR):
                    self.step(path)
                continue
            self.check(path, ratio)

    def test_operator_sets(self):
        for opset in (7, 10, 12, 13, 22):
            for training in (None, True) if opset >= 12 else (None,):
                self.save(0.3, opset, ("d", "mask"), training)
                self.check(self.compile_step(), 0.3, seed=opset)

    def test_masks_say_what_is_kept(self):
        """The mask is an output of predict, which keeps all."""
        for opset in (7, 13):
            self.save(0.3, opset, ("d", "mask"))
            path = self.compile_step()
            x = np.linspace(-1, 1, N * WIDTH, dtype=np.float32).reshape(N, WIDTH)
            results = Model(LIBRARY, path, 1, "predict").run({"x": x})
            np.testing.assert_array_equal(results["d"], x)
            self.assertTrue(results["mask"].all())

    def test_inference_drops_nothing(self):
        self.save(0.5, training=False)
        self.compile("model.onnx", "model.so")
        x = np.random.default_rng(0).normal(size=(N, WIDTH)).astype(np.float32)
        results = Model(LIBRARY, self.folder / "model.so", 1).run({"x": x})
        np.testing.assert_array_equal(results["d"], x)

    def test_training_mode_drops_in_runs(self):
        """What is dropped follows from the model, and the rest is scaled."""
        self.save(0.25, training=True, outputs=("d", "mask"))
        self.compile("model.onnx", "model.so")
        x = np.random.default_rng(0).normal(size=(N, WIDTH)).astype(np.float32)
        model = Model(LIBRARY, self.folder / "model.so", 1)
        results = model.run({"x": x})
        kept = results["mask"].astype(bool)
        expected = np.where(kept, x / np.float32(0.75), 0)
        np.testing.assert_allclose(results["d"], expected, rtol=1e-6)
        deviation = np.sqrt(0.25 * 0.75 / kept.size)
        self.assertLess(abs(kept.mean() - 0.75), 4 * deviation)
        np.testing.assert_array_equal(model.run({"x": x})["mask"], kept)

    def test_phases(self):
        """A model that is read in a later phase drops the same."""
        self.save(0.25)
        losses = [self.step(self.compile_step())]
        for phase in ("graph", "normalised"):
            self.compile("model.onnx", "model.mlir", f"--emit={phase}", *TRAIN)
            path = self.compile_step(f"--from={phase}", model="model.mlir")
            losses.append(self.step(path))
        for loss, gradient, _ in losses[1:]:
            self.assertEqual(loss, losses[0][0])
            np.testing.assert_array_equal(gradient, losses[0][1])

    def test_json(self):
        node = {"op": "dropout", "inputs": ["a"], "outputs": ["d"]}
        model = {
            "tinh": 1,
            "name": "network",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [N, WIDTH]}],
            "weights": [{"name": "w", "dtype": "f32", "shape": [WIDTH], "data": 1}],
            "nodes": [{"op": "mul", "inputs": ["x", "w"], "outputs": ["a"]}, node],
            "outputs": ["d"],
        }
        for ratio in (0.25, 1.5):
            node["attributes"] = {"ratio": ratio}
            (self.folder / "model.json").write_text(json.dumps(model))
            if ratio == 0.25:
                self.check(self.compile_step(model="model.json"), ratio, seed=1)
        self.fails(
            self.run_tool("graph-compile", "model.json", *TRAIN, "-o", "m.so"),
            "ratio is 1.5", "from 0 to 1",
        )
        self.save(-0.5)
        self.fails(
            self.run_tool("graph-compile", "model.onnx", "-o", "m.so"),
            'node "drop"', "ratio is -0.5", "from 0 to 1",
        )

    def test_a_weight_of_the_same_name(self):
        self.save(0.25)
        model = onnx.load(self.folder / "model.onnx")
        model.graph.node[0].input[1] = GENERATOR
        model.graph.initializer[0].name = GENERATOR
        onnx.save(model, self.folder / "model.onnx")
        self.compile_step()
        listed = self.run_tool("graph-run", "step1.so", "--list").stdout
        self.assertRegex(listed, r"trained random\.generator +f32 250")
        self.assertRegex(listed, r"kept +random\.generator\.1 +u64 2")

    def test_loops(self):
        self.save(0.25)
        self.compile("model.onnx", "model.mlir", "--emit=graph")
        text = (self.folder / "model.mlir").read_text()
        found = re.search(r"(%\S+) = graph.dropout (%\S+) (.*) : (\S+) .*", text)
        result, x, ratio, kind = found.groups()
        loop = f"""{result} = graph.scan %i length 2 carry (%c = {x}) : ({kind}) -> ({kind}) {{
          %n = graph.dropout %c {ratio} : {kind} loc("inner")
          graph.yield %n : {kind}
        }}"""
        (self.folder / "loop.mlir").write_text(text.replace(found.group(0), loop))
        done = self.run_tool("graph-compile", "loop.mlir", *TRAIN, "-o", "step.so")
        self.fails(done, "node 'inner'", "a dropout in a branch or loop")
        self.compile("loop.mlir", "model.so")


class NetworkTest(tool_test.ToolTest):
    """A small network in AlexNet's manner, trained by graph-run."""

    SAMPLES, BATCH = 64, 16

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(5)
        labels = random.integers(0, 4, self.SAMPLES)
        images = random.normal(0, 0.5, (self.SAMPLES, 3, 12, 12))
        for image, label in zip(images, labels):  # One corner is brighter.
            row, column = 6 * (label // 2), 6 * (label % 2)
            image[:, row : row + 6, column : column + 6] += 1
        np.save(self.folder / "x.npy", images.astype(np.float32))
        np.save(self.folder / "y.npy", labels)
        self.save(random)

    def save(self, random):
        def weight(*shape):
            fan = int(np.prod(shape[1:]))
            return random.normal(0, (2 / fan) ** 0.5, shape).astype(np.float32)

        node = helper.make_node
        nodes = [
            node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], pads=[1] * 4),
            node("Relu", ["c"], ["r"]),
            node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            node("Flatten", ["p"], ["f"]),
            node("Dropout", ["f", "ratio", "training"], ["d1", "unused"]),
            node("Gemm", ["d1", "fc1.weight", "fc1.bias"], ["a"], transB=1),
            node("Relu", ["a"], ["h"]),
            node("Dropout", ["h", "ratio", "training"], ["d2"]),
            node("Gemm", ["d2", "fc2.weight", "fc2.bias"], ["y"], transB=1),
        ]
        weights = {
            "conv.weight": weight(8, 3, 3, 3),
            "conv.bias": np.zeros(8, np.float32),
            "fc1.weight": weight(32, 8 * 36),
            "fc1.bias": np.zeros(32, np.float32),
            "fc2.weight": weight(4, 32),
            "fc2.bias": np.zeros(4, np.float32),
            "ratio": np.float32(0.5),
            "training": np.bool_(True),
        }
        save(
            self.folder / "model.onnx",
            nodes,
            [value_info("x", [self.BATCH, 3, 12, 12])],
            [value_info("y", [self.BATCH, 4])],
            weights,
        )
        self.compile(
            "model.onnx", "step.so", "--train", "--loss=cross_entropy",
            "--optimizer=adam,lr=0.01",
        )

    def train(self, *options):
        """The losses of the epochs and of the evaluation after each."""
        done = self.run_tool(
            "graph-run", "step.so", "--train", "--data", "x.npy,y.npy",
            "--validation", "x.npy,y.npy", "--shuffle", 1, *options,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        pattern = r"loss (\S+); validation loss (\S+) "
        return [tuple(map(float, m)) for m in re.findall(pattern, done.stdout)]

    def state(self, name):
        return (self.folder / name).read_bytes()

    def test_it_learns(self):
        losses = self.train("--epochs", 30)
        trained, evaluated = losses[-1]
        self.assertLess(evaluated, 0.1)
        self.assertLess(evaluated, trained)  # Which misses what it drops.
        self.assertLess(trained, 0.6 * losses[0][0])

    def test_the_seed_decides(self):
        results = []
        for threads, seed in ((1, 3), (2, 3), (1, 4)):
            results.append(
                self.train(
                    "--epochs", 3, "--threads", threads, "--seed", seed,
                    "--save-state", f"{threads}-{seed}",
                )
            )
        self.assertEqual(results[0], results[1])
        self.assertNotEqual(results[0], results[2])
        self.assertEqual(self.state("1-3"), self.state("2-3"))

    def test_resumed_training_is_the_same(self):
        seed = ("--seed", 11)
        whole = self.train("--epochs", 4, "--save-state", "whole", *seed)
        checkpoint = ("--checkpoint", "checkpoint", *seed)
        first = self.train("--epochs", 2, *checkpoint)
        rest = self.train(
            "--epochs", 4, *checkpoint, "--resume", "--save-state", "resumed"
        )
        self.assertEqual(whole, first + rest)
        self.assertEqual(self.state("whole"), self.state("resumed"))

    def test_a_seed_for_nothing(self):
        self.save_without_dropout()
        done = self.run_tool(
            "graph-run", "other.so", "--train", "--data", "x.npy,y.npy", "--seed", 1
        )
        self.fails(done, "--seed: the model draws no random numbers")

    def save_without_dropout(self):
        model = onnx.load(self.folder / "model.onnx")
        for node in model.graph.node:
            if node.op_type == "Dropout":
                node.op_type = "Identity"
                del node.input[1:], node.output[1:]
        onnx.save(model, self.folder / "other.onnx")
        self.compile(
            "other.onnx", "other.so", "--train", "--loss=cross_entropy",
            "--optimizer=sgd",
        )


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
