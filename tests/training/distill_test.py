# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model learns from the outputs of another one, beside its own loss.

usage: PYTHONPATH=tests/support python tests/training/distill_test.py BIN_DIR
           LIBRARY [unittest's options]
"""

import re
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool_test
from batch_norm_test import read_state

ROWS, DEPTH, HIDDEN, CLASSES = 6, 10, 300, 4
LR, TEMPERATURE, WEIGHT = 0.5, 3.0, 0.25


def write(path, nodes, weights, inputs, outputs, **options):
    info = lambda tensors: [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in tensors.items()
    ]
    constants = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    graph = helper.make_graph(nodes, "main", info(inputs), info(outputs), constants)
    opset = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=10)
    onnx.save(model, path, **options)


def logarithms(logits):
    logits = logits.astype(np.float64)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


class DistillTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(7)
        draw = lambda *shape: random.normal(0, 0.5, shape).astype(np.float32)
        self.x, self.w = draw(ROWS, DEPTH), draw(DEPTH, CLASSES)
        self.labels = random.integers(0, CLASSES, ROWS)
        np.save(self.folder / "x.npy", self.x)
        np.save(self.folder / "y.npy", self.labels)
        self.hidden, self.last = draw(DEPTH, HIDDEN), draw(HIDDEN, CLASSES) / 4
        self.write_student()
        (self.folder / "other").mkdir()
        self.write_teacher()

    def write_student(self, name="x"):
        write(
            self.folder / "student.onnx",
            [helper.make_node("MatMul", [name, "w"], ["scores"])],
            {"w": self.w},
            {name: [ROWS, DEPTH]},
            {"scores": [ROWS, CLASSES]},
        )

    def write_teacher(self, name="x", inputs=None, rows=ROWS, hidden="hidden"):
        """In a folder of its own, with its weights in a file beside it."""
        write(
            self.folder / "other" / "teacher.onnx",
            [
                helper.make_node("MatMul", [name, "hidden"], ["h"]),
                helper.make_node("Tanh", ["h"], ["t"]),
                helper.make_node("MatMul", ["t", "last"], ["logits"]),
            ],
            {"hidden": self.hidden, "last": self.last},
            inputs or {name: [rows, DEPTH]},
            {"logits": [rows, self.last.shape[1]]},
            save_as_external_data=True,
            location="teacher.data",
            size_threshold=0,
        )

    def compile_step(self, *options, distill="other/teacher.onnx", run=None):
        return (run or self.run_tool)(
            *("graph-compile", "student.onnx", "-o", "step.so", "--train"),
            *("--loss=cross_entropy", f"--optimizer=sgd,lr={LR}"),
            *(f"--distill={distill}", *options),
        )

    def loss(self, w):
        taught = np.tanh(self.x.astype(np.float64) @ self.hidden) @ self.last
        scores = self.x.astype(np.float64) @ w
        own = -logarithms(scores)[np.arange(ROWS), self.labels].mean()
        p, q = logarithms(taught / TEMPERATURE), logarithms(scores / TEMPERATURE)
        divergence = (np.exp(p) * (p - q)).sum(1).mean() * TEMPERATURE**2
        return (1 - WEIGHT) * own + WEIGHT * divergence

    def slope(self):
        """By differences."""
        gradient = np.zeros(self.w.shape)
        for at in np.ndindex(*self.w.shape):
            step = np.zeros(self.w.shape)
            step[at] = 1e-5
            gradient[at] = self.loss(self.w + step) - self.loss(self.w - step)
        return gradient / 2e-5

    def test_loss_and_gradient(self):
        distill = f"other/teacher.onnx,temperature={TEMPERATURE},weight={WEIGHT}"
        for name in ("x", "image"):  # The only input is the only input.
            self.write_teacher(name)
            done = self.compile_step(distill=distill)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = self.run_tool(
                *("graph-run", "step.so", "--train", "--data", "x.npy,y.npy"),
                *("--epochs", "1", "--checkpoint", "state.safetensors"),
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            found = float(re.search(r"loss ([\d.]+)", done.stdout)[1])
            self.assertAlmostEqual(found, self.loss(self.w), places=4)
            state = read_state(self.folder / "state.safetensors")
            self.assertEqual(set(state), {"w", "optimizer.lr", "optimizer.step"})
            moved = (self.w - state["w"].reshape(self.w.shape)) / LR
            np.testing.assert_allclose(moved, self.slope(), atol=1e-5)

    def test_scaled_loss(self):
        """In f16 both parts of the loss are scaled alike; the teacher is f32."""
        distill = f"other/teacher.onnx,temperature={TEMPERATURE},weight={WEIGHT}"
        done = self.compile_step("--precision=f16", distill=distill)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_tool(
            *("graph-run", "step.so", "--train", "--data", "x.npy,y.npy"),
            *("--epochs", "1", "--checkpoint", "state.safetensors"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        state = read_state(self.folder / "state.safetensors")
        self.assertEqual(state["optimizer.step"], 1)
        moved = (self.w - state["w"].reshape(self.w.shape)) / LR
        np.testing.assert_allclose(moved, self.slope(), atol=1e-3)

    def test_evaluates_without_the_teacher(self):
        self.assertEqual(self.compile_step().returncode, 0)
        done = self.compile_step("--emit=differentiated")
        functions = (self.folder / "step.so").read_text().split("func.func")
        products = {
            re.match(r" @(\w+)", text)[1]: text.count("graph.matmul")
            for text in functions[1:]
        }
        self.assertEqual(products["evaluate"], 1)
        self.assertEqual(products["predict"], 1)
        self.assertEqual(products["train_step"], 4)

    def refuses(self, *parts, **options):
        done = self.compile_step(**options)
        self.fails(done, *parts)
        self.assertNotIn("internal error", done.stderr)

    def test_what_does_not_fit(self):
        self.write_teacher(rows=ROWS + 1)
        self.refuses('the teacher takes "x" as', "7x10", "6x10", "one batch size")
        self.write_teacher("image", {"image": [ROWS, DEPTH], "mask": [ROWS]})
        self.refuses('the teacher takes "image"', "the model has no such input")
        self.last = self.last[:, :3]
        self.write_teacher()
        self.refuses("the teacher's first output is", "6x3", "6x4")

    def test_options(self):
        teacher = "other/teacher.onnx"
        self.refuses("cannot read the file", distill="absent.onnx")
        self.refuses("it has temperature, weight", distill=f"{teacher},t=2")
        for value in ("0", "-1", "inf"):
            wrong = f"{teacher},temperature={value}"
            found = f"teacher's temperature is {value.upper()}"
            self.refuses(found, "it must be a number above 0", distill=wrong)
        self.refuses("must be above 0 and at most 1", distill=f"{teacher},weight=2")
        done = self.run_tool(
            "graph-compile", "student.onnx", f"--distill={teacher}", "-o", "m.so"
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("are about --train", done.stderr)


if __name__ == "__main__":
    sys.argv.pop(2)  # The runtime's library.
    tool_test.main()
