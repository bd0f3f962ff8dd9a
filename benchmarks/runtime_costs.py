#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what the runtime itself costs, and prints a table in Markdown.

    runtime_costs.py [BUILD_DIR]

Size and dependencies of the library, cold starts, resident memory, the cost of
a dispatch and of a loop, and what two threads are worth on two CPUs and on one.
Uses what `./dev demo` and `./dev test` have built, compiles models into
BUILD_DIR/costs, and exits with 1 if a figure is beyond its limit or results
differ. Needs numpy, two CPUs, and a machine that does nothing else.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from tinh_runtime import Model

ROOT = pathlib.Path(__file__).resolve().parents[1]
MEGABYTE = 1e6

# What the library may depend on: the C and C++ standard libraries.
STANDARD = re.compile(r"lib(c|m|dl|pthread|stdc\+\+|gcc_s)\.so\.\d+")


class Table:
    """Rows of a figure, its limit, and whether it keeps it."""

    def __init__(self):
        self.failed = False
        print("| what | measured | limit |\n|---|---|---|")

    def row(self, what, measured, limit="", kept=True):
        self.failed |= not kept
        mark = "" if kept else " **exceeded**"
        print(f"| {what} | {measured}{mark} | {limit} |", flush=True)

    def below(self, what, value, limit, unit):
        digits = 3 if limit < 10 else 1
        self.row(what, f"{value:.{digits}f} {unit}", f"< {limit} {unit}", value < limit)


# A loop that does next to nothing, {length} times.
LOOP = """
func.func @main(%x: tensor<16xf32> {{graph.name = "x"}}) -> (tensor<16xf32> {{graph.name = "y"}}) {{
  %half = graph.constant dense<0.5> : tensor<f32>
  %y = graph.scan %i length {length} carry (%a = %x) over () : (tensor<16xf32>) -> (tensor<16xf32>) {{
    %0 = graph.mul %a, %half : tensor<16xf32>, tensor<f32> -> tensor<16xf32>
    %1 = graph.add %0, %x : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
    graph.yield %1 : tensor<16xf32>
  }}
  return %y : tensor<16xf32>
}}
"""


def run(*command):
    return subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True
    ).stdout


def compile_models(build):
    """The artifacts of a two-layer net and of ResNet-50."""
    folder = build / "costs"
    folder.mkdir(exist_ok=True)
    run(sys.executable, ROOT / "examples/json/make_weights.py", folder)
    resnet50 = build / "demo/resnet50-seeded/model.onnx"
    if not resnet50.exists():
        sys.exit(f"there is no {resnet50}: run ./dev demo first")
    sources = {"two-layer net": folder / "two_layer.json", "ResNet-50": resnet50}
    artifacts = {}
    for name, source in sources.items():
        artifacts[name] = folder / f"{source.parent.name}-{source.stem}.so"
        run(build / "bin/graph-compile", source, "-o", artifacts[name])
    return artifacts


def compile_loop(build, length):
    source = build / f"costs/loop-{length}.mlir"
    source.write_text(LOOP.format(length=length))
    run(build / "bin/graph-compile", source, "-o", source.with_suffix(".so"))
    return source.with_suffix(".so")


def describe_cpu():
    fields = dict(
        line.split(":", 1) for line in run("lscpu").splitlines() if ":" in line
    )
    value = lambda key: fields[key].strip()
    return (
        f"{value('Model name')} (family {value('CPU family')}, model "
        f"{value('Model')}), {len(os.sched_getaffinity(0))} CPUs"
    )


def measure_library(table, library):
    with tempfile.TemporaryDirectory() as temporary:
        stripped = pathlib.Path(temporary) / "stripped.so"
        run("strip", "-o", stripped, library)
        size = stripped.stat().st_size
    table.row(
        "libtinh_runtime.so, stripped", f"{size:,} bytes", "< 260,000 bytes",
        size < 260_000,
    )
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library))
    table.row(
        "what it needs",
        ", ".join(needed),
        "the C and C++ standard libraries",
        all(STANDARD.fullmatch(name) for name in needed),
    )


def random_inputs(model):
    rng = np.random.default_rng(1)
    return {n: rng.standard_normal(s).astype(d) for n, s, d in model.inputs}


class Tool:
    """graph-run on one artifact."""

    def __init__(self, build, artifact):
        self.path = str(build / "bin/graph-run")
        model = Model(build / "lib/libtinh_runtime.so", artifact, 1)
        self.inputs = [f"--input={name}=random" for name, _, _ in model.inputs]
        self.artifact = str(artifact)

    def cost(self, *options):
        """Seconds from exec to exit, and bytes resident at most."""
        command = [self.path, self.artifact, *self.inputs, *map(str, options)]
        quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
        begin = time.perf_counter()
        child = os.posix_spawn(self.path, command, os.environ, file_actions=quiet)
        _, status, usage = os.wait4(child, 0)
        seconds = time.perf_counter() - begin
        if status:
            sys.exit(f"{' '.join(command)} failed")
        return seconds, usage.ru_maxrss * 1024

    def outputs(self, *options):
        """The bytes of all output files."""
        with tempfile.TemporaryDirectory() as folder:
            self.cost("--output-dir", folder, *options)
            files = sorted(pathlib.Path(folder).iterdir())
            return [file.read_bytes() for file in files]


def measure_starts(table, tools):
    """The whole life of a process that runs the model once."""
    for name, limit in (("two-layer net", 10), ("ResNet-50", 120)):
        tools[name].cost()  # Fills the page cache.
        times = [tools[name].cost()[0] for _ in range(21)]
        table.below(
            f"cold start of the {name}, exec to exit",
            1e3 * statistics.median(times),
            limit,
            "ms",
        )


def measure_memory(table, build, tools, artifacts):
    name = "ResNet-50"
    text = run(build / "bin/graph-run", artifacts[name], "--list")
    weights = int(re.search(r"weights (\d+) bytes", text)[1])
    arena = int(re.search(r"arena (\d+) bytes", text)[1])
    _, resident = tools[name].cost("--runs", 5)
    table.below(
        f"resident memory of {name} beyond weights and arena "
        f"({(weights + arena) / MEGABYTE:.1f} MB)",
        (resident - weights - arena) / MEGABYTE,
        15,
        "MB",
    )
    bounded = ["--in-flight", 4, "--runs"]
    few, many = (tools["two-layer net"].cost(*bounded, n)[1] for n in (20, 1020))
    table.below(
        "growth over 1,000 more runs, at most 4 in flight",
        (many - few) / MEGABYTE,
        1,
        "MB",
    )


def times_of(calls, rounds, count):
    """Median seconds of each call, measured in turns."""
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, times):
            for _ in range(count):
                begin = time.perf_counter()
                call()
                own.append(time.perf_counter() - begin)
    return [statistics.median(own) for own in times]


def measure_dispatch(table, build):
    """The toy's function "chain": empty kernels that wait for each other."""
    toy = build / "tests/runtime/toy.so"
    library = build / "lib/libtinh_runtime.so"
    for threads, limit in ((1, 0.5), (2, 2)):
        model = Model(library, toy, threads, "chain")
        call, _ = model.bind({})
        call()
        (seconds,) = times_of([call], 5, 40)
        table.below(
            f"an empty kernel between two dispatches, {threads} "
            f"thread{'s' if threads > 1 else ''}",
            1e6 * seconds / model.info.num_steps,
            limit,
            "µs",
        )


def measure_loops(table, build):
    """An empty kernel in a loop, and a small one; memory of long loops."""
    library = build / "lib/libtinh_runtime.so"
    loops = {length: compile_loop(build, length) for length in (1_000, 1_000_000)}
    for what, artifact, function in (
        ("an empty kernel", build / "tests/runtime/control.so", "tiny"),
        ("16 products and sums", loops[1_000], "main"),
    ):
        for threads in (1, 2):
            model = Model(library, artifact, threads, function)
            call, _ = model.bind(random_inputs(model))
            call()
            (seconds,) = times_of([call], 5, 40)
            table.below(
                f"an iteration of 1,000 of {what}, {threads} "
                f"thread{'s' if threads > 1 else ''}",
                1e6 * seconds / 1000,
                2,
                "µs",
            )
    few, many = (Tool(build, path).cost()[1] for path in loops.values())
    table.below(
        "growth with 1,000,000 iterations in place of 1,000",
        max(many - few, 0) / MEGABYTE,
        1,
        "MB",
    )


def measure_threads(table, build, artifact):
    """Two threads against one, in one process and in turns."""
    library = build / "lib/libtinh_runtime.so"
    models = [Model(library, artifact, threads) for threads in (1, 2)]
    calls = [model.bind(random_inputs(model))[0] for model in models]
    for call in calls:
        call()
    one, two = times_of(calls, 5, 6)
    table.row("ResNet-50, 1 thread", f"{1e3 * one:.1f} ms")
    table.row("2 threads on 2 CPUs", f"{two / one:.2f} of that", "< 1", two < one)
    # From now on, for threads that expected a CPU each.
    cpus = os.sched_getaffinity(0)
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {min(cpus)})
    one, two = times_of(calls, 5, 6)
    os.sched_setaffinity(0, cpus)
    table.row("2 threads that come to share a CPU", f"{two / one:.2f} of that")


def measure_sameness(table, tools):
    for name, tool in tools.items():
        expected = tool.outputs("--threads", 1)
        same = all(
            tool.outputs("--threads", threads, *more) == expected
            for threads in (1, 2, 3)
            for more in ([], ["--runs", 20, "--in-flight", 4])
        )
        table.row(
            f"{name}: 1, 2, 3 threads, alone and overlapping",
            "the same bits" if same else "different",
            "the same bits",
            same,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "build", nargs="?", type=pathlib.Path, default=ROOT / "build"
    )
    build = parser.parse_args().build.resolve()
    artifacts = compile_models(build)
    tools = {name: Tool(build, path) for name, path in artifacts.items()}
    print(f"{describe_cpu()}\n")
    table = Table()
    measure_library(table, build / "lib/libtinh_runtime.so")
    measure_starts(table, tools)
    measure_memory(table, build, tools, artifacts)
    measure_dispatch(table, build)
    measure_loops(table, build)
    measure_threads(table, build, artifacts["ResNet-50"])
    measure_sameness(table, tools)
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
