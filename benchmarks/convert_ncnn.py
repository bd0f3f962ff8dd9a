#!/usr/bin/env python3
"""Converts a model to ncnn with pnnx, for compare.py.

    convert_ncnn.py MODEL_DIR DIR

Writes DIR/model.param, DIR/model.bin and DIR/interface.json, in which stand the
names of the model's inputs in pnnx's order and which axis of each input and
output is the batch. A model of models.py is converted from its torch module,
any other from MODEL_DIR/model.onnx. Needs pnnx, and torch for a module.
"""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import onnx

from model_facts import describe
from model_sets import has_module


def pnnx_program():
    # Its module imports torch, which a file needs not.
    return pathlib.Path(importlib.util.find_spec("pnnx").origin).parent / "pnnx"


def trace_module(name, work):
    """Writes the module's trace; pnnx's arguments and the inputs' names."""
    import torch

    import models

    module, inputs, names = models.build(name)
    if "attention_mask" in names:
        # ncnn has no operation that makes a mask of integers. Ours are ones,
        # without which transformers' models compute the same.
        kept = [i for i, n in enumerate(names) if n != "attention_mask"]
        names = [names[i] for i in kept]
        inputs = [inputs[i] for i in kept]
        module.inputs = names
    traced = torch.jit.trace(module, tuple(inputs), check_trace=False)
    traced.save(str(work / "model.pt"))
    types = {torch.float32: "f32", torch.int64: "i64"}
    shapes = [f"{list(t.shape)}{types[t.dtype]}" for t in inputs]
    shapes = ",".join(shapes).replace(" ", "")
    return ["model.pt", f"inputshape={shapes}"], names


def copy_file(folder, work):
    """The same of an ONNX file. pnnx writes beside what it reads."""
    model = onnx.load(folder / "model.onnx")
    onnx.save(model, work / "model.onnx")
    return ["model.onnx"], describe(folder / "model.onnx")["inputs"]


def run_pnnx(arguments, work):
    arguments = [pnnx_program(), *arguments, "fp16=0", "pnnxonnx=/dev/null"]
    result = subprocess.run(
        arguments,
        cwd=work,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    sys.stdout.write(result.stdout)
    if result.returncode or not (work / "model.ncnn.bin").exists():
        sys.exit("pnnx failed")


def batch_axes(script):
    """Those of inputs and outputs, from the script in which pnnx uses them."""
    return {
        "inputs": re.findall(r"ncnn\.Mat\(.*batch_index=(\d+)", script),
        "outputs": re.findall(r"\.numpy\(batch_index=(\d+)", script),
    }


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as work:
        work = pathlib.Path(work)
        if has_module(folder):
            arguments, names = trace_module(folder.name, work)
        else:
            arguments, names = copy_file(folder, work)
        run_pnnx(arguments, work)
        axes = batch_axes((work / "model_ncnn.py").read_text())
        axes = {side: list(map(int, all)) for side, all in axes.items()}
        for end in ("param", "bin"):
            shutil.move(work / f"model.ncnn.{end}", out / f"model.{end}")
    interface = {"names": names, **axes}
    (out / "interface.json").write_text(json.dumps(interface))


if __name__ == "__main__":
    main()
