#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of a model's time goes to steps that the CPU's limits bound.

    roofline.py [OPTION ...] [NAME | FILE.onnx ...]

Options and models are those of compare.py, of which the engines and the files do not
matter. Of the steps that make up 80 % of the time, the longest first, the table has the
part of the time in which they reach 85 % of the multiply-adds or of the memory's
bandwidth that the machine model has for this CPU (`graph-run --profile`); operations are
those of direct convolutions, whatever Winograd's algorithm saves. Then come the kernels
that do not, and how far each gets. Prints Markdown.
"""

import collections
import json
import os
import subprocess

import compare
from model_facts import describe
from workers import format_ms

PART = 0.8  # Of the time, that is looked at.
REACHED = 0.85  # Of a limit: enough.
SHOWN = 3


def profile(build, artifact, inputs, threads):
    command = [build / "bin" / "graph-run", artifact, "--threads", str(threads)]
    for name in inputs:
        command += ["--input", f"{name}=random"]
    done = subprocess.run(
        [*command, "--profile=steps", "--json"],
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(
            0, sorted(os.sched_getaffinity(0))[:threads]
        ),
    )
    return json.loads(done.stdout)


def reached(step):
    """The larger part of the two limits."""
    return max(step["peak"] or 0, step["memory_peak"] or 0)


def longest(steps):
    """Those that make up PART of the time."""
    total, found, ms = sum(step["ms"] for step in steps), [], 0
    for step in sorted(steps, key=lambda step: -step["ms"]):
        if ms >= PART * total:
            break
        ms += step["ms"]
        found.append(step)
    return found


def row(name, threads, report):
    steps = [step for step in report["steps"] if step["ms"]]
    looked_at = longest(steps)
    total = sum(step["ms"] for step in steps)
    ms = sum(step["ms"] for step in looked_at)
    fine = sum(step["ms"] for step in looked_at if reached(step) >= REACHED)
    operations = sum(step["operations"] or 0 for step in steps)
    rate = operations / total / 1e6 / report["peak_gflops"]
    below = collections.defaultdict(list)
    for step in looked_at:
        if reached(step) < REACHED:
            below[step["kernel"]].append(step)
    worst = sorted(below.items(), key=lambda item: -sum(s["ms"] for s in item[1]))
    texts = [
        f"{kernel} {sum(s['ms'] for s in of) / total:.0%} at "
        f"{sum(s['ms'] * reached(s) for s in of) / sum(s['ms'] for s in of):.2f}"
        for kernel, of in worst[:SHOWN]
    ]
    if len(worst) > SHOWN:
        texts.append(f"{len(worst) - SHOWN} more")
    cells = [name, str(threads), format_ms(report["median_ms"]), f"{rate:.2f}"]
    cells += [f"{len(looked_at)} of {len(steps)}", f"{fine / ms:.0%}"]
    return cells + ["; ".join(texts) or "none"]


def run(args):
    args.engines = ["tinh"]
    comparison = compare.Comparison(args)
    head = ["model", "threads", "ms", "of the peak", "steps for 80 %"]
    head += ["at a limit", "below: kernel, of the time, and what it reaches"]
    print("| " + " | ".join(head) + " |\n|---|---" + "|---:" * 4 + "|---|")
    for folder in comparison.folders():
        artifact = comparison.loadable(folder)["tinh"]
        inputs = describe(folder / "model.onnx")["inputs"]
        for threads in args.thread_counts:
            report = profile(args.build, artifact, inputs, threads)
            print("| " + " | ".join(row(folder.name, threads, report)) + " |", flush=True)


if __name__ == "__main__":
    run(compare.parse_arguments())
