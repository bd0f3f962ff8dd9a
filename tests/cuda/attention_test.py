# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on GPUs: one kernel that stores no scores.

usage: PYTHONPATH=tests/support python tests/cuda/attention_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]
"""

import re

import numpy as np

import cuda_models
import cuda_test
from combinations import combinations


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


def fused(dtype, causal=False):
    """With something computed of each operand before, and of the result."""
    b = cuda_models.Builder("fused", 5)

    def operand(name, op):
        x = b.add("transpose", b.input(name, 2, 70, 4, 32), permutation=[0, 2, 1, 3])
        return b.add(op, b.add("cast", x, dtype=dtype) if dtype != "f32" else x)

    operands = operand("q", "relu"), operand("k", "tanh"), operand("v", "sigmoid")
    y = b.add("attention", *operands, scale=0.3, causal=causal)
    y = b.add("transpose", y, permutation=[0, 2, 1, 3])
    if dtype != "f32":
        y = b.add("cast", y, dtype="f32")
    return b.finish(b.add("gelu", b.add("add", y, b.input("x", 2, 70, 4, 32))))


def packed(dtype, tokens, heads, depth):
    """Of queries, keys and values that are parts of one tensor."""
    b = cuda_models.Builder("packed", 6)
    x = b.input("x", 1, tokens, 3 * heads, depth, dtype=dtype)

    def part(number):
        starts, steps = [0, 0, number * heads, 0], [1] * 4
        sizes = [1, tokens, heads, depth]
        y = b.add("slice", x, starts=starts, sizes=sizes, steps=steps)
        return b.add("transpose", y, permutation=[0, 2, 1, 3])

    y = b.add("attention", *map(part, range(3)), scale=depth**-0.5, causal=True)
    y = b.add("transpose", y, permutation=[0, 2, 1, 3])
    return b.finish(b.add("cast", y, dtype="f32") if dtype != "f32" else y)


# Few queries of few heads, for which kernels of their own have more blocks.
FEW = (1, 2, 260, 256, 64)
MANY = (2, 8, 260, 256, 64)
SPLIT = {"contraction", "rows"}
ONE = {"attention"}


@cuda_test.needs_libdevice
class AttentionTest(cuda_test.CudaTest):
    def check(self, model, strategies, tolerance=cuda_test.TOLERANCE, **options):
        """Gives what the CPU does, in kernels of these strategies."""
        compiler = options.pop("compiler", ())
        cpu = self.compile_for(model, "cpu")
        cuda = self.compile_for(model, "cuda", *compiler)
        self.assertEqual(self.strategies(model) - {"threads"}, strategies)
        inputs = self.inputs_of(model, options)
        expected, _ = self.outputs_of(cpu, *inputs)
        for settings in cuda_test.SETTINGS[:2]:
            got, _ = self.outputs_of(cuda, *inputs, settings=settings)
            for name, values in expected.items():
                self.assertTrue((np.isnan(got[name]) == np.isnan(values)).all(), name)
                got[name] = np.nan_to_num(got[name])
            numbers = {name: np.nan_to_num(values) for name, values in expected.items()}
            self.compare(got, numbers, settings, tolerance)
        return expected

    def inputs_of(self, model, arrays):
        """Options for these inputs; for the others random ones."""
        options = []
        for value in model["inputs"]:
            name = value["name"]
            source = "random"
            if name in arrays:
                source = self.root / f"{name}.npy"
                np.save(source, arrays[name])
            options += ["--input", f"{name}={source}"]
        return options

    def test_few_queries(self):
        self.check(attention(2, 3, 10, 50, 16), {"rows"})

    def test_one_query(self):
        self.check(attention(1, 2, 1, 3000, 64), SPLIT)

    def test_few_blocks(self):
        self.check(attention(*FEW), SPLIT)
        self.check(attention(*FEW, mask=True), SPLIT)

    def test_sizes(self):
        """Tails of queries, keys and heads, and none."""
        for sizes in (
            (1, 2, 37, 53, 40),
            (2, 2, 64, 128, 64),
            (1, 3, 70, 64, 24),
            (2, 1, 33, 70, 80),
            (1, 2, 16, 130, 16),
            (1, 1, 16, 3, 9),
        ):
            with self.subTest(sizes=sizes):
                self.check(attention(*sizes), ONE)
        self.check(attention(*MANY, mask=True), ONE)

    def test_deep_heads(self):
        self.check(attention(4, 8, 70, 50, 200), ONE)
        self.check(attention(2, 8, 130, 70, 128, causal=True), ONE)

    def test_large_blocks(self):
        model = attention(4, 33, 128, 70, 32)
        self.check(model, ONE)
        self.assertEqual(self.threads(model), 256)
        model = attention(4, 33, 64, 70, 200)
        self.check(model, ONE)
        self.assertEqual(self.threads(model), 256)

    def threads(self, model):
        """Those of a block."""
        path = self.folder / "plan.mlir"
        source = self.folder / f"{model['name']}.json"
        self.compile(source, path, "--target=cuda", "--emit=plan")
        (found,) = re.findall(
            r"graph.plan = #cuda.attention<.*graph.threads = (\d+)", path.read_text()
        )
        return int(found)

    def test_masks(self):
        """What is hidden by minus infinity: parts of rows, tiles, whole rows."""
        model = attention(2, 2, 40, 200, 32, mask=True)
        mask = np.zeros((2, 1, 1, 200), np.float32)
        mask[0, ..., :150] = -np.inf  # First tiles.
        mask[1, ..., 70:] = -np.inf  # Last tiles.
        y = self.check(model, ONE, mask=mask)
        self.assertFalse(np.isnan(*y.values()).any())
        mask[1] = -np.inf
        self.check(model, ONE, mask=mask)

    def test_causal(self):
        """With keys before the first query, as many, and fewer: such queries see
        none, and have no results on the CPU, too."""
        for queries, keys in ((70, 150), (130, 130), (150, 70)):
            with self.subTest(queries=queries, keys=keys):
                self.check(attention(1, 3, queries, keys, 32, causal=True), ONE)
        model = attention(1, 4, 70, 70, 32, causal=True, mask=True)
        mask = np.zeros((1, 1, 1, 70), np.float32)
        mask[..., 3:20] = -np.inf
        self.check(model, ONE, mask=mask)

    def test_hidden_tiles(self):
        """Tiles of keys that a causal mask hides from a whole block are left out:
        what is no number there does not matter to it."""
        v = np.ones((1, 130, 2, 32), np.float32)
        v[:, 128:] = np.nan
        for options in ({}, {"dtype": "f16"}):
            model = attention(1, 2, 130, 130, 32, causal=True, **options)
            artifact = self.compile_for(model, "cuda")
            (y,) = self.outputs_of(artifact, *self.inputs_of(model, {"v": v}))[0].values()
            self.assertTrue(np.allclose(y[:, :32], 1, atol=1e-3))
            self.assertTrue(np.isnan(y[:, 129:]).all())
        for options in ({"dtype": "f16"}, {"dtype": "bf16", "key_heads": 2}):
            for queries, keys in ((70, 150), (130, 130), (150, 70)):
                model = attention(1, 4, queries, keys, 32, causal=True, **options)
                self.check(model, ONE, 0.01)

    def test_large_scores(self):
        """Weights are those of the largest score, however large it is."""
        q = np.full((1, 40, 2, 16), 30, np.float32)
        model = attention(1, 2, 40, 200, 16)
        self.check(model, ONE, q=q)

    def test_shared_heads(self):
        """Queries of heads that share keys are rows of one block."""
        for causal in (False, True):
            model = attention(1, 6, 30, 70, 64, key_heads=2, causal=causal)
            self.check(model, ONE)
        self.check(attention(2, 16, 1, 90, 64, key_heads=1), ONE)

    def test_narrow(self):
        """On tensor cores, and as chips without these compute it."""
        sizes = (
            (1, 4, 100, 70, 64, 2),
            (2, 2, 37, 90, 40, 2),
            (1, 8, 100, 170, 80, 8),
            (1, 8, 70, 70, 16, 8),
            (1, 8, 33, 70, 200, 8),
            (1, 3, 70, 71, 9, 3),
            (4, 33, 128, 70, 64, 33),
        )
        types = (("bf16", 0.01), ("f16", 0.002))
        masks = ({"mask": True}, {"causal": True})
        for size, (dtype, tolerance), mask in combinations(sizes, types, masks):
            with self.subTest(size=size, dtype=dtype, mask=mask):
                *shape, key_heads = size
                model = attention(*shape, key_heads=key_heads, dtype=dtype, **mask)
                self.check(model, ONE, tolerance)
        for shape in ((1, 4, 100, 70, 64), (1, 8, 33, 70, 200)):
            model = attention(*shape, dtype="f16")
            chip = "--cuda-chips=emulated+sm_75"
            self.check(model, ONE, 0.002, compiler=[chip])

    def test_fused(self):
        """Operands that are computed as they are loaded, or before."""
        for dtype, tolerance in (("f32", 1e-4), ("f16", 0.002)):
            self.check(fused(dtype), ONE, tolerance)
            self.check(fused(dtype, causal=True), ONE, tolerance)
        self.check(fused("f32"), ONE, 2e-3, compiler=["--allow-tf32"])

    def test_packed(self):
        """Slices are loaded as vectors, and copied past registers, where they lie."""
        for dtype, tolerance in (("f32", 1e-4), ("f16", 0.002)):
            model = packed(dtype, 100, 4, 64)
            self.check(model, ONE, tolerance)
            kernel = self.attention_of(model, "sm_80")
            self.assertNotIn("ld.global.nc.b32", kernel)
            self.assertEqual("cp.async.cg" in kernel, dtype == "f16")

    def test_long(self):
        """More scores than memory would hold."""
        model = attention(1, 8, 8192, 8192, 64)
        self.compile_for(model, "cuda")
        self.assertEqual(self.strategies(model), ONE)

    def test_tf32(self):
        """Factors and weights are rounded to tf32 if that is allowed."""
        for shape in ((1, 4, 64, 64, 64), (2, 2, 37, 90, 40), (1, 8, 100, 70, 128)):
            model = attention(*shape, mask=True)
            self.check(model, ONE, 2e-3, compiler=["--allow-tf32"])
            self.check(model, ONE)

    def test_apart(self):
        """Weights are rounded as values are, so that tensor cores take both."""
        model = attention(1, 1, 16, 3000, 300, dtype="f16")
        self.check(model, SPLIT, 0.003)
        kernels = self.kernels_for(model, "sm_80")
        self.assertEqual(len([k for k in kernels if "mma.sync" in k]), 2)

    def test_barriers(self):
        self.check_sites(attention(1, 2, 37, 140, 40))
        for dtype in ("f16", "bf16"):
            self.check_sites(attention(1, 2, 37, 140, 40, dtype=dtype))
        # Queries that stay in shared memory.
        self.check_sites(attention(1, 2, 37, 140, 160, dtype="f16"))
        self.check_sites(attention(1, 2, 37, 140, 64), options=["--allow-tf32"])

    def test_scores_stay(self):
        """Nothing is stored but the results, a vector at a time."""
        (kernel,) = self.kernels_for(attention(2, 8, 256, 256, 64), "sm_80")
        stores = re.findall(r"st\.global\S+", kernel)
        self.assertEqual(set(stores), {"st.global.v4.b32"})
        self.assertEqual(len(stores), 8)
        self.assertIn("fma.rn.f32", kernel)
        self.assertIn("ex2.approx", kernel)
        self.assertNotIn("mma.sync", kernel)

    def attention_of(self, model, chip, *options):
        """The PTX of the kernel that has the exponentials."""
        kernels = self.kernels_for(model, chip, *options)
        (found,) = (kernel for kernel in kernels if "ex2.approx" in kernel)
        return found

    def test_instructions(self):
        """Tensor cores: two products, weights between them in registers."""
        for dtype in ("f16", "bf16"):
            model = attention(2, 64, 256, 256, 64, dtype=dtype)
            kernel = self.attention_of(model, "sm_80")
            product = f"mma.sync.aligned.m16n8k16.row.col.f32.{dtype}.{dtype}.f32"
            # 16 queries by 64 keys, each over the depth of 64, and again.
            self.assertEqual(kernel.count(product), 2 * 4 * 8)
            # 128 queries, the first keys; values, and the next keys.
            copies = r"cp\.async\.cg\.shared\.global \[%\w+(\+\d+)?\], \[.*\], 16;"
            self.assertEqual(len(re.findall(copies, kernel)), 4 + 3 * 2)
            # Queries before the loop, keys, and values across the keys.
            matrix = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
            across = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
            self.assertEqual(kernel.count(matrix), 4 + 16)
            self.assertEqual(kernel.count(across), 16)
            self.assertEqual(kernel.count("bar.sync"), 3)
            self.assertEqual(kernel.count("cp.async.wait_group \t0;"), 3)
            self.assertNotIn("st.shared", kernel)
            self.assertNotIn("ld.global", kernel)
            stores = re.findall(r"st\.global\S+", kernel)
            self.assertEqual(stores, ["st.global.v4.b32"] * 4)
            before = self.attention_of(model, "sm_75")
            self.assertNotIn("mma.sync", before)
            self.assertNotIn("cp.async", before)
        kernel = self.attention_of(
            attention(2, 64, 256, 256, 64), "sm_80", "--allow-tf32"
        )
        self.assertIn("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", kernel)

    @cuda_test.needs_ptxas
    def test_registers(self):
        for depth in (32, 64, 80, 128, 256):
            for options in ({}, {"dtype": "f16"}, {"dtype": "bf16"}):
                model = attention(8, 16, 512, 512, depth, mask=True, **options)
                self.check_chips(model)
            if depth <= 128:
                model = attention(8, 16, 512, 512, depth, causal=True)
                self.check_chips(model, "--allow-tf32")


if __name__ == "__main__":
    cuda_test.main()
