# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged IR of late phases: graph-compile takes or refuses it, and never crashes.

Lines are lost, doubled and moved, numbers, words and types changed, in the text
of a small model, and bits and bytes in its bytecode, which is always refused; the
random generator's seed is fixed. FUZZ_FACTOR=10 in the environment tries ten
times as often.
"""

import os
import random
import re

import tool_test
from tool_test import ToolTest

CHANGES = 50 * int(os.environ.get("FUZZ_FACTOR", "1"))
NUMBERS = ["0", "1", "7", "-1", "64", "1000000", str((1 << 63) - 1)]
NUMBER, WORD = re.compile(r"-?\d+"), re.compile(r"[A-Za-z_][\w.]*")
TYPE = re.compile(r"(?:tensor|vector)<[^>]*>")
ATTRIBUTE = re.compile(r"graph\.\w+ = [^,}]*(?:, )?")

# The one constant is copied into the weights: no damaged kernel runs.
MODEL = """
func.func @main(%x: tensor<1x3x12x12xf32> {graph.name = "x"},
                %w: tensor<4x3x1x1xf32> {graph.name = "w"},
                %i: tensor<4xi64> {graph.name = "i"}, %t: tensor<i1> {graph.name = "t"})
    -> (tensor<1x4x6x6xf32> {graph.name = "y"}, tensor<4x6xf32> {graph.name = "z"},
        tensor<1x8x12x12xf32> {graph.name = "c"}, tensor<4x6xf32> {graph.name = "s"}) {
  %b = graph.constant dense<[[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]]> : tensor<1x4x1x1xf32>
  %0 = graph.conv %x, %w strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1]
      groups 1 channels_first
      : tensor<1x3x12x12xf32>, tensor<4x3x1x1xf32> -> tensor<1x4x12x12xf32>
  %1 = graph.add %0, %b : tensor<1x4x12x12xf32>, tensor<1x4x1x1xf32> -> tensor<1x4x12x12xf32>
  %2 = graph.max_pool %1 kernel [2, 2] strides [2, 2] padding [0, 0, 0, 0]
      dilations [1, 1] channels_first : tensor<1x4x12x12xf32> -> tensor<1x4x6x6xf32>
  %3 = graph.reshape %2 : tensor<1x4x6x6xf32> to tensor<24x6xf32>
  %4 = graph.softmax %3 axis 1 : tensor<24x6xf32>
  %5 = graph.gather %4, %i axis 0 : tensor<24x6xf32>, tensor<4xi64> -> tensor<4x6xf32>
  %6 = graph.max_pool %1 kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1]
      dilations [1, 1] channels_first : tensor<1x4x12x12xf32> -> tensor<1x4x12x12xf32>
  %7 = graph.concat %1, %6 axis 1
      : (tensor<1x4x12x12xf32>, tensor<1x4x12x12xf32>) -> tensor<1x8x12x12xf32>
  %limit = graph.constant dense<3> : tensor<i64>
  %8:2 = graph.while (%n = %limit, %a = %5) : (tensor<i64>, tensor<4x6xf32>) {
    %9 = graph.compare less %n, %limit : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.condition %9
  } do (%n, %a) {
    %9 = graph.mul %a, %a : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %10 = graph.add %n, %n : tensor<i64>, tensor<i64> -> tensor<i64>
    graph.yield %10, %9 : tensor<i64>, tensor<4x6xf32>
  }
  %s:2 = graph.scan %j length 4 trip_count %limit while %t carry (%a = %8#1) over (%r = %8#1)
      : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %9 = graph.add %a, %r : tensor<4x6xf32>, tensor<6xf32> -> tensor<4x6xf32>
    %10 = graph.if %t : (tensor<6xf32>) {
      %11 = graph.exp %r : tensor<6xf32>
      graph.yield %11 : tensor<6xf32>
    } else {
      graph.yield %r : tensor<6xf32>
    }
    graph.yield %t, %9, %10 : tensor<i1>, tensor<4x6xf32>, tensor<6xf32>
  }
  return %2, %s#0, %7, %s#1
      : tensor<1x4x6x6xf32>, tensor<4x6xf32>, tensor<1x8x12x12xf32>, tensor<4x6xf32>
}
"""


class Fuzz(ToolTest):
    def setUp(self):
        super().setUp()
        self.generator = random.Random(7)
        self.model = self.folder / "model.mlir"
        self.model.write_text(MODEL)

    def text_of(self, phase):
        """The model in `phase`, without locations."""
        path = self.folder / f"{phase}.mlir"
        self.compile(self.model, path, f"--emit={phase}", "--cpu=x86-64-v3")
        done = self.run_tool("graph-opt", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def replace(self, line, pattern, choices):
        """`line` with one of what `pattern` finds replaced."""
        found = list(pattern.finditer(line))
        if not found:
            return line
        match = self.generator.choice(found)
        return line[: match.start()] + self.generator.choice(choices) + line[match.end() :]

    def damage(self, text):
        lines = text.split("\n")
        at, other = (self.generator.randrange(len(lines)) for _ in range(2))
        kind = self.generator.randrange(7)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, lines[at])
        elif kind == 2:
            lines[at], lines[other] = lines[other], lines[at]
        else:
            pattern, choices = [
                (NUMBER, NUMBERS),
                (WORD, WORD.findall(text)),
                (TYPE, TYPE.findall(text)),
                (ATTRIBUTE, [""]),
            ][kind - 3]
            lines[at] = self.replace(lines[at], pattern, choices)
        return "\n".join(lines)

    def check(self, phase):
        text = self.text_of(phase)
        codes = set()
        for number in range(CHANGES):
            damaged = self.folder / "damaged.mlir"
            damaged.write_text(self.damage(text))
            done = self.run_tool(
                "graph-compile",
                damaged,
                f"--from={phase}",
                "--emit=obj",
                "-o",
                self.folder / "out.o",
            )
            with self.subTest(phase, number=number):
                self.assertIn(done.returncode, (0, 1), done.stderr)
                if done.returncode:
                    self.assertIn("error: ", done.stderr)
            codes.add(done.returncode)
        self.assertEqual(codes, {0, 1})

    def test_kernels(self):
        self.check("kernels")

    def test_plan(self):
        self.check("plan")

    def test_llvm(self):
        self.check("llvm")

    def damage_bytes(self, content):
        damaged = bytearray(content)
        at = self.generator.randrange(len(content))
        kind = self.generator.randrange(4)
        if kind == 0:
            damaged[at] ^= 1 << self.generator.randrange(8)
        elif kind == 1:
            del damaged[at : at + self.generator.randrange(1, 9)]
        elif kind == 2:
            damaged[at:at] = self.generator.randbytes(self.generator.randrange(1, 9))
        else:
            del damaged[at:]
        return bytes(damaged)

    def test_bytecode(self):
        path = self.folder / "plan.mlirbc"
        self.compile(self.model, path, "--emit=plan", "--cpu=x86-64-v3")
        content = path.read_bytes()
        text = self.folder / "plan.mlir"
        self.compile(path, text, "--from=plan", "--emit=plan")
        for number in range(CHANGES):
            path.write_bytes(self.damage_bytes(content))
            done = self.run_tool("graph-compile", path, "--from=plan", "-o", self.folder / "out.so")
            with self.subTest(number=number):
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("error: ", done.stderr)
        # What another program has written has no hash.
        self.run_tool("graph-opt", "--emit-bytecode", text, "-o", path)
        self.assertTrue(path.read_bytes().startswith(content[:4]))
        done = self.run_tool("graph-compile", path, "--from=plan", "-o", self.folder / "out.so")
        self.assertEqual(done.returncode, 1)
        self.assertIn("plan.mlirbc: error: the file is bytecode that is damaged, or", done.stderr)


if __name__ == "__main__":
    tool_test.main()
