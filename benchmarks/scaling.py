#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a second thread is worth to Tinh and to other engines, and what is left of
both beside another program.

    scaling.py [OPTION ...] [NAME | FILE.onnx ...]

Options, models and engines are those of compare.py. In each round every engine has a
turn with one thread, one with two, and one with two beside a process that computes
without end on the same two CPUs. Prints a table in Markdown: medians over the
rounds of one thread's time over two threads', and of the time beside the busy process
over the time without. The first line of a model is a loop of multiply-adds, which
needs nothing but the two CPUs.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import time

import compare
from machine_limits import measure_limits
from model_facts import describe
from workers import format_ms

BUSY = "while True: pass"


@contextlib.contextmanager
def busy_process(cpus):
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY],
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def turn(one, two, args, cpus):
    """ms with one thread, with two, and with two beside a busy process."""
    times = []
    for worker in (one, two):
        time.sleep(args.pause)
        times.append(worker.median_ms(args.slice))
    with busy_process(cpus):
        time.sleep(args.pause)
        times.append(two.median_ms(args.slice))
    return times


def measure(pairs, args, cpus):
    """{engine: [times of a turn, for each round]}."""
    for pair in pairs.values():
        for worker in pair:
            worker.median_ms(args.slice / 2)
    turns = {engine: [] for engine in pairs}
    for number in range(args.rounds):
        engines = list(pairs)
        shift = number % len(engines)
        for engine in engines[shift:] + engines[:shift]:
            turns[engine].append(turn(*pairs[engine], args, cpus))
    return turns


def loop_gain(comparison, cpus):
    """What the multiply-adds of two CPUs are over those of one."""
    machine = comparison.args.build / "bin" / "machine"
    one, two = (measure_limits(machine, cpus[:n])["gflops"] for n in (1, 2))
    return two / one


def rows(name, turns):
    for engine, times in turns.items():
        one, two, beside = (statistics.median(t[i] for t in times) for i in range(3))
        gain = statistics.median(t[0] / t[1] for t in times)
        loss = statistics.median(t[2] / t[1] for t in times)
        cells = [name, engine, format_ms(one), format_ms(two), f"{gain:.2f}"]
        yield cells + [format_ms(beside), f"{loss:.2f}"]


def run(args):
    comparison = compare.Comparison(args)
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        sys.exit("scaling: error: there is one CPU, and two are needed")
    head = ["model", "engine", "1 thread, ms", "2 threads, ms", "1 over 2"]
    head += ["2 beside a busy process, ms", "over alone"]
    print("| " + " | ".join(head) + " |\n|---|---" + "|---:" * 5 + "|")
    for folder in comparison.folders():
        paths = comparison.loadable(folder)
        facts = describe(folder / "model.onnx")
        gain = loop_gain(comparison, cpus)
        print(f"| {folder.name} | multiply-adds | | | {gain:.2f} | | |", flush=True)
        with contextlib.ExitStack() as stack:
            pairs = {}
            for number in (1, 2):
                for worker in comparison.start_workers(
                    folder, cpus[:number], paths, facts
                ):
                    stack.callback(worker.close)
                    pairs.setdefault(worker.engine, []).append(worker)
            pairs = {e: pair for e, pair in pairs.items() if len(pair) == 2}
            for cells in rows(folder.name, measure(pairs, args, cpus)):
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    run(compare.parse_arguments())
