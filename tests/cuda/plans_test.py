# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whoever edits a plan gets other code that gives the same result.

usage: PYTHONPATH=tests/support python tests/cuda/plans_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]

Each field of a plan is changed in the text of phase `kernels`.
"""

import re

import byte_products_test
import cuda_models
import cuda_test

DIVIDED = ("--choose-strategies", "--divide-kernels")
PLAN = re.compile(r"graph\.plan = #cuda\.(\w+)<(.*?)>(?=, graph\.|\} \{)")


def one_op(name, inputs, op, dtype="f32", **attributes):
    b = cuda_models.Builder(name)
    values = [b.input(f"x{i}", *shape) for i, shape in enumerate(inputs)]
    if dtype != "f32":
        values = [b.add("cast", value, dtype=dtype) for value in values]
    y = b.add(op, *values, **attributes)
    return b.finish(b.add("cast", y, dtype="f32") if dtype != "f32" else y)


class PlansTest(cuda_test.CudaTest):
    def kernels_of(self, model, chip):
        """The text of phase `kernels`."""
        self.compile_for(model, "cpu")
        path = self.folder / "kernels.mlir"
        source = self.folder / f"{model['name']}.json"
        options = ("--target=cuda", f"--cuda-chips={chip}", "--emit=kernels")
        self.compile(source, path, *options)
        return path.read_text()

    def code_of(self, text):
        """The code for GPUs, and the module with what follows from its plans."""
        path, divided = self.folder / "edited.mlir", self.folder / "divided.mlir"
        path.write_text(text)
        for passes, output in (
            ((*DIVIDED,), divided),
            ((*DIVIDED, "--emit-kernels"), self.folder / "code.mlir"),
        ):
            done = self.run_tool("graph-opt", path, *passes, "-o", output)
            self.assertEqual(done.returncode, 0, done.stderr.split("\n")[0])
        code = (self.folder / "code.mlir").read_text()
        return re.sub(r"loc\(.*?\)", "", code), divided

    def check(self, model, strategy, edits, chip="emulated"):
        """Each edit of a field of this strategy's plan changes the code alone."""
        text = self.kernels_of(model, chip)
        names = [match[1] for match in PLAN.finditer(text)]
        self.assertIn(strategy, names)
        expected, _ = self.outputs_of(
            self.folder / f"{model['name']}-cpu.so",
            *cuda_test.random_inputs(model),
        )
        before, _ = self.code_of(text)
        for old, new in edits:
            with self.subTest(strategy=strategy, edit=new):
                edited = PLAN.sub(
                    lambda match: match[0].replace(old, new, 1)
                    if match[1] == strategy
                    else match[0],
                    text,
                )
                plans = [match[0] for match in PLAN.finditer(text)]
                self.assertTrue(edited != text, f"no {old} in {plans}")
                code, divided = self.code_of(edited)
                self.assertTrue(code != before, "the code is the same")
                self.check_outputs(model, divided, expected)

    def check_outputs(self, model, kernels, expected):
        artifact = self.folder / "edited.so"
        self.compile(kernels, artifact, "--from=kernels")
        inputs = cuda_test.random_inputs(model)
        for settings in cuda_test.SETTINGS[:2]:
            got, _ = self.outputs_of(artifact, *inputs, settings=settings)
            self.compare(got, expected, settings, tolerance=2e-2)

    def test_products(self):
        model = one_op("product", ([72, 40], [40, 48]), "matmul")
        edits = (
            ("tile = [32, 32]", "tile = [64, 32]"),
            (
                "[32, 32], thread = [4, 4], depth = 16, loads = [4",
                "[32, 128], thread = [4, 4], depth = 16, loads = [2",
            ),
            ("tile = [32, 32], thread = [4, 4]", "tile = [64, 64], thread = [8, 4]"),
            ("depth = 16", "depth = 8"),
            ("loads = [4, 4]", "loads = [1, 4]"),
            ("loads = [4, 4]", "loads = [4, 2]"),
            ("stores = 4", "stores = 1"),
        )
        self.check(model, "contraction", edits)

    def test_tensor_cores(self):
        model = one_op("half", ([72, 40], [40, 48]), "matmul", dtype="bf16")
        edits = (
            ("warp = [32, 16]", "warp = [16, 32]"),
            ("stages = 4", "stages = 3"),
            ("loads = [8, 8], stores = 4>", "loads = [4, 8], stores = 4>"),
            ("stores = 4>", "stores = 2>"),
        )
        self.check(model, "contraction", edits)

    def test_bytes(self):
        for transposed in (False, True):
            model = byte_products_test.matmul(
                72, 48, 80, constant=False, transpose_b=transposed
            )
            edits = (
                ("tile = [32, 32]", "tile = [64, 32]"),
                ("depth = 64", "depth = 32"),
                ("depth = 64, loads = [16, 16]", "depth = 4, loads = [2, 1]"),
                ("depth = 64, loads = [16, 16]", "depth = 64, loads = [8, 4]"),
            )
            self.check(model, "contraction", edits, "emulated+sm_75")
            edits = (
                ("warp = [32, 16]", "warp = [16, 32]"),
                ("stages = 4, loads = [16, 16]", "stages = 3, loads = [8, 1]"),
            )
            self.check(model, "contraction", edits)

    @cuda_test.needs_libdevice
    def test_attention(self):
        shapes = ([1, 2, 40, 16], [1, 2, 70, 16], [1, 2, 70, 16])
        model = one_op("attention", shapes, "attention", scale=0.25)
        edits = (
            ("depth = 16", "depth = 8"),
            ("loads = [4, 4", "loads = [1, 4"),
            ("step = 16, loads = [4, 4, 4]", "step = 8, loads = [4, 4, 2]"),
        )
        self.check(model, "attention", edits)
        shapes = ([1, 2, 40, 64], [1, 2, 72, 64], [1, 2, 72, 64])
        model = one_op("wide", shapes, "attention", scale=0.125)
        edits = (
            ("queries = 32", "queries = 64"),
            ("rows = 8", "rows = 4"),
            ("masks = 4", "masks = 1"),
            ("stores = 4", "stores = 1"),
        )
        self.check(model, "attention", edits)

    @cuda_test.needs_libdevice
    def test_rows(self):
        model = one_op("rows", ([6, 5, 16384],), "softmax", axis=2)
        edits = (
            ("outer = 2", "outer = 1"),
            ("lanes = 4", "lanes = 1"),
            ("team = 512, threads = 512", "team = 32, threads = 128"),
            ("team = 512, threads = 512", "team = 256, threads = 256"),
            ("unrolled = 4", "unrolled = 1"),
        )
        self.check(model, "rows", edits)
        model = one_op("columns", ([300, 96],), "reduce", kind="sum", axes=[0])
        self.check(model, "rows", (("columns = 32", "columns = 8"),))

    def test_windows(self):
        model = cuda_models.Builder("windows")
        x = model.conv(model.input("x", 1, 8, 20, 20), "first", 16, 8, 1)
        y = model.add("max_pool", x, kernel=[3, 3], strides=[1, 1], padding=[1] * 4)
        model = model.finish(model.conv(y, "last", 8, 16, 1))
        edits = (
            ("lanes = 4", "lanes = 1"),
            ("outputs = 1", "outputs = 3"),
            ("threads = 256", "threads = 64"),
        )
        self.check(model, "windows", edits)

    def test_movement(self):
        model = one_op("turned", ([40, 72],), "transpose", permutation=[1, 0])
        self.check(model, "transpose", (("warps = 8", "warps = 2"),))
        model = one_op("sums", ([10, 300],), "cumsum", axis=1)
        self.check(model, "scan", (("block, threads = 256", "block, threads = 64"),))
        self.check(model, "scan", (("row = block", "row = thread"),))
        model = one_op("sum", ([10, 300], [10, 300]), "add")
        edits = (("lanes = [4]", "lanes = [2]"), ("threads = 256", "threads = 96"))
        self.check(model, "threads", edits)


if __name__ == "__main__":
    cuda_test.main()
