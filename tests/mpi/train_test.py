"""graph-run --train on several ranks, on a hand-made artifact.

usage: train_test.py GRAPH_RUN RANKS_TRAINER TRAINER MPIRUN…

Needs the standard library alone. RANKS_TRAINER takes batches of 4 and the means of
the ranks' gradients, TRAINER batches of 8 alone; both set all elements of "stamp"
to the number of steps. RANK_KILLS in the environment is how often a rank is killed.
"""

import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from files import floats, npy, read_state

GRAPH_RUN, RANKS_TRAINER, TRAINER, *MPIRUNS = (
    str(pathlib.Path(p).absolute()) for p in sys.argv[1:]
)
KILLS = int(os.environ.get("RANK_KILLS", "2"))


def ranks_in(folder):
    """The ranks that are alive and work in that folder, by number. Launchers give
    them sessions of their own."""
    found = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if os.readlink(f"/proc/{pid}/cwd") != os.path.realpath(folder):
                continue
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            name = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            continue
        rank = re.search(rb"(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)", environment)
        if rank and name == os.path.realpath(GRAPH_RUN):
            found[int(rank[1])] = pid
    return found


class TrainOnRanks(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        numbers = random.Random(1)
        rows = [[numbers.uniform(-1, 1) for _ in range(4)] for _ in range(100)]
        targets = [r[0] - 2 * r[1] + 3 * r[2] + 0.25 for r in rows]
        flat = [value for row in rows for value in row]
        (self.folder / "x.npy").write_bytes(npy(flat, (100, 4)))
        (self.folder / "y.npy").write_bytes(npy(targets, (100,)))

    def command(self, *arguments, artifact=RANKS_TRAINER):
        data = ("--train", "--data", "x.npy,y.npy")
        return [GRAPH_RUN, artifact, *data, *map(str, arguments)]

    def run_command(self, command):
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.folder
        )

    def train(self, launcher, *arguments, **options):
        """What is printed of each epoch, without its time."""
        done = self.run_command([*launcher, *self.command(*arguments, **options)])
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.findall(r"^epoch \d+ of \d+: (.*) \(", done.stdout, re.M)

    def state(self, name):
        return read_state(self.folder / name)

    def fails(self, command, *messages):
        done = self.run_command(command)
        self.assertEqual(done.returncode, 1, done.stderr)
        for message in messages:
            self.assertRegex(done.stderr, "graph-run: " + message)

    def test_two_ranks_are_one_with_twice_the_batch(self):
        options = ("--epochs", 3, "--shuffle", 4, "--save-state")
        alone = self.train([], *options, "alone", artifact=TRAINER)
        states = []
        for mpirun in MPIRUNS:
            ranks = self.train([mpirun, "-n", "2"], *options, "ranks")
            self.assertEqual(ranks, alone)  # To the digits that are printed.
            states.append(self.state("ranks"))
        self.assertEqual(states, states[:1] * len(states))  # To the bit.
        _, expected = self.state("alone")
        for name, (shape, found) in states[0][1].items():
            self.assertEqual(shape, expected[name][0])
            if name == "stamp":
                self.assertEqual(found, expected[name][1])
                continue
            for a, b in zip(floats(found), floats(expected[name][1]), strict=True):
                self.assertAlmostEqual(a, b, delta=1e-5)

    def test_checkpoints_are_for_any_number_of_ranks(self):
        options = ("--shuffle", 3, "--validation", "x.npy,y.npy", "--resume")
        options = (*options, "--checkpoint-steps", 5, "--checkpoint", "state")
        launcher = [MPIRUNS[0], "-n", "2"]
        whole = self.train(launcher, *options, "--epochs", 3)
        stamps, bits = self.state("state")[1]["stamp"][1], self.state("state")
        self.assertEqual(struct.unpack("<q", stamps[-8:]), (36,))
        (self.folder / "state").unlink()
        first = self.train(launcher, *options, "--epochs", 1)
        rest = self.train(launcher, *options, "--epochs", 3)
        self.assertEqual(first + rest, whole)
        self.assertEqual(self.state("state"), bits)
        # Without validation, whose batches are those of one process.
        (self.folder / "state").unlink()
        self.train(launcher, *options, "--epochs", 1)
        rest = self.train([], *options, "--epochs", 3, artifact=TRAINER)
        losses = [re.match(r"loss (\S+);", line)[1] for line in rest]
        self.assertEqual(losses, [re.match(r"loss (\S+);", w)[1] for w in whole[1:]])

    def test_traces(self):
        self.train([MPIRUNS[0], "-n", "2"], "--trace", "trace.json")
        for name in ("trace.json", "trace.rank-1.json"):
            events = json.loads((self.folder / name).read_text())["traceEvents"]
            begun = [e for e in events if e["ph"] == "b" and e["cat"] == "collective"]
            ended = [e for e in events if e["ph"] == "e" and e["cat"] == "collective"]
            self.assertEqual(len(begun), 2 * 12)
            for begin, end in zip(begun, ended, strict=True):
                self.assertEqual(begin["id"], end["id"])
                self.assertLessEqual(begin["ts"], end["ts"])

    def test_profiles(self):
        command = [GRAPH_RUN, RANKS_TRAINER, "--function", "train_step"]
        command += ["--input", "x=random", "--input", "y=random"]
        done = self.run_command(
            [MPIRUNS[0], "-n", "2", *command, "--profile", "--json"]
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = json.loads(done.stdout)["steps"]
        self.assertIn("collective", [step["kind"] for step in steps])

    def test_what_is_not_the_same_on_all_ranks(self):
        numbers = npy([0.0] * 100, (100,))
        (self.folder / "zeros.npy").write_bytes(numbers)
        copy = self.folder / "copy.so"
        copy.write_bytes(pathlib.Path(RANKS_TRAINER).read_bytes())
        other = self.command()
        other[other.index("x.npy,y.npy")] = "x.npy,zeros.npy"
        # Whoever is first tells the others.
        rank = r"rank {}: error: (rank \d has given up: )?rank 2 has another {} than"
        for arguments, what in (
            (self.command("--shuffle", 3), "--shuffle"),
            (other, "--data"),
        ):
            self.fails(
                [MPIRUNS[0], "-n", "2", *self.command(), ":", "-n", "1", *arguments],
                *(rank.format(number, what) for number in range(3)),
            )
        # A copy is the same.
        two = [MPIRUNS[0], "-n", "1", *self.command(), ":", "-n", "1"]
        done = self.run_command([*two, *self.command(artifact=str(copy))])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_errors(self):
        two = [MPIRUNS[0], "-n", "2"]
        self.fails(
            [*two, *self.command(artifact=TRAINER)],
            # Whoever is first tells the other.
            "rank 0: error: (rank 1 has given up: )?there are 2 ranks, and the artifact "
            "trains alone; compile the model with --data-parallel",
        )
        self.fails(
            self.command(),
            "error: 'train_step' computes together with other ranks: its context needs",
        )
        missing = self.command()
        missing[missing.index("x.npy,y.npy")] = "x.npy,z.npy"
        why = "--data: cannot read 'z.npy': No such file or directory"
        self.fails(
            [MPIRUNS[0], "-n", "1", *missing, ":", "-n", "1", *self.command()],
            f"rank 0: error: {why}",
            f"rank 1: error: rank 0 has given up: {why}",
        )

    def kill_one(self, mpirun, command, numbers):
        """Kills one of three ranks at some moment; says which, or None if it had
        ended, and what the others have printed."""
        recovery = [] if "mpich" in mpirun else ["--enable-recovery"]
        process = subprocess.Popen(
            [mpirun, *recovery, "-n", "3", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            start_new_session=True,
        )
        process.stdout.readline()  # It has begun.
        ranks = ranks_in(self.folder)
        time.sleep(numbers.uniform(0, 0.1))
        victim = numbers.randrange(3)
        try:
            os.kill(ranks[victim], signal.SIGKILL)
        except (KeyError, ProcessLookupError):
            victim = None
        _, errors = process.communicate(timeout=60)
        return victim, errors

    def has_ended(self):
        """Whether all was done, with the same bits; ranks may not have left yet."""
        parts = self.folder / "parts"
        return parts.exists() and self.state("whole") == self.state("parts")

    def test_killed_ranks(self):
        """What goes on from the last checkpoint ends as if nothing had been."""
        options = ("--shuffle", 2, "--epochs", 200, "--checkpoint-steps", 3)
        options = (*options, "--timeout", 2, "--checkpoint")
        numbers = random.Random(3)
        for mpirun in MPIRUNS:
            self.train([mpirun, "-n", "3"], *options, "whole")
            command = self.command(*options, "parts", "--resume")
            for _ in range(KILLS):
                victim, errors = self.kill_one(mpirun, command, numbers)
                if self.has_ended():
                    (self.folder / "parts").unlink()
                    continue
                self.assertIsNotNone(victim, errors)
                if "mpich" not in mpirun:
                    for rank in {0, 1, 2} - {victim}:
                        self.assertRegex(
                            errors,
                            rf"graph-run: rank {rank}: error: rank {victim} has ",
                        )
                if not (self.folder / "parts").exists():
                    continue  # Killed before it was first written.
                _, stamps = self.state("parts")[1]["stamp"]
                self.assertEqual(stamps, stamps[:8] * (len(stamps) // 8))
            self.train([mpirun, "-n", "3"], *options, "parts", "--resume")
            self.assertTrue(self.has_ended(), "the states differ")
            (self.folder / "parts").unlink()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
