#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/generate_errors.py finds in tests, and what it refuses."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "docs" / "generate_errors.py"
sys.path.insert(0, str(SCRIPT.parent))

import generate_errors

ENTRY = """
[[group]]
title = "Group"
about = "About."
tests = ["tests/*.py"]
[[group.error]]
message = 'no \\w+ called'
do = "Call it."
"""


class LiteralsTest(unittest.TestCase):
    def test_cpp(self):
        text = r'''
            EXPECT_EQ(f("a \"b\" " // "comment"
                        "c"), R"(raw "text")" "more");  /* "no" */
            char quote = '"'; g("line\n" + x + "end");'''
        self.assertEqual(
            generate_errors.cpp_literals(text),
            ['a "b" c', 'raw "text"more', "line\n", "end"],
        )

    def test_python(self):
        found = generate_errors.python_literals('f("a " "b", f"c {x} d")')
        self.assertIn("a b", found)
        self.assertIn("c … d", found)

    def test_mlir(self):
        text = "// expected-error@+1 {{no such op}}\n// CHECK: error: none\n"
        self.assertEqual(
            generate_errors.mlir_literals(text), ["no such op", "error: none"]
        )


class DocumentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("docs", "tests"):
            (self.root / name).mkdir()
        (self.root / "docs/errors.toml").write_text(ENTRY)
        self.expect("model: no input called 'x'")

    def expect(self, message):
        (self.root / "tests/a.py").write_text(f"check({message!r})\n")

    def run_script(self, *options):
        return subprocess.run(
            [sys.executable, "-B", SCRIPT, self.root, *options],
            capture_output=True,
            text=True,
        )

    def test_what_is_written_is_up_to_date_until_a_test_changes(self):
        self.assertNotEqual(self.run_script("--check").returncode, 0)
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(self.run_script("--check").returncode, 0)
        document = (self.root / "docs/errors.md").read_text()
        self.assertIn("**`no input called 'x'`**\n\nCall it.", document)
        self.assertIn("(../tests/a.py)", document)
        self.expect("no output called 'y'")
        self.assertIn("not up to date", self.run_script("--check").stderr)

    def test_a_message_that_no_test_expects(self):
        self.expect("there is no input 'x'")
        wrong = self.run_script()
        self.assertEqual(wrong.returncode, 1)
        self.assertIn(r"Group: no test expects 'no \\w+ called'", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
