# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what CUDA_RECORD kept of these tests (cuda_test.py), on a real GPU.

usage: python3 replay_cases.py GRAPH_RUN CASES RESULTS [--jobs N] [--filter REGEX]

Each case runs with the kernels of its artifact alone, and those of tests of libraries
with the libraries that the machine has, too. Outputs must be those that the emulated
GPU gave, but for the tolerance of the test, as a part of the largest element. Writes
RESULTS, a line of JSON for each run; the exit code is 0 if all are right. Needs NumPy.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

TOLERANCE = 1e-4


def widened(values):
    """bf16, which NumPy does not have, as f32; all others as f64."""
    if values.dtype.kind == "V" and values.dtype.itemsize == 1:
        return values.view(np.uint8).astype(np.float64)  # Floats of 8 bits, as they are.
    if values.dtype.kind == "V":
        values = (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float64)


def error_of(got, expected):
    """The largest difference, as a part of the largest element."""
    if (got.shape, got.dtype) != (expected.shape, expected.dtype):
        return float("inf")
    got, expected = widened(got), widened(expected)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    if same.all():
        return 0.0
    finite = np.abs(expected[np.isfinite(expected)])
    difference = np.abs(got - expected)[~same]
    if not np.isfinite(difference).all():
        return float("inf")
    return float(difference.max() / max(1e-6, finite.max(initial=0)))


def replay(program, case, libraries, seconds):
    tolerance = case / "tolerance"
    limit = float(tolerance.read_text()) if tolerance.exists() else TOLERANCE
    result = {"case": case.name, "libraries": libraries or "all", "tolerance": limit}
    environment = dict(os.environ)
    if libraries:
        environment["TINH_CUDA_LIBRARIES"] = libraries
    with tempfile.TemporaryDirectory() as folder:
        arguments = (case / "arguments").read_text().split("\n")
        command = [program, case / "gpu.so", *filter(None, arguments)]
        try:
            done = subprocess.run(
                [*command, "--output-dir", folder],
                cwd=case,
                env=environment,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return result | {"ok": False, "problem": f"took over {seconds} s"}
        if done.returncode:
            problem = f"exit code {done.returncode}: {done.stderr[-600:]}"
            return result | {"ok": False, "problem": problem}
        errors = {
            path.stem: error_of(np.load(pathlib.Path(folder, path.name)), np.load(path))
            for path in sorted((case / "expected").iterdir())
        }
    worst = max(errors, key=errors.get)
    result["error"] = errors[worst]
    result["ok"] = errors[worst] <= limit
    if not result["ok"]:
        wrong = {name: error for name, error in errors.items() if error > limit}
        result["problem"] = f"{len(wrong)} of {len(errors)} outputs: " + ", ".join(
            f"{name} by {error:.2g}" for name, error in list(wrong.items())[:12]
        )
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path, metavar="GRAPH_RUN")
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--filter", default="", help="those in whose names it is found")
    parser.add_argument("--seconds", type=int, default=60, help="that a case may take")
    args = parser.parse_args()
    program = args.program.resolve()
    cases = [c for c in sorted(args.cases.iterdir()) if re.search(args.filter, c.name)]
    count = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = [
            pool.submit(replay, program, case.resolve(), libraries, args.seconds)
            for case in cases
            for libraries in (("none", "") if (case / "libraries").exists() else ("none",))
        ]
        with args.results.open("w") as results:
            for run in concurrent.futures.as_completed(runs):
                result = run.result()
                count[result["ok"]] += 1
                print(json.dumps(result), file=results, flush=True)
                if not result["ok"]:
                    where = f"{result['case']} ({result['libraries']})"
                    print(f"{where}: {result['problem']}", flush=True)
    print(f"{count[True]} runs are right, {count[False]} are not")
    sys.exit(1 if count[False] or not count else 0)


if __name__ == "__main__":
    main()
