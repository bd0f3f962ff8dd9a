# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences and optionals as inputs and outputs of ONNX models.

usage: PYTHONPATH=tests/support python tests/end-to-end/sequences_test.py
           BIN_DIR [unittest's options]
"""

import numpy as np
import onnx
from onnx import TensorProto, helper

import tool_test


class SequencesTest(tool_test.ToolTest):
    def save(self):
        """Each tensor of a sequence less a mean, or less an optional number."""
        node, info = helper.make_node, helper.make_tensor_value_info
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, ["n", 4])
        sequence = helper.make_sequence_type_proto(tensor)
        scalar = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        optional = helper.make_optional_type_proto(scalar)
        body = helper.make_graph(
            [node("Sub", ["t", "m"], ["d"])],
            "body",
            [helper.make_value_info("t", tensor), info("m", TensorProto.FLOAT, [])],
            [helper.make_value_info("d", tensor)],
        )
        given = helper.make_graph(
            [node("OptionalGetElement", ["o"], ["got"])],
            "given",
            [],
            [info("got", TensorProto.FLOAT, [])],
        )
        mean = helper.make_graph(
            [
                node("ConcatFromSequence", ["s"], ["all"], axis=0),
                node("ReduceMean", ["all"], ["mean"], keepdims=0),
            ],
            "mean",
            [],
            [info("mean", TensorProto.FLOAT, [])],
        )
        graph = helper.make_graph(
            [
                node("OptionalHasElement", ["o"], ["has"]),
                node("If", ["has"], ["m"], then_branch=given, else_branch=mean),
                node("SequenceMap", ["s", "m"], ["y"], body=body),
            ],
            "g",
            [helper.make_value_info("s", sequence), helper.make_value_info("o", optional)],
            [helper.make_value_info("y", sequence)],
        )
        opset = [helper.make_opsetid("", 18)]
        proto = helper.make_model(graph, opset_imports=opset, ir_version=8)
        onnx.save(proto, self.folder / "m.onnx")

    def run_model(self, inputs, *options):
        self.compile("m.onnx", "m.so", *options)
        arguments = ["m.so", "--output-dir", "out"]
        for name, x in inputs.items():
            np.save(self.folder / f"{name}.npy", x)
            arguments += ["--input", f"{name}={name}.npy"]
        done = self.run_tool("graph-run", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        files = sorted((self.folder / "out").iterdir())
        self.assertEqual([path.name for path in files], ["y.0.npy", "y.1.npy"])
        return [np.load(path) for path in files]

    def test_interfaces(self):
        self.save()
        rng = np.random.default_rng(0)
        x = {
            "s.0": rng.standard_normal((2, 4)).astype(np.float32),
            "s.1": rng.standard_normal((3, 4)).astype(np.float32),
        }
        shapes = ["--length", "s=2", "--shape", "s=2x4", "--shape", "s.1=3x4"]
        found = self.run_model(x, *shapes, "--length", "o=absent")
        mean = np.concatenate(list(x.values())).mean()
        for y, given in zip(found, x.values(), strict=True):
            np.testing.assert_allclose(y, given - mean, rtol=1e-5, atol=1e-6)
        found = self.run_model(x | {"o": np.float32(2)}, *shapes, "--length", "o=1")
        for y, given in zip(found, x.values(), strict=True):
            np.testing.assert_allclose(y, given - 2, rtol=1e-5, atol=1e-6)

    def test_errors(self):
        self.save()
        command = ["graph-compile", "m.onnx", "-o", "m.so"]
        done = self.run_tool(*command)
        self.fails(done, 'input "s"', "it is a sequence", "--length s=2")
        done = self.run_tool(*command, "--length", "s=2")
        self.fails(done, 'input "o"', "it is optional", "--length o=1, or =absent")
        done = self.run_tool(*command, "--length", "s=2", "--length", "o=1")
        self.fails(done, 'input "s.0" has the open shape [?, 4]', "--shape s.0=1x4")
        done = self.run_tool(*command, "--length", "s=two")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected NAME=3 or NAME=absent", done.stderr)
        done = self.run_tool("graph-compare", "m.onnx", "--length=o=1", "--with=onnxruntime")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--length excludes --with", done.stderr)

    def test_lengths_of_tensors(self):
        """IR has these alone."""
        (self.folder / "m.mlir").write_text(
            """func.func @main(%x: tensor<2xf32> {graph.name = "data"})
                 -> (tensor<2xf32> {graph.name = "y"}) {
                 return %x : tensor<2xf32>
               }"""
        )
        command = ["graph-compile", "m.mlir", "-o", "m.so", "--length"]
        done = self.run_tool(*command, "data=2")
        self.fails(done, 'input "data": a length was given for a tensor')
        done = self.run_tool(*command, "date=2")
        self.fails(done, 'a length was given for "date"', 'did you mean "data"?')


if __name__ == "__main__":
    tool_test.main()
