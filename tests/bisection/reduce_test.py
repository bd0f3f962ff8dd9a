#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-reduce: what is left of models, and what it says where there is no way.

usage: PYTHONPATH=tests/support reduce_test.py BIN_DIR
"""

import json
import re
import signal
import struct
import time
import unittest

import tool_test


def constant(name, shape, scale=1.0):
    size = shape[0] * shape[-1] if shape else 1
    data = [((i * 7 + len(name)) % 13 - 6) * scale / 6 for i in range(size)]
    return {"name": name, "dtype": "f32", "shape": shape, "data": data}


def node(op, inputs, output, **attributes):
    made = {"op": op, "inputs": inputs, "outputs": [output]}
    if attributes:
        made["attributes"] = attributes
    return made


def residual_blocks(count, culprit):
    """Blocks of four nodes; that of number `culprit` has a sigmoid."""
    weights = [constant("scale", [], -0.1)]
    nodes, x = [], "x"
    for i in range(count):
        weights.append(constant(f"w{i}", [8, 8], 0.3))
        inner = ("sigmoid", "culprit") if i == culprit else ("tanh", f"t{i}")
        nodes += [
            node("matmul", [x, f"w{i}"], f"m{i}"),
            node(inner[0], [f"m{i}"], inner[1]),
            node("mul", [inner[1], "scale"], f"s{i}"),
            node("add", [x, f"s{i}"], f"x{i}"),
        ]
        x = f"x{i}"
    return weights, nodes, x


class Reduce(tool_test.ToolTest):
    def write(self, weights, nodes, outputs, shape=(4, 8), name="model.json"):
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": list(shape)}],
            "weights": weights,
            "nodes": nodes,
            "outputs": outputs,
        }
        path = self.folder / name
        path.write_text(json.dumps(model))
        return path

    def write_blocks(self, count, culprit):
        weights, nodes, x = residual_blocks(count, culprit)
        return self.write(weights, nodes, [x])

    def write_script(self, text):
        path = self.folder / "test.sh"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def reduce(self, model, test, *options, output="small.json"):
        return self.run_tool("graph-reduce", model, "--test", test, "-o", output, *options)

    def succeeds(self, *arguments, **options):
        """The number of ops before and after, and of candidates."""
        done = self.reduce(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.fullmatch(r"(\d+) ops to (\d+), (\d+) candidates tested\n", done.stdout)
        self.assertTrue(found, done.stdout)
        return tuple(map(int, found.groups()))

    def small(self, name="small.json"):
        return json.loads((self.folder / name).read_text())

    #===- What is left ------------------------------------------------------===#

    def test_a_wrong_kernel_among_500_nodes(self):
        model = self.write_blocks(125, culprit=80)
        test = f"{tool_test.TOOLS}/planted-fault culprit --"
        before, after, tested = self.succeeds(model, test)
        self.assertEqual(before, 500)
        self.assertLessEqual(after, 5)
        self.assertLess(tested, 150)
        self.assertIn("sigmoid", [n["op"] for n in self.small()["nodes"]])
        again = self.run_tool("planted-fault", "culprit", "--", "small.json")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_each_format(self):
        model = self.write_blocks(6, culprit=3)
        for extension, text in (("json", '"sigmoid"'), ("onnx", "Sigmoid"), ("mlir", "graph.sigmoid")):
            output = f"small.{extension}"
            _, after, _ = self.succeeds(model, f"grep -q '{text}'", output=output)
            self.assertEqual(after, 1)
            self.compile(output, "small.so")

    def test_ir_refers_to_weights_where_they_lie(self):
        model = self.write_large_model(side=64)
        script = self.write_script('grep -q graph.matmul "$1" && grep -q "tensor<64x64xf32>" "$1"')
        self.succeeds(model, script, output="small.mlir")
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        (self.folder / "small.mlir").rename(elsewhere / "small.mlir")
        self.compile(elsewhere / "small.mlir", "small.so")

    def test_inputs_are_called_after_values(self):
        model = self.write_blocks(6, culprit=3)
        self.succeeds(model, "grep -q '\"sigmoid\"'")
        small = self.small()
        self.assertEqual([i["name"] for i in small["inputs"]], ["m3"])
        self.assertEqual(small["inputs"][0]["shape"], [1, 1])
        self.assertEqual(small["outputs"], ["culprit"])

    def test_results_that_are_both_needed(self):
        nodes = [node(op, ["x"], op) for op in ("relu", "tanh", "sigmoid")]
        model = self.write([], nodes, ["relu", "tanh", "sigmoid"])
        script = self.write_script(
            'grep -q \'"op":"relu"\' "$1" && grep -q \'"op":"sigmoid"\' "$1"'
        )
        self.assertEqual(self.succeeds(model, script)[:2], (3, 2))
        self.assertEqual(self.small()["outputs"], ["relu", "sigmoid"])

    def test_operands_take_the_place_of_nodes(self):
        """Where a value is not to become an input: there may be one alone."""
        ops = ("relu", "tanh", "neg", "sigmoid", "exp")
        reads = ("x",) + ops[:-1]
        model = self.write([], [node(op, [x], op) for op, x in zip(ops, reads)], ["exp"])
        script = self.write_script(
            'grep -q \'"name":"x"\' "$1" && grep -q \'"op":"relu"\' "$1" && grep -q \'"op":"exp"\' "$1"'
        )
        self.assertEqual(self.succeeds(model, script)[:2], (5, 2))

    def test_attributes_and_constants(self):
        weights = [{"name": "w", "dtype": "f32", "shape": [4, 3, 3, 3], "data": [i / 7 for i in range(108)]}]
        conv = node("conv", ["x", "w"], "y", strides=[2, 2], padding=[1, 1, 1, 1])
        model = self.write(weights, [conv], ["y"], shape=(8, 3, 9, 9))
        self.succeeds(model, "grep -q '\"conv\"'")
        small = self.small()
        self.assertEqual(small["inputs"][0]["shape"], [1, 1, 1, 1])
        self.assertEqual(small["weights"][0]["shape"], [1, 1, 1, 1])
        attributes = small["nodes"][0].get("attributes", {})
        self.assertNotIn("strides", attributes)
        self.assertNotIn("padding", attributes)

    def test_large_constants_become_equal_elements(self):
        weights = [constant("w", [8, 8])]
        model = self.write(weights, [node("matmul", ["x", "w"], "y")], ["y"])
        script = self.write_script('grep -q matmul "$1" && grep -q \'"shape":.8,8.\' "$1"')
        self.succeeds(model, script)
        self.assertIsInstance(self.small()["weights"][0]["data"], float)

    def test_booleans_in_a_file_keep_their_shape(self):
        header = json.dumps({"mask": {"dtype": "BOOL", "shape": [4, 8], "data_offsets": [0, 32]}}).encode()
        data = bytes(i in (0, 9, 18, 27) for i in range(32))
        (self.folder / "mask.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
        weights = [{"name": "mask", "file": "mask.safetensors", "tensor": "mask"}]
        nodes = [node("tanh", ["x"], "t"), node("where", ["mask", "x", "t"], "y")]
        model = self.write(weights, nodes, ["y"])
        script = self.write_script('grep -q where "$1" && grep -q \'"dtype":"bool","shape":.[0-9,]*.,"data"\' "$1"')
        self.succeeds(model, script)
        (mask,) = self.small()["weights"]
        self.assertEqual((mask["shape"], sum(mask["data"])), ([4, 8], 4))

    def test_nothing_is_tested_twice(self):
        model = self.write_blocks(6, culprit=3)
        script = self.write_script('md5sum < "$1" >> log; grep -q \'"sigmoid"\' "$1"')
        _, _, tested = self.succeeds(model, script)
        sums = (self.folder / "log").read_text().splitlines()
        self.assertEqual(len(sums), tested + 1)
        self.assertEqual(len(set(sums)), len(sums))

    #===- What goes wrong ---------------------------------------------------===#

    def refuses(self, *arguments, parts, **options):
        done = self.reduce(*arguments, **options)
        self.fails(done, *parts)
        self.assertFalse((self.folder / "small.json").exists())
        self.assertEqual(list(self.temporary.iterdir()), [])
        return done

    def test_a_model_that_does_not_show_it(self):
        self.refuses(
            self.write_blocks(2, 0), "exit 3;",
            parts=["model.json' itself does not show", "'exit 3;'", "exit code 3", "expected exit code 0"],
        )  # fmt: skip

    def test_a_command_that_is_not_there(self):
        done = self.refuses(
            self.write_blocks(2, 0), "no-such-command --flag",
            parts=["no-such-command", "exit code 127", "cannot run it"],
        )  # fmt: skip
        self.assertIn("not found", done.stderr)

    def test_a_command_that_takes_too_long(self):
        begin = time.monotonic()
        self.refuses(
            self.write_blocks(2, 0), "sleep 60; true", "--timeout=0.5",
            parts=["did not end within 0.5", "--timeout"],
        )  # fmt: skip
        self.assertLess(time.monotonic() - begin, 20)

    def test_candidates_that_take_too_long_do_not_show_it(self):
        model = self.write([], [node("relu", ["x"], "a"), node("tanh", ["a"], "y")], ["y"])
        script = self.write_script('grep -q relu "$1" && exit; test -e slow && exit 1; touch slow; sleep 60')
        self.assertEqual(self.succeeds(model, script, "--timeout=3")[:2], (2, 1))
        self.assertTrue((self.folder / "slow").exists())
        self.assertEqual(self.small()["nodes"][0]["op"], "relu")

    def test_signals_end_what_a_command_has_started(self):
        model = self.write_blocks(2, 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            # Whoever sleeps holds the pipe of messages.
            process = self.start("graph-reduce", model, "-o", "small.json", "--test", "echo on >&2; sleep 60; false")
            self.assertEqual(process.stderr.readline(), "on\n")
            begin = time.monotonic()
            process.send_signal(number)
            process.communicate()
            self.assertEqual(process.returncode, -number)
            self.assertLess(time.monotonic() - begin, 30)
            self.assertEqual(list(self.temporary.iterdir()), [])

    def test_exit_codes_where_the_ends_of_processes_are_ignored(self):
        def ignore():
            tool_test.reset_signals()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

        model = self.write_blocks(2, 0)
        done = self.run_tool(
            "graph-reduce", model, "--test", "false", "-o", "small.json", preexec_fn=ignore
        )
        self.fails(done, "exit code 1")

    def test_wrong_models_and_outputs(self):
        self.refuses("missing.json", "true", parts=["missing.json"])
        model = self.write_blocks(2, 0)
        done = self.reduce(model, "true", output="no/such/folder/small.json")
        self.fails(done, "no/such/folder/small.json")
        self.fails(self.reduce(model, "true", output=model), "is the model itself")

    def test_models_of_several_functions(self):
        text = """
          graph.variable "w" = dense<0.0> : tensor<4xf32> trainable
          func.func @step(%x: tensor<4xf32> {graph.name = "x"}, %w: tensor<4xf32> {graph.variable = "w"})
              -> (tensor<4xf32> {graph.variable = "w"}) {
            %0 = graph.add %x, %w : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
            return %0 : tensor<4xf32>
          }"""
        path = self.folder / "step.mlir"
        path.write_text(text)
        self.refuses(path, "true", parts=["@main"])

    def test_usage(self):
        done = self.run_tool("graph-reduce", self.write_blocks(1, 0), "-o", "small.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--test", done.stderr)


if __name__ == "__main__":
    tool_test.main()
