# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products by cuBLASLt and convolutions by cuDNN, or by what looks like them.

usage: PYTHONPATH=tests/support python tests/cuda/libraries_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]
"""

import re

import cuda_models
import cuda_test
import numpy as np


def product(
    m=36, n=40, k=44, batch=(), bias=True, residual=False, dtype="f32", activation=None, **transposed
):
    b = cuda_models.Builder("product", 1)
    a_shape = (k, m) if transposed.get("transpose_a") else (m, k)
    b_shape = (n, k) if transposed.get("transpose_b") else (k, n)
    y = b.add(
        "matmul",
        b.input("x", *batch, *a_shape, dtype=dtype),
        b.input("w", *batch, *b_shape, dtype=dtype),
        **transposed,
    )
    if bias:
        y = b.add("add", y, b.input("bias", n, dtype=dtype))
    if residual:
        y = b.add("add", b.input("residual", *batch, m, n, dtype=dtype), y)
    if activation:
        attributes = {"tanh_approximation": True} if activation == "gelu" else {}
        y = b.add(activation, y, **attributes)
    return b.finish(y)


def conv(x_shape=(2, 16, 9, 10), w_shape=(32, 16, 3, 3), constant=True, **options):
    options.setdefault("padding", [w_shape[2] // 2] * 2 * (len(x_shape) - 2))
    options.setdefault("bias", True)
    return cuda_models.convolution(x_shape, w_shape, constant, **options)


class LibrariesTest(cuda_test.CudaTest):
    # As cuDNN gets convolutions of f32.
    ROUNDED = {"options": ["--allow-tf32"], "tolerance": 2e-3}

    def setUp(self):
        super().setUp()
        self.use(TINH_CUDA_LIBRARIES="cublaslt,cudnn")

    def use(self, **variables):
        """The fake libraries, with these variables of the environment."""
        folder = cuda_test.DRIVER.parent
        self.environment = dict(
            self.environment,
            TINH_CUBLASLT=str(folder / "libfake_cublaslt.so"),
            TINH_CUDNN=str(folder / "libfake_cudnn.so"),
            **variables,
        )

    def is_close(self, got, expected, tolerance=cuda_test.TOLERANCE):
        def widened(values):  # NumPy has no bf16.
            if values.dtype.kind != "V":
                return values
            return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)

        return super().is_close(widened(got), widened(expected), tolerance)

    def run_model(self, model, *options, settings="", tolerance=cuda_test.TOLERANCE):
        """What libraries have computed, by the log, in a run that must be right."""
        inputs = cuda_test.random_inputs(model)
        expected, _ = self.outputs_of(self.compile_for(model, "cpu"), *inputs)
        artifact = self.compile_for(model, "cuda", *options)
        got, log = self.outputs_of(artifact, *inputs, settings=settings)
        self.compare(got, expected, settings, tolerance)
        return [line[13:] for line in log if line.startswith("runs library")]

    def check(self, model, *words, options=(), **arguments):
        """One call, of which the log has these words."""
        calls = self.run_model(model, *options, **arguments)
        self.assertEqual(len(calls), 1, calls)
        for word in words:
            self.assertIn(word, calls[0])

    def test_layouts_of_products(self):
        for a in (False, True):
            for b in (False, True):
                for sizes in ((36, 40, 44), (35, 41, 43)):
                    with self.subTest(a=a, b=b, sizes=sizes):
                        model = product(*sizes, transpose_a=a, transpose_b=b)
                        self.check(model, "product 1x")

    def test_batches(self):
        self.check(product(20, 12, 16, batch=(2, 3)), "product 6x12x20")

    def test_rows_and_columns(self):
        self.check(product(1, 200, 100, transpose_b=False), "product 1x200x1 ")
        self.check(product(200, 3, 100, transpose_a=True), "product 1x3x200 ")

    def test_what_follows_products(self):
        epilogues = {None: 0, "relu": 2}
        if cuda_test.toolkit():  # Its libdevice has tanh.
            epilogues["gelu"] = 32
        for activation, value in epilogues.items():
            for bias in (False, True):
                for residual in (False, True):
                    with self.subTest(activation=activation, bias=bias, residual=residual):
                        model = product(
                            bias=bias, residual=residual, activation=activation
                        )
                        epilogue = value + (4 if bias else 0) or 1
                        self.check(model, f"epilogue {epilogue} beta {int(residual)}")

    def test_half_precision(self):
        for dtype, tolerance in (("f16", 2e-3), ("bf16", 1e-2)):
            with self.subTest(dtype=dtype):
                model = product(dtype=dtype, activation="relu")
                self.check(model, "epilogue 6", tolerance=tolerance)
                model = conv(dtype=dtype)
                self.check(model, "convolution", tolerance=tolerance)

    def test_tf32(self):
        calls = self.run_model(product(), "--allow-tf32", tolerance=2e-3)
        self.assertIn("compute 77", calls[0])
        calls = self.run_model(conv(), "--allow-tf32", tolerance=2e-3)
        self.assertEqual(len(calls), 1)

    @cuda_test.needs_libdevice
    def test_what_no_library_computes(self):
        """An activation before the residual, a function that none knows."""
        b = cuda_models.Builder("other", 3)
        y = b.add("matmul", b.input("x", 32, 40), b.input("w", 40, 48))
        y = b.add("add", b.add("relu", y), b.input("residual", 32, 48))
        self.assertEqual(self.run_model(b.finish(y)), [])
        self.assertEqual(self.run_model(product(activation="sigmoid")), [])
        model = product()
        model["nodes"][0]["inputs"] = ["before", "w"]
        model["nodes"].insert(
            0, {"op": "relu", "inputs": ["x"], "outputs": ["before"], "attributes": {}}
        )
        self.assertEqual(self.run_model(model), [])

    def test_convolutions(self):
        for constant in (True, False):
            with self.subTest(constant=constant):
                model = conv(
                    (2, 16, 13, 14),
                    (32, 16, 3, 3),
                    constant,
                    strides=[2, 1],
                    padding=[1, 0, 1, 2],
                )
                self.check(
                    model, "convolution 2 32 7 14 groups 1 bias relu", **self.ROUNDED
                )

    def test_exact_convolutions(self):
        """Those of f32 that is not to be rounded are computed by their own code."""
        self.assertEqual(self.run_model(conv()), [])

    def test_forms_of_convolutions(self):
        for model, words in (
            (conv(dilations=[2, 1]), "bias relu"),
            (conv((2, 16, 9, 8), (24, 8, 3, 3), groups=2), "groups 2 bias"),
            (conv((1, 16, 20, 20), (24, 16, 1, 1), strides=[2, 2]), "1 24 10 10"),
            (conv((2, 16, 9, 11), (24, 16, 3, 3), strides=[2, 3]), "2 24 5 4"),
            (conv((2, 12, 50), (20, 12, 5), dilations=[3]), "2 20 1 42"),
            (
                conv((1, 8, 5, 6, 7), (16, 8, 3, 3, 3), bias=False),
                "1 16 5 6 7 groups 1 relu",
            ),
        ):
            self.check(model, words, **self.ROUNDED)

    def test_small_convolutions_are_products(self):
        self.check(conv((2, 16, 9, 9), (24, 16, 1, 1)), "product 1x24x162 ")
        whole = conv((16, 16, 3, 3), (32, 16, 3, 3), padding=[0] * 4)
        self.check(whole, "product 1x32x16 ")

    def test_sums_of_convolutions(self):
        calls = self.run_model(
            conv(residual=True, bias=False), "--allow-tf32", tolerance=2e-3
        )
        self.assertEqual(len(calls), 2)
        self.assertTrue(any("groups 1 add relu" in call for call in calls), calls)

    @cuda_test.needs_libdevice
    def test_models(self):
        layer = cuda_models.transformer_layer()
        for settings in cuda_test.SETTINGS:
            self.assertEqual(len(self.run_model(layer, settings=settings)), 5)
            calls = self.run_model(
                cuda_models.resnet_block(),
                "--allow-tf32",
                settings=settings,
                tolerance=1e-2,
            )
            self.assertEqual(len(calls), 3)
        self.assertEqual(len(self.run_model(cuda_models.mlp())), 2)

    @cuda_test.needs_libdevice
    def test_workspaces(self):
        """Products that may run at the same time have different ones: here those
        of queries, keys and values; what follows has one of these."""
        calls = self.run_model(cuda_models.transformer_layer())
        workspaces = [call.split(" workspace ")[1] for call in calls]
        self.assertEqual(len(set(workspaces[:3])), 3)
        self.assertLessEqual(set(workspaces[3:]), set(workspaces[:3]))

    def test_absent(self):
        for variables in (
            {"TINH_CUDA_LIBRARIES": "none"},
            {"TINH_CUBLASLT": "/there/is/none.so"},
        ):
            with self.subTest(variables=variables):
                self.use(TINH_CUDA_LIBRARIES="cublaslt,cudnn")
                self.environment.update(variables)
                self.assertEqual(self.run_model(product()), [])

    def test_a_name_that_is_none(self):
        artifact = self.compile_for(product(), "cuda")
        self.use(TINH_CUDA_LIBRARIES="cublas")
        done, _ = self.run_artifact(artifact, *cuda_test.random_inputs(product()))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("TINH_CUDA_LIBRARIES=cublas leaves it out", done.stdout)

    def test_refused(self):
        """Whatever a library refuses, the kernel's own code computes."""
        for model, options, status, functions in (
            (
                product(),
                (),
                15,
                (
                    "cublasLtCreate",
                    "cublasLtMatmulDescCreate",
                    "cublasLtMatrixLayoutCreate",
                    "cublasLtMatmulAlgoGetHeuristic",
                    "cublasLtMatmul",
                ),
            ),
            (
                conv(),
                ("--allow-tf32",),
                3000,
                (
                    "cudnnCreate",
                    "cudnnBackendCreateDescriptor",
                    "cudnnBackendFinalize",
                    "cudnnBackendGetAttribute",
                    "cudnnBackendExecute",
                ),
            ),
        ):
            for function in functions:
                with self.subTest(function=function):
                    self.use(TINH_FAKE_LIBRARIES=f"{function}:0:{status}")
                    calls = self.run_model(model, *options, tolerance=2e-3)
                    self.assertEqual(calls, [])

    @cuda_test.needs_libdevice
    def test_step_by_step(self):
        """Where steps are launched one by one, libraries' are, too; one that
        fails then ends the run."""
        model = cuda_models.mlp()
        inputs = cuda_test.random_inputs(model)
        expected, _ = self.outputs_of(self.compile_for(model, "cpu"), *inputs)
        artifact = self.compile_for(model, "cuda")
        got, log = self.outputs_of(artifact, *inputs, "--check-numerics")
        self.compare(got, expected, "")
        calls = [line for line in log if line.startswith("runs library product")]
        self.assertEqual(len(calls), 2)
        self.assertFalse(any("BeginCapture" in line for line in log))
        self.use(TINH_FAKE_LIBRARIES="cublasLtMatmul:2:13")
        done, log = self.run_artifact(artifact, *inputs, "--check-numerics")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(
            done.stderr,
            r"kernel 'matmul_add_0'.*cannot be launched: "
            r"cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED",
        )
        self.assertEqual(self.problems(log), [])

    @cuda_test.needs_libdevice
    def test_one_launch(self):
        """Libraries' work is part of the graph, and nothing is made after the
        first run."""
        model = cuda_models.transformer_layer()
        artifact = self.compile_for(model, "cuda")
        done, log = self.run_artifact(artifact, "--input", "x=random", "--runs", "5")
        self.assertIn("cuBLASLt 13.1.2 computes matmuls", done.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.problems(log), [])
        launches = [i for i, line in enumerate(log) if line.startswith("cuGraphLaunch")]
        self.assertEqual(len(launches), 5)
        later = log[launches[0] :]
        for word in ("cuMemAlloc", "cuMemHostAlloc", "BeginCapture", "compute ", "cuStreamSynchronize"):
            self.assertEqual([line for line in later if line.startswith(word)], [])
        captured = [line for line in log if re.match("cuGraphAddChildGraphNode", line)]
        self.assertEqual(len(captured), 5)


if __name__ == "__main__":
    cuda_test.main()
