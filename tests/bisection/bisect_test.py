#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-compare --bisect: the node that it names, and the model that it leaves.

usage: PYTHONPATH=tests/support bisect_test.py BIN_DIR
"""

import json
import shlex
import struct
import unittest

import tool_test

LOSS, OPTIMIZER = "cross_entropy", "sgd,lr=0.1,momentum=0.9"


def weight(name, rows, columns):
    data = [((i * 7 + len(name)) % 13 - 6) / 20 for i in range(rows * columns)]
    return {"name": name, "dtype": "f32", "shape": [rows, columns], "data": data}


def node(op, name, inputs):
    return {"op": op, "inputs": inputs, "outputs": [name]}


class Bisect(tool_test.ToolTest):
    def write(self):
        """A classifier with two branches, one of which is as good as constant."""
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [8, 16]}],
            "weights": [weight("w1", 16, 32), weight("w2", 32, 32), weight("w3", 32, 10)],
            "nodes": [
                node("matmul", "fc1", ["x", "w1"]),
                node("relu", "act1", ["fc1"]),
                node("matmul", "fc2", ["act1", "w2"]),
                node("tanh", "act2", ["fc2"]),
                node("sigmoid", "gate", ["act1"]),
                node("mul", "gated", ["act2", "gate"]),
                node("matmul", "y", ["gated", "w3"]),
            ],
            "outputs": ["y"],
        }
        path = self.folder / "model.json"
        path.write_text(json.dumps(model))
        return path

    def find(self, *arguments):
        """What planted-fault says of a model with a fault."""
        done = self.run_tool("planted-fault", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        pairs = [line.split(" ", 1) for line in done.stdout.splitlines()]
        reads = [text for key, text in pairs if key == "reads"]
        return dict(pairs) | {"reads": reads}

    def bisect(self, *options):
        return self.run_tool("graph-compare", "model.json", "--bisect", *options)

    #===- Faults ------------------------------------------------------------===#

    def test_each_node(self):
        model = self.write()
        for name, op, position in (
            ("act1", "relu", 2),
            ("act2", "tanh", 4),
            ("gate", "sigmoid", 5),
            ("gated", "mul", 6),
        ):
            found = self.find(name, "--bisect", model)
            self.assertEqual(
                (found["node"], found["op"], found["position"]), (name, op, str(position))
            )
            self.assertAlmostEqual(float(found["absolute"]), 0.5, 4)
            self.assertEqual(found["eager"], "right")
            self.assertEqual(found["nodes"], "7")
            self.assertTrue(found["kernels"])
            self.assertTrue(all(r.endswith(" right") for r in found["reads"]), found)
            self.assertLessEqual(int(found["ops"]), 2)

    def test_a_nan_where_a_number_is_expected(self):
        self.environment["PLANTED_FAULT"] = "nan"
        found = self.find("act2", "--bisect", self.write())
        self.assertEqual((found["node"], found["absolute"]), ("act2", "INF"))
        self.assertLessEqual(int(found["ops"]), 2)

    def test_a_nan_where_one_is_expected(self):
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [64]}],
            "nodes": [node("sqrt", "root", ["x"]), node("tanh", "y", ["root"])],
            "outputs": ["y"],
        }
        (self.folder / "model.json").write_text(json.dumps(model))
        done = self.bisect()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("1 of them have NaNs", done.stdout)

    def test_integers_of_8_bits_may_be_one_off(self):
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "i8", "shape": [64]}],
            "nodes": [node("relu", "act", ["x"]), node("neg", "y", ["act"])],
            "outputs": ["y"],
        }
        path = self.folder / "model.json"
        path.write_text(json.dumps(model))
        self.environment["PLANTED_FAULT"] = "1"
        self.assertNotIn("node", self.find("act", "--bisect", path))
        self.environment["PLANTED_FAULT"] = "2"
        found = self.find("act", "--bisect", path)
        self.assertEqual((found["node"], float(found["absolute"])), ("act", 2))
        self.assertEqual(found["ops"], "1")

    def test_no_fault(self):
        self.assertNotIn("node", self.find("nothing", "--bisect", self.write()))

    def test_a_gradient(self):
        """act2 is a tanh; a subtraction is in its gradient alone."""
        found = self.find("act2", "arith.subf", "--bisect", self.write(), LOSS, OPTIMIZER)
        self.assertEqual((found["node"], found["op"]), ("act2", "sub"))
        self.assertEqual(found["eager"], "right")
        self.assertLessEqual(int(found["ops"]), 2)

    def test_a_forward_node_of_a_training_step(self):
        found = self.find("gate", "arith.divf", "--bisect", self.write(), LOSS, OPTIMIZER)
        self.assertEqual((found["node"], found["op"], found["position"]), ("gate", "sigmoid", "5"))

    #===- The tool ----------------------------------------------------------===#

    def test_all_match(self):
        self.write()
        for options in ([], ["--train", f"--loss={LOSS}", f"--optimizer={OPTIMIZER}"]):
            done = self.bisect(*options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("all results match", done.stdout)
            self.assertIn("w1" if options else "y", done.stdout)
        self.assertNoLeftovers("model.json")

    def test_rounding_is_a_fault_if_that_is_asked(self):
        self.write()
        done = self.bisect("--tolerance=0")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        for text in ("diverges first at node", "of 7", "kernel", "is expected", "op by op"):
            self.assertIn(text, done.stdout)
        command = self.small_command(done)
        self.assertEqual(command[:2], ["graph-compare", "model-bisected.json"])
        again = self.run_tool(*command)
        self.assertEqual((again.returncode, again.stderr), (1, ""))
        self.assertIn("diverges first at node 1 of 1", again.stdout)

    def test_the_steps_of_a_training(self):
        self.write()
        done = self.bisect(
            "--train", f"--loss={LOSS}", f"--optimizer={OPTIMIZER}", "--tolerance=0", "-o", "small.json"
        )  # fmt: skip
        # How this is rounded depends on the CPU.
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0 if "all results match" in done.stdout else 1)
        others = ("all results match", "whole artifact alone", "no smaller model")
        written = not any(text in done.stdout for text in others)
        self.assertEqual((self.folder / "small.json").exists(), written, done.stdout)

    def write_rounded(self):
        """No tanh of floats is what the reference rounds from doubles."""
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [4096]}],
            "nodes": [node("relu", "act", ["x"]), node("tanh", "y", ["act"])],
            "outputs": ["y"],
        }
        (self.folder / "model.json").write_text(json.dumps(model))

    def small_command(self, done):
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        return shlex.split(done.stdout.splitlines()[-1])

    def test_inputs_that_a_folder_does_not_have(self):
        self.write_rounded()
        folder = self.folder / "inputs"
        folder.mkdir()
        data = struct.pack("<4096f", *(i / 2048 - 1 for i in range(4096)))
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4096,), }".ljust(117) + "\n"
        (folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + data)
        command = self.small_command(self.bisect("--tolerance=0", f"--inputs={folder}"))
        self.assertEqual(command[-2:], ["--inputs", "model-bisected-inputs"])
        self.assertIn("diverges first at node 1 of 1", self.run_tool(*command).stdout)

    def test_the_command_has_the_options(self):
        self.write()
        (self.folder / "a folder's").mkdir()
        options = ["--tolerance=0", "--threads=2", "--precision=bf16", "--keep-f32=tan*"]
        command = self.small_command(self.bisect(*options, "-o", "a folder's/small.json"))
        self.assertEqual(command[:2], ["graph-compare", "a folder's/small.json"])
        self.assertIn("--threads=2", command)
        self.assertIn("--precision=bf16", command)
        self.assertNotIn("--keep-f32=tan*", command)  # What fits nothing is an error.
        self.assertIn("diverges first at node 1 of 1", self.run_tool(*command).stdout)

    def test_diverges_without_what_the_precision_is_of(self):
        self.write()
        done = self.bisect("--tolerance=0", "--precision=f16")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("diverges first at node", done.stdout)
        done = self.bisect("--precision=f16")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_inputs_of_the_user(self):
        self.write()
        done = self.bisect("--inputs=zeros")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.fails(self.bisect("--inputs=nowhere"), "nowhere")

    def test_control_flow(self):
        body = [node("mul", "scaled", ["s", "w"])]
        loop = {
            "op": "scan", "inputs": ["x"], "outputs": ["last"], "attributes": {"length": 3, "carry": 1},
            "body": {"inputs": ["i", "s"], "nodes": body, "outputs": ["scaled"]},
        }  # fmt: skip
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [4]}],
            "weights": [{"name": "w", "dtype": "f32", "shape": [4], "data": 0.5}],
            "nodes": [loop, node("tanh", "y", ["last"])],
            "outputs": ["y", "last"],
        }
        (self.folder / "model.json").write_text(json.dumps(model))
        done = self.bisect()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("all results match", done.stdout)
        found = self.find("y", "--bisect", self.folder / "model.json")
        self.assertEqual((found["node"], found["op"]), ("y", "tanh"))

    def test_usage(self):
        self.write()
        for options, text in (
            (["--tolerance=1e-3"], "--bisect"),
            (["--train"], "--bisect"),
            (["--bisect", "--loss=mse"], "about --train"),
            (["--loss=mse"], "about --train"),
            (["--bisect", "--json"], "--json"),
            (["--bisect", "--tolerance=-1"], "--tolerance"),
            (["--bisect", "-o", "small.mlir"], ".onnx or .json"),
        ):
            done = self.run_tool("graph-compare", "model.json", *options)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)
        self.fails(self.run_tool("graph-compare", "missing.json", "--bisect"), "missing.json")
        self.fails(self.bisect("-o", "model.json"), "is the model itself")


if __name__ == "__main__":
    tool_test.main()
