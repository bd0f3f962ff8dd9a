# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of many nodes, outputs and weights compile in time that grows as they do.

The sizes are such that what takes quadratic time, or recurses over nodes, exceeds
the time of the CPU that a compilation is given, or the stack; otherwise each takes
a second or two.
"""

import re
import resource

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test
from tool_test import ToolTest

SECONDS = 12  # On one CPU.


def limit_time():
    tool_test.reset_signals()
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def tensor(name, shape=(4,), data_type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, data_type, shape)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


def row(name, value):
    return numpy_helper.from_array(np.full(4, value, np.float32), name)


class LargeModels(ToolTest):
    def compile_large(self, nodes, inputs, outputs, weights=()):
        """Compiles in time; gives the number of kernels."""
        graph = helper.make_graph(nodes, "large", inputs, outputs, weights)
        opset = [helper.make_opsetid("", 18)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        onnx.save(model, self.folder / "large.onnx")
        printed = self.compile("large.onnx", "large.so", "--timing", preexec_fn=limit_time)
        return int(re.search(r"kernels from the cache +\d+ of (\d+)", printed)[1])

    def test_chain(self):
        count = 20000
        nodes = [node("Sin", [f"t{i}"], f"t{i + 1}") for i in range(count)]
        self.compile_large(nodes, [tensor("t0")], [tensor(f"t{count}")])

    def test_chain_of_sums(self):
        count = 12000
        nodes = [node("Add", [f"t{i}", f"t{i}"], f"t{i + 1}") for i in range(count)]
        self.compile_large(nodes, [tensor("t0")], [tensor(f"t{count}")])

    def test_chain_with_weights(self):
        count = 8000
        nodes, weights = [], []
        for i in range(count):
            op = "Mul" if i % 2 else "Add"
            nodes.append(node(op, [f"t{i}", f"w{i}"], f"t{i + 1}"))
            weights.append(row(f"w{i}", [1, 1, 1, i]))
        self.compile_large(nodes, [tensor("t0")], [tensor(f"t{count}")], weights)

    def test_sum(self):
        names = [f"w{i}" for i in range(20000)]
        weights = [row(name, 1) for name in names]
        sum_of_all = node("Sum", ["x", *names], "y")
        self.compile_large([sum_of_all], [tensor("x")], [tensor("y")], weights)

    def test_outputs(self):
        """Kernels that differ in a number alone are one, if there are many."""
        names = [f"y{i}" for i in range(2000)]
        nodes, weights = [], []
        for i, name in enumerate(names):
            nodes.append(node("Add", ["x", f"c{i}"], name))
            scalar = np.array(i + 1, np.float32)
            weights.append(numpy_helper.from_array(scalar, f"c{i}"))
        outputs = [tensor(name) for name in names]
        kernels = self.compile_large(nodes, [tensor("x")], outputs, weights)
        self.assertLess(kernels, 10)

    def test_concatenation(self):
        inputs = [f"x{i % 10}" for i in range(3000)]
        nodes = [node("Concat", inputs, "y", axis=0)]
        declared = [tensor(name) for name in sorted(set(inputs))]
        self.compile_large(nodes, declared, [tensor("y", (4 * len(inputs),))])

    def test_nested_text(self):
        """What MLIR's parser would have no stack for is refused before."""
        depth = 20000
        branch = "graph.if %c : (tensor<4xf32>) {\n"
        text = "func.func @main(%c: tensor<i1>) {\n" + depth * branch + depth * "}" + "}"
        (self.folder / "deep.mlir").write_text(text)
        done = self.run_tool("graph-compile", "deep.mlir", "-o", "deep.so")
        self.fails(done, "deep.mlir:101:", "nested more than 100 deep")


if __name__ == "__main__":
    tool_test.main()
