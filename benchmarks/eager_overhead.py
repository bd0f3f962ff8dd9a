#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a small operation on tensors costs: Tinh, PyTorch and NumPy in turns.

    eager_overhead.py [--build DIR] [--rounds N] [--threads N]

Runs build/bin/eager-overhead, the same loops on PyTorch's C++ library, which it
compiles first, and on PyTorch and NumPy from Python; one after the other in each
round, and prints the medians of the rounds in Markdown. Run it with the Python of
`./dev bench` (build/venv-bench), on a machine that does nothing else.
"""

import argparse
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ROOT / "benchmarks" / "eager_overhead"

# As in eager_overhead/measure.h.
CASES = [
    "x = x + 1, 10 elements",
    "y = x + 1, 10 elements",
    "x += 1, 10 elements",
    "x = x + y, 10 elements",
    "x = x · w, 16 × 16",
    "x = x + 1 and wait, 10 elements",
    "x = x + 1, 1,000,000 elements",
    "x = x · w, 1000 × 1000, ten times",
]


class Program:
    """A process that measures a case when it is told its number."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, case):
        self.process.stdin.write(f"{case}\n")
        self.process.stdin.flush()
        return tuple(float(word) for word in self.process.stdout.readline().split())


class InPython:
    """The same loops; calls return when the operation is done."""

    def __init__(self, ones, matmul):
        self.ones, self.matmul = ones, matmul

    def measure(self, case):
        ten, square = self.ones((1, 10)), self.ones((16, 16))
        large = self.ones((1000, 1000)) if case in (6, 7) else None
        matmul = self.matmul
        x = {4: square, 6: large, 7: large}.get(case, ten)
        w = large if case == 7 else square
        count = {6: 50, 7: 10}.get(case, 1000)
        start = time.perf_counter_ns()
        if case in (0, 5, 6):
            for _ in range(count):
                x = x + 1
        elif case == 1:
            for _ in range(count):
                x = ten + 1
        elif case == 2:
            for _ in range(count):
                x += 1
        elif case == 3:
            for _ in range(count):
                x = x + ten
        else:
            for _ in range(count):
                x = matmul(x, w)
        each = (time.perf_counter_ns() - start) / count
        return each, each


def build_pytorch_program(build):
    """Compiles pytorch.cpp against the installed torch, if it is not there."""
    torch_dir = pathlib.Path(torch.__file__).parent
    program = build / "costs" / "pytorch-overhead"
    sources = [SOURCES / "pytorch.cpp", SOURCES / "measure.h"]
    newest = max(source.stat().st_mtime for source in sources)
    if program.exists() and program.stat().st_mtime > newest:
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    lib = torch_dir / "lib"
    subprocess.run(
        ["clang++-22", "-std=c++20", "-O3", "-I", torch_dir / "include", sources[0]]
        + ["-L", lib, "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{lib}", "-o", program],
        check=True,
    )
    return program


def cpu_name():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    field = lambda name: re.search(rf"^{name}\s*:\s*(.*)$", text, re.M)[1]
    return f"{field('model name')} (family {field('cpu family')}, model {field('model')})"


def make_systems(build, threads):
    program = build / "bin" / "eager-overhead"
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    f32 = np.float32
    return {
        "Tinh": Program(program, "asynchronous", threads),
        "its calls": None,
        "Tinh, synchronous": Program(program, "synchronous", threads),
        "PyTorch in C++": Program(build_pytorch_program(build), threads),
        "PyTorch in Python": InPython(torch.ones, torch.matmul),
        "NumPy": InPython(lambda shape: np.ones(shape, f32), np.matmul),
    }


# Seconds before each turn, in which the threads of the last one, which look for
# more work, go to sleep.
PAUSE = 0.25


def measure(systems, case, rounds):
    """The medians by system, in nanoseconds; systems take turns."""
    times = {name: [] for name in systems}
    for round_number in range(rounds + 2):
        for name, system in systems.items():
            if system is None:
                continue
            time.sleep(PAUSE)
            total, calls = system.measure(case)
            if round_number < 2:
                continue  # To warm up.
            times[name].append(total)
            if name == "Tinh":
                times["its calls"].append(calls)
    return {name: statistics.median(found) for name, found in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    print(f"{cpu_name()}, PyTorch {torch.__version__}, NumPy {np.__version__},")
    print(f"Python {platform.python_version()}; nanoseconds an operation\n")
    slower = False
    for threads in options.threads:
        systems = make_systems(options.build, threads)
        print(f"| {threads} thread{'s'[:threads > 1]} | " + " | ".join(systems) + " |")
        print("|---" * (len(systems) + 1) + "|")
        for case, what in enumerate(CASES):
            found = measure(systems, case, options.rounds)
            cells = " | ".join(f"{value:,.0f}" for value in found.values())
            print(f"| {what} | {cells} |", flush=True)
            slower |= case in (0, 7) and found["Tinh"] > found["PyTorch in C++"]
        print()
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
