# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels are estimated to cost, as phase `kernels` says it: by how much one
thing is dearer than another on a machine whose model is known. How near estimates
are to what is measured, `graph-run --profile` tells.

usage: PYTHONPATH=tests/support python3 estimates_test.py BIN_DIR
"""

import json
import re

import tool_test

# 16 lanes of f32; a vector of sums, of products or of loads each cycle.
CPU, LANES = "znver4", 16

# All of it lies in the second-level cache.
CHANNELS, SIDE = 64, 28
VECTORS = SIDE * SIDE * CHANNELS / LANES
WINDOW = dict(strides=[1, 1], padding=[1, 1, 1, 1])


def node(op, inputs, output, **attributes):
    return {"op": op, "inputs": inputs, "outputs": [output], "attributes": attributes}


def tensor(name, *shape):
    return {"name": name, "dtype": "f32", "shape": shape}


IMAGE = [1, CHANNELS, SIDE, SIDE]
MATRIX = [SIDE * SIDE, CHANNELS]


class Estimates(tool_test.ToolTest):
    def estimate(self, kernel, inputs, *nodes):
        """The cycles of the kernel of this name."""
        path = self.folder / "model.json"
        model = {
            "tinh": 1,
            "inputs": inputs,
            "nodes": nodes,
            "outputs": nodes[-1]["outputs"],
        }
        path.write_text(json.dumps(model))
        self.compile(path, "kernels.mlir", "--emit=kernels", f"--cpu={CPU}")
        text = (self.folder / "kernels.mlir").read_text()
        found = re.search(
            rf"func\.func private @{kernel}\(.*graph\.estimate = (\d+)", text
        )
        self.assertIsNotNone(found, text)
        return int(found[1])

    def test_what_follows_a_product_is_computed_in_registers(self):
        inputs = [tensor("x", *MATRIX), tensor("w", CHANNELS, CHANNELS)]
        product = node("matmul", ["x", "w"], "p")
        alone = self.estimate("matmul_0", inputs, product)
        added = self.estimate(
            "matmul_add_0",
            [*inputs, tensor("r", *MATRIX)],
            product,
            node("add", ["p", "r"], "z"),
        )
        # A load beside an addition, for each vector.
        self.assertGreater(added, alone)
        self.assertLess(added - alone, 1.5 * VECTORS)

    def test_a_product_that_is_added_is_one_instruction(self):
        inputs = [tensor("x", *IMAGE), tensor("w", CHANNELS, 1, 3, 3)]
        conv = node("conv", ["x", "w"], "z", groups=CHANNELS, **WINDOW)
        self.assertLess(self.estimate("conv_0", inputs, conv), 1.5 * 9 * VECTORS)

    def test_a_maximum_is_three_instructions(self):
        pool = node("max_pool", ["x"], "z", kernel=[3, 3], **WINDOW)
        cycles = self.estimate("max_pool_0", [tensor("x", *IMAGE)], pool)
        self.assertGreater(cycles, 2.5 * 9 * VECTORS)


if __name__ == "__main__":
    tool_test.main()
