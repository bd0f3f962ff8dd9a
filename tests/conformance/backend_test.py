#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ONNX's own runner of tests, onnx.backend.test, on tinh.backend.

    backend_test.py REFUSED REFUSED_MODELS [--nodes N] [--jobs N] [--only REGEX]

Of the suite node, whose cases conformance_test.py compiles, too, every N-th is
tried, 1 for all; the suites simple, pytorch-operator, pytorch-converted and the
light models, which the runner calls real, are tried as a whole. All must be right
but what the lists REFUSED, of nodes, and REFUSED_MODELS, of the others, say is
refused. Needs the installed package tinh beside onnx and ml_dtypes.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import unittest
import warnings

import numpy as np
import onnx.backend.test
import tinh.backend

import expectations
import onnx_cases
from conformance_test import Outcome

SUITES = {
    "OnnxBackendNodeModelTest": "node",
    "OnnxBackendSimpleModelTest": "simple",
    "OnnxBackendPyTorchOperatorModelTest": "pytorch-operator",
    "OnnxBackendPyTorchConvertedModelTest": "pytorch-converted",
    "OnnxBackendRealModelTest": "light",
}


# Those of 8 bits are rounded once.
FLOATS = [np.float16, np.float32, np.float64]

REFUSALS = []


@contextlib.contextmanager
def noting_refusals():
    """To the runner, a model that is refused is no failure."""
    try:
        yield
    except tinh.backend.Unsupported as error:
        REFUSALS.append(str(error))
        raise


class Prepared:
    """A model that may be refused when it is run, too."""

    def __init__(self, model):
        self.model = model

    def run(self, inputs):
        with noting_refusals():
            return self.model.run(inputs)


class Backend(tinh.backend.TinhBackend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        with noting_refusals():
            return Prepared(
                super().prepare(model, device, threads=1, jobs=1, **options)
            )

    # Which prepare finds out, too.
    @classmethod
    def is_compatible(cls, model, device="CPU", **options):
        return True

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


def tolerances():
    """Those of conformance_test.py, which for some cases are the wider ones."""
    found = {}
    for case in onnx_cases.collect():
        both = [
            onnx_cases.tolerances(case, np.asarray(y))
            for y in case.outputs
            if getattr(y, "dtype", None) in FLOATS
        ]
        if both:
            found[case.name] = {"rtol": max(r for r, _ in both)}
            found[case.name]["atol"] = max(a for _, a in both)
    return found


def all_tests():
    """Names of the suites and of their tests, with the tests."""
    runner = onnx.backend.test.BackendTest(Backend, __name__, tolerances())
    tests = {}
    for suite, case in runner.test_cases.items():
        for name in unittest.defaultTestLoader.getTestCaseNames(case):
            if name.endswith("_cpu"):
                test = name.removesuffix("_cpu")
                tests[SUITES[suite], test] = case(name)
    return tests


TESTS = {}


def run(key):
    """The outcome of one test, in a process of the pool."""
    warnings.simplefilter("ignore")  # NumPy's, on overflow in expected outputs
    REFUSALS.clear()
    result = unittest.TestResult()
    TESTS[key].run(result)
    problems = [text for _, text in result.errors + result.failures]
    if problems:
        return Outcome(key[1], "wrong", problems[0].strip())
    if REFUSALS:
        return Outcome(key[1], "refused", REFUSALS[0])
    return Outcome(key[1], "passed")


def run_all(keys, jobs):
    context = multiprocessing.get_context("fork")  # The tests are not made again.
    with concurrent.futures.ProcessPoolExecutor(jobs, context) as pool:
        outcomes = list(pool.map(run, keys))
    by_suite = collections.defaultdict(list)
    for (suite, _), outcome in zip(keys, outcomes):
        by_suite[suite].append(outcome)
    return by_suite


def random_nodes():
    """Cases of random numbers, which are each implementation's own."""
    return {case.name for case in onnx_cases.collect() if case.is_random}


def sequences_of_scalars():
    """Cases that expect some: the runner asks for the length of each tensor."""
    return {
        case.name
        for case in onnx_cases.collect()
        for y in case.outputs
        if isinstance(y, list) and any(np.ndim(x) == 0 for x in y)
    }


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("refused", type=pathlib.Path)
    parser.add_argument("refused_models", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    args = parser.parse_args()

    TESTS.update(all_tests())
    skipped = random_nodes() | sequences_of_scalars()
    keys = [k for k in TESTS if re.search(args.only, k[1]) and k[1] not in skipped]
    nodes = [k for k in keys if k[0] == "node"][:: args.nodes]
    keys = [k for k in keys if k[0] != "node"] + nodes
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ONNX_MODELS"] = folder  # Where the runner writes data.
        by_suite = run_all(keys, args.jobs)
    problems = []
    for suite, outcomes in by_suite.items():
        counts = collections.Counter(outcome.status for outcome in outcomes)
        print(
            f"{suite}: {counts['passed']} right, {counts['refused']} refused, "
            f"{counts['wrong']} wrong"
        )
        listed = args.refused if suite == "node" else args.refused_models
        problems += expectations.compare(
            expectations.read(listed), outcomes, complete=False
        )
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
