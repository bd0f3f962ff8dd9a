# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs on the GPU ask of the driver, and what becomes of its errors.

usage: PYTHONPATH=tests/support python tests/cuda/recorded_runs_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]
"""

import collections
import json
import re
import shutil

import numpy as np

import cuda_models
import cuda_test

ALLOCATING = (
    "cuMemAlloc_v2",
    "cuMemHostAlloc",
    "cuStreamCreate",
    "cuEventCreate",
    "cuGraphCreate",
    "cuGraphInstantiateWithFlags",
    "cuModuleLoadData",
)
# Calls that give something back have nobody to tell, no more than those around
# them that make the context current; and those that ask whether something is
# ready, or known, take an error for a no.
NOT_INJECTED = re.compile(
    "Destroy|Free|Unload|Release|cuCtx|cuEventQuery|cuPointerGetAttributes"
)
# CUDA_ERROR_ILLEGAL_ADDRESS; what the runtime must not take for anything else.
CODE, NAME = 700, "CUDA_ERROR_ILLEGAL_ADDRESS"


def calls_in(log):
    """How often each function was called."""
    return collections.Counter(line.split()[0] for line in log if line.startswith("cu"))


class RecordedTest(cuda_test.CudaTest):
    def record(self, *arguments, settings=""):
        done, log = self.run_artifact(
            self.artifact, "--input", "x=random", *arguments, settings=settings
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.problems(log), [])
        return log

    def check_steady_state(self, runs, *arguments):
        log = self.record("--runs", runs, *arguments)
        launches = [i for i, l in enumerate(log) if l.startswith("cuGraphLaunch")]
        self.assertEqual(len(launches), runs, "one graph launch a run")
        self.assertEqual(calls_in(log)["cuLaunchKernel"], 0)
        self.assertEqual(calls_in(log)["cuMemcpyAsync"], 0)
        steady = log[launches[0] : launches[-1]]
        calls = calls_in(steady)
        self.assertEqual([name for name in ALLOCATING if calls[name]], [])
        waits = [l for l in steady if l.startswith("synchronises")]
        # Whoever waits for a run's end waits for its event; nobody else waits.
        self.assertEqual(set(waits) - {"synchronises an event"}, set())
        self.assertLessEqual(len(waits), runs)
        return log


class RecordedRunsTest(RecordedTest):
    def setUp(self):
        super().setUp()
        self.artifact = self.compile_for(cuda_models.two_layer(), "cuda")

    def test_a_run_is_one_launch(self):
        self.check_steady_state(20)

    def test_runs_in_flight(self):
        self.check_steady_state(30, "--in-flight", 3)

    def test_copies_wait_for_nothing(self):
        nodes = [
            re.search(r" copy host to device .* after(.*) ->", line)
            for line in self.record()
            if line.startswith("cuGraphAddMemcpyNode")
        ]
        after = [match[1] for match in nodes if match]
        self.assertEqual(after, [""], "the input is ordered behind something")

    def test_memory_does_not_grow(self):
        few, many = (calls_in(self.record("--runs", n)) for n in (3, 40))
        for name in ALLOCATING:
            self.assertEqual(few[name], many[name], name)

    def check_error(self, function, number):
        folder = self.root / "failed"
        shutil.rmtree(folder, ignore_errors=True)
        done, log = self.run_artifact(
            self.artifact,
            *("--input", "x=random", "--runs", 3, "--output-dir", folder),
            settings=f"fail={function}:{number}:{CODE}",
        )
        what = f"call {number} of {function} fails"
        failed = any(l.startswith(function) and l.endswith(f"-> {CODE}") for l in log)
        if not failed:
            return False
        self.assertNotEqual(done.returncode, 0, what)
        self.assertIn(NAME, done.stderr, what)
        self.assertEqual(len(done.stderr.splitlines()), 1, what)
        self.assertEqual(self.problems(log), [], what)
        return True

    def test_errors_are_reported_and_nothing_leaks(self):
        counts = calls_in(self.record("--runs", 3))
        functions = [name for name in counts if not NOT_INJECTED.search(name)]
        self.assertGreater(len(functions), 20)
        for function in functions:
            numbers = {1, (counts[function] + 1) // 2, counts[function]}
            met = [self.check_error(function, n) for n in sorted(numbers)]
            self.assertTrue(any(met), f"{function} was not called")

    def test_memory_that_does_not_suffice(self):
        done, log = self.run_artifact(
            self.artifact, "--input", "x=random", settings="memory=1000"
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", done.stderr)
        self.assertEqual(self.problems(log), [])

    def test_no_driver(self):
        self.environment["TINH_CUDA_DRIVER"] = str(self.root / "libcuda.so.1")
        done = self.run_tool("graph-run", self.artifact, "--input", "x=random")
        self.assertEqual(done.returncode, 1)
        self.assertIn(str(self.root / "libcuda.so.1"), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)


@cuda_test.needs_libdevice
class RecordedLoopsTest(RecordedTest):
    """Loops whose lengths are known are part of the run's one graph."""

    def test_an_lstm_is_one_launch(self):
        self.artifact = self.compile_for(cuda_models.lstm(), "cuda")
        log = self.check_steady_state(20)
        kernels = sum(line.startswith("cuGraphAddKernelNode") for line in log)
        self.assertGreaterEqual(kernels, 12, "each step of both layers has a node")

    def test_a_training_step_of_an_lstm_is_one_launch(self):
        options = ("--train", "--loss=cross_entropy", "--optimizer=sgd,lr=0.1")
        self.artifact = self.compile_for(cuda_models.lstm(), "cuda", *options)
        target = self.folder / "target.npy"
        np.save(target, np.arange(4))
        self.check_steady_state(
            10, "--function", "train_step", "--input", f"target={target}"
        )


class RecordedCounterTest(RecordedTest):
    """Loops that end by a count that the run gives."""

    WHILE = """
func.func @main(%x: tensor<64xf32> {graph.name = "x"}, %n: tensor<i64> {graph.name = "n"})
    -> (tensor<64xf32> {graph.name = "y"}, tensor<i64> {graph.name = "count"}) {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %i, %y = graph.while (%i = %zero, %a = %x) : (tensor<i64>, tensor<64xf32>) {
    %c = graph.compare less %i, %n : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.condition %c
  } do (%i, %a) {
    %next = graph.add %i, %one : tensor<i64>, tensor<i64> -> tensor<i64>
    %s = graph.reduce max %a axes [0] : tensor<64xf32> -> tensor<f32>
    %b = graph.add %a, %s : tensor<64xf32>, tensor<f32> -> tensor<64xf32>
    graph.yield %next, %b : tensor<i64>, tensor<64xf32>
  }
  return %y, %i : tensor<64xf32>, tensor<i64>
}
"""

    def test_counting_does_not_wait_for_the_gpu(self):
        path, count = self.folder / "while.mlir", self.folder / "n.npy"
        path.write_text(self.WHILE)
        np.save(count, np.array(7))
        inputs = ("--input", "x=random", "--input", f"n={count}")
        cpu, self.artifact = self.folder / "cpu.so", self.folder / "cuda.so"
        self.compile(path, cpu)
        self.compile(path, self.artifact, "--target=cuda", "--cuda-chips=emulated")
        expected, _ = self.outputs_of(cpu, *inputs)
        for settings in cuda_test.SETTINGS:
            got, _ = self.outputs_of(self.artifact, *inputs, settings=settings)
            self.compare(got, expected, settings)
        self.assertEqual(expected["count"], 7)
        for threads in (1, 3):
            log = self.record("--input", f"n={count}", "--threads", threads)
            launches = [i for i, l in enumerate(log) if l.startswith("cuLaunchKernel")]
            self.assertGreaterEqual(len(launches), 7)
            steady = log[launches[0] : launches[-1]]
            self.assertFalse([l for l in steady if l.startswith("synchronises")])
            self.assertFalse([l for l in steady if l.startswith("cuEventQuery")])


class RecordedOverlapTest(RecordedTest):
    """A chain of kernels on each device, and what both have in the end."""

    CHAINS = """
func.func @main(%x: tensor<4096xf32> {graph.name = "x"}) -> (tensor<4096xf32> {graph.name = "y"}) {
  %g0 = graph.neg %x : tensor<4096xf32> loc("gpu")
  %c0 = graph.relu %x : tensor<4096xf32> loc("cpu")
  %g1 = graph.reduce sum %g0 axes [0] : tensor<4096xf32> -> tensor<f32> loc("gpu")
  %c1 = graph.reduce max %c0 axes [0] : tensor<4096xf32> -> tensor<f32> loc("cpu")
  %g2 = graph.sub %x, %g1 : tensor<4096xf32>, tensor<f32> -> tensor<4096xf32> loc("gpu")
  %c2 = graph.mul %x, %c1 : tensor<4096xf32>, tensor<f32> -> tensor<4096xf32> loc("cpu")
  %g3 = graph.reduce max %g2 axes [0] : tensor<4096xf32> -> tensor<f32> loc("gpu")
  %c3 = graph.reduce sum %c2 axes [0] : tensor<4096xf32> -> tensor<f32> loc("cpu")
  %g4 = graph.mul %x, %g3 : tensor<4096xf32>, tensor<f32> -> tensor<4096xf32> loc("gpu")
  %c4 = graph.sub %x, %c3 : tensor<4096xf32>, tensor<f32> -> tensor<4096xf32> loc("cpu")
  %y = graph.div %g4, %c4 : tensor<4096xf32>, tensor<4096xf32> -> tensor<4096xf32> loc("cpu")
  return %y : tensor<4096xf32>
}
"""

    def test_both_devices_work_at_the_same_time(self):
        path = self.folder / "chains.mlir"
        path.write_text(self.CHAINS)
        cpu = self.folder / "cpu.so"
        self.compile(path, cpu)
        expected, _ = self.outputs_of(cpu, "--input", "x=random")
        self.artifact = self.folder / "both.so"
        cuda = ("--target=cuda", "--cuda-chips=emulated", "--place=cpu=cpu")
        self.compile(path, self.artifact, *cuda)
        for settings in cuda_test.SETTINGS:
            got, _ = self.outputs_of(
                self.artifact, "--input", "x=random", settings=settings
            )
            self.compare(got, expected, settings)
        trace = self.folder / "trace.json"
        log = self.record("--threads", 1, "--trace", trace)
        launches = [i for i, l in enumerate(log) if l.startswith("cuGraphLaunch")]
        self.assertEqual(len(launches), 1)
        self.check_order(json.loads(trace.read_text())["traceEvents"])

    def check_order(self, events):
        """The GPU's graph is launched before the first kernel of the CPU's chain
        and awaited behind the last one."""
        mine = [e for e in events if e["ph"] == "X" and e["tid"] == 0]
        names = [e["name"] for e in sorted(mine, key=lambda e: e["ts"])]
        launch = names.index("launch")
        wait = names.index("wait for the GPU")
        kernels = [i for i, name in enumerate(names) if i not in (launch, wait)]
        self.assertGreaterEqual(len(kernels), 3, names)
        self.assertLess(launch, kernels[0], names)
        self.assertGreater(wait, kernels[-2], names)
        self.assertLess(wait, kernels[-1], names)


if __name__ == "__main__":
    cuda_test.main()
