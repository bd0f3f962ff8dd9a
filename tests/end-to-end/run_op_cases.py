# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs all cases of op_cases as one model; compares with NumPy.

usage: run_op_cases.py BIN_DIR CPU [PATTERN]

With PATTERN, a regular expression, only cases in whose names it is found.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from op_cases import CASES, type_of


def expected(case, results={}):
    """What NumPy says of a case, which it is asked once."""
    if id(case) not in results:
        with np.errstate(all="ignore"):
            results[id(case)] = np.asarray(case[2](*case[3]))
    return results[id(case)]


def make_model(cases):
    """The text of a module with all of these cases, and its inputs by name."""
    inputs, results, body = {}, [], []
    for i, case in enumerate(cases):
        _, text, _, arrays, _ = case
        types = {f"t{j}": type_of(array) for j, array in enumerate(arrays)}
        types["ty"] = type_of(expected(case))
        text = re.sub(r"%(\d+)\b", lambda m: f"%x{i}_{m.group(1)}", text)
        text = re.sub(r"%([a-wyz]\w*)\b", lambda m: f"%{m.group(1)}_{i}", text)
        for name, kind in types.items():
            text = re.sub(rf"\b{name}\b", kind, text)
        body.append("  " + text)
        inputs.update({f"x{i}_{j}": array for j, array in enumerate(arrays)})
        results.append((f"y_{i}", types["ty"]))
    arguments = ", ".join(
        f'%{name}: {type_of(array)} {{graph.name = "{name}"}}'
        for name, array in inputs.items()
    )
    kinds = ", ".join(f'{kind} {{graph.name = "{name}"}}' for name, kind in results)
    values = ", ".join(f"%{name}" for name, _ in results)
    bare = ", ".join(kind for _, kind in results)
    lines = [f"func.func @main({arguments}) -> ({kinds}) {{", *body]
    lines += [f"  return {values} : {bare}", "}", ""]
    return "\n".join(lines), inputs


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:2]))} failed:\n{done.stderr[:4000]}")


def agrees(case, got):
    want = expected(case)
    # Floats of 8 bits, as NumPy reads them and as ONNX Runtime gives some.
    if got.dtype != want.dtype and want.dtype.itemsize == got.dtype.itemsize == 1:
        got = got.view(want.dtype)
    tolerance = max(case[4], 2e-6)
    return got.shape == want.shape and np.allclose(
        got.astype(np.float64),
        want.astype(np.float64),
        rtol=tolerance,
        atol=tolerance,
        equal_nan=True,
    )


def compile_and_run(tools, cpu, model, inputs, folder):
    """The outputs y_0, y_1 … of a model, each at several numbers of threads."""
    artifact = folder / "cases.so"
    run([tools / "graph-compile", model, "-o", artifact, "--cpu", cpu])
    options = []
    for key, array in inputs.items():
        np.save(folder / f"{key}.npy", array)
        options += ["--input", f"{key}={folder / key}.npy"]
    results = []
    for threads in ("1", "2", "3"):
        out = folder / threads
        options_here = ["--threads", threads, "--output-dir", out]
        run([tools / "graph-run", artifact, *options_here, *options])
        count = len(list(out.iterdir()))
        results.append([np.load(out / f"y_{i}.npy") for i in range(count)])
    return list(zip(*results))


def count_failed(cases, all_results):
    """Prints each case whose results are not what NumPy says."""
    failed = 0
    for case, results in zip(cases, all_results, strict=True):
        same = all(r.tobytes() == results[0].tobytes() for r in results)
        if same and agrees(case, results[0]):
            continue
        failed += 1
        why = "differs from NumPy" if same else "depends on the threads"
        print(
            f"{case[0]} {why}: {results[0].ravel()[:6]}, "
            f"expected {expected(case).ravel()[:6]}"
        )
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed


def main():
    tools, cpu = pathlib.Path(sys.argv[1]), sys.argv[2]
    pattern = re.compile(sys.argv[3] if len(sys.argv) > 3 else "")
    cases = [case for case in CASES if pattern.search(case[0])]
    text, inputs = make_model(cases)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = folder / "cases.mlir"
        model.write_text(text)
        all_results = compile_and_run(tools, cpu, model, inputs, folder)
    sys.exit(not cases or count_failed(cases, all_results) != 0)


if __name__ == "__main__":
    main()
