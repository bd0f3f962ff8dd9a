#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports every case of tests/end-to-end/op_cases as JSON and as ONNX.

usage: PYTHONPATH=tests/end-to-end op_cases_test.py BIN_DIR

All of them as one JSON graph, and all that ONNX can express as one ONNX model,
are compiled, run and compared with NumPy. Each case in ONNX is checked
by onnx.checker and run by ONNX Runtime. expectations.py lists the cases that
ONNX cannot express, and those that this ONNX Runtime does not run, or runs in
another way: a case that fails, or is listed and does not, fails the test. Those
that are not listed are in models of a few, and apart where such a model fails.
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


# Cases of which nothing is expected but to pass are in a model together.
GROUP = 16


def export(cases, folder):
    """What the exporter says of cases; their inputs if it wrote the model."""
    text, inputs = make_model(cases)
    (folder / "case.mlir").write_text(text)
    options = ["--emit=onnx", "-o", folder / "case.onnx"]
    done = subprocess.run(
        [TOOLS / "graph-compile", folder / "case.mlir", *options],
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    return done.stderr, inputs


def run_elsewhere(cases, path, inputs):
    """How ONNX Runtime does on cases, in words; "" if all is well."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # Threads would take longer than any case.
    inputs = {name: np.asarray(array) for name, array in inputs.items()}
    try:
        session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        results = session.run(None, inputs)
    except Exception as error:
        return f"unsupported: {str(error).strip().splitlines()[-1]}"
    for case, result in zip(cases, results, strict=True):
        if not agrees(case, result):
            want = expected(case).ravel()[:6]
            return f"different: {result.ravel()[:6]}, expected {want}"
    return ""


def check(cases, folder):
    """How cases in one model turned out, in words; "" if all is well."""
    message, inputs = export(cases, folder)
    if message:
        return f"refused: {message}" if REFUSAL in message else f"failed: {message}"
    path = str(folder / "case.onnx")
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:
        return f"invalid: {error}"
    return run_elsewhere(cases, path, inputs)


def work(folder, numbers):
    """Checks some cases, `numbers` of each model in a word, and leaves a file
    `outcome` for each model that says how they turned out."""
    for word in numbers:
        model = folder / word
        model.mkdir()
        outcome = check([CASES[int(number)] for number in word.split(",")], model)
        (model / "outcome").write_text(outcome)


def check_models_apart(folder, words):
    """Lets other processes do the work, which ONNX Runtime may end."""
    while words:
        command = [sys.executable, "-B", "-W", "ignore", __file__, TOOLS, folder]
        done = subprocess.run([*command, *words])
        words = [word for word in words if not (folder / word / "outcome").exists()]
        assert done.returncode <= 0, "a worker failed"
        if words:
            path = folder / words.pop(0) / "outcome"
            path.write_text(f"crashed: signal {-done.returncode}")


def outcomes_of(folder, words):
    """How models of these cases turned out, by the words that name them."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        workers = os.cpu_count()
        shares = [words[i::workers] for i in range(workers)]
        list(pool.map(lambda share: check_models_apart(folder, share), shares))
    return {word: (folder / word / "outcome").read_text() for word in words}


def check_cases(folder):
    """How each case turned out. Those of a model that is not as it should be are
    checked one by one, as are those that are listed."""
    numbers = range(len(CASES))
    plain = [str(i) for i in numbers if not expectation(CASES[i][0])]
    groups = [",".join(plain[i : i + GROUP]) for i in range(0, len(plain), GROUP)]
    passed = [word for word, o in outcomes_of(folder, groups).items() if not o]
    passed = {int(number) for word in passed for number in word.split(",")}
    alone = outcomes_of(folder, [str(i) for i in numbers if i not in passed])
    return [alone.get(str(i), "") for i in numbers]


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
        outcomes = check_cases(folder)
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
        work(pathlib.Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
