# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of artifacts for emulated GPUs share: tool_test with the fake driver.

With CUDA_RECORD=DIR in the environment, each run whose outputs a test looks at is
kept in DIR as a case that replay_cases.py runs on a GPU: the artifact for a chip in
place of the emulated one, its inputs, and the outputs.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

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


# Those that an artifact has code for if nothing else is asked for. What is checked
# on chips is checked on one for each way that code differs, unless CUDA_CHIPS=all is
# in the environment, as are some training steps.
ALL_CHIPS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100")
THOROUGH = os.environ.get("CUDA_CHIPS") == "all"
CHIPS = ALL_CHIPS if THOROUGH else ("sm_75", "sm_80", "sm_90a")
TOOLKIT = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
RECORD = os.environ.get("CUDA_RECORD")
# Of a chip that is emulated, what CUDA_RECORD has code for.
REAL_CHIPS = {
    "emulated": "sm_90a",
    "emulated+wgmma": "sm_90a+wgmma",
    "emulated+sm_75": "compute_75",
}
# Takes spills, memory of a thread's own and products that wait for each other, as
# wgmma may, for errors.
STRICT_PTXAS = """#!/bin/sh
exec '{}' --warn-on-spills --warn-on-local-memory-usage --warning-as-error "$@"
"""


def toolkit():
    """Whether there is libdevice, which kernels with functions such as exp need."""
    return (TOOLKIT / "nvvm/libdevice/libdevice.10.bc").exists()


needs_libdevice = unittest.skipUnless(toolkit(), "needs the CUDA toolkit's libdevice")
needs_ptxas = unittest.skipUnless(
    (TOOLKIT / "bin/ptxas").exists(), "needs ptxas of the CUDA toolkit"
)


def random_inputs(model):
    return [
        option
        for value in model["inputs"]
        for option in ("--input", f"{value['name']}=random")
    ]


def sites_of(log):
    """Kernel, "barrier" or "wait", and number, of all that were loaded."""
    for line in log:
        match = re.match(r"image (\S+) barriers (\d+) waits (\d+)$", line)
        if match:
            for kind, count in (("barrier", match[2]), ("wait", match[3])):
                for number in range(int(count)):
                    yield match[1], kind, number


class CudaTest(tool_test.ToolTest):
    recorded = None  # The case of the last run, with CUDA_RECORD.

    def compile(self, model, output, *arguments, **options):
        printed = super().compile(model, output, *arguments, **options)
        chips = [a for a in arguments if str(a).startswith("--cuda-chips=")]
        chip = REAL_CHIPS.get(chips[0].split("=")[1]) if chips else None
        if RECORD and chip and "--from=plan" not in arguments:
            others = [a for a in arguments if a not in chips]
            twin = self.twin(output)
            super().compile(model, twin, f"--cuda-chips={chip}", *others, **options)
        return printed

    def twin(self, artifact):
        """Where the artifact for a GPU is that is not emulated, with CUDA_RECORD."""
        return pathlib.Path(artifact).with_suffix(".real.so")

    def keep_case(self, artifact, arguments, outputs):
        """Keeps a run for replay_cases.py; its test adds the tolerance."""
        os.makedirs(RECORD, exist_ok=True)
        case = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.id()}-", dir=RECORD))
        shutil.copy(self.twin(artifact), case / "gpu.so")
        kept = []
        for argument in map(str, arguments):
            path = pathlib.Path(argument.rpartition("=")[2])
            if path.suffix in (".npy", ".safetensors"):
                shutil.copy(path, case)
                argument = argument.replace(str(path), path.name)
            kept.append(argument)
        (case / "arguments").write_text("\n".join(kept))
        if self.environment.get("TINH_CUDA_LIBRARIES", "none") != "none":
            (case / "libraries").touch()
        shutil.copytree(outputs, case / "expected")
        self.recorded = case

    def keep_tolerance(self, tolerance):
        if self.recorded:
            (self.recorded / "tolerance").write_text(str(tolerance))

    def compile_for(self, model, target, *options):
        """The artifact of a model (JSON) for `cpu` or `cuda`."""
        path = self.folder / f"{model['name']}.json"
        path.write_text(json.dumps(model))
        artifact = self.folder / f"{model['name']}-{target}.so"
        chips = ("--cuda-chips=emulated",) if target == "cuda" else ()
        if any(option.startswith("--cuda-chips=") for option in options):
            chips = ()
        self.compile(path, artifact, f"--target={target}", *chips, *options)
        return artifact

    def run_artifact(self, artifact, *arguments, settings=""):
        """graph-run, finished, and the fake driver's log."""
        log = self.root / "driver.log"
        log.unlink(missing_ok=True)
        environment = dict(
            {"TINH_CUDA_LIBRARIES": "none"} | self.environment,
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
        if RECORD and not settings and self.twin(artifact).exists():
            self.keep_case(artifact, arguments, folder)
        return {path.stem: np.load(path) for path in folder.iterdir()}, log

    def problems(self, log):
        return [line for line in log if re.match("misuse|leak", line)]

    def is_close(self, got, expected, tolerance=TOLERANCE):
        scale = max(1e-6, float(np.abs(expected.astype(np.float64)).max()))
        error = np.abs(got.astype(np.float64) - expected.astype(np.float64))
        return bool(error.max(initial=0) <= tolerance * scale)

    def compare(self, got, expected, what, tolerance=TOLERANCE):
        self.assertEqual(sorted(got), sorted(expected))
        self.keep_tolerance(tolerance)
        for name, values in expected.items():
            self.assertTrue(
                self.is_close(got[name], values, tolerance),
                f"{name} is wrong, with {what}",
            )

    def differs(self, artifact, inputs, expected, settings):
        """Whether a run fails or gives something else."""
        folder = self.root / "mutant"
        shutil.rmtree(folder, ignore_errors=True)
        done, _ = self.run_artifact(
            artifact, *inputs, "--output-dir", folder, settings=settings
        )
        return done.returncode != 0 or any(
            not self.is_close(np.load(folder / f"{name}.npy"), values)
            for name, values in expected.items()
        )

    def strategies(self, model, *options):
        """Those of the kernels of a model that has been compiled."""
        path = self.folder / "kernels.mlir"
        json = self.folder / f"{model['name']}.json"
        self.compile(json, path, "--target=cuda", "--emit=kernels", *options)
        return set(re.findall(r"graph.plan = #cuda.(\w+)<", path.read_text()))

    def check_sites(self, model, inputs=None, options=(), tolerance=TOLERANCE):
        """Each barrier and wait of the model's kernels is missed, if left out."""
        artifact = self.compile_for(model, "cuda", *options)
        self.check_sites_of(artifact, inputs or random_inputs(model), tolerance)

    def check_sites_of(self, artifact, inputs, tolerance=TOLERANCE):
        expected, log = self.outputs_of(artifact, *inputs)
        self.keep_tolerance(tolerance)
        for settings in MUTATION_SETTINGS:  # With all of them nothing is wrong.
            self.assertFalse(self.differs(artifact, inputs, expected, settings))
        sites = list(sites_of(log))
        self.assertTrue(sites, "no kernel has a barrier or a wait")
        missed = [
            (kernel, kind, number)
            for kernel, kind, number in sites
            if not any(
                self.differs(
                    artifact,
                    inputs,
                    expected,
                    f"ignore={kernel}:{kind}:{number} {settings}",
                )
                for settings in MUTATION_SETTINGS
            )
        ]
        self.assertEqual(missed, [], f"of {len(sites)} nobody misses these")

    def kernels_for(self, model, chip, *options):
        """The PTX of each kernel, as it is made for `chip`."""
        path, text = self.folder / "model.json", self.folder / "model.ptx"
        path.write_text(json.dumps(model))
        options = (f"--cuda-chips={chip}", *options)
        self.compile(path, text, "--target=cuda", "--emit=ptx", *options)
        files = re.split(r"^(?=\.version)", text.read_text(), flags=re.M)
        return [file for file in files if ".entry" in file]

    def check_registers(self, kernel, chip):
        """ptxas takes the kernel, without spills and arrays in local memory."""
        done = subprocess.run(
            (TOOLKIT / "bin/ptxas", "-v", f"-arch={chip}", "-o", "/dev/null", "-"),
            input=kernel,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" 0 bytes stack frame", done.stderr)
        self.assertIn(" 0 bytes spill stores", done.stderr)
        # Of wgmma, if ptxas does not see which registers are on their way.
        self.assertNotIn("serialized", done.stderr)

    def strict_toolkit(self):
        """A toolkit whose ptxas takes no kernel that check_registers would not."""
        folder = self.root / "toolkit"
        if not folder.exists():
            (folder / "bin").mkdir(parents=True)
            for name in ("bin/fatbinary", "nvvm"):
                (folder / name).symlink_to(TOOLKIT / name)
            ptxas = folder / "bin" / "ptxas"
            ptxas.write_text(STRICT_PTXAS.format(TOOLKIT / "bin" / "ptxas"))
            ptxas.chmod(0o755)
        return folder

    def check_chips(self, model, *options):
        """The model's kernels spill no registers on any chip."""
        with self.subTest(model=model["name"], options=options):
            self.compile_for(
                model,
                "cuda",
                f"--cuda-chips={','.join(CHIPS)}",
                f"--cuda-path={self.strict_toolkit()}",
                *options,
            )


def main():
    global DRIVER
    DRIVER = pathlib.Path(sys.argv.pop(2)).resolve()
    tool_test.main()
