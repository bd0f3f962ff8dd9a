# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two networks that read digits, in the forms in which they may be deployed.

usage: compress.py BIN DIRECTORY [--small]

BIN has the tools, and the runtime is in the folder lib beside it; DIRECTORY is
what digits_train has written. --small: few epochs, and no image is enlarged.

The first network is that of examples/digits; the second one is a ResNet, which a
compiled step trains on a quarter of the images, enlarged to 32 x 32. Needs NumPy.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(EXAMPLES / "digits"), str(EXAMPLES.parent / "benchmarks")]

from int8 import BATCH, STEP, TRAIN, read_safetensors
from small_resnet import write_resnet
from tinh_runtime import Model

LOSS, FINE_TUNING = STEP
TRAINED = "--load-weights=state.safetensors"


def enlarged(images, side):
    """Bilinear, with the corners where they were."""
    at = np.linspace(0, images.shape[-1] - 1, side)
    weights = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(images.shape[-1])))
    return (weights @ images @ weights.T).astype(np.float32)


class Network:
    """A model, the forms that are made of it, and images to try them with."""

    def __init__(self, tools, folder, images, labels, count):
        """It learns from the first images, so many of them."""
        self.tools, self.folder = tools.resolve(), folder
        self.images, self.labels = images[count:], labels[count:]
        self.forms = {}
        folder.mkdir(exist_ok=True)
        np.save(folder / "x.npy", images[:count])
        np.save(folder / "y.npy", labels[:count])
        data = {"input0": images[:count], "target": labels[:count]}
        np.savez(folder / "data.npz", **data)

    def run(self, tool, *arguments):
        done = subprocess.run(
            [self.tools / tool, *arguments],
            cwd=self.folder, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{tool} {' '.join(arguments)}\n{done.stderr}")

    def train(self, model, epochs, *options):
        """Writes state.safetensors."""
        self.run("graph-compile", model, "-o", "step.so", "--train", LOSS, *options)
        self.run("graph-run", "step.so", "--train", "--data", "x.npy,y.npy",
                 "--shuffle", "1", "--epochs", str(epochs),
                 "--checkpoint", "state.safetensors")  # fmt: skip

    def write(self, model, output):
        """The model with the weights that were trained, as ONNX."""
        self.run("graph-compile", model, TRAINED, "--emit=onnx", "-o", output)

    def add(self, form, model, *options):
        artifact = f"form{len(self.forms)}.so"
        self.run("graph-compile", model, "-o", artifact, *options)
        library = self.tools.parent / "lib" / "libtinh_runtime.so"
        self.forms[form] = Model(str(library), self.folder / artifact, threads=1)

    def compress(self, model, epochs):
        """All forms of a trained model in f32."""
        self.add("f32", model)
        self.add("bf16", model, "--precision=bf16")
        self.add("int8", model, "--quantize=data.npz")
        self.train(model, epochs, FINE_TUNING, "--quantize=data.npz")
        self.add("int8, QAT", "step.onnx", TRAINED)
        self.run("graph-prune", model, "--max-macs=0.5", "--score=taylor", LOSS,
                 "--data=data.npz", "-o", "half.onnx")  # fmt: skip
        self.add("pruned", "half.onnx")
        self.train("half.onnx", epochs, FINE_TUNING)
        self.write("half.onnx", "pruned.onnx")
        self.add("pruned, fine-tuned", "pruned.onnx")
        self.add("pruned, fine-tuned, int8", "pruned.onnx", "--quantize=data.npz")

    def scores(self, model):
        missing = -len(self.images) % BATCH
        padded = np.pad(self.images, [(0, missing)] + [(0, 0)] * 3)
        batches = np.split(padded, len(padded) // BATCH)
        found = [model.run({"input0": batch})["output0"] for batch in batches]
        return np.concatenate(found)[: len(self.labels)].astype(np.float64)

    def quality(self, model):
        """Accuracy in per cent, and loss."""
        scores = self.scores(model)
        right = scores[np.arange(len(scores)), self.labels]
        losses = np.log(np.exp(scores).sum(1)) - right
        return 100 * np.mean(scores.argmax(1) == self.labels), losses.mean()

    def times(self, rounds):
        """By form, CPU time of a run over that of f32, which takes turns with it."""
        feed = {"input0": self.images[:BATCH]}
        runs = {form: model.bind(feed)[0] for form, model in self.forms.items()}
        taken = {form: [] for form in runs}
        for _ in range(rounds):
            for form, run in runs.items():
                start = time.process_time()
                run()
                taken[form].append(time.process_time() - start)
        return {
            form: statistics.median(map(np.divide, ours, taken["f32"]))
            for form, ours in taken.items()
        }

    def report(self, title, rounds):
        times = self.times(rounds)
        print(f"{title:26} accuracy     loss    weights      arena  time")
        for form, model in self.forms.items():
            accuracy, loss = self.quality(model)
            weights, arena = model.weights_size(), model.info.arena_size
            print(f"{form:26} {accuracy:8.2f} {loss:8.4f} {weights:10,} {arena:10,}"
                  f" {times[form]:5.2f}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools", type=pathlib.Path, metavar="BIN")
    parser.add_argument("folder", type=pathlib.Path, metavar="DIRECTORY")
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    epochs, rounds, side = (1, 20, 8) if args.small else (10, 200, 32)

    data = read_safetensors(args.folder / "inverted.safetensors")
    images, labels = 1 - data["input0"], data["target"]
    digits = Network(
        args.tools, args.folder / "compress-digits", images, labels, TRAIN
    )
    digits.compress(str((args.folder / "digits64.onnx").resolve()), epochs)
    digits.report("digits", rounds)

    images = enlarged(images, side)
    resnet = Network(
        args.tools, args.folder / "compress-resnet", images, labels, 7 * BATCH
    )
    write_resnet(resnet.folder / "resnet.json", (BATCH, *images.shape[1:]))
    resnet.train("resnet.json", 6 * epochs, "--optimizer=adam,lr=0.002")
    resnet.write("resnet.json", "resnet.onnx")
    resnet.compress("resnet.onnx", 3 * epochs)
    resnet.report("ResNet", rounds)


if __name__ == "__main__":
    main()
