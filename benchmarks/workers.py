"""Engines in live processes that take turns, for compare.py and
compare_training.py.

A worker's process answers with lines of JSON on its standard output: first,
without being asked, what it has to say of itself; then, for each line
`run SECONDS`, the median time of a run in ms. They are pinned to the same CPUs;
each round gives every one a slice in a rotating order, with a pause before it,
so that the spinning threads of the last one go to sleep. Ratios are medians of
the rounds' ratios, for machines shift while one measures.
"""

import json
import pathlib
import platform
import statistics
import subprocess
import sys
import time


class Worker:
    """A live process that runs one engine."""

    def __init__(self, engine, command, log):
        self.engine = engine
        self.log = open(log, "a")
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.ready = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.engine} died; see {self.log.name}")
        return json.loads(line)

    def median_ms(self, seconds):
        self.process.stdin.write(f"run {seconds}\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


def measure(workers, args):
    """{engine: [median ms of each round]}, by args.rounds, slice and pause."""
    times = {worker.engine: [] for worker in workers}
    for worker in workers:
        worker.median_ms(args.slice / 2)
    for number in range(args.rounds):
        shift = number % len(workers)
        for worker in workers[shift:] + workers[:shift]:
            time.sleep(args.pause)
            times[worker.engine].append(worker.median_ms(args.slice))
    return times


def serve(run, answers):
    """The other end: answers the lines of standard input."""
    for line in sys.stdin:
        _, seconds = line.split()
        print(json.dumps(median_ms(run, float(seconds))), file=answers)


def median_ms(run, seconds):
    times = []
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        run()
        stop = time.perf_counter()
        times.append(stop - start)
        if stop >= end:
            return 1e3 * sorted(times)[len(times) // 2]


def add_timing_options(parser):
    parser.add_argument("--threads", default="1,2", help="default: 1,2")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--slice", type=float, default=0.6, help="seconds")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds")
    parser.add_argument("--json", type=pathlib.Path, help="all rounds' times")
    parser.add_argument("--output", type=pathlib.Path, help="the table")


def ratio(times, engine, other):
    """The engine's time over the other's: the median of the rounds' ratios."""
    return statistics.median(
        a / b for a, b in zip(times[engine], times[other])
    )


def format_ms(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown CPU"
