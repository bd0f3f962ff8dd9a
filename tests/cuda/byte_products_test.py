# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of quantised factors multiply bytes on an emulated GPU, without error.

usage: PYTHONPATH=tests/support python tests/cuda/byte_products_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]

Scales are powers of two, so that all sums are what they are on the CPU to the bit,
but where results are bytes by other scales: these may differ by one.
"""

import json
import re

import numpy as np

import cuda_models
import cuda_test
from combinations import combinations

TYPES = {"u8": np.uint8, "i8": np.int8}


class Builder(cuda_models.Builder):
    """With tensors of bytes, as floats of this scale."""

    def number(self, value, dtype):
        name = f"number{len(self.model['weights'])}"
        weight = {"name": name, "dtype": dtype, "shape": [], "data": value}
        self.model["weights"].append(weight)
        return name

    def dequantized(self, x, dtype, zero, scale):
        scale = scale if isinstance(scale, str) else self.number(scale, "f32")
        return self.add("dequantize", x, scale, self.number(zero, dtype), dtype="f32")

    def quantized(self, x, dtype, zero, scale):
        scale = self.number(scale, "f32")
        return self.add("quantize", x, scale, self.number(zero, dtype), dtype=dtype)

    def bytes_input(self, name, *shape, dtype="u8", zero=0, scale=0.5):
        x = self.input(name, *shape, dtype=dtype)
        return self.dequantized(x, dtype, zero, scale)

    def bytes_weight(self, name, *shape, dtype="i8", zero=0, channels=()):
        """Has a scale for each channel, if it has a shape for these."""
        low, high = (0, 256) if dtype == "u8" else (-128, 128)
        data = self.random.integers(low, high, shape)
        weight = {"name": name, "dtype": dtype, "shape": shape}
        self.model["weights"].append({**weight, "data": data.ravel().tolist()})
        scale = 0.25
        if channels:
            data = (2.0 ** self.random.integers(-3, 3, np.prod(channels))).tolist()
            scale = f"{name}.scales"
            weight = {"name": scale, "dtype": "f32", "shape": channels}
            self.model["weights"].append({**weight, "data": data})
        return self.dequantized(name, dtype, zero, scale)

    def finish_as(self, y, result):
        """Floats, or bytes by a scale that rounds."""
        return self.finish(y if result == "f32" else self.quantized(y, result, 9, 91.7))


def matmul(
    m,
    n,
    k,
    batch=(),
    left="u8",
    right="i8",
    zeros=(0, 0),
    constant=True,
    prologue=False,
    result="f32",
    transpose_b=False,
):
    b = Builder("matmul", 11)
    x_shape = (*batch, m, k)
    w_shape = (n, k) if transpose_b else (k, n)
    if prologue:  # Which quantises.
        x = b.quantized(b.input("x", *x_shape), left, zeros[0], 0.0625)
        x = b.dequantized(x, left, zeros[0], 0.0625)
    else:
        x = b.bytes_input("x", *x_shape, dtype=left, zero=zeros[0])
    if constant:
        channels = (n, 1) if transpose_b else (n,)
        w = b.bytes_weight("w", *w_shape, dtype=right, zero=zeros[1], channels=channels)
    else:
        w = b.bytes_input("w", *batch, *w_shape, dtype=right, zero=zeros[1], scale=0.125)
    y = b.add("relu", b.add("matmul", x, w, transpose_b=transpose_b))
    return b.finish_as(y, result)


def conv(x_shape, w_shape, zero=0, dtype="u8", result="f32", **attributes):
    b = Builder("conv", 12)
    attributes = {"strides": [1, 1], "padding": [1, 1, 1, 1], **attributes}
    x = b.bytes_input("x", *x_shape, dtype=dtype, zero=zero)
    w = b.bytes_weight("w", *w_shape, channels=(w_shape[0], 1, 1, 1))
    return b.finish_as(b.add("relu", b.add("conv", x, w, **attributes)), result)


def network():
    """Layers between which there are bytes, as graph-quantize makes them."""
    b = Builder("network", 13)

    def rounded(x, scale):
        x = b.quantized(x, "u8", 3, scale)
        return b.dequantized(x, "u8", 3, scale)

    x = rounded(b.input("x", 2, 3, 16, 16), 0.02)
    w = b.bytes_weight("w0", 32, 3, 3, 3, channels=(32, 1, 1, 1))
    x = b.add("conv", x, w, strides=[1, 1], padding=[1] * 4)
    x = rounded(b.add("relu", x), 1.7)
    w = b.bytes_weight("w1", 32, 1, 3, 3, channels=(32, 1, 1, 1))
    y = b.add("conv", x, w, strides=[1, 1], padding=[1] * 4, groups=32)
    y = rounded(b.add("relu", y), 611.0)
    w = b.bytes_weight("w2", 32, 32, 3, 3, channels=(32, 1, 1, 1))
    y = b.add("conv", y, w, strides=[1, 1], padding=[1] * 4)
    x = rounded(b.add("relu", b.add("add", x, y)), 1.1e6)
    x = b.add("reduce", x, kind="mean", axes=[2, 3])
    w = b.bytes_weight("w3", 32, 10, channels=(10,))
    return b.finish(b.add("matmul", rounded(x, 8e5), w))


def weights_alone(rows, bits):
    """Floats by integers with a scale for each block of 32."""
    b = Builder("weights_alone", 15)
    x = b.input("x", rows, 128)
    shape = (4, 32, 48)
    data = b.random.integers(0, 256, np.prod(shape) * bits // 8).tolist()
    packed = (*shape[:2], shape[2] * bits // 8)
    weight = {"name": "w", "dtype": "u8", "shape": packed, "data": data}
    b.model["weights"].append(weight)
    w = "w"
    if bits == 4:
        w = b.add("unpack_int4", w, dtype="u8", shape=shape, axis=2)
    scales = b.weight("scales", 4, 1, 48)
    w = b.dequantized(w, "u8", 2 ** (bits - 1), scales)
    w = b.add("reshape", w, shape=[128, 48])
    return b.finish(b.add("matmul", x, w))


class BytesTest(cuda_test.CudaTest):
    def inputs_of(self, model):
        """All bytes that there are."""
        random = np.random.default_rng(14)
        options = []
        for value in model["inputs"]:
            path = self.folder / f"{value['name']}.npy"
            dtype = TYPES.get(value["dtype"])
            array = random.uniform(-9, 9, value["shape"]).astype(np.float32)
            if dtype:
                limits = np.iinfo(dtype)
                array = random.integers(limits.min, limits.max + 1, value["shape"])
                array = array.astype(dtype)
            np.save(path, array)
            options += ["--input", f"{value['name']}={path}"]
        return options

    def check(
        self, model, tiled=True, difference=0, chips=("emulated", "emulated+sm_75")
    ):
        """On tensor cores, by dp4a, and on the CPU there are the same numbers."""
        inputs = self.inputs_of(model)
        expected, _ = self.outputs_of(self.compile_for(model, "cpu"), *inputs)
        for chip in chips:
            option = f"--cuda-chips={chip}"
            artifact = self.compile_for(model, "cuda", option)
            self.assertEqual("contraction" in self.strategies(model, option), tiled)
            for settings in cuda_test.SETTINGS:
                got, _ = self.outputs_of(artifact, *inputs, settings=settings)
                for name, values in expected.items():
                    self.assertEqual(got[name].dtype, values.dtype)
                    error = got[name].astype(np.float64) - values
                    self.assertLessEqual(
                        np.abs(error).max(), difference, f"{chip} {settings}"
                    )

    def test_sizes(self):
        """Each tile, tails in each direction, copies of 16, 8 and 4 bytes, and none."""
        for sizes in ((32, 40, 128), (100, 130, 88), (65, 70, 36), (33, 31, 75)):
            with self.subTest(sizes=sizes):
                self.check(matmul(*sizes))
        self.check(matmul(1100, 1000, 80))
        self.check(matmul(1101, 1001, 70, prologue=True))

    def test_layouts(self):
        all_sizes = ((68, 72, 80), (35, 41, 43))
        for sizes, b, constant in combinations(all_sizes, *2 * [(False, True)]):
            with self.subTest(b=b, constant=constant, sizes=sizes):
                self.check(matmul(*sizes, constant=constant, transpose_b=b))

    def test_turned(self):
        """What lies across the depth is turned by a kernel if it is read often."""
        for rows in (32, 600):
            self.check(matmul(rows, 608, 64, constant=False))

    def test_signs_and_zero_points(self):
        all_zeros = ((0, 0), (5, 0), (5, 7))
        for left, right, zeros in combinations(TYPES, TYPES, all_zeros):
            with self.subTest(left=left, right=right, zeros=zeros):
                self.check(matmul(48, 40, 72, left=left, right=right, zeros=zeros))

    def test_batches(self):
        self.check(matmul(40, 24, 64, batch=(2, 3), constant=False))
        self.check(matmul(20, 24, 64, batch=(2, 3), zeros=(3, 0)))

    def test_few_rows(self):
        self.check(matmul(1, 200, 128, zeros=(3, 0)), tiled=False)

    def test_long_sums(self):
        self.check(matmul(24, 20, 4096, zeros=(3, 0)))

    def test_results_of_bytes(self):
        for sizes in ((64, 64, 64), (130, 140, 90), (1100, 1000, 64)):
            self.check(matmul(*sizes, result="u8", zeros=(5, 0)), difference=1)
        model = conv((2, 32, 9, 10), (40, 32, 3, 3), zero=5, result="u8")
        self.check(model, difference=1)

    def test_convolutions(self):
        """Padding is the zero point, other than what is beyond the depth."""
        for x_shape, w_shape, zero, attributes in (
            ((2, 64, 9, 10), (40, 64, 3, 3), 0, {}),
            ((2, 48, 9, 10), (40, 48, 3, 3), 131, {}),
            ((3, 24, 11, 8), (72, 24, 3, 2), 255, {"strides": [2, 1]}),
            ((2, 20, 9, 9), (33, 20, 3, 3), 7, {}),
            ((2, 16, 12, 12), (32, 16, 1, 1), 3, {"padding": [0] * 4}),
            ((2, 32, 9, 8), (48, 16, 3, 3), 3, {"groups": 2}),
            ((2, 8, 13, 9), (8, 8, 3, 3), 5, {"dilations": [2, 1]}),
            ((2, 3, 16, 16), (16, 3, 7, 7), 128, {"padding": [3] * 4}),
        ):
            with self.subTest(x_shape=x_shape, w_shape=w_shape, zero=zero):
                self.check(conv(x_shape, w_shape, zero, **attributes))
        self.check(conv((2, 32, 9, 8), (40, 32, 3, 3), zero=-3, dtype="i8"))

    def test_depthwise(self):
        model = conv((2, 40, 9, 10), (40, 1, 3, 3), zero=17, groups=40)
        self.check(model, tiled=False)

    def test_network(self):
        model = network()
        inputs = self.inputs_of(model)
        expected, _ = self.outputs_of(self.compile_for(model, "cpu"), *inputs)
        for options in ((), ("--place=conv*=cpu",), ("--place=matmul*=cpu",)):
            artifact = self.compile_for(model, "cuda", *options)
            got, _ = self.outputs_of(artifact, *inputs)
            # A byte that differs by one is a part of a mean.
            self.compare(got, expected, options, tolerance=1e-2)
        artifact = self.compile_for(model, "cpu,cuda", "--cuda-chips=emulated")
        for device in ("cpu", "cuda"):
            got, _ = self.outputs_of(artifact, *inputs, f"--device={device}")
            self.compare(got, expected, device, tolerance=1e-2)

    @cuda_test.needs_libdevice
    def test_quantized_models(self):
        """What graph-quantize makes of models."""
        for model in (cuda_models.resnet_block(), cuda_models.transformer_layer()):
            inputs = self.inputs_of(model)
            float_model = self.folder / "float.json"
            float_model.write_text(json.dumps(model))
            np.savez(self.folder / "data.npz", x=np.load(self.folder / "x.npy"))
            options = ("--data", self.folder / "data.npz", "-o")
            quantized = self.folder / "quantized.json"
            done = self.run_tool("graph-quantize", float_model, *options, quantized)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            model = json.loads(quantized.read_text())
            expected, _ = self.outputs_of(self.compile_for(model, "cpu"), *inputs)
            got, _ = self.outputs_of(self.compile_for(model, "cuda"), *inputs)
            self.compare(got, expected, model["name"], tolerance=1e-2)
            kernels = self.kernels_for(model, "sm_80")
            self.assertTrue(any("m16n8k32" in kernel for kernel in kernels))

    def test_weights_alone(self):
        """They become floats, in @init."""
        for bits in (4, 8):
            for rows in (1, 40):
                model = weights_alone(rows, bits)
                inputs = self.inputs_of(model)
                expected, _ = self.outputs_of(self.compile_for(model, "cpu"), *inputs)
                got, _ = self.outputs_of(self.compile_for(model, "cuda"), *inputs)
                self.compare(got, expected, (bits, rows))

    def test_warpgroups(self):
        chips = ("emulated+wgmma",)
        for left, right, zeros in (("u8", "i8", (5, 0)), ("i8", "u8", (0, 0))):
            model = matmul(264, 520, 200, left=left, right=right, zeros=zeros)
            self.check(model, chips=chips)
        self.check(matmul(264, 520, 192, constant=False), chips=chips)
        self.check(matmul(1101, 1001, 99, prologue=True), chips=chips)
        model = conv((6, 16, 24, 23), (72, 16, 3, 3), zero=7)
        self.check(model, chips=chips)
        model = matmul(136, 136, 170, zeros=(5, 0))
        options = [f"--cuda-chips={chips[0]}"]
        self.check_sites(model, self.inputs_of(model), options)

    def test_barriers(self):
        """Without one of its barriers a kernel is caught."""
        for model in (
            matmul(40, 40, 170),
            matmul(40, 40, 176, constant=False),
            conv((1, 16, 6, 6), (40, 16, 3, 3), zero=3),
        ):
            self.check_sites(model, self.inputs_of(model))


@cuda_test.needs_ptxas
class ChipsTest(cuda_test.CudaTest):
    def test_registers(self):
        """No chip spills registers."""
        for model in (
            matmul(4096, 4096, 128),
            matmul(4096, 4096, 128, result="u8", zeros=(5, 0)),
            matmul(1100, 1000, 75, prologue=True),
            matmul(2048, 608, 64, constant=False),
            conv((32, 64, 56, 56), (128, 64, 3, 3), zero=5, result="u8"),
            conv((32, 3, 224, 224), (64, 3, 7, 7), zero=5, padding=[3] * 4),
            network(),
        ):
            self.check_chips(model)

    def test_instructions(self):
        product = "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32"
        for chip, has in (("sm_75", False), ("sm_80", True), ("sm_90a", True)):
            kernels = self.kernels_for(matmul(2048, 2048, 256), chip)
            (kernel,) = (k for k in kernels if "matmul" in k)
            self.assertEqual(product in kernel, has, chip)
            self.assertEqual("dp4a.u32.s32" in kernel, not has, chip)
            self.assertNotIn("fma.rn.f32", kernel)
        self.check_registers(kernel, "sm_90a")

    def test_warpgroups(self):
        """wgmma on sm_90a, if that is asked for."""
        for model in (
            matmul(2048, 2048, 256),
            matmul(2048, 2048, 256, result="u8", zeros=(5, 0), prologue=True),
            conv((32, 64, 56, 56), (128, 64, 3, 3), zero=5, result="u8"),
        ):
            kernels = self.kernels_for(model, "sm_90a+wgmma")
            (kernel,) = (k for k in kernels if "wgmma.mma_async" in k)
            self.assertRegex(kernel, r"m64n\d+k32\.s32\.u8\.s8 .*, added;")
            self.assertNotIn("mma.sync", kernel)
            self.check_registers(kernel, "sm_90a")

    def test_copies(self):
        """Bytes are copied past registers by 16, padding too, whatever it is."""
        for zero in (0, 5):
            model = conv((8, 64, 28, 28), (128, 64, 3, 3), zero=zero, result="u8")
            kernels = self.kernels_for(model, "sm_80")
            (kernel,) = (k for k in kernels if "mma.sync" in k)
            self.assertRegex(kernel, r"cp\.async\.cg\.shared\.global .*, 16")
            self.assertIn("ldmatrix.sync.aligned.m8n8.x4.shared.b16", kernel)
            self.assertNotIn("ldmatrix.sync.aligned.m8n8.x4.trans", kernel)
            self.assertNotRegex(kernel, r"ld\.global(\.nc)?\.[bu]8")
            self.assertNotIn("st.shared", kernel)
            stores = set(re.findall(r"st\.global\S+", kernel))
            self.assertEqual(stores, {"st.global.v2.b32"})
            self.assertEqual("padding_5" in kernel, zero == 5)


if __name__ == "__main__":
    cuda_test.main()
