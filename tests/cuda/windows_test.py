# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows that slide give on GPUs what they give on the CPU.

usage: PYTHONPATH=tests/support python tests/cuda/windows_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]

Pooling and depthwise convolutions behind a convolution, which has channels last.
"""

import cuda_models
import cuda_test


def pooled(op, batch, channels, size, window=3, stride=1, padding=None, dtype="f32"):
    """A window op on the result of a convolution, and a residual addition."""
    b = cuda_models.Builder("windows", 1)
    x = b.conv(b.input("x", batch, 8, size, size), "first", channels, 8, 1)
    if dtype != "f32":
        x = b.add("cast", x, dtype=dtype)
    pad = [window // 2 if padding is None else padding] * 4
    options = {"strides": [stride, stride], "padding": pad}
    if op == "conv":
        w = b.weight("w", channels, 1, window, window)
        if dtype != "f32":
            w = b.add("cast", w, dtype=dtype)
        y = b.add("relu", b.add("conv", x, w, groups=channels, **options))
        if stride == 1 and padding is None:
            y = b.add("add", y, x)
    else:
        y = b.add(op, x, kernel=[window, window], **options)
    if dtype != "f32":
        y = b.add("cast", y, dtype="f32")
    return b.finish(b.conv(y, "last", 8, channels, 1))


def weight_gradient(batch, size, channels, stride=1):
    """That of a depthwise convolution's weights."""
    b = cuda_models.Builder("gradient", 2)
    x = b.input("x", batch, size, size, channels)
    dy = b.input("dy", batch, size // stride, size // stride, channels)
    options = {"strides": [stride, stride], "padding": [1] * 4, "dilations": [1, 1]}
    options |= {"kernel": [3, 3], "groups": channels, "layout": "channels_last"}
    return b.finish(b.add("conv_weight_gradient", x, dy, **options))


# Strips that fit, overlap, and are alone; windows that do not fit any more.
CASES = (
    ("conv", 3, 64, 56),
    ("conv", 2, 96, 41, 5),
    ("conv", 2, 96, 57, 3, 2),
    ("conv", 1, 6, 9),
    ("conv", 1, 32, 12, 3, 1, 0),
    ("max_pool", 3, 64, 57, 3, 2),
    ("avg_pool", 3, 64, 45, 3, 1),
    ("max_pool", 2, 20, 30, 5, 3, 0),
)


class WindowsTest(cuda_test.CudaTest):
    def check(self, model, tolerance=cuda_test.TOLERANCE, strategy="windows"):
        cpu, cuda = self.compile_for(model, "cpu"), self.compile_for(model, "cuda")
        self.assertIn(strategy, self.strategies(model))
        inputs = cuda_test.random_inputs(model)
        expected, _ = self.outputs_of(cpu, *inputs)
        for settings in cuda_test.SETTINGS[:2]:
            got, _ = self.outputs_of(cuda, *inputs, settings=settings)
            self.compare(got, expected, settings, tolerance)

    def test_all(self):
        for case in CASES:
            with self.subTest(case=case):
                self.check(pooled(*case))

    def test_narrow(self):
        for dtype in ("f16", "bf16"):
            for case in (CASES[0], CASES[5]):
                with self.subTest(case=case, dtype=dtype):
                    self.check(pooled(*case, dtype=dtype), tolerance=0.02)

    @cuda_test.needs_libdevice
    def test_weight_gradients(self):
        for case in ((2, 20, 32), (3, 40, 12, 2)):
            with self.subTest(case=case):
                model = weight_gradient(*case)
                self.check(model, strategy="rows")
                kernels = self.kernels_for(model, "sm_80")
                self.assertTrue(any("ld.global.nc.v4" in kernel for kernel in kernels))

    @cuda_test.needs_ptxas
    def test_registers(self):
        self.check_chips(weight_gradient(32, 56, 64))
        for case in (CASES[0], CASES[1], CASES[5]):
            self.check_chips(pooled(*case))
        self.check_chips(pooled(*CASES[0], dtype="f16"))


if __name__ == "__main__":
    cuda_test.main()
