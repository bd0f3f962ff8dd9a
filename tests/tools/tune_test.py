# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans that are tried, kept in a file and used again.

usage: PYTHONPATH=tests/support python tune_test.py BIN_DIR
"""

import json
import os
import re

import numpy as np

import tool_test

PLAN = re.compile(r"graph\.plan = (#cpu\.\w+<[^>]*>)")


class TuneTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.model = self.write_model(width=96)
        np.save(
            self.folder / "x.npy",
            np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32),
        )

    def tune(self, *arguments):
        return self.compile(
            self.model, "tuned.so", "--tune=0.2", "--plans", "plans.json", *arguments
        )

    def plans(self):
        return json.loads((self.folder / "plans.json").read_text())

    def change(self, change):
        file = self.plans()
        change(file)
        (self.folder / "plans.json").write_text(json.dumps(file))

    def compile_with_plans(self, output="m.so", *arguments):
        return self.run_tool(
            "graph-compile", self.model, "-o", output, "--plans", "plans.json",
            *arguments,
        )

    def results(self, artifact):
        done = self.run_tool(
            "graph-run", artifact, "--input", "x=x.npy", "--output-dir", "y"
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (path,) = (self.folder / "y").iterdir()
        return np.load(path)

    def test_what_is_found_is_kept_and_used(self):
        self.compile(self.model, "plain.so")
        expected = self.results("plain.so")
        printed = self.tune()
        tried = re.search(r"(\d+) plans of (\d+) kernels were tried", printed)
        self.assertGreaterEqual(int(tried[1]), 2 * int(tried[2]), printed)
        self.assertIn("estimates over times", printed)
        plans = self.plans()["plans"]
        self.assertEqual(len(plans), int(tried[2]))
        np.testing.assert_allclose(
            self.results("tuned.so"), expected, rtol=1e-5, atol=1e-5
        )
        done = self.compile_with_plans()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first = (self.folder / "m.so").read_bytes()
        self.assertEqual(self.compile_with_plans("m.so").returncode, 0)
        self.assertEqual((self.folder / "m.so").read_bytes(), first)
        self.assertEqual((self.folder / "tuned.so").read_bytes(), first)
        done = self.compile_with_plans("kernels.mlir", "--emit=kernels")
        self.assertEqual(done.returncode, 0, done.stderr)
        used = set(PLAN.findall((self.folder / "kernels.mlir").read_text()))
        self.assertLessEqual({plan["plan"] for plan in plans}, used)

    def test_a_file_that_is_there_is_added_to(self):
        self.tune()
        before = self.plans()["plans"]
        self.model = self.write_model("other.json", width=80)
        self.tune()
        after = {plan["kernel"]: plan for plan in self.plans()["plans"]}
        self.assertGreater(len(after), len(before))
        for plan in before:
            self.assertEqual(after[plan["kernel"]], plan)

    def test_an_edited_plan_is_used(self):
        self.tune()

        def edit(file):
            for plan in file["plans"]:
                plan["plan"] = re.sub(r"depth = \d+", "depth = 16", plan["plan"])

        self.change(edit)
        done = self.compile_with_plans("kernels.mlir", "--emit=kernels")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("depth = 16", (self.folder / "kernels.mlir").read_text())

    def test_plans_of_another_cpu_are_left_alone(self):
        self.tune()
        self.compile(self.model, "without.mlir", "--emit=kernels", "--cpu=x86-64-v3")
        done = self.compile_with_plans("with.mlir", "--emit=kernels", "--cpu=x86-64-v3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            (self.folder / "with.mlir").read_bytes(),
            (self.folder / "without.mlir").read_bytes(),
        )

    def test_a_plan_that_does_not_fit(self):
        self.tune()

        def spoil(file):
            for plan in file["plans"]:
                plan["plan"] = "#cpu.transpose<side = 8, rows = 8, units = 1>"

        self.change(spoil)
        self.fails(
            self.compile_with_plans(),
            "cannot be computed as '#cpu.transpose<side = 8, rows = 8, units = 1>'",
            "plans.json",
            "tune the model again",
        )
        self.change(lambda file: file["plans"][0].update(plan="gibberish"))
        self.fails(self.compile_with_plans(), "plans.json")
        self.tune()  # Finds others in their place.
        self.assertEqual(self.compile_with_plans().returncode, 0)

    def test_wrong_files(self):
        cases = {
            "": "cannot read the plans in 'plans.json'",
            "[]": "expected object",
            "{}": "missing value at plans.tinh_plans",
            '{"tinh_plans": 7, "plans": []}': "expected 1",
            '{"tinh_plans": 1, "plans": [{"cpu": "c"}]}': "plans[0].kernel",
            '{"tinh_plans": 1, "plans": [3]}': "expected object",
        }
        for text, message in cases.items():
            with self.subTest(text):
                (self.folder / "plans.json").write_text(text)
                self.fails(self.compile_with_plans(), message)
                if text:
                    self.fails(
                        self.compile_with_plans("m.so", "--tune=0.1"), message
                    )
        (self.folder / "plans.json").unlink()
        self.fails(self.compile_with_plans(), "plans.json", "No such file")
        os.mkfifo(self.folder / "plans.json")
        self.fails(self.compile_with_plans(), "it is not a regular file")
        self.fails(self.compile_with_plans("m.so", "--tune=0.1"), "it is not a regular file")

    def test_an_empty_file_is_tuned_into(self):
        (self.folder / "plans.json").write_text("")
        self.tune()
        self.assertGreater(len(self.plans()["plans"]), 0)

    def test_what_cannot_be_written_is_said_first(self):
        done = self.run_tool(
            "graph-compile", self.model, "-o", "m.so", "--tune=1000",
            "--plans", "nowhere/plans.json",
        )
        self.fails(done, "cannot write 'nowhere/plans.json'")

    def test_nothing_to_tune_for(self):
        self.fails(
            self.run_tool(
                "graph-compile", self.model, "-o", "m.so", "--tune=0.1",
                "--cpu=emulated+sapphirerapids",
            ),
            "can only be tuned on a machine that runs its code",
        )
        self.compile(self.model, "k.mlir", "--emit=kernels")
        for arguments in (("--from=kernels",), ("--emit=fused",)):
            done = self.run_tool(
                "graph-compile", "k.mlir", "-o", "m.out", "--tune", *arguments
            )
            self.assertEqual(done.returncode, 2)
            self.assertIn("--plans and --tune are about", done.stderr)
        for seconds in ("soon", "nan", "0", "-1", "inf"):
            done = self.run_tool("graph-compile", self.model, f"--tune={seconds}")
            self.assertEqual(done.returncode, 2, seconds)
            self.assertIn("expected seconds", done.stderr)

    def test_without_a_file(self):
        printed = self.compile(self.model, "m.so", "--tune=0.1")
        self.assertIn("kernels were tried", printed)
        self.assertFalse((self.folder / "plans.json").exists())


if __name__ == "__main__":
    tool_test.main()
