#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far engines' results are from those in f64.

    accuracy.py [OPTION ...] [NAME ...]

Options, models (but not files) and engines are those of compare.py. The reference is the
PyTorch module in f64. Prints a table in Markdown: the largest difference of each engine
as a part of the largest element, and Tinh's over that of each other one.
"""

import os
import pathlib
import subprocess

import compare
from environments import TORCH
from model_facts import describe
from model_sets import has_module

HERE = pathlib.Path(__file__).resolve().parent


def exact_folder(comparison, folder):
    """As `folder`, but its expected outputs are those of f64."""
    exact = comparison.args.build / "bench" / "exact" / folder.name
    if not exact.exists():
        python = comparison.environments.python(TORCH)
        command = [python, HERE / "exact_outputs.py", folder, exact]
        subprocess.run(command, check=True)
    return exact


def errors(comparison, folder, cpus):
    """{engine: the largest difference}."""
    paths = comparison.loadable(folder)
    exact = exact_folder(comparison, folder)
    facts = describe(folder / "model.onnx")
    found = {}
    for worker in comparison.start_workers(exact, cpus, paths, facts):
        found[worker.engine] = worker.ready["error"]
        worker.close()
    return found


def cell(engine, found):
    if engine not in found:
        return "–"
    text = f"{found[engine]:.1e}"
    if engine != "tinh" and found.get("tinh") and found[engine]:
        text += f" ({found['tinh'] / found[engine]:.2f})"
    return text


def run(args):
    comparison = compare.Comparison(args)
    cpus = sorted(os.sched_getaffinity(0))[:1]
    print("| " + " | ".join(["model", *args.engines]) + " |")
    print("|---" * (len(args.engines) + 1) + "|")
    for folder in comparison.folders():
        if not has_module(folder):
            compare.say(f"{folder.name}: there is no module to run in f64")
            continue
        found = errors(comparison, folder, cpus)
        cells = [folder.name, *(cell(engine, found) for engine in args.engines)]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    run(compare.parse_arguments())
