#!/usr/bin/env python3
"""Compares training steps of Tinh with those of other engines, side by side.

    compare_training.py [--build DIR] [--threads 1,2] [--rounds N] [TASK ...]
    compare_training.py --curve [TASK ...]

Tinh's compiled step, made by graph-compile --train, and its tape take turns
with PyTorch, torch.compile and JAX (workers.py), from equal weights on an equal
batch (training_tasks.py). What the first steps lose is compared before anything
is timed. Prints tables in Markdown: times, what comes before the first step,
and memory. With --curve it compares losses of 100 steps instead
(training_curves.py). Run it with the Python of `./dev bench`
(build/venv-bench), on a machine that does nothing else.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import safetensors.torch

import training_curves
import training_memory
from training_engines import ENGINES, FIRST_STEPS
from training_tasks import TASKS, export
from workers import (
    Worker,
    add_timing_options,
    cpu_name,
    format_ms,
    measure,
    ratio,
)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
TIMED = ["two_layer", "mlp", "resnet18"]
# Before the first losses differ by this much from PyTorch's, relatively, an
# engine is not timed.
TOLERANCE = 1e-3


def prepare(args, name):
    """Writes the model, its weights and a batch; the folder."""
    task, folder = TASKS[name], args.work / name
    if (folder / "batch.safetensors").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    module, (x, target) = task.module(), task.batch()
    export(module, x, folder / "model.onnx")
    save = safetensors.torch.save_file
    save(module.state_dict(), folder / "weights.safetensors")
    save({"x": x, "target": target}, folder / "batch.safetensors")
    return folder


def compile_step(args, name, optimizer, *options):
    """The artifact of a training step, and the seconds that it took to make."""
    folder = prepare(args, name)
    artifact = folder / f"{optimizer.replace(',', '_')}.so"
    command = [args.build / "bin" / "graph-compile", folder / "model.onnx"]
    command += ["--train", f"--loss={TASKS[name].loss}"]
    command += [f"--optimizer={optimizer}", *options, "-o", artifact]
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return artifact, time.perf_counter() - start


def command_of(args, engine, name, threads, cpus, artifact):
    task = TASKS[name]
    if engine == "tinh tape":
        command = ["taskset", "-c", cpus, args.build / "bin" / "training-tape"]
        command += [name, prepare(args, name), task.loss, task.optimizer]
        return [*command, threads, FIRST_STEPS]
    options = {
        "runtime": str(args.build / "lib" / "libtinh_runtime.so"),
        "artifact": str(artifact),
    }
    command = [sys.executable, HERE / "training_engines.py", engine, name]
    return [*command, threads, cpus, json.dumps(options)]


def start_workers(args, name, threads, artifact):
    """Those engines that can do the task, if their losses agree."""
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:threads]))
    workers = []
    for engine in args.engines:
        command = command_of(args, engine, name, threads, cpus, artifact)
        try:
            log = args.work / "engines.log"
            workers.append(Worker(engine, command, log, args.under))
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr)
    expected = next(w for w in workers if w.engine == "torch").ready["losses"]
    for worker in list(workers):
        difference = training_curves.distance(worker.ready["losses"], expected)
        if not difference <= TOLERANCE:
            print(
                f"{name}: losses of {worker.engine} differ by"
                f" {difference:.1e}; not timed",
                file=sys.stderr,
            )
            workers.remove(worker)
            worker.close()
    return workers


def compare(args, name, threads, artifact, compile_s):
    workers = start_workers(args, name, threads, artifact)
    try:
        times = measure(workers, args)
        first = {worker.engine: worker.ready["first_s"] for worker in workers}
    finally:
        for worker in workers:
            worker.close()
    if "tinh" in first:
        first["tinh"] += compile_s
    return {"task": name, "threads": threads, "times": times, "first_s": first}


def memory(args, name, artifact):
    library = str(args.build / "lib" / "libtinh_runtime.so")
    ours = training_memory.of_artifact(library, artifact)
    theirs = training_memory.of_pytorch(TASKS[name])
    return {"task": name, "torch": theirs, **ours}


def row(cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def time_cell(times, engine):
    if engine not in times:
        return "–"
    cell = format_ms(statistics.median(times[engine]))
    if engine != "tinh" and "tinh" in times:
        cell += f" ({ratio(times, engine, 'tinh'):.2f})"
    return cell


def print_times(results, args, out):
    heads = ["a step, ms", "threads", *args.engines, "tape / torch"]
    print(row(heads) + "\n" + "|---" * len(heads) + "|", file=out)
    for result in results:
        times = result["times"]
        cells = [time_cell(times, engine) for engine in args.engines]
        both = {"tinh tape", "torch"} <= set(times)
        cells.append(f"{ratio(times, 'tinh tape', 'torch'):.2f}" if both else "–")
        print(row([result["task"], result["threads"], *cells]), file=out)


def print_first(results, args, out):
    heads = ["first step, s", "threads", *args.engines]
    print("\n" + row(heads) + "\n" + "|---" * len(heads) + "|", file=out)
    for result in results:
        first = result["first_s"]
        cells = [f"{first[e]:.2f}" if e in first else "–" for e in args.engines]
        print(row([result["task"], result["threads"], *cells]), file=out)


def print_memory(found, out):
    heads = ["memory, bytes", "arena", "lower bound", "state", "arena + state"]
    heads += ["PyTorch", "ratio"]
    print("\n" + row(heads) + "\n" + "|---" * len(heads) + "|", file=out)
    for f in found:
        ours = f["arena"] + f["state"]
        cells = [f["arena"], f["bound"], f["state"], ours, f["torch"]]
        cells = [f"{cell:,}" for cell in cells] + [f"{ours / f['torch']:.3f}"]
        print(row([f["task"], *cells]), file=out)


def print_tables(results, found, args, out):
    print(
        f"{cpu_name()}, {time.strftime('%Y-%m-%d')}, {args.rounds} rounds of"
        f" {args.slice} s. Medians; in brackets the engine's time over that of"
        " the compiled step, so more than 1 means that the compiled step is"
        " faster. The first step includes compilation, without Tinh's cache"
        " of kernels. Memory without the batch; PyTorch's is the peak of live"
        " tensors' bytes.\n",
        file=out,
    )
    print_times(results, args, out)
    print_first(results, args, out)
    print_memory(found, out)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="TASK")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument(
        "--engines",
        default="tinh,tinh tape," + ",".join(list(ENGINES)[1:]),
        help="comma-separated, torch among them; default: all, %(default)s",
    )
    parser.add_argument(
        "--curve", action="store_true", help="compare losses of 100 steps"
    )
    add_timing_options(parser)
    args = parser.parse_args()
    args.engines = args.engines.split(",")
    unknown = set(args.engines) - {"tinh tape", *ENGINES}
    if unknown or "torch" not in args.engines:
        parser.error(f"no engine {', '.join(sorted(unknown)) or 'torch'}")
    if set(args.names) - set(TASKS):
        parser.error("no such task; there are " + ", ".join(TASKS))
    args.build = args.build.resolve()
    args.work = args.build / "training"
    args.work.mkdir(parents=True, exist_ok=True)
    return args


def main():
    args = parse_arguments()
    if args.curve:
        sys.exit(training_curves.report(args, compile_step))
    results, found = [], []
    for name in args.names or TIMED:
        optimizer = TASKS[name].optimizer
        compiled = compile_step(args, name, optimizer, "--no-cache")
        for threads in map(int, args.threads.split(",")):
            results.append(compare(args, name, threads, *compiled))
            print(json.dumps(results[-1]), file=sys.stderr)
        found.append(memory(args, name, compiled[0]))
    print_tables(results, found, args, sys.stdout)
    if args.output:
        with open(args.output, "w") as out:
            print_tables(results, found, args, out)
    if args.json:
        args.json.write_text(json.dumps([results, found], indent=1))


if __name__ == "__main__":
    main()
