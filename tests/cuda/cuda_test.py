# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of artifacts for emulated GPUs share: tool_test with the fake driver."""

import json
import os
import pathlib
import re
import shutil
import sys

import numpy as np

import tool_test

DRIVER = None  # The fake driver; main() sets it.
TOLERANCE = 1e-4  # A part of the largest element.

# Orders of threads, fresh memory, copies and work that is not ordered.
SETTINGS = (
    "",
    "order=descending poison=7f copies=early schedule=newest",
    "poison=fe schedule=7 threads=1",
)
# What is missing in a kernel shows in at least one of these.
MUTATION_SETTINGS = tuple(
    f"order={order} poison={poison} copies={copies}"
    for copies in ("late", "early")
    for poison in ("ff", "7f", "fe")
    for order in ("ascending", "descending")
)


def toolkit():
    """Whether there is libdevice, which kernels with functions such as exp need."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return pathlib.Path(home, "nvvm/libdevice/libdevice.10.bc").exists()


class CudaTest(tool_test.ToolTest):
    def compile_for(self, model, target, *options):
        """The artifact of a model (JSON) for `cpu` or `cuda`."""
        path = self.folder / f"{model['name']}.json"
        path.write_text(json.dumps(model))
        artifact = self.folder / f"{model['name']}-{target}.so"
        chips = ("--cuda-chips=emulated",) if target == "cuda" else ()
        self.compile(path, artifact, f"--target={target}", *chips, *options)
        return artifact

    def run_artifact(self, artifact, *arguments, settings=""):
        """graph-run, finished, and the fake driver's log."""
        log = self.root / "driver.log"
        log.unlink(missing_ok=True)
        environment = dict(
            self.environment,
            TINH_CUDA_DRIVER=str(DRIVER),
            TINH_FAKE_CUDA=f"{settings} log={log}",
        )
        done = self.run_tool("graph-run", artifact, *arguments, env=environment)
        return done, log.read_text().splitlines() if log.exists() else []

    def outputs_of(self, artifact, *arguments, settings=""):
        """Arrays by name, of a run that must be fine, and the log."""
        folder = self.root / "outputs"
        shutil.rmtree(folder, ignore_errors=True)
        done, log = self.run_artifact(
            artifact, *arguments, "--output-dir", folder, settings=settings
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.problems(log), [])
        return {path.stem: np.load(path) for path in folder.iterdir()}, log

    def problems(self, log):
        return [line for line in log if re.match("misuse|leak", line)]

    def is_close(self, got, expected, tolerance=TOLERANCE):
        scale = max(1e-6, float(np.abs(expected.astype(np.float64)).max()))
        error = np.abs(got.astype(np.float64) - expected.astype(np.float64))
        return bool(error.max(initial=0) <= tolerance * scale)

    def compare(self, got, expected, what, tolerance=TOLERANCE):
        self.assertEqual(sorted(got), sorted(expected))
        for name, values in expected.items():
            self.assertTrue(
                self.is_close(got[name], values, tolerance),
                f"{name} is wrong, with {what}",
            )


def main():
    global DRIVER
    DRIVER = pathlib.Path(sys.argv.pop(2)).resolve()
    tool_test.main()
