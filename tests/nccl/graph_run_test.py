"""graph-run trains an artifact that reduces on GPUs: one rank, as NCCL's look-alike
knows none of other processes.

usage: PYTHONPATH=tests/mpi graph_run_test.py BIN_DIR MPIRUN

Needs the standard library alone.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from files import npy

BIN_DIR, MPIRUN = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
MODEL = {
    "tinh": 1,
    "name": "line",
    "inputs": [{"name": "x", "dtype": "f32", "shape": [4, 2]}],
    "weights": [{"name": "w", "dtype": "f32", "shape": [2, 1], "data": 0.5}],
    "nodes": [{"op": "matmul", "inputs": ["x", "w"], "outputs": ["y"]}],
    "outputs": ["y"],
}


class GraphRun(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "model.json").write_text(json.dumps(MODEL))
        (self.folder / "x.npy").write_bytes(npy([1, 2] * 8, (8, 2)))
        (self.folder / "y.npy").write_bytes(npy([3] * 8, (8, 1)))

    def run_tool(self, *command):
        return subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )

    def test_loads_nccl_for_what_needs_it(self):
        options = ("--target=cuda", "--cuda-chips=emulated", "--data-parallel")
        train = ("--train", "--loss=mse", "--optimizer=sgd,lr=0.01")
        source = ("model.json", "-o", "step.so", "--collectives=nccl")
        tool = BIN_DIR / "graph-compile"
        done = self.run_tool(tool, *source, *options, *train)
        self.assertEqual(done.returncode, 0, done.stderr)
        run = (BIN_DIR / "graph-run", "step.so", "--train", "--data", "x.npy,y.npy")
        done = self.run_tool(MPIRUN, "-n", "1", *run, "--trace", "trace.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("epoch 1 of 1: loss ", done.stdout)
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        launches = [event for event in events if event["name"] == "launch"]
        self.assertIn(f"8 samples, {len(launches)} batches", done.stdout)
        # Nobody has started it as one of several ranks.
        done = self.run_tool(*run)
        self.assertEqual(done.returncode, 1)
        self.assertIn("its context needs collectives", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
