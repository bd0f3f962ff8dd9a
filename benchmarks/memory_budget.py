#!/usr/bin/env python3
"""What a memory budget costs a compiled training step.

    memory_budget.py MODEL BATCH [--loss L] [--optimizer O] [--budgets 60,50]
        [--steps N] [--threads N] [--build DIR]

MODEL is an ONNX file and BATCH a .safetensors file with its input x and target,
as compare_training.py leaves them in build/training/TASK. The step without a
budget and those with a percentage of its memory take turns in one process and
train from the same weights. Prints a table in Markdown: memory, CPU time of a
step (that of all threads, which other processes disturb less than wall time),
its ratio, the median over the rounds, and how far losses are apart.
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import safetensors.numpy

from tinh_runtime import Model

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARM_UP = 2  # Steps that are not timed.


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("batch", type=pathlib.Path)
    parser.add_argument("--loss", default="cross_entropy")
    parser.add_argument("--optimizer", default="sgd,lr=0.001,momentum=0.9")
    parser.add_argument("--budgets", default="60,50")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    return parser.parse_args()


def compile_step(args, share, folder):
    artifact = folder / f"step{share}.so"
    command = [args.build / "bin" / "graph-compile", args.model, "--train"]
    command += [f"--loss={args.loss}", f"--optimizer={args.optimizer}"]
    command += [f"--memory-budget={share}%", "-o", artifact]
    subprocess.run(command, check=True)  # Says what it costs.
    library = args.build / "lib" / "libtinh_runtime.so"
    return Model(str(library), artifact, args.threads, "train_step")


def train(args, models):
    """Times and losses of each model's steps."""
    batch = safetensors.numpy.load_file(args.batch)
    bound = [model.bind(batch) for model in models]
    times, losses = [[] for _ in models], [[] for _ in models]
    for _ in range(args.steps):
        for i, (call, results) in enumerate(bound):
            start = time.process_time()
            call()
            times[i].append(1e3 * (time.process_time() - start))
            losses[i].append(float(results["loss"]))
    return [t[WARM_UP:] for t in times], losses


def main():
    args = parse_arguments()
    shares = [100] + [int(share) for share in args.budgets.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        models = [compile_step(args, share, folder) for share in shares]
        times, losses = train(args, models)
    print("| budget | arena + variables | ms of CPU a step | ratio | losses |")
    print("|---|---|---|---|---|")
    for share, model, own, found in zip(shares, models, times, losses):
        taken = model.info.arena_size + model.state_size()
        ratio = statistics.median(t / all for t, all in zip(own, times[0]))
        apart = max(abs(a - b) / abs(b) for a, b in zip(found, losses[0]))
        print(
            f"| {share} % | {taken:,} | {statistics.median(own):.0f}"
            f" | {ratio:.3f} | {'equal' if apart == 0 else f'{apart:.1e}'} |"
        )


if __name__ == "__main__":
    main()
