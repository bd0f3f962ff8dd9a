# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which op of a compiled model gave the first number that is not finite.

usage: PYTHONPATH=tests/support python3 tests/training/numerics_test.py BIN_DIR
"""

import json
import struct

import tool_test


def npy(values, shape, descr="<f4", code="f"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    data = struct.pack(f"<{len(values)}{code}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + data


class NumericsTest(tool_test.ToolTest):
    """Models of [4, 3] numbers, three layers deep."""

    def write(self, last, inputs=("b",), **attributes):
        """The op `last` on the product of two layers, and a layer behind it."""
        nodes = [
            {"op": "matmul", "name": "first", "inputs": ["x", "w1"], "outputs": ["a"]},
            {"op": "matmul", "name": "second", "inputs": ["a", "w2"], "outputs": ["b"]},
            {"op": last, "name": "third", "inputs": [*inputs], "outputs": ["c"]},
            {"op": "matmul", "name": "fourth", "inputs": ["c", "w3"], "outputs": ["y"]},
        ]
        if attributes:
            nodes[2]["attributes"] = attributes
        weights = [
            {
                "name": f"w{i}",
                "dtype": "f32",
                "shape": [3, 3],
                "data": [1, 0, 0, 0, 1, 0, 0, 0, 1],
            }
            for i in (1, 2, 3)
        ]
        model = {
            "tinh": 1,
            "name": "layers",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [4, 3]}],
            "weights": weights,
            "nodes": nodes,
            "outputs": ["y"],
        }
        (self.folder / "model.json").write_text(json.dumps(model))

    def run_model(self, numbers, *options, **compile_options):
        self.compile("model.json", "m.so", *compile_options.get("flags", ()))
        (self.folder / "x.npy").write_bytes(npy(numbers, (4, 3)))
        return self.run_tool("graph-run", "m.so", "--input", "x=x.npy", *options)

    def train_model(self, loss, x, y, *options, flags=()):
        self.compile(
            "model.json",
            "t.so",
            "--train",
            f"--loss={loss}",
            "--optimizer=sgd,lr=0.1",
            *flags,
        )
        (self.folder / "x.npy").write_bytes(npy(x, (len(x) // 3, 3)))
        (self.folder / "y.npy").write_bytes(y)
        return self.run_tool(
            "graph-run", "t.so", "--train", "--data", "x.npy,y.npy", *options
        )

    def test_logarithm_of_a_negative_number(self):
        self.write("log")
        numbers = [1.0] * 12
        numbers[7] = -1.0
        done = self.run_model(numbers, "--check-numerics")
        self.fails(done, "third", "gave NaN at [2, 1], the first of 1 among 12 numbers")
        self.fails(done, "all that it had read was finite")
        # One kernel for each node tells them apart.
        done = self.run_model(numbers, "--check-numerics", flags=["--no-fuse"])
        self.fails(done, "of the nodes 'third', gave NaN at [2, 1]")
        self.assertEqual(self.run_model(numbers).returncode, 0)

    def test_an_exponential_that_overflows(self):
        self.write("exp")
        numbers = [1.0] * 12
        numbers[0] = 89.0
        done = self.run_model(numbers, "--check-numerics", flags=["--no-fuse"])
        self.fails(done, "of the nodes 'third', gave infinity at [0, 0]")
        # The layer behind it multiplies infinity by 0.
        done = self.run_model(numbers, "--check-numerics=nan", flags=["--no-fuse"])
        self.fails(done, "of the nodes 'fourth', gave NaN at [0, 1]")
        self.fails(done, "nothing that it had read was NaN")

    def test_an_input(self):
        self.write("exp")
        numbers = [1.0] * 12
        numbers[4] = float("nan")
        done = self.run_model(numbers, "--check-numerics")
        self.fails(done, "'first", "it had read NaN at [1, 1]", "the input 'x'")

    def test_a_gradient(self):
        """The root of 0 is 0; its gradient is infinite."""
        self.write("sqrt")
        x, y = [1.0] * 12, npy([0.5] * 12, (4, 3))
        self.assertEqual(self.train_model("mse", x, y).returncode, 0)
        x[5] = 0.0
        for flags in ((), ("--no-fuse",)):
            done = self.train_model("mse", x, y, "--check-numerics", flags=flags)
            self.fails(
                done,
                "a number is not finite in step 1 of epoch 1; train_step: step ",
                "third",
                "at [1, 2]",
                "had read was finite",
            )
        # Without the check the loss shows it one step later.
        done = self.train_model("mse", x, y, "--epochs", 3)
        self.fails(done, "the loss is nan in step 1 of epoch 2; check the data")

    def test_columns_that_are_none(self):
        """Ten columns lie in panels of sixteen; 0/0 beside them is no number."""
        values = [((7 * i) % 11 - 5) / 10 for i in range(16 * 10)]
        weight = {"name": "w", "dtype": "f32", "shape": [16, 10], "data": values}
        model = {
            "tinh": 1,
            "name": "layer",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [8, 16]}],
            "weights": [weight],
            "nodes": [
                {"op": "matmul", "name": "only", "inputs": ["x", "w"], "outputs": ["y"]}
            ],
            "outputs": ["y"],
        }
        (self.folder / "model.json").write_text(json.dumps(model))
        x = npy([((5 * i) % 13 - 6) / 7 for i in range(8 * 16)], (8, 16))
        (self.folder / "x.npy").write_bytes(x)
        (self.folder / "y.npy").write_bytes(npy([9000.0] * 80, (8, 10)))

        def train(optimizer, *options):
            loss = "--loss=mse"
            self.compile("model.json", "t.so", "--train", loss, optimizer)
            data = ["--data", "x.npy,y.npy", "--epochs", 3, "--check-numerics"]
            return self.run_tool("graph-run", "t.so", "--train", *data, *options)

        done = train("--optimizer=adam,lr=0.01,eps=0")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = train("--optimizer=sgd,lr=3e38")
        self.fails(done, " among 160 numbers of its result 0", "the variable 'w', f32 [16, 10]")

    def train_classes(self, x, labels, *options):
        y = npy(labels, (8,), "<i8", "q")
        return self.train_model("cross_entropy", x, y, *options)

    def test_labels_out_of_range(self):
        x = [float(i % 5) for i in range(24)]
        labels = [0, 1, 2, 0, 1, 2, 0, 1]
        for name in ("x", "target"):  # The loss's own one is then target.1.
            self.write("relu")
            file = self.folder / "model.json"
            file.write_text(file.read_text().replace('"x"', f'"{name}"'))
            labels[6] = 0
            done = self.train_classes(x, labels, "--check-numerics")
            self.assertEqual(done.returncode, 0)
            for label in (3, -1):
                labels[6] = label
                message = (
                    f"in step 2 of epoch 1: the target of sample 6 is {label}, "
                    "which is wrong unless it is the loss's ignore_index: the "
                    "model has the classes 0 to 2; "
                )
                self.fails(self.train_classes(x, labels), "the loss is nan " + message)
                done = self.train_classes(x, labels, "--check-numerics")
                self.fails(done, "a number is not finite " + message, "gave NaN at [2]")

    def test_labels_that_are_ignored(self):
        self.write("relu")
        x = [float(i % 5) for i in range(24)]
        labels = [0, 1, 2, 0, -100, 2, 0, 1]
        self.assertEqual(self.train_classes(x, labels).returncode, 0)
        x[21] = float("nan")
        self.fails(
            self.train_classes(x, labels),
            "the loss is nan in step 2 of epoch 1; check the data",
        )


if __name__ == "__main__":
    tool_test.main()
