# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading artifacts that graph-compile wrote, whole, moved and damaged."""

import json
import pathlib
import random
import re
import shutil
import struct
import unittest

import tool_test
from tool_test import ToolTest

HEADER = pathlib.Path(__file__).parents[2] / "runtime/include/tinh/artifact.h"
VERSION = int(re.search(r"TINH_ARTIFACT_VERSION (\d+)u", HEADER.read_text())[1])
NOTE = b"Tinh\0\0\0\0"  # The note's name, with padding; its content follows.


def checksum(data):
    """tinh_checksum of artifact.h."""
    value = 0xCBF29CE484222325
    for start in range(0, len(data), 8):
        word = int.from_bytes(data[start : start + 8], "little")
        value = (value ^ word) * 0x100000001B3 % 2**64
    return value


class Loading(ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.write_model()

    def load(self, artifact="out.so"):
        return self.run_tool("graph-run", artifact, "--list")

    def refused(self, *parts, artifact="out.so"):
        """Loading ends with exit code 1 and a message with all `parts`."""
        done = self.load(artifact)
        self.fails(done, *parts)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Embedded(Loading):
    def setUp(self):
        super().setUp()
        self.compile(self.model, "good.so")
        self.good = (self.folder / "good.so").read_bytes()

    def write(self, data):
        (self.folder / "out.so").write_bytes(data)

    def patch(self, offset, data):
        """The good artifact with other bytes at `offset` of its note, and its
        checksum."""
        note = self.good.index(NOTE) + len(NOTE)
        start, size = struct.unpack_from("<QQ", self.good, note + 24)
        at = note + offset
        changed = self.good[:at] + data + self.good[at + len(data) : -8]
        covered = changed[:start] + changed[start + size :]
        self.write(changed + struct.pack("<Q", checksum(covered)))

    def test_the_patch_finds_the_note(self):
        self.patch(0, struct.pack("<I", VERSION))
        self.assertEqual((self.folder / "out.so").read_bytes(), self.good)
        self.assertEqual(self.load().returncode, 0)

    def test_cut(self):
        size = len(self.good)
        lengths = {0, 1, 4, 63, 64, 100, 4095, 4096, size - 1, size - 4096}
        lengths |= set(range(0, size, size // 40))
        for length in sorted(lengths):
            with self.subTest(length):
                self.write(self.good[:length])
                self.refused("cannot load 'out.so': ")

    def test_longer(self):
        self.write(self.good + b"\0")
        self.refused(f"the file has {len(self.good) + 1} bytes where")

    def test_changed_bytes(self):
        """Anywhere but in the weights, which are not read when they are loaded."""
        start, size = struct.unpack_from(
            "<QQ", self.good, self.good.index(NOTE) + len(NOTE) + 24
        )
        generator = random.Random(3)
        places = [*range(start), *range(start + size, len(self.good))]
        for place in generator.sample(places, 100):
            with self.subTest(place):
                changed = bytearray(self.good)
                changed[place] ^= 1 << generator.randrange(8)
                self.write(changed)
                self.refused("cannot load 'out.so': ")

    def test_garbage(self):
        generator = random.Random(7)
        for length in (1, 20, 64, 5000):
            with self.subTest(length):
                self.write(generator.randbytes(length))
                self.refused("it is not a shared library written by")
        self.write(self.good[:64] + generator.randbytes(5000))
        self.refused("cannot load 'out.so': ")

    def test_another_library(self):
        (library,) = (tool_test.TOOLS.parent / "lib").glob("libtinh_runtime.so.*.*")
        shutil.copy(library, self.folder / "out.so")
        self.refused("it is a shared library but no model: it has no Tinh note")

    def test_another_version(self):
        self.patch(0, struct.pack("<I", VERSION + 1))
        self.refused(
            f"it has artifact version {VERSION + 1}, and this runtime loads "
            f"version {VERSION}; "
            "compile the model again with the matching compiler"
        )

    def test_a_cpu_that_this_machine_is_not(self):
        self.patch(8, struct.pack("<Q", 1 << 60))
        self.refused(
            "it was compiled for the CPU '",
            "' and needs bit 60, which this machine lacks; compile the model "
            "again with --cpu=native on this machine or with an older --cpu",
        )

    def test_a_newer_cpu(self):
        self.compile(self.model, "out.so", "--cpu=sapphirerapids")
        found = pathlib.Path("/proc/cpuinfo").read_text().split()
        if {"avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"} <= set(found):
            self.assertEqual(self.load().returncode, 0)
        else:
            self.refused(
                "compiled for the CPU 'sapphirerapids' and needs ",
                "which this machine lacks",
            )

    def test_a_newer_cpu_that_is_emulated(self):
        self.compile(self.model, "old.so", "--cpu=x86-64-v3")
        self.compile(self.model, "out.so", "--cpu=emulated+sapphirerapids")
        self.assertIn("for emulated+sapphirerapids\n", self.load().stdout)
        needed = [
            (self.folder / name).read_bytes().partition(NOTE)[2][8:16]
            for name in ("old.so", "out.so")
        ]
        self.assertEqual(*needed)

    def test_weights_that_lie_outside(self):
        self.patch(24, struct.pack("<Q", 1 << 40))
        self.refused("its Tinh note is damaged")


class Names(ToolTest):
    def test_controls_do_not_reach_the_terminal(self):
        model = {
            "tinh": 1,
            "inputs": [{"name": "x\x1b[31m\u202e", "dtype": "f32", "shape": [4]}],
            "nodes": [{"op": "relu", "inputs": ["x\x1b[31m\u202e"], "outputs": ["y\r"]}],
            "outputs": ["y\r"],
        }
        path = self.folder / "m\x1b[5m.json"
        path.write_text(json.dumps(model))
        self.compile(path, "out.so")
        listed = self.run_tool("graph-run", "out.so", "--list").stdout
        for name in ("m\\x1b[5m", "x\\x1b[31m\\u{202e}", "y\\x0d"):
            self.assertIn(name, listed)
        refused = self.run_tool("graph-run", "out.so").stderr
        profile = self.run_tool(
            "graph-run", "out.so", "--inputs", "zeros", "--profile", "--runs=2"
        ).stdout
        for text in (listed, refused, profile):
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\u202e]")


class External(Loading):
    def setUp(self):
        super().setUp()
        self.compile(self.model, "out.so", "--weights=external")
        self.companion = self.folder / "out.safetensors"

    def test_both_files_moved_give_the_same_results(self):
        self.compile(self.model, "embedded.so")
        elsewhere = self.root / "else" / "where"
        elsewhere.mkdir(parents=True)
        for name in ("out.so", "out.safetensors"):
            shutil.move(self.folder / name, elsewhere / name)
        results = self.outputs(elsewhere / "out.so")
        self.assertEqual(len(results), 1)
        self.assertEqual(results, self.outputs("embedded.so"))

    def test_the_companion_is_a_safetensors_file(self):
        data = self.companion.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        header.pop("__metadata__")
        ends = sorted(entry["data_offsets"] for entry in header.values())
        self.assertEqual(ends[0][0], 0)
        self.assertEqual(ends[-1][1], len(data) - 8 - length)
        for (_, end), (begin, _) in zip(ends, ends[1:]):
            self.assertEqual(end, begin)

    def test_missing(self):
        self.companion.unlink()
        self.refused("out.safetensors': No such file or directory")

    def test_renamed(self):
        shutil.move(self.folder / "out.so", self.folder / "other.so")
        self.assertEqual(self.load("other.so").returncode, 0)
        shutil.move(self.companion, self.folder / "other.safetensors")
        self.refused("out.safetensors': No such file", artifact="other.so")

    def test_another_size(self):
        data = self.companion.read_bytes()
        for size in (0, 7, 100, 4096, len(data) - 1, len(data) + 1):
            with self.subTest(size):
                self.companion.write_bytes((data + b"\0")[:size])
                self.refused("is truncated, damaged or of another model")

    def test_of_another_model(self):
        other = self.write_model("other.json", layers=2)
        text = other.read_text().replace("-6", "-5")
        other.write_text(text)
        self.compile(other, "other.so", "--weights=external")
        shutil.copy(self.folder / "other.safetensors", self.companion)
        self.refused("does not belong to it: the digests differ")


if __name__ == "__main__":
    tool_test.main()
