#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A wrong kernel of ResNet-50, with seeded weights, on images of 64 x 64.

usage: PYTHONPATH=tests/support:benchmarks resnet_test.py BIN_DIR
"""

import pathlib
import tempfile

import onnx

import light_models
import tool_test


def write_small(folder):
    """The last pool is over what is left of the images."""
    model = onnx.load(light_models.light_dir() / "light_resnet50.onnx")
    light_models.fill_with_random_weights(model.graph, seed=1)
    for dim in model.graph.input[0].type.tensor_type.shape.dim[2:]:
        dim.dim_value = 64
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "AveragePool" and attribute.name == "kernel_shape":
                attribute.ints[:] = [2, 2]
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


class ResNet(tool_test.ToolTest):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="tinh-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.model = write_small(pathlib.Path(holder.name))

    def test_the_node_is_found(self):
        for name, op in (("n2", "relu"), ("n47", "relu")):
            done = self.run_tool("planted-fault", name, "--bisect", self.model)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
            self.assertEqual((found["node"], found["op"]), (name, op), done.stdout)
            self.assertEqual(found["eager"], "right")
            self.assertTrue(found["kernels"].startswith("conv"), found)
            self.assertLessEqual(int(found["ops"]), 3)

    def test_all_match(self):
        done = self.run_tool("graph-compare", self.model, "--bisect")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("all results match", done.stdout)


if __name__ == "__main__":
    tool_test.main()
