# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One artifact for the GPU and for machines that have none.

usage: PYTHONPATH=tests/support python tests/cuda/both_targets_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]

`--target=cpu,cuda` with emulated kernels; without the fake driver there is no GPU.
"""

import json
import subprocess
import unittest

import numpy as np

import cuda_models
import cuda_test
import tool_test

MPIRUN = "mpirun.openmpi"

class BothTest(cuda_test.CudaTest):
    def setUp(self):
        super().setUp()
        self.without = dict(self.environment, TINH_CUDA_DRIVER="no-such-driver.so")

    def compile_both(self, model, *options):
        path = self.folder / f"{model['name']}.json"
        path.write_text(json.dumps(model))
        artifact = self.folder / f"{model['name']}.so"
        self.compile(
            path, artifact, "--target=cpu,cuda", "--cuda-chips=emulated", *options
        )
        return artifact

    def run_without(self, artifact, *arguments):
        done = self.run_tool("graph-run", artifact, *arguments, env=self.without)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def outputs_without(self, artifact, *arguments):
        folder = self.root / "without"
        self.run_without(artifact, *arguments, "--output-dir", folder)
        return {path.stem: np.load(path) for path in folder.iterdir()}

    def ran_kernels(self, log):
        return any(line.startswith("runs kernel") for line in log)


class ModelsTest(BothTest):
    def weights(self, artifact):
        """Their bytes."""
        return int(self.run_without(artifact, "--list").split("weights ")[1].split()[0])

    def check(self, model, *options):
        cpu, both = self.compile_for(model, "cpu"), self.compile_both(model, *options)
        expected, _ = self.outputs_of(cpu, "--input", "x=random")
        got, log = self.outputs_of(both, "--input", "x=random")
        self.compare(got, expected, "the GPU")
        self.assertTrue(self.ran_kernels(log))
        # Without one it is, to the bit, what was compiled for the CPU.
        for name, values in self.outputs_without(both, "--input", "x=random").items():
            np.testing.assert_array_equal(values, expected[name])
        return cpu, both

    def test_lenet(self):
        cpu, both = self.check(cuda_models.lenet())
        cuda = self.compile_for(cuda_models.lenet(), "cuda")
        listed = self.run_without(both, "--list")
        self.assertIn("alone or with an NVIDIA GPU", listed)
        self.assertIn("without a GPU: steps ", listed)
        # What both read, such as biases, is there once.
        self.assertLess(self.weights(both), self.weights(cpu) + self.weights(cuda))

    def test_weights_that_both_read_are_there_once(self):
        b = cuda_models.Builder("bias")
        table = b.add("mul", b.input("x", 64, 1000), b.weight("table", 64, 1000))
        _, both = self.check(b.finish(b.add("add", table, b.weight("bias", 1000))))
        self.assertEqual(self.weights(both), 4 * (64 * 1000 + 1000))

    def test_the_caller_chooses(self):
        model = cuda_models.two_layer()
        both = self.compile_both(model)
        arguments = ("--input", "x=random", "--json")

        def report(*options, artifact=both):
            done, log = self.run_artifact(artifact, *arguments, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            self.assertEqual(found["device"] == "cuda", self.ran_kernels(log))
            return found

        self.assertEqual(report()["device"], "cuda")
        self.assertEqual(report("--device=cuda:0")["device"], "cuda")
        chosen = report("--device=cpu")
        self.assertEqual(chosen["device"], "cpu")
        self.assertEqual(chosen["why_not_cuda"], "the CPU was asked for")
        self.assertNotEqual(chosen["arena_bytes"], 0)
        self.assertEqual(
            report("--device=cpu", artifact=self.compile_for(model, "cpu"))["device"],
            "cpu",
        )
        missing = json.loads(self.run_without(both, *arguments))
        self.assertIn("there is no CUDA driver", missing["why_not_cuda"])
        self.assertIn(
            "not on a GPU: there is no CUDA driver",
            self.run_without(both, "--input", "x=random"),
        )

    def test_what_cannot_be_had(self):
        model = cuda_models.two_layer()
        both = self.compile_both(model)
        cpu, cuda = (self.compile_for(model, target) for target in ("cpu", "cuda"))

        def refused(artifact, device, message, **options):
            done = self.run_tool(
                "graph-run", artifact, "--input", "x=random", device, **options
            )
            self.fails(done, message)

        refused(both, "--device=cuda", "there is no CUDA driver", env=self.without)
        refused(cpu, "--device=cuda", "has no code for GPUs")
        refused(cuda, "--device=cpu", "has been compiled for GPUs alone")
        done, _ = self.run_artifact(both, "--input", "x=random", "--device=cuda:7")
        self.fails(done, "there is no GPU 7")
        for device in ("gpu", "cuda:", "cuda:x", "cuda:0x", "cuda:-1", "cpu:0"):
            done = self.run_tool("graph-run", both, f"--device={device}")
            self.assertEqual(done.returncode, 2, device)
            self.assertIn("expected cpu, cuda or cuda:N", done.stderr)

    def test_a_program_in_c(self):
        both = self.compile_both(cuda_models.two_layer())

        def printed(*arguments, **environment):
            done = self.run_tool(
                "choose_device",
                *arguments,
                env=dict(self.environment, **environment),
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("'main' has run\n", done.stdout)
            return done.stdout

        driver = {"TINH_CUDA_DRIVER": str(cuda_test.DRIVER)}
        self.assertIn("on GPU 0, '", printed(both, **driver))
        self.assertIn("on GPU 0, '", printed(both, "cuda:0", **driver))
        self.assertIn("the CPU was asked for", printed(both, "cpu", **driver))
        self.assertIn(
            "and not on a GPU: there is no CUDA driver",
            printed(both, TINH_CUDA_DRIVER="no-such-driver.so"),
        )
        done = self.run_tool("choose_device", both, "cuda", env=self.without)
        self.fails(done, "choose_device: error: ", "there is no CUDA driver")

    def test_phases_say_all_that_follows(self):
        model = cuda_models.two_layer()
        both = self.compile_both(model)
        path = self.folder / f"{model['name']}.json"
        cuda = ("--target=cpu,cuda", "--cuda-chips=emulated")
        for phase in ("fused", "kernels", "plan", "llvm"):
            text = self.folder / f"{phase}.mlir"
            self.compile(path, text, f"--emit={phase}", *cuda)
            again = self.folder / "again.so"
            self.compile(text, again, f"--from={phase}", f"--name={path.stem}")
            if phase != "llvm":  # Where kernels are spelled otherwise.
                self.assertEqual(again.read_bytes(), both.read_bytes(), phase)
        self.compile("plan.mlir", "x.so", "--from=plan", *cuda)
        self.compile(path, "gpu.mlir", "--emit=plan", "--target=cuda", cuda[1])
        done = self.run_tool(
            "graph-compile", "gpu.mlir", "--from=plan", "-o", "x.so", *cuda
        )
        self.fails(done, "choose GPUs, places and collectives")

    def test_report(self):
        path = self.folder / "model.json"
        path.write_text(json.dumps(cuda_models.two_layer()))
        report = self.compile(
            path,
            self.folder / "m.so",
            "--report",
            "--target=cpu,cuda",
            "--cuda-chips=emulated",
        )
        self.assertEqual(report.count("dispatches"), 2)
        self.assertIn("main, without a GPU\n", report)

    def test_other_weights(self):
        """Loaded ones count on the GPU alone, and on both of an artifact for both."""
        model = cuda_models.two_layer()
        other = cuda_models.two_layer()
        for i, weight in enumerate(other["weights"]):
            weight["data"] = [value * (0.5 - i) for value in weight["data"]]
        other["name"] = "other"
        expected, _ = self.outputs_of(
            self.compile_for(other, "cpu"), "--input", "x=random"
        )
        trained = self.folder / "trained.safetensors"
        write_safetensors(trained, other["weights"])
        arguments = ("--input", "x=random", "--load-weights", trained)
        cuda = self.compile_for(model, "cuda", "--loadable-weights")
        both = self.compile_both(model, "--loadable-weights")
        for artifact in (cuda, both):
            for settings in cuda_test.SETTINGS:
                got, log = self.outputs_of(artifact, *arguments, settings=settings)
                self.compare(got, expected, "other weights")
                self.assertTrue(self.ran_kernels(log))
            kept, _ = self.outputs_of(artifact, "--input", "x=random")
            self.assertFalse(
                all(self.is_close(kept[name], expected[name]) for name in kept)
            )
        self.compare(self.outputs_without(both, *arguments), expected, "the CPU")


def write_safetensors(path, weights):
    header, data = {}, b""
    for weight in weights:
        values = np.array(weight["data"], np.float32).tobytes()
        header[weight["name"]] = {
            "dtype": "F32",
            "shape": weight["shape"],
            "data_offsets": [len(data), len(data) + len(values)],
        }
        data += values
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@cuda_test.needs_libdevice
class TrainingTest(BothTest):
    def setUp(self):
        super().setUp()
        self.model = cuda_models.mlp()
        self.both = self.compile_both(
            self.model,
            "--train",
            "--loss=cross_entropy",
            "--optimizer=sgd,lr=0.1,momentum=0.9",
        )
        random = np.random.default_rng(5)
        rows = self.model["inputs"][0]["shape"][0] * 2
        np.save(self.folder / "x.npy", random.normal(size=(rows, 60)).astype("f4"))
        np.save(self.folder / "y.npy", random.integers(0, 10, rows))

    def train(self, epochs, on_gpu, *options):
        arguments = (
            *("--train", "--data", "x.npy,y.npy", "--epochs", epochs),
            *("--checkpoint", "state", *options),
        )
        if not on_gpu:
            self.run_without(self.both, *arguments)
            return
        done, log = self.run_artifact(self.both, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.problems(log), [])
        self.assertTrue(self.ran_kernels(log))

    def final_state(self, *devices):
        """The state after an epoch on each of the devices."""
        (self.folder / "state").unlink(missing_ok=True)
        for epoch, on_gpu in enumerate(devices):
            self.train(epoch + 1, on_gpu, "--resume")
        data = (self.folder / "state").read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                begin, end = entry["data_offsets"]
                tensors[name] = np.frombuffer(data[start + begin : start + end], "f4")
        return tensors

    def test_a_checkpoint_goes_from_one_device_to_the_other(self):
        expected = self.final_state(False, False, False)
        self.assertIn("fc1.weight", expected)
        for devices in ((True, True, True), (True, False, True), (False, True, False)):
            self.compare(self.final_state(*devices), expected, str(devices), 1e-3)

    def compile_for_ranks(self):
        return self.compile_both(
            self.model,
            *("--train", "--loss=cross_entropy", "--optimizer=sgd,lr=0.1"),
            "--data-parallel",
        )

    def test_ranks_run_on_one_kind_of_device(self):
        library = tool_test.TOOLS.parent / "lib" / "libtinh_mpi_openmpi.so"
        if not library.exists():
            self.skipTest(f"needs {library.name}")
        ranks = self.compile_for_ranks()
        graph_run = tool_test.TOOLS / "graph-run"
        rank = (*("-n", "1", graph_run, ranks, "--train"), "--data=x.npy,y.npy")
        environment = dict(
            self.environment,
            **tool_test.MPI_ENVIRONMENT,
            TINH_CUDA_DRIVER=str(cuda_test.DRIVER),
            TINH_CUDA_LIBRARIES="none",
        )
        done = subprocess.run(
            (MPIRUN, *rank, ":", *rank, "--device=cpu"),
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("has another device to run on than other ranks", done.stderr)

    def test_graph_scale_measures_the_program_that_runs(self):
        ranks = self.compile_for_ranks()
        arguments = (ranks, "--ranks=2", "--seconds=0.01", "--json")
        drivers = (self.without["TINH_CUDA_DRIVER"], str(cuda_test.DRIVER))
        for driver in drivers:
            environment = dict(
                self.environment, TINH_CUDA_DRIVER=driver, TINH_CUDA_LIBRARIES="none"
            )
            done = self.run_tool("graph-scale", *arguments, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            alone, together = json.loads(done.stdout)["scaling"]
            self.assertGreater(alone["step_ms"], 0)
            self.assertGreaterEqual(together["step_ms"], alone["step_ms"])

    def test_list(self):
        listed = self.run_without(self.both, "--list")
        self.assertIn("state on the GPU ", listed)
        self.assertIn("state without a GPU ", listed)
        self.assertEqual(listed.count("fc1.weight "), 1)


if __name__ == "__main__":
    cuda_test.main()
