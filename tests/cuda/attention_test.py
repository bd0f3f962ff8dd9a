# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on GPUs: its products have tiles where they are large.

usage: PYTHONPATH=tests/support python tests/cuda/attention_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]
"""

import re

import cuda_models
import cuda_test


def attention(batch, heads, queries, keys, depth, key_heads=None, **options):
    """With the transpositions around it; `dtype`, `mask` and `causal` as said."""
    b = cuda_models.Builder("attention", 3)
    dtype = options.pop("dtype", "f32")

    def heads_of(name, tokens, count):
        x = b.input(name, batch, tokens, count, depth)
        if dtype != "f32":
            x = b.add("cast", x, dtype=dtype)
        return b.add("transpose", x, permutation=[0, 2, 1, 3])

    key_heads = key_heads or heads
    operands = [
        heads_of("q", queries, heads),
        heads_of("k", keys, key_heads),
        heads_of("v", keys, key_heads),
    ]
    if options.pop("mask", False):
        operands.append(b.input("mask", batch, 1, 1, keys))
    y = b.add("attention", *operands, scale=depth**-0.5, **options)
    y = b.add("transpose", y, permutation=[0, 2, 1, 3])
    return b.finish(b.add("cast", y, dtype="f32") if dtype != "f32" else y)


LARGE = (1, 2, 260, 256, 64)
SPLIT = {"contraction", "rows"}


@cuda_test.needs_libdevice
class AttentionTest(cuda_test.CudaTest):
    def check(self, model, strategies, tolerance=cuda_test.TOLERANCE):
        cpu, cuda = self.compile_for(model, "cpu"), self.compile_for(model, "cuda")
        self.assertEqual(self.strategies(model) - {"threads"}, strategies)
        inputs = cuda_test.random_inputs(model)
        expected, _ = self.outputs_of(cpu, *inputs)
        for settings in cuda_test.SETTINGS[:2]:
            got, _ = self.outputs_of(cuda, *inputs, settings=settings)
            self.compare(got, expected, settings, tolerance)

    def test_small(self):
        self.check(attention(2, 3, 10, 50, 16), {"rows"})

    def test_one_query(self):
        self.check(attention(1, 2, 1, 3000, 64), SPLIT)

    def test_large(self):
        self.check(attention(*LARGE), SPLIT)
        self.check(attention(*LARGE, mask=True), SPLIT)

    def test_shared_heads(self):
        self.check(attention(1, 4, 130, 256, 64, key_heads=2, causal=True), SPLIT)

    def test_narrow(self):
        """Weights are rounded as values are, so that tensor cores take both."""
        for dtype, tolerance in (("bf16", 0.02), ("f16", 0.003)):
            with self.subTest(dtype=dtype):
                model = attention(1, 4, 256, 256, 64, key_heads=2, dtype=dtype)
                self.check(model, SPLIT, tolerance)
                kernels = self.kernels_for(model, "sm_80")
                products = [k for k in kernels if re.search(r"mma\.sync", k)]
                self.assertEqual(len(products), 2)

    @cuda_test.needs_ptxas
    def test_registers(self):
        for dtype in ("f32", "bf16"):
            self.check_all_chips(attention(*LARGE, dtype=dtype, mask=True))


if __name__ == "__main__":
    cuda_test.main()
