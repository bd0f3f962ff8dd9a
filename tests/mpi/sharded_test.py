"""Training whose optimizer's state is divided among ranks, by compiled artifacts.

usage: sharded_test.py BIN_DIR MPIRUN

Needs the standard library alone. The parameters have 30 and 15 numbers, so that the
last ranks' parts are filled up.
"""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

from files import floats, npy, read_state, safetensors

BIN_DIR, MPIRUN = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
BATCH, SAMPLES = 16, 80


class Sharded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)
        numbers = random.Random(1)

        def normal(count):
            return [numbers.gauss(0, 1) for _ in range(count)]

        weights = safetensors(w1=([6, 5], normal(30)), w2=([5, 3], normal(15)))
        (cls.folder / "weights.safetensors").write_bytes(weights)
        (cls.folder / "x.npy").write_bytes(npy(normal(SAMPLES * 6), (SAMPLES, 6)))
        (cls.folder / "y.npy").write_bytes(npy(normal(SAMPLES * 3), (SAMPLES, 3)))
        cls.compile(1)
        for ranks in (2, 4):
            cls.compile(ranks, "--data-parallel", f"--shard-optimizer={ranks}")

    @classmethod
    def compile(cls, ranks, *options, name=None):
        """The artifact for this many ranks: their batches are BATCH samples."""
        name = name or str(ranks)
        source = {"file": "weights.safetensors"}
        model = {
            "tinh": 1,
            "name": "model",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [BATCH // ranks, 6]}],
            "weights": [{"name": w, "tensor": w, **source} for w in ("w1", "w2")],
            "nodes": [
                {"op": "matmul", "inputs": ["x", "w1"], "outputs": ["h"]},
                {"op": "relu", "inputs": ["h"], "outputs": ["a"]},
                {"op": "matmul", "inputs": ["a", "w2"], "outputs": ["y"]},
            ],
            "outputs": ["y"],
        }
        (cls.folder / f"{name}.json").write_text(json.dumps(model))
        train = ["--train", "--loss=mse"]
        if not any(option.startswith("--optimizer") for option in options):
            train.append("--optimizer=nadam,lr=0.01")
        command = [BIN_DIR / "graph-compile", f"{name}.json", "-o", f"{name}.so"]
        done = subprocess.run(
            [*command, *train, *options],
            cwd=cls.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def train(self, ranks, *arguments, name=None):
        """The losses of the epochs, as text."""
        launcher = [MPIRUN, "-n", str(ranks)] if ranks > 1 else []
        command = [*launcher, BIN_DIR / "graph-run", f"{name or ranks}.so", "--train"]
        command += ["--data", "x.npy,y.npy", "--shuffle", "5", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.findall(r"^epoch \d+ of \d+: loss (\S+)", done.stdout, re.M)

    def state(self, name):
        return read_state(self.folder / name)

    def test_checkpoints_are_whole(self):
        """They have all of the state, and go on on any number of ranks."""
        whole = self.train(1, "--epochs", 3, "--checkpoint", "1.whole")
        _, expected = self.state("1.whole")
        self.assertEqual(expected["optimizer.w1.exp_avg"][0], [6, 5])
        for ranks in (2, 4):
            name = f"{ranks}.whole"
            self.assertEqual(
                self.train(ranks, "--epochs", 3, "--checkpoint", name), whole
            )
            first = f"{ranks}.first"
            losses = self.train(ranks, "--epochs", 1, "--checkpoint", first)
            data = (self.folder / first).read_bytes()
            for others in (1, 2, 4):
                (self.folder / first).write_bytes(data)
                options = ("--epochs", 3, "--checkpoint", first, "--resume")
                self.assertEqual(losses + self.train(others, *options), whole)
                _, found = self.state(first)
                self.assertEqual(found.keys(), expected.keys())
                for key, (shape, values) in found.items():
                    self.assertEqual(shape, expected[key][0])
                    pairs = zip(floats(values), floats(expected[key][1]), strict=True)
                    for a, b in pairs:
                        self.assertAlmostEqual(a, b, delta=1e-5)
                if others == ranks:  # To the bit.
                    self.assertEqual(self.state(first), self.state(name))

    def test_clipped_gradients(self):
        """By the norm of the mean of all ranks' gradients."""
        clip, sgd = "--clip-grad-norm=0.5", "--optimizer=sgd,lr=0.1"
        self.compile(1, clip, sgd, name="clipped")
        whole = self.train(1, "--epochs", 3, name="clipped")
        for options in ((), ("--shard-optimizer=2",)):
            name = f"clipped{len(options)}"
            self.compile(2, "--data-parallel", *options, clip, sgd, name=name)
            self.assertEqual(self.train(2, "--epochs", 3, name=name), whole)

    def test_other_numbers_of_ranks(self):
        command = [BIN_DIR / "graph-run", "2.so", "--train", "--data", "x.npy,y.npy"]
        for launcher, found in (([], "is 1"), ([MPIRUN, "-n", "3"], "are 3")):
            done = subprocess.run(
                [*launcher, *command],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn(
                f"'train_step' was compiled for 2 ranks, and there {found}; start it by "
                "mpirun -n 2",
                done.stderr,
            )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
