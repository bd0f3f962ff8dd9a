# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-scale on the runtime's artifact of several ranks, with given times of steps.

usage: graph_scale_test.py GRAPH_SCALE RANKS TOY [MPIRUN]

Needs the standard library alone. "main" of the artifact computes, starts an
all-reduce of 4096 bytes, computes beside it, awaits it and adds.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GRAPH_SCALE, RANKS, TOY = sys.argv[1:4]
MPIRUN = sys.argv[4:5]
# A message takes 0.5 ms, and 4096 bytes 1 ms.
NETWORK = ("--latency=500", "--bandwidth=0.004096")
STEPS = [
    {"name": "twice", "ms": 1},
    {"name": "start", "collective": 0},
    {"name": "twice", "ms": 2},
    {"name": "await", "collective": 0},
    {"name": "add", "ms": 0.5},
]


def run(*arguments, artifact=RANKS, function="main", launcher=()):
    command = [*launcher, GRAPH_SCALE, artifact, "--function", function]
    environment = dict(
        os.environ,
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_MCA_plm="isolated",
    )
    return subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


class GraphScale(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="tinh-test-")
        self.addCleanup(holder.cleanup)
        self.times = pathlib.Path(holder.name) / "times.json"
        self.write(STEPS)

    def write(self, steps):
        self.times.write_text(json.dumps({"steps": steps}))

    def json(self, *arguments, **options):
        done = run("--json", *arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def step_times(self, *arguments, **options):
        """Milliseconds by ranks."""
        known = ("--times", self.times, *NETWORK)
        scaling = self.json(*known, *arguments, **options)["scaling"]
        return {row["ranks"]: round(row["step_ms"], 9) for row in scaling}

    def fails(self, done, *parts):
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_table(self):
        arguments = ("--ranks", "2..4", "--algorithm=ring")
        done = run("--times", self.times, *NETWORK, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # Of 2 ranks it takes as long as the computation beside it; of 4 ranks
        # 6 messages and 3 / 2 of the bytes.
        self.assertEqual(
            done.stdout,
            "ranks: main, 5 steps, 1 collectives of 0.00 MB\n"
            "--latency=500 --bandwidth=0.004096 --host-share=0 --algorithm=ring\n"
            "\n"
            "ranks  step ms  communication ms  exposed ms  overlap  efficiency\n"
            "    1    3.500             0.000       0.000        -     100.0 %\n"
            "    2    3.500             2.000       0.000  100.0 %     100.0 %\n"
            "    4    6.000             4.500       2.500   44.4 %      58.3 %\n",
        )

    def test_algorithms(self):
        # As many bytes as are sent to all at once, and more than those.
        for algorithm, four, sixteen in (
            ("direct", 5.5, 1.5 + 15 + 1.875),
            ("ring", 6.0, 1.5 + 15 + 1.875),
            ("tree", 7.5, 1.5 + 4 + 8),
            ("halving", 5.0, 1.5 + 4 + 1.875),
        ):
            with self.subTest(algorithm):
                times = self.step_times("--ranks=4,16", f"--algorithm={algorithm}")
                self.assertEqual(times, {1: 3.5, 4: four, 16: sixteen})

    def test_host_share(self):
        for share, expected in ((0, 3.5), (0.5, 4.5), (1, 5.5)):
            times = self.step_times(
                "--ranks=2", "--algorithm=ring", f"--host-share={share}"
            )
            self.assertEqual(times, {1: 3.5, 2: expected})

    def test_faster_machines(self):
        times = self.step_times("--ranks=2", "--algorithm=ring", "--faster=2")
        # 2 ms from 0.5 on, and 0.25 ms behind them.
        self.assertEqual(times, {1: 1.75, 2: 2.75})

    def test_number_of_ranks_in_the_artifact(self):
        self.write([{"name": name} for name in ("start", "await") * 2])
        times = self.step_times(function="pair")
        self.assertEqual(times, {2: 2.0})
        self.fails(
            run("--ranks=4", function="pair"),
            "was compiled for 2 ranks",
            "--shard-optimizer=4",
        )

    def test_measured_times(self):
        measured = self.json("--seconds=0", "--ranks=2..8")
        steps = measured["steps"]
        self.assertEqual([s["name"] for s in steps], [s["name"] for s in STEPS])
        self.assertAlmostEqual(
            sum(s.get("ms", 0) for s in steps), measured["scaling"][0]["step_ms"]
        )
        self.times.write_text(json.dumps(measured))
        again = self.json("--times", self.times, "--ranks=2..8")
        for row, before in zip(again["scaling"], measured["scaling"], strict=True):
            self.assertAlmostEqual(row["step_ms"], before["step_ms"])

    def test_wrong_times(self):
        for steps, part in (
            ({}, 'has no list "steps"'),
            (STEPS[:-1], "has 4 steps, and the function 5"),
            (STEPS[:-1] + [{"name": "sub", "ms": 1}], "another name"),
            (STEPS[:-1] + [{"name": "add", "ms": -1}], "step 4 of"),
            (STEPS[:-1] + [{"name": "add"}], "add in the artifact"),
        ):
            self.write(steps)
            self.fails(run("--times", self.times), part)
        self.times.write_text("{")
        self.fails(run("--times", self.times), 'has no list "steps"')
        self.fails(run("--times", "nowhere.json"), "cannot read 'nowhere.json'")

    def test_wrong_arguments(self):
        self.fails(run(artifact=TOY), "has no collectives", "--data-parallel")
        self.fails(run("--fit"), "mpirun -n 2 graph-scale")
        for arguments in (
            ("--ranks=0",),
            ("--ranks=8..4",),
            ("--ranks=2..x",),
            ("--fit", "--latency=1"),
            ("--bandwidth=nan",),
        ):
            self.assertEqual(run(*arguments).returncode, 2, arguments)

    @unittest.skipUnless(MPIRUN, "needs Open MPI")
    def test_fit(self):
        fitted = self.json(
            "--fit", "--seconds=0", "--ranks=2", launcher=(*MPIRUN, "-n", "2")
        )
        sizes = [time["bytes"] for time in fitted["measured_reductions"]]
        self.assertEqual(sizes, [4**i for i in range(5, 11)])
        self.assertGreaterEqual(fitted["network"]["latency_us"], 0)
        self.assertGreater(fitted["network"]["bandwidth_gb"], 0)
        self.assertEqual([row["ranks"] for row in fitted["scaling"]], [1, 2])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
