# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are not what a tool reads: what they are is said, and what to do.

Neither what has no end nor what never begins keeps a tool waiting.
"""

import io
import json
import os
import pickle
import socket
import struct
import zipfile

import tool_test
from tool_test import ToolTest

SECONDS = 20  # None of this takes one.


class WrongFiles(ToolTest):
    def ends(self, tool, *arguments):
        """The finished process, which had little time."""
        process = self.start(tool, *arguments)
        self.addCleanup(process.kill)
        process.stdout, process.stderr = process.communicate(timeout=SECONDS)
        return process


class NoRegularFiles(WrongFiles):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.folder / "pipe")
        (self.folder / "folder").mkdir()
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(os.path.relpath(self.folder / "socket"))

    def test_models(self):
        for name, words in {
            "/dev/zero": "it is not a regular file but a device",
            "pipe": "it is not a regular file but a pipe",
            "folder": "it is a directory",
            "socket": "it is not a regular file but a socket",
        }.items():
            for tool, output in {
                "graph-compile": ["-o", "m.so"],
                "graph-compare": [],
            }.items():
                with self.subTest(tool=tool, name=name):
                    done = self.ends(tool, name, *output)
                    self.assertEqual(done.returncode, 1)
                    self.assertEqual(
                        done.stderr, f"{name}: error: cannot read the file: {words}\n"
                    )
        os.rename(self.folder / "pipe", self.folder / "pipe.mlir")
        done = self.ends("graph-compile", "pipe.mlir", "-o", "m.so")
        self.fails(done, "cannot read the file: it is not a regular file but a pipe")

    def test_other_files(self):
        model = self.write_model(layers=1)
        self.compile(model, "m.so")
        self.compile(model, "t.so", "--train", "--loss=mse", "--optimizer=sgd")
        for tool, *arguments in (
            ("graph-compile", model, "-o", "a.so", "--load-weights", "pipe"),
            ("graph-compile", model, "-o", "a.so", "--plans", "pipe"),
            ("graph-run", "pipe"),
            ("graph-run", "m.so", "--input", "x=pipe"),
            ("graph-run", "m.so", "--input", "x=/dev/zero"),
            ("graph-run", "m.so", "--inputs", "pipe"),
            ("graph-run", "t.so", "--train", "--data", "pipe,pipe"),
            ("graph-run", "m.so", "--profile=p.html", "--report", "pipe"),
        ):
            with self.subTest(" ".join(map(str, (tool, *arguments)))):
                self.fails(self.ends(tool, *arguments), "it is not a regular file")

    def test_external_constants(self):
        (self.folder / "m.mlir").write_text(
            """func.func @main(%x: tensor<64x64xf32> {graph.name = "x"})
                -> (tensor<64x64xf32> {graph.name = "y"}) {
              %w = graph.constant #graph.external<"pipe", 0, 16384> : tensor<64x64xf32>
              %y = graph.add %x, %w : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
              return %y : tensor<64x64xf32>
            }"""
        )
        done = self.ends("graph-compile", "m.mlir", "-o", "m.so")
        self.fails(done, "pipe': it is not a regular file but a pipe")

    def test_cache_entries(self):
        model = self.write_model(layers=1)
        self.compile(model, "a.so")
        entries = [x for x in self.cache.iterdir() if x.suffix != ".timestamp"]
        for entry in entries:
            entry.unlink()
            os.mkfifo(entry)
        done = self.ends("graph-compile", model, "-o", "b.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            (self.folder / "a.so").read_bytes(), (self.folder / "b.so").read_bytes()
        )


class OtherKinds(WrongFiles):
    def check(self, content, *parts, name="m.onnx"):
        (self.folder / name).write_bytes(content)
        done = self.ends("graph-compile", name, "-o", "m.so")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith(f"{name}: error: it "), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def zip(self, *names):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in names:
                archive.writestr(name, b"content")
        return buffer.getvalue()

    def test_pytorch(self):
        words = "a file of PyTorch's, which has weights", "torch.onnx.export"
        for name in ("m.pt", "m.pth", "m.onnx", "m.json", "m.mlir"):
            self.check(self.zip("m/data.pkl", "m/data/0"), *words, name=name)
        self.check(pickle.dumps({}, protocol=2), *words)

    def test_weights_and_arrays(self):
        header = json.dumps({"w": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}})
        self.check(
            struct.pack("<Q", len(header)) + header.encode() + b"\0" * 4,
            "weights (safetensors) and no graph", "--load-weights",
        )
        self.check(b"\x93NUMPY\x01\0", "an array of NumPy's", "graph-run")
        self.check(self.zip("x.npy"), "a file of NumPy's arrays (.npz)")
        self.check(b"GGUF\3\0\0\0", "a GGUF file")
        self.check(b"\x89HDF\r\n\x1a\n", "HDF5", "tf2onnx")
        self.check(b"\x1c\0\0\0TFL3", "TensorFlow Lite", "tf2onnx")

    def test_what_downloads_leave(self):
        self.check(b"\n<!DOCTYPE html>\n<html>", "a web page")
        self.check(b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull")
        self.check(b"\x1f\x8b\x08\0", "compressed by gzip; unpack it first")
        self.check(self.zip("model.onnx"), "a zip archive; unpack it first")

    def test_artifacts(self):
        self.compile(self.write_model(layers=1), "a.so")
        artifact = (self.folder / "a.so").read_bytes()
        self.check(artifact, "compiled already; run it: graph-run a.onnx", name="a.onnx")

    def test_models_in_the_place_of_artifacts(self):
        model = self.write_model("n.json", layers=1).name
        self.fails(
            self.ends("graph-run", model),
            "it is not a shared library written by graph-compile; compile it first: "
            "graph-compile n.json -o n.so",
        )


if __name__ == "__main__":
    tool_test.main()
