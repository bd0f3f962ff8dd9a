#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What graph-scale predicts for ranks on this machine, beside what they take.

    ranks.py [--bin build/bin] [--work build/ranks] [--ranks 2,4] [--rounds 5]
    ranks.py --threads
    ranks.py --large

Compiles data-parallel training steps, fits the network on the MLP, by `mpirun graph-scale
--fit` and by what its step takes, and lets `mpirun graph-run` and `graph-scale` take turns
on the others, of which the model knows nothing but the times of their steps. One thread a
rank; prints a table for docs/benchmarks/scaling.md: of each the best round's median step,
as other work on the machine can only make it longer.

--threads measures two ranks of one thread beside one process of two, with the same batch
in all, in turns, by each MPI: the ratios of their times, and of the CPU times of a step,
which other work changes less.

--large compiles the networks that are estimated there for more ranks than this machine
has, and stops. Needs Open MPI, for --threads MPICH, too, and NumPy.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import struct
import subprocess

import gpu_models
import numpy as np

ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_MCA_plm="isolated",
)
# The first one is what the network is fitted on.
MODELS = {
    "mlp": (
        lambda: gpu_models.mlp(batch=128),
        "mse",
        "sgd,lr=0.001",
    ),
    "resnet18": (
        lambda: gpu_models.resnet((2, 2, 2, 2), False, batch=4, size=64),
        "cross_entropy",
        "sgd,lr=0.001,momentum=0.9",
    ),
    "transformer": (
        lambda: gpu_models.bert(
            batch=4, tokens=32, width=256, heads=4, layers=2, words=1000
        ),
        "mse",
        "adam,lr=0.0001",
    ),
}

# Made for a batch of the first number times as much.
THREADS = {
    "mlp, 512 samples": (
        lambda times: gpu_models.mlp(batch=256 * times),
        "mse",
        "adam,lr=0.0001",
    ),
    "transformer, 16 × 64 tokens of 256": (
        lambda times: gpu_models.bert(
            batch=8 * times, tokens=64, width=256, heads=4, layers=2, words=1000
        ),
        "mse",
        "adam,lr=0.0001",
    ),
    "resnet18, 16 images of 64 × 64": (
        lambda times: gpu_models.resnet(
            (2, 2, 2, 2), False, batch=8 * times, size=64
        ),
        "cross_entropy",
        "adam,lr=0.0001",
    ),
    "resnet18, 64 images of 64 × 64": (
        lambda times: gpu_models.resnet(
            (2, 2, 2, 2), False, batch=32 * times, size=64
        ),
        "cross_entropy",
        "adam,lr=0.0001",
    ),
}

MOMENTUM = "sgd,lr=0.001,momentum=0.9"
LARGE = {
    "resnet50": (
        lambda: gpu_models.resnet((3, 4, 6, 3), True, batch=8),
        "cross_entropy",
        MOMENTUM,
    ),
    "resnet101": (
        lambda: gpu_models.resnet((3, 4, 23, 3), True, batch=8),
        "cross_entropy",
        MOMENTUM,
    ),
    "vgg16": (lambda: gpu_models.vgg16(batch=8), "cross_entropy", MOMENTUM),
    "bert_base": (lambda: gpu_models.bert(batch=4), "mse", "adam,lr=0.0001"),
}


def write_weights(path, tensors):
    """Random ones, as a .safetensors file."""
    draw = np.random.default_rng(1).standard_normal
    header, data, end = {}, [], 0
    for name, _, shape, mean, spread in tensors:
        data.append((mean + spread * draw(shape)).astype(np.float32).tobytes())
        offsets = [end, end + len(data[-1])]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": offsets}
        end = offsets[1]
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def compile_step(options, name, model, loss, optimizer, *arguments):
    source = options.work / f"{name}{model.suffix}"
    source.write_text(model.text)
    weights = options.work / f"{name}.safetensors"
    write_weights(weights, model.tensors)
    artifact = options.work / f"{name}.so"
    command = [options.bin / "graph-compile", source, "--train", *arguments]
    command += [f"--loss={loss}", f"--optimizer={optimizer}"]
    command += ["--load-weights", weights, "-o", artifact]
    subprocess.run(command, check=True)
    return artifact


def launch(options, ranks, tool, artifact, *arguments, mpi="openmpi", threads=1):
    command = [f"mpirun.{mpi}", "-n", ranks] if ranks > 1 else []
    command += [options.bin / tool, artifact, f"--threads={threads}"]
    command += ["--function=train_step", "--json", *arguments]
    done = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
        check=True,
    )
    return json.loads(done.stdout)


def cpu_seconds():
    """Of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(options, ranks, artifact, **how):
    """The median step of ranks that train, and its CPU time on all cores, in ms."""

    def run(count):
        before = cpu_seconds()
        found = launch(
            options, ranks, "graph-run", artifact, "--warmup=3", f"--runs={count}", **how
        )
        return found["median_ms"], cpu_seconds() - before

    one, start = run(3)
    count = max(40, round(options.seconds * 1e3 / one))
    step, whole = run(count)
    return step, 1e3 * (whole - start) / (count - 3)


def measured(options, ranks, artifact):
    return measure(options, ranks, artifact)[0]


def predicted(options, ranks, artifact, network):
    """The same by graph-scale, and how long the wire is in use."""
    arguments = [f"--seconds={options.seconds}", f"--ranks={ranks}"]
    arguments += [f"--{name}={value}" for name, value in network.items()]
    simulated = launch(options, ranks, "graph-scale", artifact, *arguments)
    (row,) = (r for r in simulated["scaling"] if r["ranks"] == ranks)
    return row["step_ms"], row["communication_ms"]


def fit(options, ranks, artifact):
    """graph-scale's options for the network, medians of the rounds. Beside the
    computation collectives take longer than alone: by as much as makes the
    step of this artifact what it is."""
    found = [
        launch(options, ranks, "graph-scale", artifact, "--fit", "--seconds=0")
        for _ in range(options.rounds)
    ]
    networks = [f["network"] for f in found]
    values = {
        key: statistics.median(n[key] for n in networks)
        for key in ("latency_us", "bandwidth_gb", "host_share")
    }
    alone = {
        "latency": values["latency_us"],
        "bandwidth": values["bandwidth_gb"],
        "host-share": values["host_share"],
    }
    steps, real = [], []
    for _ in range(options.rounds):
        steps.append(predicted(options, ranks, artifact, alone))
        real.append(measured(options, ranks, artifact))
    step, wire = min(steps)
    factor = max(1 + (min(real) - step) / wire, 0.1)
    print(f"{ranks} ranks: alone {alone}, beside computation {factor:.2f} times")
    return {
        "latency": alone["latency"] * factor,
        "bandwidth": alone["bandwidth"] / factor,
        "host-share": alone["host-share"],
    }


def beside_threads(options):
    """Two ranks of one thread, beside one process of two."""
    print("| step | one process, ms | Open MPI | MPICH | CPU time: Open MPI | MPICH |")
    print("|---|---|---|---|---|---|")
    for title, (make, loss, optimizer) in THREADS.items():
        name = re.sub("[^a-z0-9]+", "_", title)
        both = compile_step(options, name, make(2), loss, optimizer)
        half = compile_step(
            options, name + "_half", make(1), loss, optimizer, "--data-parallel"
        )
        rounds = []
        for _ in range(options.rounds):
            rounds.append([measure(options, 1, both, threads=2)])
            for mpi in ("openmpi", "mpich"):
                rounds[-1].append(measure(options, 2, half, mpi=mpi))
        # Of each the best round.
        (one, *steps), (cpu, *cpus) = (
            [min(column) for column in zip(*values, strict=True)]
            for values in (
                [[each[i] for each in row] for row in rounds] for i in range(2)
            )
        )
        numbers = [step / one for step in steps] + [each / cpu for each in cpus]
        row = [title, f"{one:.1f}", *(f"{number:.2f}" for number in numbers)]
        print("| " + " | ".join(row) + " |", rounds, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build/bin")
    parser.add_argument("--work", type=pathlib.Path, default=root / "build/ranks")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--seconds", type=float, default=1)
    return parser.parse_args()


def main():
    options = parse_arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.threads:
        return beside_threads(options)
    artifacts = {
        name: compile_step(options, name, make(), loss, optimizer, "--data-parallel")
        for name, (make, loss, optimizer) in (LARGE if options.large else MODELS).items()
    }
    if options.large:
        return
    rows = ["| model | ranks | measured, ms | predicted, ms | difference |"]
    rows += ["|---|---|---|---|---|"]
    for ranks in map(int, options.ranks.split(",")):
        network = fit(options, ranks, artifacts["mlp"])
        for name, artifact in artifacts.items():
            real, simulated = [], []
            for _ in range(options.rounds):
                real.append(measured(options, ranks, artifact))
                simulated.append(predicted(options, ranks, artifact, network)[0])
            rows.append(
                f"| {name} | {ranks} | {min(real):.2f} | {min(simulated):.2f} "
                f"| {100 * (min(simulated) / min(real) - 1):+.0f} % |"
            )
            print(rows[-1], [f"{r:.1f} {s:.1f}" for r, s in zip(real, simulated)])
    print("\n".join(rows))


if __name__ == "__main__":
    main()
