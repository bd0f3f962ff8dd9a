# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that threads compute together give what they give on the CPU.

usage: PYTHONPATH=tests/support python tests/cuda/rows_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]

Softmax, norms, reductions and transposes of all shapes and types, and each of
their barriers left out.
"""


import cuda_models
import cuda_test


def model_of(op, *shape, dtype="f32", **attributes):
    """One op on a tensor of `dtype`."""
    b = cuda_models.Builder("model", 1)
    x = b.input("x", *shape)
    if dtype != "f32":
        scale = 100.0 if dtype.startswith("i") else 1.0
        x = b.add("mul", x, b.weight("scale", 1, value=scale))
        x = b.add("cast", x, dtype=dtype)
    y = b.add(op, x, **attributes)
    return b.finish(b.add("cast", y, dtype="f32") if dtype == "bf16" else y)


def any_or_all(kind, axes, *shape):
    """Whether any element of x is greater than another input's, or all are."""
    b = cuda_models.Builder("model", 5)
    greater = b.add("compare", b.input("x", *shape), b.input("z", 1), predicate="less")
    return b.finish(
        b.add("cast", b.add("reduce", greater, kind=kind, axes=axes), dtype="f32")
    )


def layer_norm(*shape):
    b = cuda_models.Builder("model", 2)
    x = b.input("x", *shape)
    parts = b.weight("scale", shape[-1]), b.weight("bias", shape[-1])
    return b.finish(b.add("layer_norm", x, *parts, axis=len(shape) - 1))


def attention(queries, keys, depth, values):
    b = cuda_models.Builder("model", 3)
    q = b.input("x", 2, 3, queries, depth)
    k, v = b.input("k", 2, 3, keys, depth), b.input("v", 2, 3, keys, values)
    return b.finish(b.add("attention", q, k, v, scale=0.25))


def sum_of_many(count, *shape):
    """The sum over rows of a product of `count` tensors."""
    b = cuda_models.Builder("model", 6)
    y = b.input("x", *shape)
    for i in range(1, count):
        y = b.add("mul", y, b.input(f"x{i}", *shape))
    axes = list(range(len(shape) - 1))
    return b.finish(b.add("reduce", y, kind="sum", axes=axes))


def moved(shape, permutation, dtype="f32"):
    """A transpose with what comes before it and after it."""
    b = cuda_models.Builder("model", 4)
    x = b.add("cast", b.add("relu", b.input("x", *shape)), dtype=dtype)
    y = b.add("transpose", x, permutation=permutation)
    return b.finish(b.add("add", b.add("cast", y, dtype="f32"), b.input("z", 1)))


# Rows of one element up to more than a block has threads; odd ones have no
# vectors; one row, several a warp, and several a block with a tail.
SOFTMAX = (
    (7, 1),
    (1, 5),
    (45, 10),
    (3, 33),
    (300, 64),
    (9, 1000),
    (2, 1003),
    (3, 9000),
    (2, 40001),
)
REDUCTIONS = (
    ((5, 1000), [1]),
    ((700, 6), [0]),
    ((40, 30, 129), [0, 1]),
    ((20, 70, 128), [1]),
    ((64, 40, 33), [0, 1, 2]),
    ((6, 50, 7, 9), [1, 3]),
    # Blocks enough, with too much to do for each.
    ((20, 2100, 64), [1]),
)
TYPES = ("f16", "bf16", "f64", "i64", "i32")


class RowsTest(cuda_test.CudaTest):
    def check(self, model, *strategies):
        cpu, cuda = self.compile_for(model, "cpu"), self.compile_for(model, "cuda")
        found = self.strategies(model)
        self.assertTrue(found.issuperset(strategies), found)
        inputs = cuda_test.random_inputs(model)
        expected, _ = self.outputs_of(cpu, *inputs)
        for settings in cuda_test.SETTINGS:
            got, _ = self.outputs_of(cuda, *inputs, settings=settings)
            self.compare(got, expected, settings)

    def test_reductions(self):
        for shape, axes in REDUCTIONS:
            for kind in ("sum", "max"):
                with self.subTest(shape=shape, axes=axes, kind=kind):
                    model = model_of("reduce", *shape, kind=kind, axes=axes)
                    self.check(model, "rows")

    def test_many_inputs(self):
        """Fewer iterations are unrolled, of whole ones and of those left."""
        for shape in ((70, 64), (500, 36), (2300, 8)):
            with self.subTest(shape=shape):
                self.check(sum_of_many(9, *shape), "rows")

    def test_booleans(self):
        for shape, axes in (REDUCTIONS[0], ((70, 6), [1]), ((700, 6), [0])):
            for kind in ("max", "min"):
                with self.subTest(shape=shape, axes=axes, kind=kind):
                    self.check(any_or_all(kind, axes, *shape))

    def test_variance(self):
        for shape, axes in REDUCTIONS:
            with self.subTest(shape=shape, axes=axes):
                self.check(model_of("variance", *shape, axes=axes), "rows")

    def test_types(self):
        for dtype in TYPES:
            for shape, axes in (REDUCTIONS[0], REDUCTIONS[2]):
                with self.subTest(dtype=dtype, shape=shape):
                    model = model_of(
                        "reduce", *shape, dtype=dtype, kind="max", axes=axes
                    )
                    self.check(model, "rows")

    def test_argmax(self):
        for shape, axis in (((9, 1000), 1), ((3, 10), 1), ((300, 5), 0)):
            for dtype in ("f32", "i64"):
                with self.subTest(shape=shape, axis=axis, dtype=dtype):
                    model = model_of("argmax", *shape, dtype=dtype, axis=axis)
                    self.check(model, "rows")

    def test_transposes(self):
        for shape, permutation in (
            ((33, 65), [1, 0]),
            ((3, 32, 64), [0, 2, 1]),
            ((9, 15, 40), [2, 0, 1]),
            ((2, 20, 3, 30), [0, 3, 2, 1]),
        ):
            for dtype in ("f32", "f16", "bf16", "i8", "f64"):
                with self.subTest(shape=shape, dtype=dtype):
                    self.check(moved(shape, permutation, dtype), "transpose")

    def test_running_sums(self):
        for shape, axis in (((5, 700), 1), ((2, 40), 1), ((70, 9), 0)):
            for options in ({}, {"exclusive": True}, {"reverse": True}):
                with self.subTest(shape=shape, axis=axis, **options):
                    model = model_of("cumsum", *shape, axis=axis, **options)
                    self.check(model, "scan")
        self.check(model_of("cumprod", 3, 50, axis=1), "scan")

    @cuda_test.needs_libdevice
    def test_softmax(self):
        for shape in SOFTMAX:
            with self.subTest(shape=shape):
                self.check(model_of("softmax", *shape, axis=1), "rows")
        for shape in ((300, 5), (40, 64)):
            with self.subTest(shape=shape, axis=0):
                self.check(model_of("softmax", *shape, axis=0), "rows")

    @cuda_test.needs_libdevice
    def test_layer_norm(self):
        for shape in ((6, 10), (5, 33), (3, 4, 768), (2, 5000)):
            with self.subTest(shape=shape):
                self.check(layer_norm(*shape), "rows")

    @cuda_test.needs_libdevice
    def test_attention(self):
        for sizes in ((10, 50, 16, 24), (3, 7, 5, 9)):
            with self.subTest(sizes=sizes):
                self.check(attention(*sizes), "rows")

    def test_barriers(self):
        self.check_sites(model_of("reduce", 40, 30, 129, kind="sum", axes=[0, 1]))
        self.check_sites(model_of("variance", 2, 9000, axes=[1]))
        self.check_sites(model_of("cumsum", 2, 700, axis=1))
        self.check_sites(model_of("transpose", 33, 65, permutation=[1, 0]))
        self.check_sites(moved((66, 90), [1, 0], "f16"))

    @cuda_test.needs_ptxas
    def test_registers(self):
        """No chip spills registers, or has arrays in local memory."""
        for model in (
            model_of("softmax", 64, 1000, axis=1),
            model_of("softmax", 4096, 1024, dtype="f16", axis=1),
            model_of("softmax", 64, 30000, axis=1),
            layer_norm(512, 768),
            attention(64, 128, 64, 64),
            model_of("variance", 32, 56, 56, 64, axes=[0, 1, 2]),
            model_of("argmax", 64, 1000, axis=1),
            sum_of_many(3, 16, 7, 7, 512),
            sum_of_many(16, 1024, 2048),
            moved((8, 300, 500), [0, 2, 1]),
            moved((8, 300, 500), [0, 2, 1], "f16"),
        ):
            self.check_chips(model)


if __name__ == "__main__":
    cuda_test.main()
