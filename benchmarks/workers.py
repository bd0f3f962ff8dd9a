"""Engines in live processes that take turns, for compare.py and
compare_training.py.

A worker's process answers with lines of JSON on its standard output: first,
without being asked, what it has to say of itself; then, for each line
`run SECONDS`, the median time of a run in ms. They are pinned to the same CPUs;
each round gives every one a slice in a rotating order, with a pause before it,
so that the spinning threads of the last one go to sleep. Ratios are medians of
the rounds' ratios, for machines shift while one measures.
"""

import contextlib
import json
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import time


class Worker:
    """A live process that runs one engine: `command`, by way of `under`."""

    def __init__(self, engine, command, log, under=()):
        self.engine = engine
        self.log = open(log, "a")
        self.process = subprocess.Popen(
            [str(word) for word in (*under, *command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.ready = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.engine} {self._death()}")
        return json.loads(line)

    def _death(self):
        """What it died of: a signal, or what it said last."""
        code = self.process.wait()
        self.log.close()
        said = pathlib.Path(self.log.name).read_text(errors="replace")
        reason = f"signal {-code}"
        if code >= 0:
            reason = (said.strip().splitlines() or ["?"])[-1][:160]
        return f"died: {reason}; see {self.log.name}"

    def median_ms(self, seconds):
        self.process.stdin.write(f"run {seconds}\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self):
        with contextlib.suppress(BrokenPipeError):
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
    parser.add_argument(
        "--threads",
        default="1,2",
        metavar="N[,N ...]",
        help="how many threads, one after the other (default: 1,2)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=10,
        metavar="N",
        help="in which each engine gets a turn (default: 10)",
    )
    parser.add_argument(
        "--slice",
        type=float,
        default=0.6,
        metavar="SECONDS",
        help="how long a turn is (default: 0.6)",
    )
    parser.add_argument(
        "--pause",
        type=float,
        default=0.1,
        metavar="SECONDS",
        help="before each turn (default: 0.1)",
    )
    parser.add_argument(
        "--under",
        type=shlex.split,
        default=[],
        metavar="COMMAND",
        help="that runs the engines, such as 'nice -n -15' where other programs "
        "run, too",
    )
    parser.add_argument(
        "--json",
        type=pathlib.Path,
        metavar="FILE",
        help="writes all rounds' times there",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        metavar="FILE",
        help="writes the table there, too",
    )


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
