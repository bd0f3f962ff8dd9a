# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what fuzzing starts from: small files of each kind that are right.

    make_seeds.py BIN_DIR CORPUS [--all]

Into CORPUS/TARGET/seed-*, by the tools in BIN_DIR; other files there, inputs that
were wrong once, stay. With --all, also a model of each of ONNX's own cases, which
are too many to keep.
"""

import argparse
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
from onnx.backend.test.case.node import collect_testcases

TESTS = pathlib.Path(__file__).resolve().parent.parent
for folder in ("support", "tools", "pipelines"):
    sys.path.insert(0, str(TESTS / folder))

import import_fuzz_test  # noqa: E402
import ir_fuzz_test  # noqa: E402

PHASES = ("graph", "normalised", "optimised", "fused", "kernels", "plan")
LARGEST = 8192  # Bytes of a model.

# In every phase, and of few lines in the last ones.
SMALL_IR = """
func.func @main(%x: tensor<4x8xf32> {graph.name = "x"},
                %w: tensor<8x8xf32> {graph.name = "w"})
    -> (tensor<4x8xf32> {graph.name = "y"}) {
  %b = graph.constant dense<2.0> : tensor<8xf32>
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = graph.add %0, %b : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  %2 = graph.softmax %1 axis 1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
"""


class Seeds:
    def __init__(self, tools, corpus):
        self.tools, self.corpus = tools, corpus
        self.scratch = tempfile.TemporaryDirectory(prefix="tinh-seeds-")
        self.folder = pathlib.Path(self.scratch.name)

    def write(self, target, name, content):
        path = self.corpus / target / f"seed-{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def run(self, tool, *arguments):
        command = [self.tools / tool, *arguments]
        done = subprocess.run(command, capture_output=True, check=False)
        return done.stdout if done.returncode == 0 else None

    def convert(self, model, output, *arguments):
        """`model` as the file `output`; None if that cannot be."""
        path = self.folder / output
        done = self.run("graph-compile", model, "-o", path, *arguments)
        return None if done is None else path

    def write_onnx(self, all_cases):
        models = list(import_fuzz_test.extreme_onnx_models())
        models.append(import_fuzz_test.small_onnx_model())
        names = ["-".join(dict.fromkeys(n.op_type for n in m.graph.node)) for m in models]
        if all_cases:
            for case in collect_testcases():
                models.append(case.model)
                names.append(case.name)
        for name, model in zip(names, models):
            content = model.SerializeToString()
            if len(content) > LARGEST:
                continue
            self.write("onnx", f"{name}.onnx", content)
            path = self.folder / "model.onnx"
            path.write_bytes(content)
            exported = self.convert(path, "model.json")
            if exported and exported.stat().st_size <= LARGEST:
                self.write("json", f"{name}.json", exported.read_bytes())

    def write_ir(self):
        for name, text in (("small", SMALL_IR), ("all", ir_fuzz_test.MODEL)):
            model = self.folder / f"{name}.mlir"
            model.write_text(text)
            for phase in PHASES + (("llvm",) if name == "small" else ()):
                made = self.convert(model, "phase.mlir", f"--emit={phase}", "--cpu=x86-64-v3")
                printed = self.run("graph-opt", made)  # Without locations.
                self.write(
                    "ir", f"{name}-{phase}.mlir", f"// --from={phase}\n".encode() + printed
                )
        made = self.convert(
            self.folder / "small.mlir", "plan.mlirbc", "--emit=plan", "--cpu=x86-64-v3"
        )
        self.write("bytecode", "plan.mlirbc", made.read_bytes())

    def write_tensors(self):
        for dtype in ("f4", "i8", "u1", "V2", "?", "S3", "U2"):
            array = np.zeros((2, 3), dtype)
            stream = io.BytesIO()
            np.save(stream, array)
            self.write("npy", f"{array.dtype.str[1:].replace('?', 'bool')}.npy", stream.getvalue())
        self.write("safetensors", "two.safetensors", safetensors({"a": [2, 3], "b": []}))
        # As tests/runtime/trainer_artifact.c has them; the data, zeros, are left out.
        shapes = {"w": [4], "b": [], "w.moment": [4], "b.moment": [], "stamp": [65536]}
        header = safetensors(shapes, {"stamp": ("I64", 8)}, data=False)
        self.write("checkpoint", "trainer.safetensors", header)

    def write_artifacts(self):
        self.write("artifact", "note.so", artifact())
        for number, name in enumerate(("control", "trainer", "cuda")):
            self.write("descriptor", name, bytes([number]))
            self.write("descriptor", f"{name}-edits", bytes([number, 7, 0]) + bytes(8))


def safetensors(shapes, types={}, data=True):
    header, end = {"__metadata__": {"step": "7"}}, 0
    for name, shape in shapes.items():
        dtype, size = types.get(name, ("F32", 4))
        size *= int(np.prod(shape))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end if data else 0)


def checksum(content):
    """tinh_checksum of tinh/artifact.h."""
    value = 0xCBF29CE484222325
    for at in range(0, len(content), 8):
        word = int.from_bytes(content[at : at + 8], "little")
        value = (value ^ word) * 0x100000001B3 % (1 << 64)
    return struct.pack("<Q", value)


def artifact():
    """An ELF file of a note alone, for any CPU."""
    version = next(
        int(line.split()[2].rstrip("u"))
        for line in (TESTS.parent / "runtime/include/tinh/artifact.h").read_text().splitlines()
        if line.startswith("#define TINH_ARTIFACT_VERSION")
    )
    begin, layout = 64 + 56, "<II4Q16s48s128s"  # Behind the headers; tinh_note_t.
    size = begin + 20 + struct.calcsize(layout) + 8
    content = struct.pack(layout, version, 1, 0, size, 0, 0, b"", b"any", b"")
    note = struct.pack("<III8s", 5, len(content), 1, b"Tinh") + content
    elf = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0,
    )  # fmt: skip
    segment = struct.pack("<IIQQQQQQ", 4, 4, begin, begin, begin, len(note), len(note), 4)
    content = elf + segment + note
    return content + checksum(content)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    seeds = Seeds(arguments.tools, arguments.corpus)
    seeds.write_onnx(arguments.all)
    seeds.write_ir()
    seeds.write_tensors()
    seeds.write_artifacts()


if __name__ == "__main__":
    main()
