# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--time-limit and --memory-limit: graph-compile ends with a message, and nothing
is left behind."""

import json
import time

import tool_test
from tool_test import ToolTest

COMPILE = ["--no-cache", "--cpu=x86-64-v3", "--jobs=1"]


class Limits(ToolTest):
    def refused(self, model, *arguments):
        """The message of a compilation that a limit ends soon."""
        start = time.monotonic()
        done = self.run_tool("graph-compile", model, "-o", "model.so", *COMPILE, *arguments)
        self.fails(done)
        self.assertLess(time.monotonic() - start, 10)
        self.assertNoLeftovers(model.name)
        self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
        return done.stderr

    def test_time(self):
        """Kernels of many sizes."""
        model = self.write_model(layers=120)
        message = self.refused(model, "--time-limit=0.5")
        self.assertIn("compiling has not ended within the time limit of 0.5 s", message)
        self.assertRegex(message, "it was at (phase|kernel|reading)")

    def test_time_within_a_step(self):
        """What one large kernel takes looks at no limit: the tool ends all the same."""
        model = self.write_chain(20000)
        message = self.refused(model, "--time-limit=0.3")
        self.assertRegex(message, r"model\.json(:1:1)?: error: compiling has not ended within")

    def write_chain(self, count):
        """Nodes that one kernel computes."""
        nodes = [
            {"op": "tanh", "inputs": [f"x{i}" if i else "x"], "outputs": [f"x{i + 1}"]}
            for i in range(count)
        ]
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [64]}],
            "nodes": nodes,
            "outputs": [f"x{count}"],
        }
        path = self.folder / "model.json"
        path.write_text(json.dumps(model))
        return path

    def test_memory(self):
        message = self.refused(self.write_model(layers=120), "--memory-limit=2MiB")
        self.assertRegex(
            message, r"compiling takes [\d.]+ MB of memory, and the limit is 2\.1 MB; allow more"
        )

    def test_what_suffices(self):
        self.compile(
            self.write_model(), "model.so", "--time-limit=1000", "--memory-limit=64GiB"
        )

    def test_what_is_no_limit(self):
        model = self.write_model()
        for option, text in (
            ("--time-limit=0", "expected seconds, more than 0 and at most 1e9, not 0"),
            ("--time-limit=nan", "expected seconds, more than 0"),
            ("--memory-limit=8", ""),
            ("--memory-limit=8M", "the limit on memory is '8M'; expected bytes, such as"),
        ):
            done = self.run_tool("graph-compile", model, "-o", "model.so", option)
            with self.subTest(option):
                self.assertEqual(done.returncode, 2 if text else 1, done.stderr)
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    tool_test.main()
