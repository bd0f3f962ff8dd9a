#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What graph-scale predicts for ranks on this machine, beside what they take.

    ranks.py [--bin build/bin] [--work build/ranks] [--ranks 2,4] [--rounds 5]
    ranks.py --threads
    ranks.py --large

Compiles data-parallel training steps, fits the network on the MLP, by
`mpirun graph-scale --fit` and by what its step takes, and lets `mpirun graph-run` and `graph-scale` take turns on
the others, of which the model knows nothing but the times of their steps. One thread a
rank; prints a table for docs/benchmarks/scaling.md: medians, and the median of the
rounds' ratios. --threads measures two ranks of one thread beside one process of two, with
the same batch in all, in turns, by each MPI. --large compiles the networks that are estimated there for more ranks than
this machine has, and stops. Needs Open MPI and NumPy.
"""

import argparse
import json
import os
import pathlib
import re
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


def measured(options, ranks, artifact, **how):
    """The median step of ranks that train, in ms."""
    one = launch(options, ranks, "graph-run", artifact, "--runs=3", **how)["median_ms"]
    count = max(5, round(options.seconds * 1e3 / one))
    arguments = ("--warmup=3", f"--runs={count}")
    return launch(options, ranks, "graph-run", artifact, *arguments, **how)["median_ms"]


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
    factors = []
    for _ in range(options.rounds):
        step, wire = predicted(options, ranks, artifact, alone)
        factors.append(1 + (measured(options, ranks, artifact) - step) / wire)
    factor = statistics.median(factors)
    print(f"{ranks} ranks: alone {alone}, beside computation {factor:.2f} times")
    return {
        "latency": alone["latency"] * factor,
        "bandwidth": alone["bandwidth"] / factor,
        "host-share": alone["host-share"],
    }


def beside_threads(options):
    """Two ranks of one thread, beside one process of two."""
    print("| step | one process, ms | Open MPI | MPICH |\n|---|---|---|---|")
    for title, (make, loss, optimizer) in THREADS.items():
        name = re.sub("[^a-z0-9]+", "_", title)
        both = compile_step(options, name, make(2), loss, optimizer)
        half = compile_step(
            options, name + "_half", make(1), loss, optimizer, "--data-parallel"
        )
        together, ratios = [], {mpi: [] for mpi in ("openmpi", "mpich")}
        for _ in range(options.rounds):
            together.append(measured(options, 1, both, threads=2))
            for mpi, found in ratios.items():
                found.append(measured(options, 2, half, mpi=mpi) / together[-1])
        print(
            f"| {title} | {statistics.median(together):.1f} | "
            + " | ".join(f"{statistics.median(r):.2f}" for r in ratios.values())
            + " |",
            {mpi: [f"{r:.2f}" for r in found] for mpi, found in ratios.items()},
            flush=True,
        )


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
            ratios = [s / r for s, r in zip(simulated, real, strict=True)]
            rows.append(
                f"| {name} | {ranks} | {statistics.median(real):.2f} "
                f"| {statistics.median(simulated):.2f} "
                f"| {100 * (statistics.median(ratios) - 1):+.0f} % |"
            )
            print(rows[-1], [f"{ratio:.2f}" for ratio in ratios], flush=True)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
