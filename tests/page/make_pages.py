# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of all tools that write them, for page_test.py.

usage: PYTHONPATH=tests/cuda python tests/page/make_pages.py
           BIN_DIR RESNET50.onnx FOLDER
"""

import json
import pathlib
import subprocess
import sys

from cuda_models import Builder


def two_layer(batch=64):
    b = Builder("two_layer")
    x = b.input("x", batch, 1000)
    h = b.add("relu", b.dense(x, "fc1", 1000, 100))
    return b.finish(b.dense(h, "fc2", 100, 10))


def bert(layers=12, tokens=128, width=128, heads=4, words=1000):
    """BERT's graph, with smaller vectors."""
    b = Builder("bert")
    depth = width // heads
    shape = [1, tokens, heads, depth]

    def norm(x, name):
        scale = b.weight(f"{name}.weight", width, value=1)
        bias = b.weight(f"{name}.bias", width, value=0)
        return b.add("layer_norm", x, scale, bias, axis=2)

    def heads_of(x, name):
        x = b.add("reshape", b.dense(x, name, width, width), shape=shape)
        return b.add("transpose", x, permutation=[0, 2, 1, 3])

    def attention(x, name):
        parts = [heads_of(x, f"{name}.{part}") for part in ("query", "key", "value")]
        a = b.add("attention", *parts, scale=depth**-0.5)
        a = b.add("transpose", a, permutation=[0, 2, 1, 3])
        return b.add("reshape", a, shape=[1, tokens, width])

    ids = b.input("input_ids", 1, tokens, dtype="i64")
    x = b.add("gather", b.weight("embeddings.word", words, width), ids, axis=0)
    x = norm(b.add("add", x, b.weight("embeddings.position", tokens, width)), "norm")
    for i in range(layers):
        layer = f"encoder.layer.{i}"
        a = b.dense(attention(x, f"{layer}.attention"), f"{layer}.out", width, width)
        x = norm(b.add("add", x, a), f"{layer}.attention.norm")
        h = b.add("gelu", b.dense(x, f"{layer}.up", width, 4 * width))
        h = b.dense(h, f"{layer}.down", 4 * width, width)
        x = norm(b.add("add", x, h), f"{layer}.norm")
    return b.finish(x)


class Maker:
    def __init__(self, tools, folder):
        self.tools = tools
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, tool, *arguments):
        subprocess.run([self.tools / tool, *map(str, arguments)], check=True)

    def model(self, model):
        path = self.folder / f"{model['name']}.json"
        path.write_text(json.dumps(model))
        return path

    def compile(self, name, model, *options):
        """The page of the compilation; gives it and the artifact."""
        page, artifact = self.folder / f"{name}.html", self.folder / f"{name}.so"
        self.run("graph-compile", model, "-o", artifact, f"--report={page}", *options)
        return page, artifact

    def profile(self, name, artifact, *options):
        page = self.folder / f"{name}.html"
        few = ("--runs=3", "--warmup=1", "--threads=2", "--inputs=zeros")
        self.run("graph-run", artifact, f"--profile={page}", *few, *options)

    def compile_and_profile(self, name, model):
        """Both on one page."""
        page, artifact = self.compile(name, model)
        self.profile(name, artifact, f"--report={page}")
        return artifact


def main():
    tools, resnet50, folder = map(pathlib.Path, sys.argv[1:])
    maker = Maker(tools, folder)
    page = folder / "two-layer.html"
    model = maker.model(two_layer())
    maker.run("graph-compare", model, f"--report={page}", "--runs=5")
    artifact = maker.compile_and_profile("resnet50", resnet50)
    maker.profile("artifact-alone", artifact)
    maker.compile_and_profile("bert", maker.model(bert()))
    training = ("--train", "--loss=cross_entropy", "--optimizer=sgd,lr=0.1,momentum=0.9")
    page, artifact = maker.compile("training-step", resnet50, *training)
    maker.profile("training-step", artifact, "--function=train_step", f"--report={page}")


if __name__ == "__main__":
    main()
