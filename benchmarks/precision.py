#!/usr/bin/env python3
"""Compares compiled training steps in bf16 with those in f32.

    precision.py [--build DIR] [--rounds N] [TASK ...]
    precision.py --curve [TASK ...]

Both artifacts, made by graph-compile --train with and without
--precision=bf16, are loaded by one process and take turns, on one thread.
Prints a table in Markdown: CPU time of a step, which other programs disturb
little, and memory; with --curve the losses of 50 steps on ten batches in turn.
Run it with the Python of `./dev bench` (build/venv-bench).
"""

import argparse
import pathlib
import statistics
import subprocess
import time

from compare_training import ROOT, prepare
from tinh_runtime import Model
from training_tasks import TASKS

PRECISIONS = {"f32": [], "bf16": ["--precision=bf16"]}
TIMED = ["two_layer", "mlp", "resnet18"]
CURVES = ["mlp", "resnet18_small"]
STEPS = 50
BATCHES = 10


def compile_steps(args, name):
    """The artifacts by precision."""
    task, folder = TASKS[name], prepare(args, name)
    artifacts = {}
    for precision, options in PRECISIONS.items():
        artifacts[precision] = folder / f"{precision}.so"
        command = [args.build / "bin" / "graph-compile", folder / "model.onnx"]
        command += ["--train", f"--loss={task.loss}", *options]
        command += [f"--optimizer={task.optimizer}"]
        subprocess.run([*command, "-o", artifacts[precision]], check=True)
    return artifacts


def load(args, artifact, task):
    """The model, a function that runs a step, its batch and its results."""
    library = str(args.build / "lib" / "libtinh_runtime.so")
    model = Model(library, artifact, 1, "train_step")
    batch = [value.numpy().copy() for value in task.batch()]
    run, results = model.bind(dict(zip(("x", "target"), batch, strict=True)))
    return model, run, batch, results


def measure(args, steps):
    """Milliseconds of CPU time for a step, by precision, in each round."""
    times = {precision: [] for precision in steps}
    for _ in range(args.rounds):
        for precision, (_, run, _, _) in steps.items():
            start = time.process_time()
            run()
            times[precision].append(1e3 * (time.process_time() - start))
    return times


def print_times(args):
    print(
        "| task | f32, ms | bf16, ms | f32 / bf16 | arena f32 | arena bf16 | ratio |"
        "\n|---|---|---|---|---|---|---|"
    )
    for name in args.names or TIMED:
        steps = {
            precision: load(args, artifact, TASKS[name])
            for precision, artifact in compile_steps(args, name).items()
        }
        for _, run, _, _ in steps.values():
            run()
        times = measure(args, steps)
        full, mixed = (statistics.median(times[p]) for p in PRECISIONS)
        gain = statistics.median(
            a / b for a, b in zip(times["f32"], times["bf16"], strict=True)
        )
        arenas = [steps[p][0].info.arena_size for p in PRECISIONS]
        print(
            f"| {name} | {full:.3g} | {mixed:.3g} | {gain:.2f} |"
            f" {arenas[0]:,} | {arenas[1]:,} | {arenas[1] / arenas[0]:.2f} |",
            flush=True,
        )


def losses(args, artifact, task):
    _, run, batch, results = load(args, artifact, task)
    found = []
    for step in range(STEPS):
        for array, value in zip(batch, task.batch(step % BATCHES), strict=True):
            array[...] = value.numpy()
        run()
        found.append(float(results["loss"]))
    return found


def print_curves(args):
    for name in args.names or CURVES:
        curves = [
            losses(args, artifact, TASKS[name])
            for artifact in compile_steps(args, name).values()
        ]
        off = max(abs(a - b) / abs(a) for a, b in zip(*curves, strict=True))
        print(f"| {name}, step | f32 | bf16 |\n|---|---|---|")
        for step in (1, 10, 20, 30, 40, STEPS):
            full, mixed = (curve[step - 1] for curve in curves)
            print(f"| {step} | {full:.5g} | {mixed:.5g} |")
        print(f"\nLargest relative difference of {STEPS} steps: {off:.1e}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="TASK")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=20, help="steps of each")
    parser.add_argument("--curve", action="store_true", help="compare losses")
    args = parser.parse_args()
    if set(args.names) - set(TASKS):
        parser.error("no such task; there are " + ", ".join(TASKS))
    args.build = args.build.resolve()
    args.work = args.build / "training"
    args.work.mkdir(parents=True, exist_ok=True)
    print_curves(args) if args.curve else print_times(args)


if __name__ == "__main__":
    main()
