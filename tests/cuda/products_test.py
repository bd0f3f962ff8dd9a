# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of all forms on an emulated GPU give what they give on the CPU.

usage: PYTHONPATH=tests/support python tests/cuda/products_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]
"""

import json
import re

import cuda_models
import cuda_test
from combinations import combinations
from cuda_models import convolution

LAYOUTS = ((False, True), (False, True))  # Whether factors lie transposed.


def matmul(m, n, k, batch=(), **transposed):
    """A product with what may come before it and after it."""
    b = cuda_models.Builder("matmul", 1)
    a_shape = (k, m) if transposed.get("transpose_a") else (m, k)
    b_shape = (n, k) if transposed.get("transpose_b") else (k, n)
    x = b.input("x", *batch, *a_shape)
    y = b.add("matmul", b.add("relu", x), b.input("w", *batch, *b_shape), **transposed)
    y = b.add("relu", b.add("add", y, b.weight("bias", n)))
    return b.finish(b.add("add", y, b.input("residual", *batch, m, n)))


def half(dtype, m, n, k, batch=(), prologue=True, result="f32", **transposed):
    """A product that tensor cores can compute, from elements of 16 bits."""
    b = cuda_models.Builder("half", 5)
    x_shape = (k, m) if transposed.get("transpose_a") else (m, k)
    w_shape = (n, k) if transposed.get("transpose_b") else (k, n)
    x = b.input("x", *batch, *x_shape, dtype=dtype)
    w = b.input("w", *batch, *w_shape, dtype=dtype)
    y = b.add("matmul", b.add("relu", x) if prologue else x, w, **transposed)
    y = b.add("relu", y)
    return b.finish(b.add("cast", y, dtype=result) if result != dtype else y)


def plain(m, n, k, **transposed):
    """A product of f32 with nothing before it."""
    b = cuda_models.Builder("plain", 7)
    x_shape = (k, m) if transposed.get("transpose_a") else (m, k)
    w_shape = (n, k) if transposed.get("transpose_b") else (k, n)
    y = b.add("matmul", b.input("x", *x_shape), b.input("w", *w_shape), **transposed)
    return b.finish(b.add("add", y, b.weight("bias", n)))


def half_conv(dtype, x_shape=(2, 16, 9, 10), w_shape=(24, 16, 3, 3), **attributes):
    b = cuda_models.Builder("half_conv", 6)
    x, w = b.input("x", *x_shape, dtype=dtype), b.input("w", *w_shape, dtype=dtype)
    attributes = {"strides": [1, 1], "padding": [1, 1, 1, 1], **attributes}
    return b.finish(b.add("cast", b.add("conv", x, w, **attributes), dtype="f32"))


def conv_weight_gradient(x_shape, dy_shape, **attributes):
    b = cuda_models.Builder("conv_weight_gradient", 3)
    x, dy = b.input("x", *x_shape), b.input("dy", *dy_shape)
    attributes.setdefault("dilations", [1] * (len(x_shape) - 2))
    attributes.setdefault("groups", 1)
    return b.finish(b.add("conv_weight_gradient", x, dy, **attributes))


def conv_transpose(x_shape, w_shape, **attributes):
    b = cuda_models.Builder("conv_transpose", 4)
    x, w = b.input("x", *x_shape), b.input("w", *w_shape)
    return b.finish(b.add("conv_transpose", x, w, **attributes))


def tolerance_for(model):
    """Sums of another order may be rounded to the next number of a product's type."""
    steps = {"bf16": 2.0**-8, "f16": 2.0**-11}
    types = [value["dtype"] for value in model["inputs"]]
    return max([cuda_test.TOLERANCE, *(steps[t] for t in types if t in steps)])


class ProductsTest(cuda_test.CudaTest):
    def kernels_of(self, artifact_model):
        """Strategy of each kernel function on the GPU, by name."""
        path = self.folder / "kernels.mlir"
        self.compile(artifact_model, path, "--target=cuda", "--emit=kernels")
        found = re.findall(
            r'func.func private @(\w+)\(.*graph.device = "cuda".*'
            r"graph.plan = #cuda.(\w+)<",
            path.read_text(),
        )
        return dict(found)

    def check(self, model, *names):
        """Kernels of these names, as regular expressions, must be tiled."""
        cpu, cuda = self.compile_for(model, "cpu"), self.compile_for(model, "cuda")
        tiled = self.kernels_of(self.folder / f"{model['name']}.json")
        for name in names:
            self.assertTrue(
                any(
                    re.search(name, kernel) and strategy == "contraction"
                    for kernel, strategy in tiled.items()
                ),
                f"no kernel {name} in tiles: {tiled}",
            )
        inputs = [
            option
            for value in model["inputs"]
            for option in ("--input", f"{value['name']}=random")
        ]
        expected, _ = self.outputs_of(cpu, *inputs)
        for settings in cuda_test.SETTINGS:
            got, _ = self.outputs_of(cuda, *inputs, settings=settings)
            self.compare(got, expected, settings, tolerance_for(model))

    def test_sizes(self):
        # Tails in each direction, and none; each tile; vectors, and none.
        for sizes in ((100, 130, 75), (64, 96, 32), (33, 31, 9), (8, 8, 8)):
            with self.subTest(sizes=sizes):
                self.check(matmul(*sizes), "matmul")

    def test_large_tiles(self):
        for rows, columns in ((2100, 1000), (1000, 2100)):
            self.check(matmul(rows, columns, 19), "matmul")
            self.check_chunks("matmul.json", 264)  # Of 64 × 128, or 128 × 64.

    def test_transposed(self):
        for sizes, a, b in combinations(((36, 40, 44), (35, 41, 43)), *LAYOUTS):
            with self.subTest(a=a, b=b, sizes=sizes):
                model = matmul(*sizes, transpose_a=a, transpose_b=b)
                self.check(model, "matmul")

    def test_batches(self):
        self.check(matmul(20, 12, 16, batch=(2, 3)), "matmul")

    def test_few_rows(self):
        self.check(matmul(1, 200, 100), "matmul")
        self.check(matmul(200, 3, 100, transpose_a=True), "matmul")

    def test_long_sums(self):
        self.check(matmul(24, 20, 2048), "matmul.*_parts")

    def test_convolutions(self):
        for constant in (True, False):
            with self.subTest(constant=constant):
                model = convolution(
                    (2, 16, 13, 14),
                    (32, 16, 3, 3),
                    constant,
                    strides=[2, 1],
                    padding=[1, 0, 1, 2],
                )
                self.check(model, "conv_relu_0")

    def test_grouped_convolution(self):
        model = convolution((2, 16, 9, 8), (24, 8, 3, 3), padding=[1] * 4, groups=2)
        self.check(model, "conv_relu_0")

    def test_other_ranks(self):
        model = convolution((2, 12, 50), (20, 12, 5), padding=[2, 2], dilations=[3])
        self.check(model, "conv_relu_0")
        model = convolution((1, 8, 5, 6, 7), (16, 8, 3, 3, 3), padding=[1] * 6)
        self.check(model, "conv_relu_0")

    def test_gradients_of_convolutions(self):
        model = conv_weight_gradient(
            (8, 12, 16, 16),
            (8, 16, 8, 8),
            kernel=[3, 3],
            strides=[2, 2],
            padding=[1, 1, 0, 0],
        )
        self.check(model, "conv_weight_gradient")
        model = conv_transpose(
            (2, 16, 7, 7),
            (16, 12, 3, 3),
            strides=[2, 2],
            padding=[1, 1, 1, 1],
        )
        self.check(model, "conv")

    def test_half_precision(self):
        # Each tile; vectors along the columns, and tails in each direction.
        for dtype in ("f16", "bf16"):
            for sizes in ((32, 40, 64), (100, 71, 90), (520, 512, 40)):
                with self.subTest(dtype=dtype, sizes=sizes):
                    self.check(half(dtype, *sizes), "matmul")
            self.check(half_conv(dtype), "conv")
        self.check(half("f16", 1100, 1000, 33), "matmul")

    def test_copied(self):
        """Asynchronous copies of 16, 8 and 4 bytes, each way that factors lie."""
        all_sizes = ((136, 72, 80), (33, 130, 36), (130, 34, 34), (33, 9, 66))
        for sizes, a, b in combinations(all_sizes, *LAYOUTS):
            with self.subTest(a=a, b=b, sizes=sizes):
                layouts = {"transpose_a": a, "transpose_b": b}
                model = half("bf16", *sizes, prologue=False, **layouts)
                self.check(model, "matmul")
                self.check_rounded(plain(*sizes, **layouts))
        for result in ("f16", "f32"):
            model = half("f16", 256, 256, 128, prologue=False, result=result)
            self.check(model, "matmul")
        model = half("f16", 50, 40, 64, batch=(2, 3), prologue=False)
        self.check(model, "matmul")

    def test_large_copied_tiles(self):
        for b in (False, True):
            layouts = {"prologue": False, "transpose_b": b}
            self.check(half("f16", 1100, 1000, 104, **layouts), "matmul")
            self.check_chunks("half.json", 72)  # Of 128 × 128.
        self.check(half("bf16", 1101, 1010, 33, prologue=False), "matmul")
        self.check_rounded(plain(1100, 1004, 40, transpose_a=True))

    def check_chunks(self, name, chunks):
        text = self.folder / "plan.mlir"
        self.compile(self.folder / name, text, "--target=cuda", "--emit=plan")
        self.assertIn(f" chunks {chunks} ", text.read_text())

    def test_copied_convolutions(self):
        """Padding is filled with zeros as it is copied."""
        for x_shape, w_shape, attributes in (
            ((2, 64, 9, 10), (40, 64, 3, 3), {}),
            ((3, 24, 11, 8), (72, 24, 3, 2), {"strides": [2, 1]}),
            ((2, 16, 12, 12), (32, 16, 1, 1), {"padding": [0] * 4}),
            ((2, 32, 9, 8), (48, 16, 3, 3), {"groups": 2}),
            ((2, 8, 13, 9), (8, 8, 3, 3), {"dilations": [2, 1]}),
        ):
            with self.subTest(x_shape=x_shape, w_shape=w_shape):
                self.check(half_conv("f16", x_shape, w_shape, **attributes), "conv")
                attributes = {"padding": [1] * 4, **attributes}
                model = convolution(x_shape, w_shape, False, **attributes)
                self.check_rounded(model)

    def check_rounded(self, model):
        """With tf32, a product of f32 gives nearly what it gives on the CPU."""
        inputs = cuda_test.random_inputs(model)
        expected, _ = self.outputs_of(self.compile_for(model, "cpu"), *inputs)
        artifact = self.compile_for(model, "cuda", "--allow-tf32")
        for settings in cuda_test.SETTINGS:
            got, _ = self.outputs_of(artifact, *inputs, settings=settings)
            self.compare(got, expected, settings, tolerance=2e-3)

    def test_tf32(self):
        """Factors of f32 are rounded to tf32 if that is allowed, and not else."""
        for model in (matmul(36, 40, 44, transpose_b=True), matmul(35, 41, 43)):
            inputs = cuda_test.random_inputs(model)
            exact, _ = self.outputs_of(self.compile_for(model, "cuda"), *inputs)
            artifact = self.compile_for(model, "cuda", "--allow-tf32")
            rounded, _ = self.outputs_of(artifact, *inputs)
            for name, values in exact.items():
                error = cuda_test.np.abs(rounded[name] - values).max()
                self.assertGreater(error, 0)
                self.assertLess(error, 2e-3 * cuda_test.np.abs(values).max())

    def check_level(self, model, level):
        """The code of another level gives what the CPU's gives."""
        inputs = cuda_test.random_inputs(model)
        expected, _ = self.outputs_of(self.compile_for(model, "cpu"), *inputs)
        chip = f"--cuda-chips=emulated+{level}"
        artifact = self.compile_for(model, "cuda", chip)
        for settings in cuda_test.SETTINGS:
            got, _ = self.outputs_of(artifact, *inputs, settings=settings)
            # Sums of another order may be rounded to another neighbour.
            self.compare(got, expected, settings, tolerance=1e-2)

    def test_before_tensor_cores(self):
        for sizes in ((1100, 1000, 24), (600, 608, 40), (33, 31, 70)):
            self.check_level(half("f16", *sizes, prologue=False), "sm_75")
        self.check_level(half_conv("bf16", (2, 32, 9, 8), (48, 32, 3, 3)), "sm_75")

    def test_warpgroups(self):
        """Products that read shared memory by descriptors."""
        for a, b in combinations(*LAYOUTS):
            layouts = {"transpose_a": a, "transpose_b": b}
            model = half("f16", 264, 520, 200, prologue=False, **layouts)
            self.check_level(model, "wgmma")
        for a in (False, True):
            model = half("f16", 1100, 1000, 168, (), False, transpose_a=a)
            self.check_level(model, "wgmma")
            self.check_chunks("half.json", 72)  # Of 128 × 128.
        # Two warpgroups, and what is beyond the ends.
        self.check_level(half("bf16", 1101, 1001, 99), "wgmma")
        model = half_conv("f16", (6, 16, 24, 23), (72, 16, 3, 3))
        self.check_level(model, "wgmma")
        # The plan of a large one, in one that is small enough for all mutations.
        model = half("f16", 136, 136, 170, prologue=False)
        large = half("f16", 1100, 1000, 170, prologue=False)
        artifact = self.compile_with_plan_of(model, large, "emulated+wgmma")
        inputs = cuda_test.random_inputs(model)
        self.check_sites_of(artifact, inputs, tolerance_for(model))

    def compile_with_plan_of(self, model, other, chip):
        """The artifact of a model whose products have the plan of the other's."""
        texts = []
        for each in (other, model):
            path, text = self.folder / "each.json", self.folder / "kernels.mlir"
            path.write_text(json.dumps(each))
            options = (f"--cuda-chips={chip}", "--emit=kernels")
            self.compile(path, text, "--target=cuda", *options)
            texts.append(text.read_text())
        plan = re.compile(r"#cuda\.contraction<.*?>(?=, graph\.|\} \{)")
        planned = plan.search(texts[0])[0]
        self.assertIn("warpgroups", planned)
        self.assertNotEqual(plan.search(texts[1])[0], planned)
        text.write_text(plan.sub(planned, texts[1]))
        artifact = self.folder / "planned.so"
        self.compile(text, artifact, "--from=kernels")
        return artifact

    def test_barriers(self):
        """Without one of its barriers a kernel is caught."""
        models = (
            matmul(40, 40, 70),
            half("f16", 40, 40, 170),
            half("f16", 40, 40, 170, prologue=False),
            half_conv("bf16", (1, 16, 6, 6)),
        )
        for model in models:
            self.check_sites(model, tolerance=tolerance_for(model))


@cuda_test.needs_ptxas
class ChipsTest(cuda_test.CudaTest):
    def test_registers(self):
        """No chip spills registers."""
        models = (
            matmul(1100, 1000, 64),
            matmul(600, 600, 600),
            convolution((8, 64, 28, 28), (128, 64, 3, 3), padding=[1] * 4),
            convolution((32, 64, 56, 56), (64, 64, 3, 3), False, padding=[1] * 4),
            half("f16", 1100, 1000, 64),
            half("bf16", 4096, 4096, 64, prologue=False, result="bf16"),
            half("f16", 4096, 4096, 64, prologue=False, transpose_b=True),
            half_conv("bf16"),
            half_conv("f16", (32, 64, 56, 56), (128, 64, 3, 3)),
        )
        for model in models:
            self.check_chips(model)
        for transposed in (False, True):
            model = plain(4096, 4096, 64, transpose_b=transposed)
            self.check_chips(model, "--allow-tf32")

    def test_instructions(self):
        """Tensor cores where there are some, exact sums of f32 everywhere."""
        for dtype in ("f16", "bf16"):
            for chip, has in (("sm_75", False), ("sm_80", True), ("sm_90a", True)):
                (kernel,) = self.kernels_for(half(dtype, 64, 64, 64), chip)
                product = f"mma.sync.aligned.m16n8k16.row.col.f32.{dtype}.{dtype}.f32"
                self.assertEqual(product in kernel, has, chip)
                self.assertEqual("fma.rn.f32" in kernel, not has, chip)
        (kernel,) = self.kernels_for(matmul(1024, 1024, 64), "sm_80")
        self.assertNotIn("mma.sync", kernel)
        self.assertIn("fma.rn.f32", kernel)
        self.assertIn("ld.global.nc.v4", kernel)
        self.assertIn("ld.shared.v4", kernel)
        self.assertIn("st.global.v4", kernel)
        (kernel,) = self.kernels_for(
            matmul(1024, 1024, 64), "sm_80", "--allow-tf32"
        )
        self.assertIn("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", kernel)
        self.assertIn("cvt.rna.tf32.f32", kernel)
        self.check_registers(kernel, "sm_80")

    def test_copies(self):
        """What lies as it is multiplied is copied past registers, by 16 bytes."""
        for transposed in (False, True):
            model = half(
                "f16", 2048, 2048, 256, (), False, "f16", transpose_b=transposed
            )
            (kernel,) = self.kernels_for(model, "sm_80")
            # Two steps before the loop, and one in it.
            copies = r"cp\.async\.cg\.shared\.global \[%\w+(\+\d+)?\], \[.*\], 16;"
            self.assertEqual(len(re.findall(copies, kernel)), 3 * 8)
            self.assertEqual(kernel.count("cp.async.commit_group;"), 3)
            self.assertEqual(kernel.count("cp.async.wait_group \t1;"), 1)
            self.assertEqual(kernel.count("bar.sync"), 1)
            matrix = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
            across = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
            self.assertEqual(kernel.count(matrix), 16 if transposed else 8)
            self.assertEqual(kernel.count(across), 0 if transposed else 8)
            self.assertEqual(kernel.count("mma.sync.aligned"), 64)
            self.assertNotIn("ld.global", kernel)
            self.assertNotIn("st.shared", kernel)
            stores = set(re.findall(r"st\.global\S+", kernel))
            self.assertEqual(stores, {"st.global.v4.b32"})
        # Zeros are copied of what is beyond the depth, or is padding.
        (kernel,) = self.kernels_for(half("f16", 64, 64, 72, (), False), "sm_80")
        self.assertRegex(kernel, r"cp\.async\.cg.*, 16, %r\d+;")
        # There are no such copies before sm_80.
        (kernel,) = self.kernels_for(half("f16", 64, 64, 64, (), False), "sm_75")
        self.assertNotIn("cp.async", kernel)


    def test_warpgroups(self):
        """wgmma on sm_90a, if that is asked for: in the order that PTX wants."""
        step = (
            r"cp\.async\.wait_group \t1;\s+fence\.proxy\.async\.shared::cta;\s+"
            r"bar\.sync \t0;"
        )
        product = r".*?wgmma\.mma_async\.sync\.aligned\.m64n128k16\.f32\.f16\.f16"
        for transposed in (False, True):
            model = half(
                "f16", 2048, 2048, 256, (), False, "f16", transpose_b=transposed
            )
            (kernel,) = self.kernels_for(model, "sm_90a+wgmma")
            self.assertIn(".target sm_90a", kernel)
            # PTX may have the body of the loop before its head.
            loop = (
                r"wgmma\.fence\.sync\.aligned;"
                + product * 4
                + r".*?wgmma\.commit_group\.sync\.aligned;\s+"
                r"wgmma\.wait_group\.sync\.aligned \t1;"
            )
            self.assertRegex(kernel, re.compile(loop, re.S))
            self.assertRegex(kernel, step)
            across = set(re.findall(r", added, 1, 1, (\d, \d);", kernel))
            self.assertEqual(across, {"0, 0" if transposed else "0, 1"})
            last = r"wgmma\.wait_group\.sync\.aligned 0;.*st\.global\.v4\.b32"
            self.assertRegex(kernel, re.compile(last, re.S))
            self.assertEqual(kernel.count("wgmma.mma_async"), 4)
            self.assertNotIn("mma.sync", kernel)
            self.check_registers(kernel, "sm_90a")
        # With a factor that is computed two warpgroups have 64 rows each.
        (kernel,) = self.kernels_for(half("bf16", 2048, 2048, 64), "sm_90a+wgmma")
        self.assertEqual(kernel.count("wgmma.mma_async"), 2)
        self.check_registers(kernel, "sm_90a")
        conv = half_conv("f16", (32, 64, 56, 56), (128, 64, 3, 3))
        kernels = self.kernels_for(conv, "sm_90a+wgmma")
        self.assertTrue(any("wgmma" in kernel for kernel in kernels))
        for kernel in kernels:
            self.check_registers(kernel, "sm_90a")

    def test_no_warpgroups(self):
        """Chips that nobody asked it for, and products that it would round."""
        model = half("f16", 2048, 2048, 64, (), False)
        for chip in ("sm_90a", "sm_100"):
            (kernel,) = self.kernels_for(model, chip)
            self.assertNotIn("wgmma", kernel)
            self.assertIn("mma.sync", kernel)
        (kernel,) = self.kernels_for(
            plain(2048, 2048, 64), "sm_90a+wgmma", "--allow-tf32"
        )
        self.assertNotIn("wgmma", kernel)
        self.assertIn("mma.sync", kernel)
        # Beside other chips in one artifact.
        path = self.folder / "model.json"
        path.write_text(json.dumps(model))
        chips = "--cuda-chips=sm_75,sm_80,sm_90a+wgmma,sm_100,compute_75"
        self.compile(path, self.folder / "model.so", "--target=cuda", chips)


if __name__ == "__main__":
    cuda_test.main()
