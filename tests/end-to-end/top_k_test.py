#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TopK of all kinds of rows, as one ONNX model, against a sort.

usage: top_k_test.py BIN_DIR

Few elements are taken one by one, others by rank, or of long rows first from
each block: all are here.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BIN = pathlib.Path(sys.argv[1])
COUNTS = (1, 3, 12, 20, 300)
LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def rows():
    """Inputs by name; the second dimension is the one to take from."""
    rng = np.random.default_rng(0)
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, 2], np.float32)
    normal = rng.standard_normal((3, 57))
    return {
        "f64": normal,
        "f32": normal.astype(np.float32),
        "f16": normal.astype(np.float16),
        "ties": rng.integers(-3, 3, (4, 100)).astype(np.float32),
        "special": rng.choice(special, (6, 57)),
        "lowest": np.full((2, 40), -np.inf, np.float32),
        "highest": np.full((2, 40), np.inf, np.float32),
        "nan": np.full((2, 40), np.nan, np.float32),
        "i64": rng.choice(np.array([LOW, HIGH, 5, 6]), (3, 50)),
        "u64": rng.choice(np.array([2**64 - 1, 0, 5], np.uint64), (3, 50)),
        "i8": rng.integers(-128, 128, (3, 50)).astype(np.int8),
        "u8": rng.integers(0, 256, (3, 50)).astype(np.uint8),
        "middle": rng.standard_normal((2, 50, 3)).astype(np.float32),
        "few": rng.standard_normal((2, 20)).astype(np.float32),
        "many": rng.standard_normal((1, 20000)).astype(np.float32),
        "many ties": rng.integers(-3, 3, (2, 3001)).astype(np.int8),
        "many lowest": np.full((1, 2500), -np.inf),
    }


def expected(x, count, largest):
    """Of equal elements the first come first; NaN counts as an infinity."""
    keys = x
    if x.dtype.kind == "f":
        keys = np.where(np.isnan(x), np.inf if largest else -np.inf, x)
    # Complements keep the order of integers, the other way round.
    if largest:
        keys = -keys if x.dtype.kind == "f" else ~keys
    indices = np.argsort(keys, axis=1, kind="stable")
    return indices[:, :count]


def make_cases(inputs):
    for name, x in inputs.items():
        for count in COUNTS:
            if count <= x.shape[1]:
                yield name, count, 0
                yield name, count, 1


def make_model(inputs, cases):
    nodes, results = [], []
    for i, (name, count, largest) in enumerate(cases):
        nodes.append(
            helper.make_node(
                "TopK",
                [name, f"k{count}"],
                [f"values{i}", f"indices{i}"],
                axis=1,
                largest=largest,
            )
        )
        kind = helper.np_dtype_to_tensor_dtype(inputs[name].dtype)
        results.append(helper.make_tensor_value_info(f"values{i}", kind, None))
        results.append(
            helper.make_tensor_value_info(f"indices{i}", TensorProto.INT64, None)
        )
    arguments = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
        )
        for name, x in inputs.items()
    ]
    counts = [numpy_helper.from_array(np.array([k]), f"k{k}") for k in COUNTS]
    graph = helper.make_graph(nodes, "top_k", arguments, results, counts)
    opset = helper.make_opsetid("", 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)


def main():
    inputs = rows()
    cases = list(make_cases(inputs))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        model, artifact = folder / "top_k.onnx", folder / "top_k.so"
        onnx.save(make_model(inputs, cases), model)
        options = ["--output-dir", folder / "outputs"]
        for name, x in inputs.items():
            np.save(folder / f"{name}.npy", x)
            options += ["--input", f"{name}={folder / name}.npy"]
        subprocess.run([BIN / "graph-compile", model, "-o", artifact], check=True)
        subprocess.run([BIN / "graph-run", artifact, *options], check=True)
        failed = 0
        for i, (name, count, largest) in enumerate(cases):
            x = inputs[name]
            want = expected(x, count, largest)
            indices = np.load(folder / f"outputs/indices{i}.npy")
            values = np.load(folder / f"outputs/values{i}.npy")
            taken = np.take_along_axis(x, want, axis=1)
            if np.array_equal(indices, want) and values.tobytes() == taken.tobytes():
                continue
            failed += 1
            print(f"{name}, the first {count}, largest={largest}: found {indices}")
    print(f"{len(cases) - failed} of {len(cases)} cases pass")
    sys.exit(1 if failed else 0)


main()
