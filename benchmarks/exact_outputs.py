#!/usr/bin/env python3
"""What an exported model gives in f64, for accuracy.py.

    exact_outputs.py FOLDER EXACT

Makes EXACT, a folder like FOLDER: links to its model and inputs, and in `expected` the
outputs of the PyTorch module with all its floats in f64, on the same inputs.
"""

import pathlib
import sys

import numpy as np
import torch

import models


def in_f64(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def main():
    folder, exact = map(pathlib.Path, sys.argv[1:])
    module, inputs, _ = models.build(folder.name)
    with torch.no_grad():
        results = module.double()(*map(in_f64, inputs))
    results = [results] if torch.is_tensor(results) else list(results)
    partial = exact.with_suffix(".partial")
    (partial / "expected").mkdir(parents=True, exist_ok=True)
    for name in ("model.onnx", "inputs"):
        link = partial / name
        link.unlink(missing_ok=True)
        link.symlink_to((folder / name).resolve())
    for number, value in enumerate(results):
        np.save(partial / "expected" / f"y{number}.npy", value.numpy())
    partial.rename(exact)


if __name__ == "__main__":
    main()
