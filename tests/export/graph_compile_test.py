# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-compile --emit=onnx and --emit=json: what they take and what they say."""

import os

from tool_test import ToolTest, main


class Export(ToolTest):
    def test_there_and_back(self):
        """Models in all formats compute the same, bit by bit."""
        self.write_model()
        self.compile("model.json", "a.onnx", "--emit=onnx")
        self.compile("a.onnx", "b.json", "--emit=json")
        self.compile("b.json", "c.mlir", "--emit=normalised")
        self.compile("c.mlir", "d.onnx", "--emit=onnx", "--from=normalised")
        results = []
        for model in ("model.json", "a.onnx", "b.json", "d.onnx"):
            self.compile(model, "model.so")
            results.append(self.outputs(self.folder / "model.so"))
        self.assertEqual(results[1:], results[:1] * 3)

    def test_needs_an_output_file(self):
        self.write_model()
        for options in ([], ["-o", "-"]):
            done = self.run_tool(
                "graph-compile", "model.json", "--emit=onnx", *options
            )
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, "error: -o OUT.onnx is missing\n")

    def test_refuses_later_phases(self):
        self.write_model()
        self.compile("model.json", "late.mlir", "--emit=optimised")
        options = ["--emit=json", "-o", "late.json"]
        done = self.run_tool("graph-compile", "late.mlir", "--from=optimised", *options)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(
            done.stderr,
            "error: --emit=json writes models in phase graph or normalised, "
            "not 'optimised'\n",
        )
        self.assertNoLeftovers("late.mlir", "model.json")

    def test_refuses_to_overwrite_the_model(self):
        self.write_model()
        done = self.run_tool(
            "graph-compile", "model.json", "--emit=json", "-o", "model.json"
        )
        self.fails(done, "the output 'model.json' is the model itself")

    def test_says_where_it_cannot_write(self):
        self.write_model()
        os.mkdir(self.folder / "folder")
        for output, why in {
            "missing/model.onnx": "No such file or directory",
            "folder": "it is a directory",
        }.items():
            done = self.run_tool(
                "graph-compile", "model.json", "--emit=onnx", "-o", output
            )
            self.fails(done, f"cannot write '{output}", why)
        self.assertNoLeftovers("folder", "model.json")


if __name__ == "__main__":
    main()
