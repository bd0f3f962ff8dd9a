#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks on whole models that the text of each phase determines what follows.

    round_trip_models.py BIN_DIR MODEL ...

Each MODEL is compiled to every phase, and then the text of each phase to the
next one: the two must be the same to the byte, locations included, as must be
the object file and the artifact. No text may hold large weights.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

PHASES = ["graph", "normalised", "optimised", "fused", "kernels", "plan", "llvm"]

# The largest constant that passes fold: 16384 elements of 8 bytes, in
# hexadecimal. Larger ones are references to files.
LARGEST_CONSTANT = 2 * 8 * 16384
CONSTANT = re.compile(r'"0x([0-9A-F]*)"')


class Model:
    def __init__(self, tools, path, folder):
        self.compiler = tools / "graph-compile"
        self.path = path.resolve()
        self.folder = folder
        self.problems = []

    def compile(self, source, output, *arguments):
        done = subprocess.run(
            [self.compiler, source, "-o", output, "--no-cache", *arguments],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{source}: {done.stderr}")
        return output.read_bytes()

    def direct(self, phase):
        """The phase as it comes from the model."""
        return self.compile(
            self.path, self.folder / f"direct.{phase}", f"--emit={phase}"
        )

    def read_back(self, text, before, phase):
        """The phase as it comes from the text of the one before."""
        source = self.folder / f"{before}.mlir"
        source.write_bytes(text)
        return self.compile(
            source,
            self.folder / f"read.{phase}",
            f"--from={before}",
            f"--emit={phase}",
            f"--model-dir={self.path.parent}",
        )

    def expect(self, holds, what):
        if not holds:
            self.problems.append(f"{self.path}: {what}")

    def check_constants(self, phase, text):
        content = text.decode()
        largest = max(map(len, CONSTANT.findall(content)), default=0)
        self.expect(
            largest <= LARGEST_CONSTANT and "dense_resource" not in content,
            f"the text of phase {phase} holds large constants",
        )

    def check(self):
        texts = {phase: self.direct(phase) for phase in PHASES}
        for phase, text in texts.items():
            self.check_constants(phase, text)
        binaries = {phase: self.direct(phase) for phase in ("obj", "so")}
        steps = list(zip(PHASES, PHASES[1:]))
        steps += [("plan", "so"), ("llvm", "obj"), ("llvm", "so")]
        for before, phase in steps:
            found = self.read_back(texts[before], before, phase)
            self.expect(
                found == (texts | binaries)[phase],
                f"phase {phase} differs when it is made from the text of {before}",
            )
        return self.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools", metavar="BIN_DIR", type=pathlib.Path)
    parser.add_argument("models", metavar="MODEL", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    problems = []
    for path in args.models:
        with tempfile.TemporaryDirectory(prefix="tinh-test-") as folder:
            model = Model(args.tools.resolve(), path, pathlib.Path(folder))
            found = model.check()
        print(f"{path}: {'differs' if found else 'the same'}", flush=True)
        problems += found
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
