# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of examples/digits/README.md.

usage: digits_test.py BIN EXAMPLES DIGITS.safetensors
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BIN, EXAMPLES, DIGITS = (pathlib.Path(argument) for argument in sys.argv[1:4])


def run(*command):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def compile(out, kind=""):
    """What classifies one image, and what trains on batches."""
    model, step = out / "digits.so", out / "step.so"
    run(BIN / "graph-compile", out / f"digits{kind}.onnx", "--loadable-weights",
        "-o", model)  # fmt: skip
    run(BIN / "graph-compile", out / f"digits64{kind}.onnx", "--train",
        "--loss=cross_entropy", "--optimizer=adam,lr=0.002", "-o", step)  # fmt: skip
    return model, step


def hits(model, data, *weights):
    said = run(EXAMPLES / "classify_digits", model, data, *weights)
    return int(said.split()[0])


def compressed_forms(table):
    """By form: accuracy, bytes of weights, bytes of the arena."""
    rows = re.findall(
        r"^(.*\S) +([\d.]+) +[\d.]+ +([\d,]+) +([\d,]+) +[\d.]+$", table, re.M
    )
    number = lambda text: float(text.replace(",", ""))
    return {form: tuple(map(number, row)) for form, *row in rows}


class DigitsTest(unittest.TestCase):
    def test_trains_compiles_classifies_and_trains_on(self):
        with tempfile.TemporaryDirectory() as name:
            out = pathlib.Path(name)
            log = run(EXAMPLES / "digits_train", DIGITS, out)
            accuracy = float(re.search(r"test accuracy (\S+)", log)[1])
            self.assertGreaterEqual(accuracy, 0.98)
            self.assertEqual(len((out / "log.csv").read_text().splitlines()), 31)

            model, step = compile(out)
            data, state = out / "inverted.safetensors", out / "state.safetensors"
            self.assertLess(hits(model, data), 900)
            run(EXAMPLES / "train_more", step, data, state)
            self.assertGreater(hits(model, data, state), 1750)
            self.becomes_int8(out)
            self.is_compressed(out)

    def becomes_int8(self, out):
        said = run(sys.executable, "-B", DIGITS.parent / "int8.py", BIN, out)
        rows = re.findall(r"^(\S.*\S) +([\d.]+) +([\d.]+) +([\d,]+)$", said, re.M)
        accuracy = {name: float(percent) for name, percent, _, _ in rows}
        size = {name: int(bytes.replace(",", "")) for name, _, _, bytes in rows}
        self.assertEqual(len(rows), 5, said)
        lost = accuracy["f32"] - accuracy["int8 after training"]
        self.assertLessEqual(lost, 0.3, said)
        for name in list(accuracy)[2:]:
            self.assertGreaterEqual(accuracy[name], accuracy["f32"], said)
            self.assertLess(size[name], 0.3 * size["f32"], said)

    def is_compressed(self, out):
        """Experiment 11 of docs/static-vs-dynamic.md, in short, but for times."""
        program = DIGITS.parent.parent / "static-vs-dynamic" / "compress.py"
        said = run(sys.executable, "-B", program, BIN, out, "--small")
        digits, resnet = re.split(r"^.* accuracy .*\n", said, flags=re.M)[1:]
        for table, least in ((digits, 98.8), (resnet, 96)):
            forms = compressed_forms(table)
            self.assertEqual(len(forms), 7, said)
            self.check_accuracies({f: row[0] for f, row in forms.items()}, least, said)
            self.check_bytes({f: row[1:] for f, row in forms.items()}, said)

    def check_accuracies(self, accuracy, least, said):
        untrained = accuracy.pop("pruned")
        if untrained < accuracy["f32"] - 1:  # Else there is little to win back.
            self.assertGreater(accuracy["pruned, fine-tuned"], untrained, said)
        self.assertGreaterEqual(accuracy["f32"], least, said)
        for percent in accuracy.values():
            self.assertGreater(percent, accuracy["f32"] - 5, said)

    def check_bytes(self, sizes, said):
        """Of weights and arenas, beside those of f32."""
        weights, arena = (sizes["bf16"][i] / sizes["f32"][i] for i in range(2))
        self.assertLess(weights, 0.52, said)
        self.assertTrue(arena < 0.52 or arena == 1, said)  # Not if f32 is computed.
        pairs = (("int8", "f32", 0.27), ("pruned", "f32", 0.8),
                 ("pruned, fine-tuned, int8", "pruned", 0.27))  # fmt: skip
        for smaller, larger, share in pairs:
            for few, many in zip(sizes[smaller], sizes[larger], strict=True):
                self.assertLess(few, share * many, said)

    def test_trains_what_is_pruned(self):
        """A quarter of the multiplications is left; batches of one and of 64 are
        cut alike, so that one reads what the other has learnt."""
        with tempfile.TemporaryDirectory() as name:
            out = pathlib.Path(name)
            run(EXAMPLES / "digits_train", DIGITS, out, 10)
            for batch in ("digits", "digits64"):
                run(BIN / "graph-prune", out / f"{batch}.onnx", "--max-macs=0.25",
                    "--multiple=4", "-o", out / f"{batch}-pruned.onnx")  # fmt: skip
            model, step = compile(out, "-pruned")
            data, state = out / "inverted.safetensors", out / "state.safetensors"
            self.assertLess(hits(model, data), 900)
            run(EXAMPLES / "train_more", step, data, state)
            self.assertGreater(hits(model, data, state), 1750)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
