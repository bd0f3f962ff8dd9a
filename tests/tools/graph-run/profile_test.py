# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-run --profile on the runtime's toy artifacts: what the columns say must
follow from each other.

usage: profile_test.py GRAPH_RUN TOY CONTROL TRAINER

Needs the standard library alone. The compiler's models say of the toy's CPU that
a core does 16 operations and moves 8 bytes a cycle.
"""

import json
import re
import struct
import subprocess
import sys
import tempfile
import pathlib
import unittest

GRAPH_RUN, TOY, CONTROL, TRAINER = sys.argv[1:5]
CORE_OPERATIONS, CORE_BYTES, ESTIMATED_CYCLES = 16, 8, 4096
INPUT = ("--input", "x=random")


def run(*arguments, artifact=TOY):
    command = [GRAPH_RUN, str(artifact), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def columns(line, starts):
    """The cells of a table's line, by where its columns start."""
    ends = [*starts[1:], None]
    return [line[begin:end].strip() for begin, end in zip(starts, ends)]


class Table:
    """What --profile has printed: lines of {column: text}."""

    def __init__(self, text):
        self.heading, self.machine, empty, *rest = text.splitlines()
        assert empty == "", text
        end = rest.index("")
        lines, self.ending = rest[:end], rest[end + 1 :]
        names = lines[0].split()
        # Cells may have spaces; columns are two spaces apart in every line.
        width = max(map(len, lines))
        lines = [line.ljust(width) for line in lines]
        gaps = [
            i
            for i in range(1, width)
            if all(line[i - 1] == " " for line in lines)
            and any(line[i] != " " for line in lines)
        ]
        starts = [0]
        for gap in gaps:
            if all(line[gap - 2 : gap] == "  " for line in lines):
                starts.append(gap)
        assert len(starts) == len(names), (starts, names, text)
        cells = [dict(zip(names, columns(line, starts))) for line in lines[1:]]
        self.names, self.lines, self.total = names, cells[:-1], cells[-1]


def value(cell):
    """The number in a cell, with its unit taken into account: milliseconds, parts
    of one, and anything else as it is."""
    number, _, unit = cell.partition(" ")
    return float(number) * {"": 1, "ms": 1, "µs": 1e-3, "%": 1e-2}[unit]


class Profile(unittest.TestCase):
    def near(self, found, expected, digits):
        """Equal as far as a number with so many digits after the point tells."""
        self.assertLessEqual(abs(found - expected), 0.51 * 10**-digits)

    def succeeds(self, *arguments, artifact=TOY):
        done = run(*arguments, artifact=artifact)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def json(self, *arguments, **options):
        return json.loads(self.succeeds(*arguments, "--profile", "--json", **options))

    def table(self, *arguments, profile="--profile", **options):
        return Table(self.succeeds(*arguments, profile, **options))


class Json(Profile):
    def test_numbers_follow_from_each_other(self):
        for threads in (1, 2):
            found = self.json(*INPUT, "--runs", 30, "--threads", threads)
            self.assertEqual(found["model"], "toy")
            self.assertEqual(found["function"], "main")
            self.assertEqual((found["runs"], found["lost_runs"]), (30, 0))
            clock = found["clock_ghz"]
            peak = CORE_OPERATIONS * clock * threads
            self.assertTrue(0.5 < clock < 8, clock)
            self.assertAlmostEqual(found["peak_gflops"], peak)
            steps = found["steps"]
            self.assertAlmostEqual(
                found["steps_ms"], sum(step["ms"] for step in steps)
            )
            for step in steps:
                nanoseconds = step["ms"] * 1e6
                self.assertAlmostEqual(step["share"], step["ms"] / found["steps_ms"])
                self.assertAlmostEqual(
                    step["busy"], step["work_ms"] / (threads * step["ms"])
                )
                self.assertAlmostEqual(
                    step["gbytes_per_s"], step["bytes"] / nanoseconds
                )
                self.assertAlmostEqual(
                    step["memory_peak"],
                    step["gbytes_per_s"] / (CORE_BYTES * clock * threads),
                )
                self.assertLessEqual(step["min_ms"], step["ms"])
            for step in steps[:2]:
                rate = step["operations"] / (step["ms"] * 1e6)
                self.assertAlmostEqual(step["gflops"], rate)
                self.assertAlmostEqual(step["peak"], rate / peak)
            self.assertAlmostEqual(
                steps[0]["estimated_ms"], ESTIMATED_CYCLES / threads / (clock * 1e6)
            )
            self.assertAlmostEqual(
                steps[0]["estimate_ratio"], steps[0]["estimated_ms"] / steps[0]["ms"]
            )

    def test_threads_that_chunks_cannot_be_shared_by_do_not_help(self):
        # 16 chunks on 5 threads: one of them has four.
        found = self.json(*INPUT, "--runs", 3, "--threads", 5)
        self.assertAlmostEqual(
            found["steps"][0]["estimated_ms"],
            ESTIMATED_CYCLES / 4 / (found["clock_ghz"] * 1e6),
        )

    def test_what_steps_are(self):
        steps = self.json(*INPUT, "--runs", 3)["steps"]
        self.assertEqual([step["step"] for step in steps], [0, 1, 2])
        self.assertEqual(
            [(step["kind"], step["kernel"], step["nodes"], step["plan"]) for step in steps],
            [
                ("kernel", "twice", ["Double_0"], "#toy.rows<chunk = 64>"),
                ("kernel", "shift_add", ["Add_1"], "rows"),
                ("copy", None, [], ""),
            ],
        )
        self.assertEqual({step["device"] for step in steps}, {"cpu"})
        self.assertIsNone(steps[1]["estimated_ms"])
        self.assertIsNone(steps[2]["gflops"])

    def test_loops_and_branches(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "n.npy"
            header = "{'descr': '<i8', 'fortran_order': False, 'shape': (), }"
            path.write_bytes(
                b"\x93NUMPY\x01\x00"
                + struct.pack("<H", 118)
                + (header.ljust(117) + "\n").encode()
                + struct.pack("<q", 27)
            )
            arguments = ("--function", "collatz", "--input", f"n={path}", "--runs", 4)
            found = self.json(*arguments, artifact=CONTROL)
            table = self.table(*arguments, artifact=CONTROL)
        executions = {step["executions"] for step in found["steps"]}
        self.assertIn(111, executions)  # Of 27: 41 times odd, 70 times even,
        self.assertIn(41, executions)
        self.assertIn(70, executions)
        loops = [step for step in found["steps"] if step["kind"] == "loop"]
        self.assertEqual(len(loops), 1)
        inside = [step["ms"] for step in found["steps"] if step.get("ms")]
        self.assertGreaterEqual(sum(inside), loops[0]["ms"])
        # and the loop is not counted beside what is in it.
        self.assertAlmostEqual(found["steps_ms"], sum(inside) - loops[0]["ms"])
        self.assertNotIn("loop", [line["kernel"] for line in table.lines])
        self.assertIn("111x", [line["times"] for line in table.lines])

    def test_what_is_never_executed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "n.npy"
            header = "{'descr': '<i8', 'fortran_order': False, 'shape': (), }"
            path.write_bytes(
                b"\x93NUMPY\x01\x00"
                + struct.pack("<H", 118)
                + (header.ljust(117) + "\n").encode()
                + struct.pack("<q", 1)
            )
            arguments = ("--function", "collatz", "--input", f"n={path}", "--runs", 4)
            found = self.json(*arguments, artifact=CONTROL)
            table = self.table(*arguments, artifact=CONTROL)
        unexecuted = [
            step
            for step in found["steps"]
            if step["kind"] != "branch" and step["num_steps_timed"] == 0
        ]
        self.assertGreater(len(unexecuted), 0)
        self.assertNotIn("ms", unexecuted[0])
        self.assertIn(f"{len(unexecuted)} steps were not executed", table.ending)

    def test_functions_that_update_the_state(self):
        inputs = ("--input", "x=random", "--input", "y=random", "--runs", 5)
        found = self.json(
            *inputs, "--function", "train_step", artifact=TRAINER
        )
        self.assertEqual((found["function"], found["runs"]), ("train_step", 5))
        self.assertEqual(len(found["steps"]), 6)
        self.assertTrue(all(step["executions"] == 1 for step in found["steps"]))


class Text(Profile):
    def test_columns(self):
        for threads in (1, 2):
            table = self.table(*INPUT, "--runs", 20, "--threads", threads)
            self.assertRegex(
                table.heading,
                rf"^toy, main: 20 runs on {threads} thread(s|), median [\d.]+ (ms|µs), "
                r"minimum [\d.]+ (ms|µs)$",
            )
            machine = re.fullmatch(
                r"([\d.]+) GHz, at best 16 operations of f32 a cycle and core "
                r"\(toy-cpu\): (\d+) GFLOP/s",
                table.machine,
            )
            self.near(
                float(machine[2]) / (CORE_OPERATIONS * threads), float(machine[1]), 1
            )
            expected = "step time share GFLOP/s GB/s peak memory estimate "
            expected += "busy " if threads > 1 else ""
            self.assertEqual(table.names, (expected + "kernel nodes plan").split())
            times = [value(line["time"]) for line in table.lines]
            self.assertEqual(times, sorted(times, reverse=True))
            self.assertAlmostEqual(value(table.total["time"]), sum(times), places=4)
            self.assertEqual(table.total["kernel"], "all")
            self.assertEqual(table.total["estimate"], "")  # Not of all.
            shares = sum(value(line["share"]) for line in table.lines)
            self.near(value(table.total["share"]), shares, 2)
            for line in table.lines:
                microseconds = value(line["time"]) * 1e3
                if line["kernel"] != "copy":
                    # 1024 operations, in a time with two digits.
                    rate = 1024 / microseconds / 1e3
                    self.assertLess(
                        abs(value(line["GFLOP/s"]) / rate - 1),
                        0.05 / rate + 0.01 / microseconds,
                    )
            self.assertEqual(table.total["share"], "100.0 %")
            for what, line in zip(("medians", "minima"), table.ending):
                sums = re.fullmatch(
                    rf"{what}: the steps take ([\d.]+ \S+), ([\d.]+ %) of a run's "
                    r"([\d.]+ \S+)(: some of them overlap)?",
                    line,
                )
                part = value(sums[1]) / value(sums[3])
                self.assertLess(abs(value(sums[2]) - part), 0.02)
            self.assertIn("--profile=steps", table.ending[2])

    def test_orders(self):
        table = self.table(*INPUT, "--runs", 3, profile="--profile=steps")
        self.assertEqual([line["step"] for line in table.lines], ["0", "1", "2"])
        table = self.table(
            "--function", "chain", "--runs", 3, profile="--profile=kernels"
        )
        self.assertEqual(len(table.lines), 1)
        self.assertEqual(table.lines[0]["steps"], "256")
        self.assertEqual(table.lines[0]["kernel"], "nothing")
        self.assertEqual(table.lines[0]["nodes"], "Nothing +255")

    def test_runs(self):
        runs = re.compile(r": (\d+) runs")
        few = self.table(*INPUT, "--runs", 2)
        self.assertEqual(runs.search(few.heading)[1], "2")
        many = self.table(*INPUT)
        self.assertEqual(runs.search(many.heading)[1], "200")

    def test_usage(self):
        for arguments in (
            ["--profile=size"],
            ["--profile", "--in-flight", "2"],
            ["--profile", "--percentiles"],
            ["--profile", "--check-numerics"],
            ["--profile", "--train", "--data", "x.npy"],
        ):
            done = run(*INPUT, *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("--help", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
