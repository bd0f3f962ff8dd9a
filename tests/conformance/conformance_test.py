#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ONNX's own tests of single nodes.

    conformance_test.py RUNNER REFUSED [--cpu CPU] [--jobs N] [--only REGEX] [--update]

Every case must give what ONNX says, but for those that the file REFUSED lists:
these the compiler must refuse, with the message that the file gives for their
group. A case that is listed and passes is a failure too, so that the list only
shrinks. --update writes the list anew, in the groups that the file has.

Tinh's shapes are static: where the compiler says that an input must be a
constant, the case is tried again with that input made one.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import expectations
import onnx_cases

MUST_BE_CONSTANT = re.compile(r'\(input "([^"]*)"\) must be a constant')


@dataclasses.dataclass
class Outcome:
    name: str
    status: str  # passed, refused or wrong
    message: str = ""
    frozen: int = 0  # how many inputs were made constants


class Runner:
    """The C++ program that compiles and runs one case after another."""

    def __init__(self, program, cpu):
        self.command = [program, cpu]
        self.process = None

    def run(self, folder):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        try:
            self.process.stdin.write(f"{folder}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        status = self.process.wait()
        self.process = None
        return {"status": "failed", "message": f"crashed with status {status}"}

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def judge(case, result, folder):
    if result["status"] == "refused":
        return "refused", result["message"].removeprefix(f"{folder}/")
    if result["status"] == "failed":
        return "wrong", result["message"]
    problem = onnx_cases.difference(
        case, onnx_cases.read_outputs(folder, result["outputs"])
    )
    return ("wrong", problem) if problem else ("passed", "")


def run_case(case, runner, parent):
    original, frozen = case.name, 0
    while True:
        with tempfile.TemporaryDirectory(dir=parent) as temporary:
            folder = pathlib.Path(temporary) / "case"
            onnx_cases.write(case, folder)
            status, message = judge(case, runner.run(folder), folder)
        asked = MUST_BE_CONSTANT.search(message) if status == "refused" else None
        constant = onnx_cases.freeze(case, asked[1]) if asked else None
        if constant is None:
            return Outcome(original, status, message, frozen)
        case, frozen = constant, frozen + 1


def run_part(cases, args):
    runner = Runner(args.runner, args.cpu)
    with tempfile.TemporaryDirectory() as parent:
        outcomes = [run_case(case, runner, parent) for case in cases]
    runner.close()
    return outcomes


def run_all(cases, args):
    parts = [cases[i :: args.jobs] for i in range(args.jobs)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = pool.map(lambda part: run_part(part, args), parts)
    return sorted((o for part in results for o in part), key=lambda o: o.name)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("runner", type=pathlib.Path)
    parser.add_argument("refused", type=pathlib.Path)
    parser.add_argument("--cpu", default="native")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # NumPy's, on overflow in expected outputs

    groups = expectations.read(args.refused)
    cases = [c for c in onnx_cases.collect() if re.search(args.only, c.name)]
    outcomes = run_all(cases, args)
    counts = collections.Counter(o.status for o in outcomes)
    frozen = sum(o.status == "passed" and o.frozen > 0 for o in outcomes)
    print(
        f"{len(outcomes)} cases: {counts['passed']} right ({frozen} with inputs that "
        f"fix shapes made constants), {counts['refused']} refused, "
        f"{counts['wrong']} wrong"
    )
    if args.update:
        problems = expectations.update(args.refused, groups, outcomes)
    else:
        problems = expectations.compare(groups, outcomes, complete=not args.only)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
