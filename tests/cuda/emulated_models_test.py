# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models compiled for the GPU and run without one give what they give on the CPU.

usage: PYTHONPATH=tests/support python tests/cuda/emulated_models_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]

Kernels are emulated, and the runtime is the real one, on a driver that does what
nothing orders in several orders.
"""


import numpy as np

import cuda_models
import cuda_test


class EmulatedModelsTest(cuda_test.CudaTest):
    def check(self, model, *options, tolerance=cuda_test.TOLERANCE):
        cpu = self.compile_for(model, "cpu")
        cuda = self.compile_for(model, "cuda", *options)
        expected, _ = self.outputs_of(cpu, "--input", "x=random")
        for settings in cuda_test.SETTINGS:
            got, log = self.outputs_of(cuda, "--input", "x=random", settings=settings)
            self.compare(got, expected, settings, tolerance)
            self.assertTrue(any(line.startswith("runs kernel") for line in log))

    def test_two_layer(self):
        self.check(cuda_models.two_layer())

    def test_product_of_no_depth(self):
        """Its factors have no elements, and so no memory."""
        b = cuda_models.Builder("no_depth")
        x = b.input("x", 5, 0)
        self.check(b.finish(b.add("matmul", x, b.weight("w", 0, 3, spread=1))))

    def test_weights_without_elements(self):
        """The last one lies at the end of all others."""
        b = cuda_models.Builder("empty_weights")
        x = b.add("mul", b.input("x", 4, 5), b.weight("full", 4, 5))
        x = b.add("concat", x, b.weight("empty", 0, 5, spread=1), axis=0)
        self.check(b.finish(x), "--no-fuse")

    def test_narrow_layers(self):
        # What is rounded between the layers may be rounded up or down.
        for dtype, tolerance in (("f16", 2e-3), ("bf16", 2e-2)):
            self.check(cuda_models.narrow_layers(dtype), tolerance=tolerance)

    @cuda_test.needs_libdevice
    def test_mlp(self):
        self.check(cuda_models.mlp())

    def test_lenet(self):
        self.check(cuda_models.lenet())

    def test_lenet_on_both(self):
        self.check(cuda_models.lenet(), "--place=max_pool*=cpu", "--no-fuse")

    def test_resnet_block(self):
        self.check(cuda_models.resnet_block())

    @cuda_test.needs_libdevice
    def test_transformer_layer(self):
        self.check(cuda_models.transformer_layer())

    @cuda_test.needs_libdevice
    def test_lstm(self):
        self.check(cuda_models.lstm())


class EmulatedTrainingTest(cuda_test.CudaTest):
    def check(self, model, optimizer, *options, loss="cross_entropy", rows=None):
        options += ("--train", f"--loss={loss}", f"--optimizer={optimizer}")
        shape = model["inputs"][0]["shape"]
        rows = rows or shape[0]
        random = np.random.default_rng(5)
        x, target = self.folder / "x.npy", self.folder / "target.npy"
        np.save(x, random.normal(size=shape).astype(np.float32))
        labels = random.integers(0, 10, rows)
        one_hot = np.eye(10, dtype=np.float32)[labels]
        np.save(target, labels if loss == "cross_entropy" else one_hot)
        arguments = ("--function", "train_step", "--input", f"x={x}")
        arguments += ("--input", f"target={target}", "--runs", "4")
        results = {}
        for target in ("cpu", "cuda"):
            artifact = self.compile_for(model, target, *options)
            results[target], _ = self.outputs_of(
                artifact, *arguments, settings=cuda_test.SETTINGS[1]
            )
        self.compare(results["cuda"], results["cpu"], "four steps")

    @cuda_test.needs_libdevice
    def test_mlp(self):
        self.check(cuda_models.mlp(), "adam,lr=0.01")

    @cuda_test.needs_libdevice
    def test_lenet(self):
        self.check(cuda_models.lenet(), "sgd,lr=0.1,momentum=0.9")

    def test_f16(self):
        """Two scales are too large, and these steps change nothing else."""
        scale = f"--loss-scale=dynamic,init_scale={2**17}"
        options = ("sgd,lr=0.1,momentum=0.9", "--precision=f16", scale)
        self.check(cuda_models.lenet(), *options, loss="mse")

    @cuda_test.needs_libdevice
    def test_lstm(self):
        self.check(cuda_models.lstm(), "adam,lr=0.01", rows=4)


if __name__ == "__main__":
    cuda_test.main()
