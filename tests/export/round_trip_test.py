#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models exported and imported again: the same IR, or the same numbers.

usage: PYTHONPATH=tests/end-to-end round_trip_test.py BIN_DIR SOURCE_DIR

The models of examples/json and ResNet-50 as the onnx package ships it become the
same normalised IR by way of JSON and of ONNX, and the cases of op_cases by way of
JSON. Random graphs, whose large constants are folded only where they lie in the
IR, and some of whose ops are composites in ONNX, are compared by what they
compute. Exporting a model twice gives the same file, byte by byte.
"""

import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

BIN, SOURCE = map(pathlib.Path, sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "benchmarks"))

import light_models  # noqa: E402, the path to it is an argument
from op_cases import CASES  # noqa: E402
from run_op_cases import make_model  # noqa: E402

FORMATS = ("json", "onnx")
SEEDS = range(6)

# The largest difference, as a part of the largest element, by the coarsest type
# in a graph.
TOLERANCES = {"bf16": 5e-2, "f16": 1e-2, "f32": 1e-4, "f64": 1e-9}


# What random graphs draw that ONNX has no counterpart of.
NOT_IN_ONNX = ("graph.conv_weight_gradient", "graph.max_pool_gradient")


def run(tool, *arguments):
    command = [str(BIN / tool), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stderr[:4000]}"
    return done.stdout


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def normalised(model):
    """The normalised IR: values numbered anew, constants in place and weights in
    files by what they are, not by where."""
    path = model.with_suffix(".normalised.mlir")
    run("graph-compile", model, "--emit=normalised", "-o", path)
    text = re.sub(r'graph.model = "[^"]*"', "", run("graph-opt", path))

    def contents(match):
        with open(model.parent / match[1], "rb") as file:
            file.seek(int(match[2]))
            return f"#bytes<{digest(file.read(int(match[3])))}>"

    text = re.sub(r'#graph.external<"([^"]+)", (\d+), (\d+)>', contents, text)
    elements = lambda match: f"#bytes<{digest(bytes.fromhex(match[1]))}>"
    text = re.sub(r'dense<"0x(\w+)">', elements, text)
    names, lines = {}, []
    for line in text.splitlines():
        constant = re.match(r"\s*(%\w+) = graph\.constant (.*)", line)
        if constant:
            names[constant[1]] = f"#{digest(constant[2].encode())}"
            continue
        if value := re.match(r"\s*(%\w+) = ", line):
            names[value[1]] = f"%{len(lines)}"
        lines.append(re.sub(r"%\w+", lambda m: names.get(m[0], m[0]), line))
    return "\n".join(lines)


def export(model, kind, name="exported"):
    folder = model.parent / kind
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.{kind}"
    run("graph-compile", model, f"--emit={kind}", "-o", path)
    return path


def outputs(model, folder):
    """What a model makes of seeded random inputs, on one thread."""
    artifact = folder / "model.so"
    run("graph-compile", model, "-o", artifact)
    names = re.findall(r'graph\.name = "(x\d+)"', (folder / "model.mlir").read_text())
    inputs = [option for name in names for option in ("--input", f"{name}=random")]
    out = folder / f"{model.stem}-outputs"
    run("graph-run", artifact, *inputs, "--threads", "1", "--output-dir", out)
    return {path.name: np.load(path) for path in sorted(out.iterdir())}


def numbers(array):
    """bf16, which NumPy does not have, is written as bytes."""
    if array.dtype.kind == "V":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


def difference(a, b):
    """As a part of the largest number; NaN and infinities must be the same."""
    a, b = numbers(a), numbers(b)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0
    return np.abs(a - b)[finite].max() / max(np.abs(a[finite]).max(), 1)


class RoundTrip(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def check_same(self, model, formats=FORMATS):
        """The same IR by way of each format; the same file when done again."""
        expected = normalised(model)
        for kind in formats:
            with self.subTest(model=model.name, format=kind):
                exported = export(model, kind)
                self.assertEqual(normalised(exported), expected)
                once = exported.read_bytes()
                self.assertEqual(export(model, kind).read_bytes(), once)

    def random_graph(self, seed):
        path = self.folder / "model.mlir"
        text = run("random-graphs", "--first", seed, "--count", 1, "--print")
        path.write_text(text[text.index("module") : text.rindex("}") + 1])
        return path

    def test_examples(self):
        make = SOURCE / "examples/json/make_weights.py"
        subprocess.run([sys.executable, make, self.folder], check=True)
        xor = self.folder / "xor.json"
        xor.write_bytes((SOURCE / "examples/json/xor.json").read_bytes())
        for name in ("xor", "two_layer", "mlp"):
            self.check_same(self.folder / f"{name}.json")

    def test_resnet50(self):
        light_models.write_plain("resnet50", self.folder)
        self.check_same(self.folder / "model.onnx")

    def test_ops(self):
        """All ops there are, which JSON graphs hold one to one."""
        model = self.folder / "model.mlir"
        model.write_text(make_model(CASES)[0])
        self.check_same(model, ["json"])

    def test_random_graphs(self):
        for seed in SEEDS:
            model = self.random_graph(seed)
            text = model.read_text()
            coarsest = next(t for t in TOLERANCES if f"x{t}>" in text)
            expected = outputs(model, self.folder)
            for kind in FORMATS:
                if kind == "onnx" and any(op in text for op in NOT_IN_ONNX):
                    continue  # Refused: export.ops has the message.
                exported = export(model, kind)
                for name, found in outputs(exported, self.folder).items():
                    with self.subTest(seed=seed, format=kind, output=name):
                        self.assertLessEqual(
                            difference(found, expected[name]), TOLERANCES[coarsest]
                        )


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
