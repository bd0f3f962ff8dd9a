#!/usr/bin/env python3
"""Compiles and runs models and compares the results with the expected ones.

    check_models.py --bin BIN_DIR MODEL_DIR ...

Each MODEL_DIR holds model.onnx, inputs/*.npy and expected/*.npy, as
light_models.py and export_models.py write them. Prints a table in Markdown:
largest error at 1 and 2 threads as a part of max|y|, whether the two agree to
the bit, compile time, dispatches, and the arena against its lower bound. Exits
with 1 if a model fails or differs by more than --tolerance. Softmax outputs
are compared too, but say little: the logits count.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np


def file_name(tensor_name):
    return tensor_name.replace("/", "_") + ".npy"


def report_of(output):
    """The numbers that graph-compile --report prints, by their names."""
    lines = re.findall(r"^\s*(.*?)\s{2,}([\d,]+)$", output, re.MULTILINE)
    return {name: int(number.replace(",", "")) for name, number in lines}


def compile_model(args, folder, artifact):
    start = time.perf_counter()
    result = subprocess.run(
        [
            args.bin / "graph-compile",
            folder / "model.onnx",
            "-o",
            artifact,
            "--report",
            "--no-cache",  # The time is that of compiling.
        ],
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise RuntimeError(result.stderr.strip().splitlines()[0][:200])
    return report_of(result.stdout) | {"seconds": time.perf_counter() - start}


def input_names(args, artifact):
    """Names of the artifact's inputs, as graph-run lists them."""
    result = subprocess.run(
        [args.bin / "graph-run", artifact, "--list"],
        capture_output=True,
        text=True,
        check=True,
    )
    return re.findall(r"^\s+input\s+(\S+)", result.stdout, re.MULTILINE)


def run_model(args, folder, artifact, threads, outputs):
    command = [
        args.bin / "graph-run",
        artifact,
        "--threads",
        str(threads),
        "--output-dir",
        outputs,
    ]
    for name in input_names(args, artifact):
        command += ["--input", f"{name}={folder / 'inputs' / file_name(name)}"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr.strip()[:200])
    return {f.name: np.load(f) for f in sorted(outputs.glob("*.npy"))}


def largest_error(results, expected):
    def error(a, b):
        if a.shape != b.shape or not np.isfinite(a).all():
            return float("inf")
        return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30))

    return max(error(results[name], value) for name, value in expected.items())


def check(args, folder):
    expected = {f.name: np.load(f) for f in (folder / "expected").glob("*.npy")}
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        report = compile_model(args, folder, work / "model.so")
        runs = []
        for threads in (1, 2):
            outputs = work / str(threads)
            outputs.mkdir()
            runs.append(
                run_model(args, folder, work / "model.so", threads, outputs)
            )
    return {
        "model": folder.name,
        "errors": [largest_error(run, expected) for run in runs],
        "identical": all(
            np.array_equal(runs[0][n], runs[1][n], equal_nan=True)
            for n in runs[0]
        ),
        **report,
    }


def row(result):
    arena = result.get("arena, bytes", 0)
    bound = result.get("live-set lower bound", 0)
    errors = ["%.1e" % e for e in result["errors"]]
    cells = [
        result["model"],
        *errors,
        "yes" if result["identical"] else "NO",
        f"{result['seconds']:.1f}",
        str(result.get("dispatches", "–")),
        f"{arena:,}",
        f"{arena / bound:.3f}" if bound else "–",
    ]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    heads = ["model", "error, 1 thread", "2 threads", "same bits", "compile, s"]
    heads += ["dispatches", "arena, bytes", "arena / lower bound"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    results, failed = [], 0
    for folder in args.folders:
        try:
            results.append(check(args, folder))
        except (RuntimeError, KeyError, OSError) as error:
            print(f"| {folder.name} | failed: {error} |", flush=True)
            failed += 1
            continue
        print(row(results[-1]), flush=True)
        bad = max(results[-1]["errors"]) > args.tolerance
        failed += bad or not results[-1]["identical"]
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
