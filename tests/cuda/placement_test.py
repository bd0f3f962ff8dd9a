# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of one model on two devices, in branches and loops, too.

usage: PYTHONPATH=tests/support python tests/cuda/placement_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]

Where kernels run changes no result; the fake driver says which ran on the GPU.
"""

import json

import numpy as np

import cuda_models
import cuda_test

# Rows up to the first sum above a limit, each with its number; the condition is
# computed on the GPU, or on the CPU if kernels that reduce are placed there.
SCAN = """
func.func @main(%x: tensor<12x40xf32> {graph.name = "x"}, %limit: tensor<f32> {graph.name = "limit"})
    -> (tensor<40xf32> {graph.name = "sum"}, tensor<12x40xf32> {graph.name = "sums"}) {
  %true = graph.constant dense<true> : tensor<i1>
  %zero = graph.constant dense<0.0> : tensor<40xf32>
  %sum, %sums = graph.scan %i length 12 while %true carry (%a = %zero) over (%r = %x)
      : (tensor<40xf32>, tensor<12x40xf32>) -> (tensor<40xf32>, tensor<12x40xf32>) {
    %n = graph.cast %i : tensor<i64> to tensor<f32>
    %0 = graph.add %a, %r : tensor<40xf32>, tensor<40xf32> -> tensor<40xf32>
    %1 = graph.add %0, %n : tensor<40xf32>, tensor<f32> -> tensor<40xf32>
    %2 = graph.reduce max %1 axes [0] : tensor<40xf32> -> tensor<f32>
    %go = graph.compare less_equal %2, %limit : tensor<f32>, tensor<f32> -> tensor<i1>
    graph.yield %go, %1, %0 : tensor<i1>, tensor<40xf32>, tensor<40xf32>
  }
  return %sum, %sums : tensor<40xf32>, tensor<12x40xf32>
}
"""

# Values that change places while one of them is small, and a branch in the loop.
WHILE = """
func.func @main(%x: tensor<40xf32> {graph.name = "x"}, %y: tensor<40xf32> {graph.name = "y"}, %limit: tensor<f32> {graph.name = "limit"})
    -> (tensor<40xf32> {graph.name = "a"}, tensor<40xf32> {graph.name = "b"}) {
  %two = graph.constant dense<2.0> : tensor<f32>
  %a, %b = graph.while (%p = %x, %q = %y) : (tensor<40xf32>, tensor<40xf32>) {
    %0 = graph.reduce max %p axes [0] : tensor<40xf32> -> tensor<f32>
    %c = graph.compare less_equal %0, %limit : tensor<f32>, tensor<f32> -> tensor<i1>
    graph.condition %c
  } do (%p, %q) {
    %s = graph.reduce sum %q axes [0] : tensor<40xf32> -> tensor<f32>
    %c = graph.compare less_equal %s, %limit : tensor<f32>, tensor<f32> -> tensor<i1>
    %next = graph.if %c : (tensor<40xf32>) {
      %0 = graph.mul %p, %two : tensor<40xf32>, tensor<f32> -> tensor<40xf32>
      graph.yield %0 : tensor<40xf32>
    } else {
      %0 = graph.add %p, %two : tensor<40xf32>, tensor<f32> -> tensor<40xf32>
      graph.yield %0 : tensor<40xf32>
    }
    graph.yield %q, %next : tensor<40xf32>, tensor<40xf32>
  }
  return %a, %b : tensor<40xf32>, tensor<40xf32>
}
"""

# Branches in branches: conditions of the GPU's and one of the caller's memory, with what
# the GPU computes in between, and what the CPU's threads share at the end.
NESTED = """
func.func @main(%x: tensor<40xf32> {graph.name = "x"}, %flag: tensor<i1> {graph.name = "flag"})
    -> (tensor<40xf32> {graph.name = "y"}) {
  %half = graph.constant dense<0.5> : tensor<f32>
  %w = graph.constant dense<0.1> : tensor<40x40xf32>
  %least = graph.reduce min %x axes [0] : tensor<40xf32> -> tensor<f32>
  %c = graph.compare less %least, %half : tensor<f32>, tensor<f32> -> tensor<i1>
  %y = graph.if %c : (tensor<40xf32>) {
    %square = graph.mul %x, %x : tensor<40xf32>, tensor<40xf32> -> tensor<40xf32>
    %0 = graph.if %flag : (tensor<40xf32>) {
      %most = graph.reduce max %x axes [0] : tensor<40xf32> -> tensor<f32>
      %d = graph.compare greater %most, %half : tensor<f32>, tensor<f32> -> tensor<i1>
      %1 = graph.if %d : (tensor<40xf32>) {
        graph.yield %square : tensor<40xf32>
      } else {
        %row = graph.reshape %square : tensor<40xf32> to tensor<1x40xf32>
        %2 = graph.matmul %row, %w : tensor<1x40xf32>, tensor<40x40xf32> -> tensor<1x40xf32>
        %3 = graph.reshape %2 : tensor<1x40xf32> to tensor<40xf32>
        graph.yield %3 : tensor<40xf32>
      }
      graph.yield %1 : tensor<40xf32>
    } else {
      graph.yield %square : tensor<40xf32>
    }
    graph.yield %0 : tensor<40xf32>
  } else {
    graph.yield %x : tensor<40xf32>
  }
  return %y : tensor<40xf32>
}
"""


class PlacementTest(cuda_test.CudaTest):
    def artifact(self, name, text, *options):
        path = self.folder / f"{name}.mlir"
        path.write_text(text)
        artifact = self.folder / f"{name}.so"
        self.compile(path, artifact, *options)
        return artifact

    def check(self, text, inputs, *places):
        """Outputs on the CPU, and for each list of places on both devices."""
        arguments = []
        for name, value in inputs.items():
            kept = value.dtype if value.dtype == bool else np.float32
            np.save(self.folder / f"{name}.npy", value.astype(kept))
            arguments += ["--input", f"{name}={self.folder / name}.npy"]
        arguments += ["--runs", "3", "--threads", "2"]
        expected, _ = self.outputs_of(self.artifact("cpu", text), *arguments)
        for options in ((), *places):
            artifact = self.artifact(
                "cuda",
                text,
                "--target=cuda",
                "--cuda-chips=emulated",
                *(f"--place={place}" for place in options),
            )
            for settings in cuda_test.SETTINGS:
                got, log = self.outputs_of(artifact, *arguments, settings=settings)
                self.compare(got, expected, f"{options} {settings}")
                ran = any(line.startswith("runs kernel") for line in log)
                self.assertTrue(ran or options)
        return expected

    def test_scan(self):
        x = np.random.default_rng(1).random((12, 40))
        for limit in (0.0, 20.0, 1000.0):
            outputs = self.check(
                SCAN,
                {"x": x, "limit": np.array(limit)},
                ["reduce=cpu"],
                ["*=cpu", "add=cuda"],
            )
        self.assertTrue(np.all(outputs["sums"][-1] != 0))

    def test_while(self):
        random = np.random.default_rng(2)
        inputs = {"x": random.random(40), "y": random.random(40)}
        for limit in (0.0, 50.0):
            inputs["limit"] = np.array(limit)
            self.check(WHILE, inputs, ["reduce=cpu"], ["mul=cpu"], ["compare=cpu"])

    def test_nested_branches(self):
        x = np.random.default_rng(3).random(40)
        for scale, flag in ((1, True), (1, False), (0.4, True)):
            inputs = {"x": x * scale, "flag": np.array(flag)}
            self.check(NESTED, inputs, ["matmul*=cpu"])

    def test_kernels_run_where_they_are_placed(self):
        model = cuda_models.two_layer()
        expected, _ = self.outputs_of(
            self.compile_for(model, "cpu"), "--input", "x=random"
        )
        cuda = self.compile_for(model, "cuda", "--place=*=cpu", "--place=relu=cuda")
        for settings in cuda_test.SETTINGS:
            got, log = self.outputs_of(cuda, "--input", "x=random", settings=settings)
            self.compare(got, expected, settings)
            kernels = {
                line.split()[2] for line in log if line.startswith("runs kernel")
            }
            self.assertTrue(kernels)
            self.assertTrue(all("relu" in kernel for kernel in kernels), kernels)

    def test_nothing_on_the_gpu_needs_none(self):
        model = cuda_models.two_layer()
        artifact = self.compile_for(model, "cuda", "--place=*=cpu")
        done = self.run_tool(
            "graph-run",
            artifact,
            "--input",
            "x=random",
            env=dict(self.environment, TINH_CUDA_DRIVER="no-such-driver.so"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)


class OptionsTest(cuda_test.CudaTest):
    def refused(self, status, message, *options):
        path = self.folder / "scan.mlir"
        path.write_text(SCAN)
        done = self.run_tool(
            "graph-compile", path, "-o", self.folder / "scan.so", *options
        )
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(message, done.stderr)

    def test_options_of_another_target(self):
        for option in ("--cuda-chips=sm_80", "--place=add=cpu", "--allow-tf32"):
            self.refused(2, "are about --target=cuda", option)

    def test_chips(self):
        self.refused(1, "unknown chip 'sm_20'", "--target=cuda", "--cuda-chips=sm_20")

    def test_places(self):
        cuda = ("--target=cuda", "--cuda-chips=emulated")
        self.refused(1, 'the place "add" is malformed', *cuda, "--place=add")
        self.refused(
            1,
            'no op and no node of the model fits the place "conv*=cpu"',
            *cuda,
            "--place=conv*=cpu",
        )

    def test_places_come_before_kernels(self):
        path = self.folder / "scan.mlir"
        path.write_text(SCAN)
        kernels = self.folder / "kernels.mlir"
        cuda = ("--target=cuda", "--cuda-chips=emulated")
        self.compile(path, kernels, "--emit=kernels", *cuda)
        # The text says all that follows.
        self.compile(kernels, self.folder / "again.so", "--from=kernels")
        done = self.run_tool(
            "graph-compile",
            kernels,
            "--from=kernels",
            "-o",
            self.folder / "scan.so",
            *cuda,
            "--place=add=cpu",
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("choose GPUs, places and collectives", done.stderr)

    def test_report(self):
        path = self.folder / "scan.mlir"
        path.write_text(SCAN)
        report = self.compile(
            path,
            self.folder / "scan.so",
            "--report",
            "--target=cuda",
            "--cuda-chips=emulated",
        )
        self.assertIn("GPU's arena, bytes", report)

    def test_memory_budget(self):
        path = self.folder / "lenet.json"
        path.write_text(json.dumps(cuda_models.lenet(batch=64)))
        done = self.run_tool(
            "graph-compile",
            path,
            "--train",
            "--loss=cross_entropy",
            "--optimizer=sgd,lr=0.1",
            "--memory-budget=80%",
            "--target=cuda",
            "--cuda-chips=emulated",
            "--emit=plan",
            "-o",
            self.folder / "plan.mlir",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("remark: @train_step takes", done.stderr)
        self.assertIn("kernels are computed again", done.stderr)


if __name__ == "__main__":
    cuda_test.main()
