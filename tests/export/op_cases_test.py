#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports every case of tests/end-to-end/op_cases as JSON and as ONNX.

usage: PYTHONPATH=tests/end-to-end op_cases_test.py BIN_DIR

All of them as one JSON graph, and all that ONNX can express as one ONNX model,
are compiled, run and compared with NumPy. Each ONNX model of one case is checked
by onnx.checker and run by ONNX Runtime. expectations.py lists the cases that
ONNX cannot express, and those that this ONNX Runtime does not run, or runs in
another way: a case that fails, or is listed and does not, fails the test.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from expectations import expectation
from op_cases import CASES
from run_op_cases import (
    agrees,
    compile_and_run,
    count_failed,
    expected,
    make_model,
    run,
)

TOOLS = pathlib.Path(sys.argv[1])
REFUSAL = "that ONNX cannot express"


def export(case, folder):
    """What the exporter says of a case; nothing if it wrote the model."""
    folder.mkdir()
    (folder / "case.mlir").write_text(make_model([case])[0])
    options = ["--emit=onnx", "-o", folder / "case.onnx"]
    done = subprocess.run(
        [TOOLS / "graph-compile", folder / "case.mlir", *options],
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    return done.stderr


def run_elsewhere(case, path):
    """How ONNX Runtime does on a case, in words; "" if all is well."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # Threads would take longer than any case.
    inputs = {f"x0_{i}": np.asarray(array) for i, array in enumerate(case[3])}
    try:
        session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        result = session.run(None, inputs)[0]
    except Exception as error:
        return f"unsupported: {str(error).strip().splitlines()[-1]}"
    if agrees(case, result):
        return ""
    return f"different: {result.ravel()[:6]}, expected {expected(case).ravel()[:6]}"


def check(case, folder):
    """How a case turned out, in words; "" if all is well."""
    message = export(case, folder)
    if message:
        return f"refused: {message}" if REFUSAL in message else f"failed: {message}"
    path = str(folder / "case.onnx")
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:
        return f"invalid: {error}"
    return run_elsewhere(case, path)


def work(folder, numbers):
    """Checks some cases and leaves a file `outcome` for each."""
    for number in numbers:
        outcome = check(CASES[number], folder / str(number))
        (folder / str(number) / "outcome").write_text(outcome)


def check_cases(folder, numbers):
    """Lets other processes do the work, which ONNX Runtime may end."""
    while numbers:
        command = [sys.executable, "-B", "-W", "ignore", __file__, TOOLS, folder]
        done = subprocess.run([*command, *map(str, numbers)])
        numbers = [n for n in numbers if not (folder / str(n) / "outcome").exists()]
        assert done.returncode <= 0, "a worker failed"
        if numbers:
            path = folder / str(numbers.pop(0)) / "outcome"
            path.write_text(f"crashed: signal {-done.returncode}")


def judge(case, outcome):
    """Whether the case turned out as expectations.py says."""
    return outcome.split(":")[0] == expectation(case[0])


def check_models(folder, outcomes):
    """All cases at once, through each format and back."""
    exported = [case for case, o in zip(CASES, outcomes) if not o.startswith("refused")]
    failed = 0
    for kind, cases in (("json", CASES), ("onnx", exported)):
        work = folder / kind
        work.mkdir()
        text, inputs = make_model(cases)
        (work / "cases.mlir").write_text(text)
        model = work / f"exported.{kind}"
        options = [f"--emit={kind}", "-o", model]
        run([TOOLS / "graph-compile", work / "cases.mlir", *options])
        print(f"{kind}: ", end="")
        results = compile_and_run(TOOLS, "native", model, inputs, work)
        failed += count_failed(cases, results)
    return failed


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            workers = os.cpu_count()
            shares = [range(i, len(CASES), workers) for i in range(workers)]
            list(pool.map(lambda share: check_cases(folder, list(share)), shares))
        outcomes = [
            (folder / str(i) / "outcome").read_text() for i in range(len(CASES))
        ]
        failed = 0
        for case, outcome in zip(CASES, outcomes):
            if not judge(case, outcome):
                failed += 1
                print(f"{case[0]}: {outcome or 'passes, but is listed'}")
        kinds = [outcome.split(":")[0] or "passed" for outcome in outcomes]
        print({kind: kinds.count(kind) for kind in sorted(set(kinds))})
        failed += check_models(folder, outcomes)
    sys.exit(failed != 0)


if __name__ == "__main__":
    np.seterr(all="ignore")
    if len(sys.argv) > 2:
        work(pathlib.Path(sys.argv[2]), map(int, sys.argv[3:]))
    else:
        main()
