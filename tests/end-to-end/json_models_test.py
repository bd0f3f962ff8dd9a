#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of examples/json: compiled, run, and compared.

usage: json_models_test.py BIN_DIR SOURCE_DIR

xor.json gives the table of exclusive or, sqrt.json square roots. two_layer.json
and mlp.json agree with NumPy, and are in their normalised form what the same
models are that come from ONNX, whose weights lie in the same .safetensors files:
the same text, but for the locations.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

BIN, SOURCE = map(pathlib.Path, sys.argv[1:3])

# The largest error, as a part of the largest output.
TOLERANCE = 1e-5


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


def compile_and_run(model, x, folder):
    """What the model makes of the input x, at one thread and at two."""
    artifact = folder / f"{model.stem}.so"
    run(BIN / "graph-compile", model, "-o", artifact)
    np.save(folder / "x.npy", x)
    results = []
    for threads in ("1", "2"):
        options = ["--threads", threads, "--output-dir", folder / threads]
        run(BIN / "graph-run", artifact, "--input", f"x={folder / 'x.npy'}", *options)
        results.append(np.load(folder / threads / "y.npy"))
    assert results[0].tobytes() == results[1].tobytes(), f"{model}: threads matter"
    return results[0]


def check_xor(folder):
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    y = compile_and_run(SOURCE / "examples/json/xor.json", x, folder)
    assert y.tolist() == [[0], [1], [1], [0]], f"xor.json gives {y.ravel()}"


def check_sqrt(folder):
    x = np.array([1, 2, 4, 9, 0.25, 100, 1e-4, 12345], np.float32)
    y = compile_and_run(SOURCE / "examples/json/sqrt.json", x, folder)
    error = np.abs(y / np.sqrt(x) - 1).max()
    assert error <= 1e-6, f"sqrt.json gives {y}"


def check_numbers(name, folder):
    y = compile_and_run(
        folder / f"{name}.json", np.load(folder / f"{name}.x.npy"), folder
    )
    want = np.load(folder / f"{name}.y.npy")
    assert y.shape == want.shape and y.dtype == np.float32
    error = np.abs(y - want).max() / np.abs(want).max()
    assert error <= TOLERANCE, f"{name}: the error is {error:.2e}"
    print(f"{name}: largest error {error:.1e} of the largest output")


def external_tensor(folder, name, weight):
    """An ONNX tensor whose bytes are those of a tensor in a safetensors file."""
    data = (folder / weight["file"]).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    entry = json.loads(data[8:start])[weight["tensor"]]
    begin, end = entry["data_offsets"]
    tensor = TensorProto(
        name=name,
        data_type=TensorProto.FLOAT,
        dims=entry["shape"],
        data_location=TensorProto.EXTERNAL,
    )
    for key, value in {
        "location": weight["file"],
        "offset": start + begin,
        "length": end - begin,
    }.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def onnx_nodes(name):
    """The same computation as in the JSON file, as an exporter writes it."""
    if name == "two_layer":
        return [
            helper.make_node("MatMul", ["x", "w1"], ["h"]),
            helper.make_node("Relu", ["h"], ["a"]),
            helper.make_node("MatMul", ["a", "w2"], ["y"]),
        ]
    return [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["z1"], transB=1),
        helper.make_node("Relu", ["z1"], ["a1"]),
        helper.make_node("Gemm", ["a1", "w2", "b2"], ["z2"], transB=1),
        helper.make_node("Relu", ["z2"], ["a2"]),
        helper.make_node("Gemm", ["a2", "w3", "b3"], ["y"], transB=1),
    ]


def write_onnx(name, folder):
    graph = json.loads((folder / f"{name}.json").read_text())
    x = graph["inputs"][0]
    y_shape = np.load(folder / f"{name}.y.npy", mmap_mode="r").shape
    model = helper.make_model(
        helper.make_graph(
            onnx_nodes(name),
            name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, x["shape"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, y_shape)],
            [external_tensor(folder, w["name"], w) for w in graph["weights"]],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    path = folder / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    onnx.checker.check_model(path)
    return path


def normalised(model, folder):
    """The model's normalised IR, printed without locations."""
    text = folder / "normalised.mlir"
    run(BIN / "graph-compile", model, "--emit=normalised", "-o", text)
    return run(BIN / "graph-opt", text)


def check_same_as_onnx(name, folder):
    from_json = normalised(folder / f"{name}.json", folder)
    from_onnx = normalised(write_onnx(name, folder), folder)
    assert "graph.matmul" in from_json and ".safetensors" in from_json
    assert from_json == from_onnx, (
        f"{name}: JSON and ONNX differ:\n{from_json}\n{from_onnx}"
    )


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        run(sys.executable, SOURCE / "examples/json/make_weights.py", folder)
        check_xor(folder)
        check_sqrt(folder)
        for name in ("two_layer", "mlp"):
            check_numbers(name, folder)
            check_same_as_onnx(name, folder)


if __name__ == "__main__":
    main()
