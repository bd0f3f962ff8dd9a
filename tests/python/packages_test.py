"""The packages as they are installed: tools, and the runtime alone."""

import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import tinh

from models import expected_two_layer, graph, two_layer

TOOLS = ["compare", "compile", "prune", "quantize", "reduce", "run"]


def python(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True
    )


class PackagesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_tools(self):
        for tool in TOOLS:
            help = python("-m", "tinh", f"graph-{tool}", "--help")
            self.assertEqual(help.returncode, 0, help.stderr)
            self.assertIn(f"graph-{tool}", help.stdout)
            script = pathlib.Path(sys.executable).parent / f"graph-{tool}"
            self.assertTrue(script.exists(), script)
        unknown = python("-m", "tinh", "graph-paint")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("no tool 'graph-paint'", unknown.stderr)
        self.assertIn("graph-compile", python("-m", "tinh", "--help").stdout)

    def test_types_are_there(self):
        for stub, text in [
            ("tinh/_tinh/__init__.pyi", "def requires_grad_(self"),
            ("tinh/_tinh/nn/__init__.pyi", "-> tinh._tinh.Tensor"),
            ("tinh_runtime/_runtime.pyi", "class Model"),
        ]:
            folder = pathlib.Path(tinh.__file__).parent.parent
            self.assertIn(text, (folder / stub).read_text())
            self.assertTrue((folder / stub.split("/")[0] / "py.typed").exists())

    def test_a_model_by_the_tools(self):
        model, artifact = self.folder / "model.json", self.folder / "model.so"
        nodes = [("add", "xx", "y", {})]
        model.write_text(json.dumps(graph({"x": ("f32", [3])}, nodes, ["y"])))
        made = python("-m", "tinh", "graph-compile", model, "-o", artifact)
        self.assertEqual(made.returncode, 0, made.stderr)
        np.save(self.folder / "x.npy", np.array([1, 2, 3], "f4"))
        x = f"x={self.folder / 'x.npy'}"
        run = python(
            "-m", "tinh", "graph-run", artifact, "--input", x, "--output-dir",
            self.folder,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(np.load(self.folder / "y.npy").tolist(), [2, 4, 6])
        missing = self.folder / "no.onnx"
        wrong = python("-m", "tinh", "graph-compile", missing, "-o", artifact)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("no.onnx", wrong.stderr)

    def test_the_runtime_alone(self):
        model, memory = two_layer()
        artifact = self.folder / "model.so"
        tinh.compile(model, memory=memory).save(artifact)
        x = np.ones((4, 8), "f4")
        np.save(self.folder / "x.npy", x)
        program = (
            "import sys, numpy as np, tinh_runtime\n"
            "assert 'tinh' not in sys.modules\n"
            "f = tinh_runtime.load(sys.argv[1], threads=1)\n"
            "x = np.load(sys.argv[2])\n"
            "y = f(x)\n"
            "assert np.array_equal(f.submit(x).result(), y)\n"
            "print(y.tolist())\n"
            "try: f(x[:1])\n"
            "except ValueError as error: print(error)\n"
            "try: tinh_runtime.load(sys.argv[2])\n"
            "except tinh_runtime.Error as error: print(error.status)\n"
        )
        run = python("-c", program, artifact, self.folder / "x.npy")
        self.assertEqual(run.returncode, 0, run.stderr)
        y, shape, status = run.stdout.splitlines()
        expected = expected_two_layer(x, memory)
        np.testing.assert_allclose(json.loads(y), expected, rtol=1e-5)
        self.assertIn("expected shape [4, 8], found [1, 8]", shape)
        self.assertEqual(status, "TINH_INVALID_ARTIFACT")

    def test_the_library_for_gpus_lies_beside(self):
        folder = pathlib.Path(tinh.__file__).parent.parent
        for package in ("tinh", "tinh_runtime"):
            (library,) = (folder / package).glob("libtinh_cuda.so.*")
            self.assertFalse(ctypes.CDLL(str(library)).tinh_device_api(b"0.0"))

    def test_both_in_one_process(self):
        import tinh_runtime

        model, memory = two_layer()
        artifact = self.folder / "model.so"
        f = tinh.compile(model, memory=memory)
        f.save(artifact)
        g = tinh_runtime.load(str(artifact))
        x = np.ones((4, 8), "f4")
        self.assertEqual(f(x).tolist(), g(x).tolist())


if __name__ == "__main__":
    unittest.main()
