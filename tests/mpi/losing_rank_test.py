"""What ranks are told when one of them fails: losing_rank_test.py MPIRUN PROGRAM
LIBRARY. The launchers let the others live, where they can."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MPIRUN, PROGRAM, LIBRARY = sys.argv[1:4]
IS_MPICH = "mpich" in MPIRUN
SURVIVE = ["-disable-auto-cleanup"] if IS_MPICH else ["--enable-recovery"]
BY_MESSAGES = os.environ.get("TINH_MPI_SHARED_MEMORY") == "off"
RANKS = 3
ENDLESS = "all-reduce of 100000 elements of f32, collective 100, which others wait for"


def lose(rank, how):
    """What each other rank prints when this one is lost in this way, and all that
    is printed."""
    with tempfile.NamedTemporaryFile("w+") as output:
        # In a session of its own, so that all can be ended: launchers wait for
        # ranks that have stopped.
        process = subprocess.Popen(
            [MPIRUN, *SURVIVE, "-n", str(RANKS), PROGRAM, LIBRARY, str(rank), how],
            stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            start_new_session=True)
        end = time.monotonic() + 60
        told = {}
        while len(told) < RANKS - 1 and time.monotonic() < end:
            ended = process.poll() is not None
            told = messages(output.name)
            if ended:
                break
            time.sleep(0.05)
        kill_session(process)
        with open(output.name) as file:
            return told, file.read()


def messages(path):
    """The whole lines "rank 2: …", by ranks."""
    with open(path) as file:
        lines = [line for line in file if line.endswith("\n")]
    matches = [re.fullmatch(r"rank (\d+): (.*)\n", line) for line in lines]
    return {int(match[1]): match[2] for match in matches if match}


def kill_session(process):
    """The launcher and all ranks: those of Open MPI have groups of their own."""
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if os.getsid(pid) == process.pid:
                os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


class LosingRankTest(unittest.TestCase):
    def expect(self, how, message):
        told, text = lose(1, how)
        self.assertEqual(told, {0: message, 2: message}, text)

    def test_stopped(self):
        self.expect("stopped", "rank 1 has given no sign of life for 1 s")

    @unittest.skipIf(BY_MESSAGES, "they have nothing to send yet")
    def test_absent(self):
        told, text = lose(1, "absent")
        self.assertEqual(set(told.values()), {
            "not all ranks have joined within 10 s: one of them has ended, or runs "
            "another program, or what needs no others"}, text)
        if not IS_MPICH:  # Whose launcher ends the others when the first one ends.
            self.assertEqual(set(told), {0, 2}, text)

    def test_hangs(self):
        self.expect("hangs", f"rank 1 has not started the {ENDLESS}; it hangs, "
                             "or runs another program")

    def test_gives_up(self):
        self.expect("gives-up", "rank 1 has given up: x.npy: no such file")

    def test_leaves(self):
        self.expect("leaves", f"rank 1 has left without the {ENDLESS}")

    @unittest.skipIf(BY_MESSAGES, "MPI alone knows of other messages")
    def test_starts_another(self):
        for how, other in {
            "fewer": "1000 elements of f32 (maximum)",
            "sum-as-bf16": "100000 elements of f32 (sum, sent as bf16)",
        }.items():
            told, text = lose(1, how)
            self.assertEqual(set(told.values()), {
                f"rank 1 has started the all-reduce of {other} where rank 0 has "
                "started the all-reduce of 100000 elements of f32 (maximum); all "
                "ranks have to start the same collectives in the same order"}, text)

    @unittest.skipIf(IS_MPICH, "MPICH's launcher ends all ranks itself")
    def test_killed(self):
        self.expect("killed", "rank 1 has given no sign of life for 1 s")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
