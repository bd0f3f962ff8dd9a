#!/usr/bin/env python3
"""Compares Tinh with other engines, side by side, on the open models.

    compare.py --models DIR --runtime LIB --compiler GRAPH_COMPILE [NAME ...]

Engines run at the same time but take turns (workers.py). The figures are medians
over the rounds. Outputs are checked first. Prints tables in Markdown.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from engines import ENGINES
from workers import (
    Worker,
    add_timing_options,
    cpu_name,
    format_ms,
    measure,
    ratio,
)

HERE = pathlib.Path(__file__).parent
# Before this much difference, as a part of max|y|, an engine is not timed.
TOLERANCE = 1e-3


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
    }
    for engine in args.engines:
        command = [sys.executable, HERE / "engines.py", engine, folder]
        command += [threads, ",".join(map(str, cpus)), json.dumps(options)]
        try:
            worker = Worker(engine, command, args.work / "engines.log")
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
        times = measure(workers, args) if workers else {}
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


def row(result, engines):
    cells = [result["model"], str(result["threads"])]
    times = result["times"]
    for engine in engines:
        if engine not in times:
            cells.append("–")
            continue
        cell = format_ms(statistics.median(times[engine]))
        if engine != "tinh" and "tinh" in times:
            cell += f" ({ratio(times, 'tinh', engine):.2f})"
        cells.append(cell)
    if "tinh" in times:
        eager = result["eager"]
        cell = format_ms(eager * statistics.median(times["tinh"]))
        if "torch" in times:
            cell += f" ({eager * ratio(times, 'tinh', 'torch'):.2f})"
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
    add_timing_options(parser)
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
