# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The image classifiers of examples/ on ResNet-50 with seeded random weights.

usage: resnet50_test.py BIN_DIR BENCHMARKS_DIR

What classify and classify_stream print must be what NumPy finds in the outputs
that graph-run writes.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

BIN, BENCHMARKS = map(pathlib.Path, sys.argv[1:3])
sys.path.insert(0, str(BENCHMARKS))

import light_models  # noqa: E402, the path to it is an argument


def run(program, *arguments, expected=0):
    done = subprocess.run(
        [str(BIN / program), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == expected, (program, done.returncode, done.stderr)
    return done.stdout if expected == 0 else done.stderr


def compile_resnet50(folder):
    """ResNet-50 with its probabilities as the only output."""
    light_models.write_seeded("resnet50", folder, seed=1234)
    model = onnx.load(folder / "model.onnx")
    del model.graph.output[1:]
    onnx.save(model, folder / "model.onnx")
    run("graph-compile", folder / "model.onnx", "-o", folder / "model.so")
    return folder / "model.so"


class ResNet50(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.artifact = compile_resnet50(cls.folder)
        rng = np.random.default_rng(5)
        # More than the default of runs in flight. With random weights the best
        # class is often the same, but never its score.
        cls.images = [cls.image(i, rng) for i in range(6)]
        cls.scores = [cls.scores_of(image) for image in cls.images]
        assert len({f"{scores.max():g}" for scores in cls.scores}) == 6

    @classmethod
    def image(cls, index, rng):
        """Noise, raw for the examples and as .npy."""
        pixels = rng.standard_normal((1, 3, 224, 224)).astype(np.float32)
        path = cls.folder / f"image{index}.f32"
        pixels.tofile(path)
        np.save(path.with_suffix(".npy"), pixels)
        return path

    @classmethod
    def scores_of(cls, image):
        out = cls.folder / "outputs"
        source = f"gpu_0/data_0={image.with_suffix('.npy')}"
        run("graph-run", cls.artifact, "--input", source, "--output-dir", out)
        (written,) = out.iterdir()
        return np.load(written).ravel()

    def test_classify(self):
        for image, scores in zip(self.images[:2], self.scores):
            text = run("classify", self.artifact, image)
            places = re.findall(r"^(\d)\. class (\d+), score (\S+)$", text, re.M)
            self.assertEqual([place for place, _, _ in places], list("12345"))
            best = np.argsort(-scores, kind="stable")[:5]
            self.assertEqual([int(c) for _, c, _ in places], best.tolist())
            for _, number, score in places:
                self.assertEqual(score, f"{scores[int(number)]:g}")

    def test_classify_stream(self):
        text = run("classify_stream", self.artifact, *self.images)
        expected = [
            f"{image}: class {scores.argmax()}, score {scores.max():g}"
            for image, scores in zip(self.images, self.scores)
        ]
        self.assertEqual(text.splitlines(), expected)

    def test_errors(self):
        short = self.folder / "short.f32"
        short.write_bytes(self.images[0].read_bytes()[:-1])
        for program in ("classify", "classify_stream"):
            message = run(program, self.artifact, short, expected=1)
            self.assertEqual(
                message,
                f"{program}: error: cannot read {3 * 224 * 224 * 4} bytes of "
                f"{short}\n",
            )
            none = self.folder / "none.so"
            message = run(program, none, short, expected=1)
            self.assertEqual(
                message,
                f"{program}: error: cannot open the artifact '{none}': No such "
                "file or directory\n",
            )
            self.assertIn("usage", run(program, expected=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
