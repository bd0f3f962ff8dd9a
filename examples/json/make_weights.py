#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the models two_layer.json and mlp.json with seeded random weights.

    make_weights.py OUTPUT_DIR

For each model, OUTPUT_DIR gets MODEL.json, MODEL.safetensors, an input
MODEL.x.npy, and MODEL.y.npy, which is what NumPy makes of it in f64.
"""

import json
import pathlib
import shutil
import struct
import sys

import numpy as np

# Names and shapes as the JSON files have them.
SHAPES = {
    "two_layer": {
        "x": (64, 1000),
        "fc1.weight": (1000, 100),
        "fc2.weight": (100, 10),
    },
    "mlp": {
        "x": (1024, 512),
        "fc1.weight": (2048, 512),
        "fc1.bias": (2048,),
        "fc2.weight": (512, 2048),
        "fc2.bias": (512,),
        "fc3.weight": (1, 512),
        "fc3.bias": (1,),
    },
}


def two_layer(t):
    return np.maximum(t["x"] @ t["fc1.weight"], 0) @ t["fc2.weight"]


def mlp(t):
    h = np.maximum(t["x"] @ t["fc1.weight"].T + t["fc1.bias"], 0)
    h = np.maximum(h @ t["fc2.weight"].T + t["fc2.bias"], 0)
    return h @ t["fc3.weight"].T + t["fc3.bias"]


MODELS = {"two_layer": two_layer, "mlp": mlp}


def write_safetensors(path, tensors):
    """The length of a JSON header, the header, and the bytes it points into."""
    header, data = {}, b""
    for name, array in tensors.items():
        end = len(data) + array.nbytes
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [len(data), end],
        }
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the data starts at a multiple of 8
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make(name, folder):
    random = np.random.default_rng(0)
    tensors = {
        key: (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
        for key, shape in SHAPES[name].items()
    }
    exact = MODELS[name]({key: a.astype(np.float64) for key, a in tensors.items()})
    x = tensors.pop("x")
    np.save(folder / f"{name}.x.npy", x)
    np.save(folder / f"{name}.y.npy", exact)
    write_safetensors(folder / f"{name}.safetensors", tensors)
    source = pathlib.Path(__file__).parent / f"{name}.json"
    if source.parent.resolve() != folder.resolve():
        shutil.copy(source, folder)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        make(name, folder)


if __name__ == "__main__":
    main()
