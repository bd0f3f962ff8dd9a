# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of the tools share: running them, and small models.

Each test has a folder of its own: for its files, for temporary files (TMPDIR)
and for the cache (XDG_CACHE_HOME). Needs Python's standard library alone.

usage: PYTHONPATH=tests/support python3 NAME_test.py BIN_DIR [unittest's options]
"""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

TOOLS = None  # The folder of the tools; main() sets it.

# For Open MPI's launcher: by root, without ssh, with more ranks than CPUs, as in
# containers.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def reset_signals():
    """What a shell in the background ignores, a tool must not inherit."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def has_unnamed_files(folder):
    """Whether files can be written there before they have a name."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        return False
    return True


class ToolTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="tinh-test-")
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name).resolve()
        self.folder = self.root / "work"
        self.temporary = self.root / "tmp"
        self.cache = self.root / "cache" / "tinh"
        self.folder.mkdir()
        self.temporary.mkdir()
        self.environment = dict(
            os.environ,
            TMPDIR=str(self.temporary),
            XDG_CACHE_HOME=str(self.cache.parent),
        )

    def start(self, tool, *arguments, **options):
        """The tool as a process, with pipes for what it prints."""
        options.setdefault("preexec_fn", reset_signals)
        options.setdefault("cwd", self.folder)
        options.setdefault("env", self.environment)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(
            [str(TOOLS / tool), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
            **options,
        )

    def run_tool(self, tool, *arguments, **options):
        """The finished process, with its output as stdout and stderr."""
        process = self.start(tool, *arguments, **options)
        process.stdout, process.stderr = process.communicate()
        return process

    def compile(self, model, output, *arguments, **options):
        """Compiles without complaint; gives what was printed."""
        done = self.run_tool(
            "graph-compile", model, "-o", output, *arguments, **options
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def fails(self, done, *parts):
        """`done` ended with exit code 1 and one error with all `parts`."""
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("error: ", done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def outputs(self, artifact):
        """The bytes of the output files of a run on seeded inputs."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        done = self.run_tool(
            "graph-run", artifact, "--input", "x=random", "--output-dir", folder
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def assertNoLeftovers(self, *expected):
        """The work folder holds `expected`, the temporary one nothing."""
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(names, sorted(expected))
        self.assertEqual(list(self.temporary.iterdir()), [])

    def write_model(self, name="model.json", width=48, layers=2):
        """Dense layers, whose weights @init packs; gives the path."""
        weights, nodes, tensor = [], [], "x"
        for layer in range(layers):
            rows = 64 if layer == 0 else width + layer - 1
            shape = [rows, width + layer]
            data = [(i * 7 + layer) % 13 - 6 for i in range(shape[0] * shape[1])]
            weights.append(
                {"name": f"w{layer}", "dtype": "f32", "shape": shape, "data": data}
            )
            for op, inputs in (("matmul", [tensor, f"w{layer}"]), ("relu", None)):
                output = f"{op}{layer}"
                nodes.append(
                    {"op": op, "inputs": inputs or [tensor], "outputs": [output]}
                )
                tensor = output
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [5, 64]}],
            "weights": weights,
            "nodes": nodes,
            "outputs": [tensor],
        }
        path = self.folder / name
        path.write_text(json.dumps(model))
        return path

    def write_large_model(self, name="large.json", side=4096):
        """One dense layer with side² weights: a file with a hole."""
        size = side * side * 4
        header = json.dumps(
            {"w": {"dtype": "F32", "shape": [side, side], "data_offsets": [0, size]}}
        ).encode()
        with open(self.folder / "large.weights", "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(8 + len(header) + size)
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [1, side]}],
            "weights": [{"name": "w", "file": "large.weights", "tensor": "w"}],
            "nodes": [{"op": "matmul", "inputs": ["x", "w"], "outputs": ["y"]}],
            "outputs": ["y"],
        }
        path = self.folder / name
        path.write_text(json.dumps(model))
        return path


def main():
    global TOOLS
    TOOLS = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(module="__main__", verbosity=2)
