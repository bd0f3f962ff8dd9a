#!/usr/bin/env python3
"""Measures products with weights of 4 and 8 bits.

    quantized_weights.py [--bin DIR] [--depth K] [--columns N] [--rows M,…]
                         [--rounds N]

The first table is of one row, on one thread and on two: gigabytes of integers and
parameters a second, and how many of what `machine` reads of memory. The second one
is of one thread and more rows: how many times as fast as the same product in f32.
Artifacts take turns, and of all runs the shortest counts. Run it with the Python
of `./dev setup` (build/venv).
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCK = 32


def save(path, node, rows, depth, columns, constants):
    """A model of one node with the input x and the output y."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [*node],
        "product",
        [info("x", TensorProto.FLOAT, [rows, depth])],
        [info("y", TensorProto.FLOAT, [rows, columns])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def blocked(bits, depth, columns):
    """A MatMulNBits and its constants."""
    blocks, rng = depth // BLOCK, np.random.default_rng(0)
    node = helper.make_node(
        "MatMulNBits",
        ["x", "w", "s"],
        ["y"],
        domain="com.microsoft",
        K=depth,
        N=columns,
        bits=bits,
        block_size=BLOCK,
    )
    shape = (columns, blocks, BLOCK * bits // 8)
    return [node], {
        "w": rng.integers(0, 256, shape, np.uint8),
        "s": rng.random(columns * blocks, np.float32),
    }


def per_column(depth, columns):
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=1),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    return nodes, {
        "w": rng.integers(-128, 128, (depth, columns), np.int8),
        "s": rng.random(columns, np.float32),
    }


def floats(depth, columns):
    w = np.random.default_rng(0).random((depth, columns), np.float32)
    return [helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": w}


PRODUCTS = {
    "int4, blocks of 32": lambda k, n: blocked(4, k, n),
    "int8, blocks of 32": lambda k, n: blocked(8, k, n),
    "int8, columns": per_column,
    "f32": floats,
}


def compile_all(args, folder, rows, kinds):
    """The artifacts by kind, each with the bytes of its constants."""
    artifacts = {}
    for kind in kinds:
        nodes, constants = PRODUCTS[kind](args.depth, args.columns)
        model, library = folder / "model.onnx", folder / f"{len(artifacts)}.so"
        save(model, nodes, rows, args.depth, args.columns, constants)
        command = [args.bin / "graph-compile", model, "-o", library]
        subprocess.run(command, check=True)
        artifacts[kind] = library, sum(value.nbytes for value in constants.values())
    return artifacts


def shortest(args, artifacts, threads):
    """Milliseconds of the shortest run, by kind."""
    times = {kind: [] for kind in artifacts}
    for _ in range(args.rounds):
        for kind, (library, _) in artifacts.items():
            command = [args.bin / "graph-run", library, "--input", "x=random"]
            command += [f"--threads={threads}", "--runs=20", "--warmup=2", "--json"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            times[kind].append(json.loads(done.stdout)["min_ms"])
    return {kind: min(all_times) for kind, all_times in times.items()}


def bandwidth(args, threads):
    """Gigabytes that `machine` reads of memory in a second."""
    done = subprocess.run(
        [args.bin / "machine"], check=True, capture_output=True, text=True
    )
    best = {
        name: float(value)
        for name, value in re.findall(r"\| (\S+) \| \S+ \| ([\d.]+) \|", done.stdout)
    }
    name = "memory.read" if threads == 1 else f"memory.read.{threads}-threads"
    return best[name] * best["clock"]


def print_one_row(args, folder):
    print("| weights | threads | ms | GB/s | of memory's |\n|---|---|---|---|---|")
    kinds = [kind for kind in PRODUCTS if kind != "f32"]
    artifacts = compile_all(args, folder, 1, kinds)
    for threads in (1, 2):
        times = shortest(args, artifacts, threads)
        memory = max(bandwidth(args, threads) for _ in range(args.rounds))
        for kind, ms in times.items():
            rate = artifacts[kind][1] / ms / 1e6
            print(f"| {kind} | {threads} | {ms:.2f} | {rate:.1f} | {rate / memory:.0%} |")


def print_rows(args, folder):
    kinds = [kind for kind in PRODUCTS if kind != "f32"]
    print(f"\n| rows | f32, ms | {' | '.join(kinds)} |\n|---|---|{'---|' * len(kinds)}")
    for rows in args.rows:
        times = shortest(args, compile_all(args, folder, rows, PRODUCTS), 1)
        ratios = " | ".join(f"{times['f32'] / times[kind]:.2f}" for kind in kinds)
        print(f"| {rows} | {times['f32']:.2f} | {ratios} |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default="build/bin")
    parser.add_argument("--depth", type=int, default=16384)
    parser.add_argument("--columns", type=int, default=8192)
    numbers = lambda text: [int(number) for number in text.split(",")]
    parser.add_argument("--rows", type=numbers, default=[1, 2, 4, 8, 16, 32, 64, 128])
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print_one_row(args, pathlib.Path(folder))
        print_rows(args, pathlib.Path(folder))


if __name__ == "__main__":
    main()
