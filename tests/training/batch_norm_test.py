# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The momentum of a batch norm, from the model's file to the running statistics.

usage: PYTHONPATH=tests/support python3 tests/training/batch_norm_test.py BIN_DIR
       RUNTIME
"""

import json
import sys

import numpy as np
import onnx
import tool_test

N, CHANNELS = 6, 4


def read_state(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], np.float32)
    return tensors


class BatchNormTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        self.x = random.normal(1, 2, (2 * N, CHANNELS)).astype(np.float32)
        np.save(self.folder / "x.npy", self.x)
        np.save(self.folder / "y.npy", np.zeros_like(self.x))
        self.mean = random.normal(size=CHANNELS).astype(np.float32)
        self.variance = random.uniform(1, 2, CHANNELS).astype(np.float32)

    def write_onnx(self, **attributes):
        names = ("scale", "shift", "mean", "variance")
        values = (np.ones(CHANNELS), np.zeros(CHANNELS), self.mean, self.variance)
        tensor = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(
            [
                onnx.helper.make_node(
                    "BatchNormalization", ["x", *names], ["y"], "norm", **attributes
                )
            ],
            "norm",
            [tensor("x", onnx.TensorProto.FLOAT, [N, CHANNELS])],
            [tensor("y", onnx.TensorProto.FLOAT, [N, CHANNELS])],
            [
                onnx.numpy_helper.from_array(value.astype(np.float32), name)
                for name, value in zip(names, values)
            ],
        )
        opset = onnx.helper.make_opsetid("", 15)
        model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8)
        onnx.save(model, self.folder / "model.onnx")

    def write_json(self, **attributes):
        vector = {"dtype": "f32", "shape": [CHANNELS]}
        values = {
            "scale": [1] * CHANNELS,
            "shift": [0] * CHANNELS,
            "mean": self.mean.tolist(),
            "variance": self.variance.tolist(),
        }
        model = {
            "tinh": 1,
            "name": "norm",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [N, CHANNELS]}],
            "weights": [{"name": k, "data": v, **vector} for k, v in values.items()],
            "nodes": [
                {
                    "op": "batch_norm",
                    "inputs": ["x", *values],
                    "outputs": ["y"],
                    "attributes": attributes,
                }
            ],
            "outputs": ["y"],
        }
        (self.folder / "model.json").write_text(json.dumps(model))

    def train(self, model):
        """An epoch of two steps; the statistics then."""
        self.compile(model, "t.so", "--train", "--loss=mse", "--optimizer=sgd,lr=0")
        done = self.run_tool(
            "graph-run", "t.so", "--train", "--data", "x.npy,y.npy",
            "--save-state", "state",
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return read_state(self.folder / "state")

    def expect(self, state, momentum):
        mean, variance = self.mean.astype(float), self.variance.astype(float)
        for batch in (self.x[:N], self.x[N:]):
            mean = momentum * mean + (1 - momentum) * batch.mean(0)
            now = batch.astype(float).var(0, ddof=1)
            variance = momentum * variance + (1 - momentum) * now
        np.testing.assert_allclose(state["mean"], mean, rtol=2e-6)
        np.testing.assert_allclose(state["variance"], variance, rtol=2e-6)

    def test_onnx(self):
        self.write_onnx(momentum=0.7)
        self.expect(self.train("model.onnx"), 0.7)
        self.write_onnx()
        self.expect(self.train("model.onnx"), 0.9)
        self.write_onnx(momentum=1.0, epsilon=0.001)
        self.expect(self.train("model.onnx"), 1)

    def test_json(self):
        self.write_json(momentum=0.25)
        self.expect(self.train("model.json"), 0.25)
        self.write_json()
        self.expect(self.train("model.json"), 0.9)

    def test_other_files(self):
        """It goes through IR, JSON and ONNX."""
        self.write_onnx(momentum=0.6)
        self.compile("model.onnx", "model.mlir", "--emit=graph")
        self.assertIn("momentum 6.0", (self.folder / "model.mlir").read_text())
        self.expect(self.train("model.mlir"), 0.6)
        self.compile("model.mlir", "again.onnx", "--emit=onnx")
        self.expect(self.train("again.onnx"), 0.6)
        self.compile("model.onnx", "again.json", "--emit=json")
        self.expect(self.train("again.json"), 0.6)
        self.write_onnx()
        self.compile("model.onnx", "model.mlir", "--emit=graph")
        self.assertNotIn("momentum", (self.folder / "model.mlir").read_text())

    def test_what_is_no_momentum(self):
        self.write_json(momentum=1.5)
        done = self.run_tool(
            "graph-compile", "model.json", "--train", "--loss=mse",
            "--optimizer=sgd", "-o", "t.so",
        )  # fmt: skip
        self.fails(done, "momentum of a batch norm must be between 0 and 1", "1.5")
        self.compile("model.json", "m.so")  # Without training it does not matter.


if __name__ == "__main__":
    sys.argv.pop()  # The runtime's library, which other tests load.
    tool_test.main()
