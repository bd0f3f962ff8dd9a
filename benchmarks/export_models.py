#!/usr/bin/env python3
"""Exports the models from PyTorch to ONNX, with inputs and outputs.

    export_models.py DIR [NAME ...]

Writes DIR/NAME/model.onnx, DIR/NAME/inputs/INPUT.npy and
DIR/NAME/expected/OUTPUT.npy for each NAME (default: the open models of
model_sets.py) that is not there yet, and checks each with ONNX Runtime.
benchmarks/requirements.txt lists what it needs.
"""

import argparse
import pathlib

import numpy as np
import onnxruntime
import torch

import models
from model_sets import OPEN


def save_tensors(folder, tensors):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in tensors.items():
        np.save(folder / f"{name}.npy", value)


def largest_error(results, expected):
    """Largest difference, as a part of the largest magnitude."""
    return max(
        float(np.abs(a - b).max() / np.abs(b).max())
        for a, b in zip(results, expected)
    )


def export(name, folder):
    module, inputs, input_names = models.build(name)
    with torch.no_grad():
        results = module(*inputs)
    results = [results] if torch.is_tensor(results) else list(results)
    output_names = [f"y{i}" for i in range(len(results))]
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "model.onnx.partial"
    torch.onnx.export(
        module,
        tuple(inputs),
        str(partial),
        dynamo=True,
        opset_version=18,
        input_names=input_names,
        output_names=output_names,
        external_data=False,
        verbose=False,
    )
    feed = {k: v.numpy() for k, v in zip(input_names, inputs)}
    expected = {k: v.numpy() for k, v in zip(output_names, results)}
    save_tensors(folder / "inputs", feed)
    save_tensors(folder / "expected", expected)
    session = onnxruntime.InferenceSession(
        partial, providers=["CPUExecutionProvider"]
    )
    error = largest_error(
        session.run(output_names, feed), list(expected.values())
    )
    partial.rename(folder / "model.onnx")
    size = (folder / "model.onnx").stat().st_size / 1e6
    print(f"{name}: {size:.0f} MB, ONNX Runtime differs by {error:.1e} of max|y|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    for name in args.names or OPEN:
        if not (args.dir / name / "model.onnx").exists():
            export(name, args.dir / name)


if __name__ == "__main__":
    main()
