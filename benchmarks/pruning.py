#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pruning costs and brings: handwritten digits, by shares of multiplications.

usage: pruning.py BIN_DIR DIGITS.safetensors

Trains the network of examples/digits, prunes it by each score, goes on training
with the compiled step for five epochs, and quantises the result. Accuracies are
those of the fifth of the images that nothing was trained on, by ONNX Runtime;
times those of graph-run on one thread, of runs that take turns.
"""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

BIN, DIGITS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
BATCH = 64
DTYPES = {"F32": np.float32, "I64": np.int64, "U64": np.uint64}


def tool(name, *arguments):
    command = [str(BIN / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(" ".join(command) + "\n" + done.stdout + done.stderr)
    return done.stdout


def read_safetensors(path):
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(
            data[slice(*entry["data_offsets"])], DTYPES[entry["dtype"]]
        ).reshape(entry["shape"])
        for name, entry in header.items()
    }


class Digits:
    """Images and labels, four fifths of them to train on."""

    def __init__(self, folder):
        inverted = read_safetensors(folder / "inverted.safetensors")
        images, labels = 1 - inverted["input0"], inverted["target"]
        count = len(images) * 4 // 5
        self.images, self.labels = images[count:], labels[count:]
        np.save(folder / "x.npy", images[:count])
        np.save(folder / "y.npy", labels[:count])
        np.savez(folder / "data.npz", input0=images[:count], target=labels[:count])

    def accuracy(self, path):
        session = onnxruntime.InferenceSession(
            str(path), providers=["CPUExecutionProvider"]
        )
        count = -(-len(self.images) // BATCH)
        padded = np.resize(self.images, (count * BATCH, 1, 8, 8))
        batches = np.split(padded, count)
        outputs = [session.run(None, {"input0": batch})[0] for batch in batches]
        found = np.concatenate(outputs)[: len(self.labels)].argmax(1)
        return (found == self.labels).mean()


def train(folder, model):
    """The model after five more epochs."""
    step, state = folder / "step.so", folder / "state.safetensors"
    tool("graph-compile", model, "--train", "--loss=cross_entropy",
         "--optimizer=adam,lr=0.0005", "-o", step)  # fmt: skip
    state.unlink(missing_ok=True)
    data = f"{folder / 'x.npy'},{folder / 'y.npy'}"
    tool("graph-run", step, "--train", "--data", data, "--epochs", 5,
         "--checkpoint", state)  # fmt: skip
    weights, trained = read_safetensors(state), onnx.load(model)
    for tensor in trained.graph.initializer:
        if tensor.name in weights:
            value = numpy_helper.from_array(weights[tensor.name], tensor.name)
            tensor.CopyFrom(value)
    path = model.with_stem(model.stem + "-trained")
    onnx.save(trained, path)
    return path


def quantised(folder, model):
    path = model.with_stem(model.stem + "-int8")
    tool("graph-quantize", model, "--data", folder / "data.npz", "-o", path)
    return path


def medians(folder, models):
    """Milliseconds of a run of each, the least of five turns."""
    times = [[] for _ in models]
    for model in models:
        tool("graph-compile", model, "-o", model.with_suffix(".so"))
    for _ in range(5):
        for model, found in zip(models, times):
            said = tool("graph-run", model.with_suffix(".so"), "--input",
                        "input0=random", "--threads=1", "--runs=200")  # fmt: skip
            found.append(float(re.search(r"median ([\d.]+) ms", said)[1]))
    return [min(found) for found in times]


def prune(folder, model, share, score):
    path = folder / f"{score}-{share}.onnx"
    options = ["--max-macs", share, "--score", score, "--multiple=8"]
    if score == "taylor":
        options += ["--data", folder / "data.npz", "--loss=cross_entropy"]
    tool("graph-prune", model, *options, "-o", path)
    return path


def measure(folder):
    tool("digits_train", DIGITS, folder)
    digits, whole = Digits(folder), folder / "digits64.onnx"
    rows, models = [], []

    def add(name, pruned, trained):
        int8 = quantised(folder, trained)
        accuracies = [f"{digits.accuracy(m):.2%}" for m in (pruned, trained, int8)]
        rows.append([name, *accuracies])
        models.extend((trained, int8))

    add("all", whole, whole)
    for share in (0.5, 0.25, 0.1):
        for score in ("magnitude", "taylor"):
            pruned = prune(folder, whole, share, score)
            add(f"{share:.0%}, {score}", pruned, train(folder, pruned))
    times = medians(folder, models)
    print("| multiplications | pruned | fine-tuned | and int8 | ms | int8, ms |")
    print("|---|---|---|---|---|---|")
    for row, pair in zip(rows, zip(times[::2], times[1::2])):
        print("| " + " | ".join([*row, *(f"{time:.3f}" for time in pair)]) + " |")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        measure(pathlib.Path(name))
