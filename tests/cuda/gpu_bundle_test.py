# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bundle for machines with a GPU, run on an emulated one.

usage: PYTHONPATH=tests/support python tests/cuda/gpu_bundle_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import cuda_test
import tool_test

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "gpu.sh"
# Takes what compute-sanitizer takes.
SANITIZER = """#!/bin/sh
[ "$1 $2 $3 $4" = "--error-exitcode 9 --leak-check full" ] || exit 2
shift 4
echo "$@" > sanitized
exec "$@"
"""
# Takes what a python with PyTorch takes; says that there is a GPU.
TORCH = """#!/bin/sh
[ "$1" = -c ] && exit 0
[ -f "$1" ] && [ -f "$2/about.json" ] && [ -s "$3" ] && [ "$4 $5" = "--runs 3" ] || exit 2
case $2 in *softmax) exit 3;; esac
echo '{"version": "2.0"}'
"""
MODELS = ["copy", "matmul64", "mlp", "mlp_step", "softmax"]


@cuda_test.needs_libdevice
class GpuBundleTest(cuda_test.CudaTest):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="tinh-bundle-")
        cls.addClassCleanup(holder.cleanup)
        cls.made = pathlib.Path(holder.name, "bundle")
        options = ("--small", "--chips", "emulated", "--bin", tool_test.TOOLS)
        subprocess.run(
            [SCRIPT, "bundle", cls.made, *options],
            check=True,
            stdout=subprocess.DEVNULL,
            env={
                **os.environ,
                "PYTHON": sys.executable,
                "XDG_CACHE_HOME": holder.name,
            },
        )

    def setUp(self):
        super().setUp()
        self.bundle = self.root / "bundle"
        with tarfile.open(self.made.with_name("bundle.tar.gz")) as archive:
            archive.extractall(self.root, filter="data")

    def script(self, *command, **environment):
        return subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            check=False,
            text=True,
            cwd=self.root,
            env={**self.environment, **environment},
        )

    def run_bundle(self, **environment):
        """The exit code and what results.json says."""
        settings = {
            "TINH_CUDA_DRIVER": str(cuda_test.DRIVER),
            "TINH_FAKE_CUDA": f"log={self.root / 'driver.log'}",
            "SANITIZER": "none",
            "TORCH": "none",
            "RUNS": "3",
            "CPU_RUNS": "2",
        }
        done = self.script(
            self.bundle / "gpu.sh", "run", "results", **{**settings, **environment}
        )
        self.printed = done.stdout
        text = (self.root / "results" / "results.json").read_text()
        return done.returncode, json.loads(text)

    def by_name(self, results):
        return {model["name"]: model for model in results["models"]}

    def test_all_is_right(self):
        sanitizer = self.root / "sanitizer"
        sanitizer.write_text(SANITIZER)
        sanitizer.chmod(0o755)
        code, results = self.run_bundle(SANITIZER=str(sanitizer))
        self.assertEqual((code, results["ok"]), (0, True), results)
        self.assertEqual(results["gpu"]["name"], "Emulated GPU")
        self.assertGreater(results["gpu"]["driver_version"], 0)
        self.assertIn("mlp_step: not on two ranks: two GPUs are", self.printed)
        self.assertRegex(results["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        models = self.by_name(results)
        self.assertEqual(sorted(models), MODELS)
        for name, model in models.items():
            self.assertLessEqual(model["error"], model["tolerance"])
            self.assertEqual((model["problems"], model["sanitizer"]), ([], "run"))
            self.assertEqual(model["gpu"]["gpu"], "Emulated GPU")
            self.assertEqual((model["cpu"]["runs"], model["gpu"]["runs"]), (2, 3))
            for device in ("cpu", "gpu", "gpu_own_kernels"):
                seconds = model[device]["median_ms"] / 1e3
                rate = model["bytes"] / seconds / 1e9
                self.assertAlmostEqual(model[device]["gb_per_s"], rate)
            sanitized = self.root / "results" / name / "sanitized"
            self.assertIn("gpu.so", sanitized.read_text())

    def test_one_failure_stops_no_other(self):
        models = self.bundle / "models"
        (models / "mlp" / "gpu.so").unlink()
        about = models / "softmax" / "about.json"
        wrong = json.loads(about.read_text()) | {"tolerance": -1}
        about.write_text(json.dumps(wrong))
        # Runs on the CPU, where a GPU was to do it.
        (models / "matmul64" / "gpu.so").write_bytes(
            (models / "matmul64" / "cpu.so").read_bytes()
        )
        code, results = self.run_bundle()
        self.assertEqual((code, results["ok"]), (1, False))
        found = self.by_name(results)
        self.assertEqual(
            {name: model["ok"] for name, model in found.items()},
            {name: name in ("copy", "mlp_step") for name in MODELS},
        )
        self.assertRegex(
            found["mlp"]["problems"][0], "check-gpu: exit code 1: .*gpu.so"
        )
        self.assertIn("differ from the CPU's", found["softmax"]["problems"][0])
        self.assertIn("on the CPU alone", found["matmul64"]["problems"][0])

    def test_pytorch(self):
        python = self.root / "python"
        python.write_text(TORCH)
        python.chmod(0o755)
        code, results = self.run_bundle(TORCH=str(python))
        self.assertEqual((code, results["ok"]), (0, True), results)
        for name, model in self.by_name(results).items():
            if name == "softmax":
                self.assertIn("exit code 3", model["torch"]["error"])
            else:
                self.assertEqual(model["torch"], {"version": "2.0"})
        # Without, it is left out.
        _, results = self.run_bundle()
        self.assertEqual({model["torch"] for model in results["models"]}, {None})

    def test_pytorch_runs_the_models(self):
        if not importlib.util.find_spec("torch"):
            self.skipTest("needs PyTorch")
        for folder in sorted((self.bundle / "models").iterdir()):
            weights = self.root / "weights.safetensors"
            check = self.bundle / "bin" / "gpu-check"
            self.script(check, "weights", folder / "weights.header", weights)
            script = self.bundle / "torch_models.py"
            options = ("--device", "cpu", "--runs", "2")
            done = self.script(sys.executable, script, folder, weights, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("median_ms", json.loads(done.stdout)["eager"], folder.name)

    def test_errors_of_the_driver(self):
        settings = f"log={self.root / 'driver.log'} fail=cuGraphLaunch:1:700"
        code, results = self.run_bundle(TINH_FAKE_CUDA=settings)
        self.assertEqual((code, results["ok"]), (1, False))
        for model in results["models"]:
            self.assertIn("CUDA_ERROR_ILLEGAL_ADDRESS", model["problems"][0])

    def test_no_gpu(self):
        missing = str(self.root / "none.so")
        code, results = self.run_bundle(TINH_CUDA_DRIVER=missing)
        self.assertEqual((code, results["ok"]), (1, False))
        self.assertIn("there is no CUDA driver", results["gpu"]["error"])
        for model in results["models"]:
            self.assertIn("there is no CUDA driver", model["problems"][0])


if __name__ == "__main__":
    cuda_test.main()
