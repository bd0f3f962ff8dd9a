# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The digits network in f32, in int8, and in int8 after quantisation-aware training.

usage: int8.py BIN DIRECTORY

BIN has graph-compile and graph-run; DIRECTORY is what digits_train has written.
Needs NumPy.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np

BATCH, TRAIN, EPOCHS = 64, 1437, 10
STEP = ("--loss=cross_entropy", "--optimizer=sgd,lr=0.01,momentum=0.9")
DTYPES = {"F32": np.float32, "I64": np.int64}


def read_safetensors(path):
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = (begin + offset for offset in entry["data_offsets"])
        array = np.frombuffer(data[first:last], DTYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors


class Experiment:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        digits = read_safetensors(folder / "inverted.safetensors")
        self.images, self.labels = 1 - digits["input0"], digits["target"]
        self.save("x.npy", self.images[:TRAIN])
        self.save("y.npy", self.labels[:TRAIN])
        np.savez(folder / "samples.npz", input0=self.images[:256])

    def save(self, name, array):
        np.save(self.folder / name, array)

    def run(self, tool, *arguments):
        command = [os.path.abspath(self.tools / tool), *arguments]
        subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def scores(self, artifact, images):
        scores = []
        for first in range(0, len(images), BATCH):
            batch = images[first : first + BATCH]
            missing = BATCH - len(batch)
            self.save("batch.npy", np.pad(batch, [(0, missing)] + [(0, 0)] * 3))
            self.run(
                *("graph-run", artifact, "--input", "input0=batch.npy"),
                *("--output-dir", "out"),
            )
            found = np.load(self.folder / "out" / "output0.npy")
            scores.append(found[: len(batch)])
        return np.concatenate(scores).astype(np.float64)

    def compile(self, model, output, *options):
        self.run("graph-compile", model, "-o", output, *options)

    def train(self, *options):
        """Trains the quantised network; leaves an artifact of integers."""
        self.compile(
            *("digits64.onnx", "step.so", "--train", *STEP),
            *("--quantize=samples.npz", *options),
        )
        self.run(
            *("graph-run", "step.so", "--train", "--data", "x.npy,y.npy"),
            *("--epochs", str(EPOCHS), "--checkpoint", "state.safetensors"),
        )
        self.compile("step.onnx", "trained.so", "--load-weights=state.safetensors")

    def report(self, name, artifact):
        """On the images that were not trained with."""
        labels = self.labels[TRAIN:]
        scores = self.scores(artifact, self.images[TRAIN:])
        accuracy = 100 * np.mean(scores.argmax(1) == labels)
        right = scores[np.arange(len(labels)), labels]
        loss = np.mean(np.log(np.exp(scores).sum(1)) - right)
        size = os.path.getsize(self.folder / artifact)
        print(f"{name:26} {accuracy:8.2f} {loss:8.5f} {size:8,}", flush=True)


def main():
    experiment = Experiment(*map(pathlib.Path, sys.argv[1:3]))
    print(f"{'':26} accuracy     loss    bytes")
    experiment.compile("digits64.onnx", "f32.so")
    experiment.report("f32", "f32.so")
    experiment.compile("digits64.onnx", "int8.so", "--quantize=samples.npz")
    experiment.report("int8 after training", "int8.so")
    experiment.train()
    experiment.report("int8 trained", "trained.so")
    experiment.train("--learn-scales")
    experiment.report("int8 trained, with scales", "trained.so")
    experiment.train("--distill=digits64.onnx")
    experiment.report("int8 distilled from f32", "trained.so")


if __name__ == "__main__":
    main()
