#!/usr/bin/env python3
"""Compares Tinh with other engines, side by side, on the open models.

    compare.py --models DIR --runtime LIB --compiler GRAPH_COMPILE [NAME ...]

Engines run at the same time but take turns: one live process for each, pinned
to the same CPUs; each round gives every engine a slice in a rotating order with
a pause before it, so that the spinning threads of the last one go to sleep. The
figures are medians over the rounds; a ratio is the median of the rounds'
ratios, for machines shift while one measures. Outputs are checked first.
Prints tables in Markdown.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

from engines import ENGINES

HERE = pathlib.Path(__file__).parent
# Before this much difference, as a part of max|y|, an engine is not timed.
TOLERANCE = 1e-3


class Worker:
    """A live process that runs one engine."""

    def __init__(self, engine, folder, threads, cpus, options):
        self.engine = engine
        self.log = open(options["log"], "a")
        self.process = subprocess.Popen(
            [
                sys.executable,
                HERE / "engines.py",
                engine,
                folder,
                str(threads),
                ",".join(map(str, cpus)),
                json.dumps(options),
            ],
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


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown CPU"


def compile_model(args, folder):
    """Compiles a model with Tinh; the artifact's path."""
    artifact = args.work / f"{folder.name}.so"
    subprocess.run(
        [args.compiler, folder / "model.onnx", "-o", artifact], check=True
    )
    return artifact


def start_workers(args, folder, threads, cpus, artifact):
    workers = []
    options = {
        "runtime": str(args.runtime.resolve()),
        "artifact": str(artifact),
        "log": str(args.work / "engines.log"),
    }
    for engine in args.engines:
        try:
            worker = Worker(engine, folder, threads, cpus, options)
        except RuntimeError as error:
            print(f"{folder.name}: {error}", file=sys.stderr)
            continue
        if worker.ready["error"] > TOLERANCE:
            print(
                f"{folder.name}: {engine} differs by"
                f" {worker.ready['error']:.1e} of max|y|; not timed",
                file=sys.stderr,
            )
            worker.close()
            continue
        workers.append(worker)
    return workers


def measure(args, workers):
    """{engine: [median ms of each round]}"""
    times = {worker.engine: [] for worker in workers}
    for worker in workers:
        worker.median_ms(args.slice / 2)
    for number in range(args.rounds):
        shift = number % len(workers)
        for worker in workers[shift:] + workers[:shift]:
            time.sleep(args.pause)
            times[worker.engine].append(worker.median_ms(args.slice))
    return times


def eager_over_compiled(args, folder, threads, cpus):
    """Tinh's eager time over its compiled one, in turns in one process."""
    result = subprocess.run(
        [args.compiler.parent / "graph-compare", folder / "model.onnx", "--json"]
        + ["--threads", str(threads), "--runs", "20"],
        check=True,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
    )
    figures = json.loads(result.stdout)
    return figures["eager"]["median_ms"] / figures["compiled"]["median_ms"]


def compare(args, folder, threads):
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    workers = start_workers(
        args, folder, threads, cpus, compile_model(args, folder)
    )
    try:
        errors = {w.engine: w.ready["error"] for w in workers}
        times = measure(args, workers) if workers else {}
    finally:
        for worker in workers:
            worker.close()
    return {
        "model": folder.name,
        "threads": threads,
        "errors": errors,
        "times": times,
        "eager": eager_over_compiled(args, folder, threads, cpus),
    }


def ratio(times, engine):
    """Tinh's time over the engine's: the median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(times["tinh"], times[engine]))


def format_ms(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def row(result, engines):
    cells = [result["model"], str(result["threads"])]
    times = result["times"]
    for engine in engines:
        if engine not in times:
            cells.append("–")
            continue
        cell = format_ms(statistics.median(times[engine]))
        if engine != "tinh" and "tinh" in times:
            cell += f" ({ratio(times, engine):.2f})"
        cells.append(cell)
    if "tinh" in times:
        eager = result["eager"]
        cell = format_ms(eager * statistics.median(times["tinh"]))
        if "torch" in times:
            cell += f" ({eager * ratio(times, 'torch'):.2f})"
        cells.append(cell)
    else:
        cells.append("–")
    error = result["errors"].get("tinh")
    cells.append("–" if error is None else f"{error:.0e}")
    return "| " + " | ".join(cells) + " |"


def print_table(results, args, out):
    heads = ["model", "threads", *args.engines, "tinh, eager", "tinh's error"]
    print(
        f"{cpu_name()}, {time.strftime('%Y-%m-%d')}, {args.rounds} rounds of"
        f" {args.slice} s. Median ms; in brackets Tinh's time over the"
        " engine's, so less than 1 means that Tinh is faster. Tinh's eager mode,"
        " by its ratio to the compiled model in graph-compare, in brackets over"
        " PyTorch's eager mode. Errors as a part of max|y|.\n",
        file=out,
    )
    print("| " + " | ".join(heads) + " |", file=out)
    print("|" + "---|" * len(heads), file=out)
    for result in results:
        print(row(result, args.engines), file=out, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--runtime", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", type=pathlib.Path, required=True)
    parser.add_argument(
        "--engines",
        default="tinh,torch,torch.compile,torch.compile frozen,onnxruntime,openvino",
        help="comma-separated, of: " + ", ".join(ENGINES),
    )
    parser.add_argument("--threads", default="1,2", help="default: 1,2")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--slice", type=float, default=0.6, help="seconds")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds")
    parser.add_argument("--json", type=pathlib.Path, help="all rounds' times")
    parser.add_argument("--output", type=pathlib.Path, help="the table")
    args = parser.parse_args()
    args.engines = args.engines.split(",")
    unknown = set(args.engines) - set(ENGINES)
    if unknown:
        parser.error(f"no engine {', '.join(sorted(unknown))}")
    args.work = args.models / "compiled"
    args.work.mkdir(parents=True, exist_ok=True)
    return args


def main():
    args = parse_arguments()
    folders = [f.parent for f in sorted(args.models.glob("*/model.onnx"))]
    if args.names:
        folders = [args.models / name for name in args.names]
    results = []
    for folder in folders:
        for threads in map(int, args.threads.split(",")):
            results.append(compare(args, folder, threads))
            print(row(results[-1], args.engines), file=sys.stderr)
    print_table(results, args, sys.stdout)
    if args.output:
        with open(args.output, "w") as out:
            print_table(results, args, out)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
