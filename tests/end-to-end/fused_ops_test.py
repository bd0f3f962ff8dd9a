# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that ONNX Runtime's optimiser and its exporters write, against NumPy.

usage: PYTHONPATH=tests/support python tests/end-to-end/fused_ops_test.py
           BIN_DIR [unittest's options]
"""

import math

import numpy as np

import node_models
import tool_test
from node_models import Model

erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x * (1 + erf(x / np.sqrt(2))) / 2


def tanh_gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def layer_norm(x, scale, bias=0.0, epsilon=1e-12):
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * scale + bias


def rms_norm(x, scale, epsilon):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * scale


def softmax(x):
    exp = np.exp(x - x.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)


def split_heads(x, heads):
    """[batch, length, heads · width] as [batch, heads, length, width]."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def join_heads(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attend(q, k, v, bias=0.0, scale=None):
    scale = scale or 1 / np.sqrt(q.shape[-1])
    scores = q @ k.transpose(0, 1, 3, 2) * scale + bias
    return join_heads(softmax(scores) @ v)


def quantize(x, scale, zero):
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + zero, limits.min, limits.max).astype(zero.dtype)


class FusedOpsTest(node_models.NodeTest):
    def test_activations(self):
        model = Model()
        x, bias = self.random(3, 6), self.random(6)
        model.add("Gelu", [x], [gelu(x)])
        model.add("BiasGelu", [x, bias], [gelu(x + bias)])
        left, right = np.split(x + bias, 2, -1)
        model.add("BiasSplitGelu", [x, bias], [left * gelu(right)])
        model.add("FastGelu", [x], [tanh_gelu(x)])
        model.add("FastGelu", [x, bias], [tanh_gelu(x + bias)])
        model.add("QuickGelu", [x], [x * sigmoid(1.702 * x)])
        model.add("QuickGelu", [x], [x * sigmoid(x)], alpha=1.0)
        self.check(model)

    def test_products(self):
        model = Model()
        x, w, bias = self.random(3, 4), self.random(4, 5), self.random(5)
        y = x @ w / 2 + bias
        model.add("FusedGemm", [x, w, bias], [np.maximum(y, 0)],
                  activation="Relu", alpha=0.5)  # fmt: skip
        model.add("FusedGemm", [x, w], [np.where(x @ w < 0, x @ w * 0.25, x @ w)],
                  activation="LeakyRelu", activation_alpha=0.25)  # fmt: skip
        model.add("FusedGemm", [x, w], [np.clip(0.2 * (x @ w) + 0.75, 0, 1)],
                  activation="HardSigmoid", activation_beta=0.75)  # fmt: skip
        a, b = self.random(2, 3, 4), self.random(2, 5, 4)
        model.add("FusedMatMul", [a, b], [a @ b.transpose(0, 2, 1) / 8],
                  transB=1, alpha=0.125)  # fmt: skip
        a, b = self.random(3, 2, 4), self.random(2, 4, 5)
        model.add("FusedMatMul", [a, b], [a.transpose(1, 0, 2) @ b], transBatchA=1)
        a = self.random(4, 2, 3)
        model.add("FusedMatMul", [a, b], [a.transpose(1, 2, 0) @ b],
                  transBatchA=1, transA=1)  # fmt: skip
        self.check(model)

    def test_convolutions(self):
        model = Model()
        x, w = self.random(1, 3, 4, 4), self.random(5, 3, 1, 1)
        bias, z = self.random(5), self.random(1, 5, 4, 4)
        y = np.einsum("nchw,fc->nfhw", x, w[:, :, 0, 0])
        biased = y + bias[:, None, None]
        model.add("FusedConv", [x, w, bias], [np.maximum(biased, 0)], activation="Relu")
        model.add("FusedConv", [x, w, bias, z], [np.tanh(biased + z)], activation="Tanh")
        model.add("FusedConv", [x, w], [np.clip(y, 0, 1)],
                  activation="Clip", activation_params=[0.0, 1.0])  # fmt: skip
        line = np.clip(np.float32(0.25) * y + np.float32(0.5), 0, 1)
        model.add("FusedConv", [x, w], [line],
                  activation="HardSigmoid", activation_params=[0.25, 0.5])  # fmt: skip
        self.check(model)

    def test_norms(self):
        model = Model()
        x, skip = self.random(2, 3, 8), self.random(3, 8)
        gamma, beta, bias = self.random(8), self.random(8), self.random(8)
        total = x + skip + bias
        model.add("SkipLayerNormalization", [x, skip, gamma, beta, bias],
                  [layer_norm(total, gamma, beta), None, None, total])  # fmt: skip
        model.add("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias],
                  [rms_norm(total, gamma, 1e-5), None, None, total],
                  epsilon=1e-5)  # fmt: skip
        model.add("LayerNormalization", [x, gamma, beta],
                  [layer_norm(x, gamma, beta, 1e-5)], domain="")  # fmt: skip
        model.add("SimplifiedLayerNormalization", [x, gamma],
                  [rms_norm(x, gamma, 1e-5)], domain="")  # fmt: skip
        self.check(model)

    def test_embeddings(self):
        model = Model()
        words, positions, segments = (self.random(n, 8) for n in (7, 5, 2))
        gamma, beta = self.random(8), self.random(8)
        ids = np.array([[1, 6, 0], [2, 2, 5]], np.int32)
        kinds = np.array([[0, 0, 1], [1, 0, 0]], np.int32)
        mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
        places = np.array([[2, 1, 0], [1, 0, 4]], np.int32)
        total = words[ids] + positions[:3] + segments[kinds]
        model.add("EmbedLayerNormalization",
                  [ids, kinds, words, positions, segments, gamma, beta, mask],
                  [layer_norm(total, gamma, beta), np.array([2, 3], np.int32),
                   total])  # fmt: skip
        total = words[ids] + positions[places]
        model.add("EmbedLayerNormalization",
                  [ids, None, words, positions, None, gamma, beta, None, places],
                  [layer_norm(total, gamma, beta),
                   np.array([0, 0], np.int32)])  # fmt: skip
        self.check(model)

    def test_attention(self):
        model = Model()
        x, weights, bias = self.random(2, 3, 8), self.random(8, 24), self.random(24)
        q, k, v = (split_heads(p, 2) for p in np.split(x @ weights + bias, 3, -1))
        never = np.float32(-10000)
        keys = np.array([[1, 1, 0], [1, 0, 1]], np.int32)
        add = lambda *inputs, expected, **attributes: model.add(
            "Attention", [x, weights, bias, *inputs], expected, num_heads=2, **attributes
        )
        add(expected=[attend(q, k, v)])
        hidden = np.where(keys, 0, never)[:, None, None]
        add(keys, expected=[attend(q, k, v, hidden)])
        add(np.array([2, 3, 0, 1], np.int32), expected=[
            attend(q, k, v, np.array([[0, 0, never], [never, 0, 0]])[:, None, None])
        ])  # fmt: skip
        each = self.rng.integers(0, 2, (2, 3, 3)).astype(np.int32)
        add(each, expected=[attend(q, k, v, np.where(each, 0, never)[:, None])])
        past, scores = self.random(2, 2, 2, 4, 4), self.random(2, 2, 3, 3)
        add(None, None, scores, expected=[attend(q, k, v, scores, 0.25)], scale=0.25)
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
        causal = np.where(np.arange(7) <= np.arange(4, 7)[:, None], 0, -np.inf)
        add(None, past, expected=[attend(q, k, v, causal), np.stack([k, v])],
            unidirectional=1)  # fmt: skip
        self.check(model)

    def test_multi_head_attention(self):
        model = Model()
        query, key, value = self.random(2, 3, 8), self.random(2, 5, 8), self.random(2, 5, 8)
        bias, lengths = self.random(24), np.array([2, 5], np.int32)
        heads = lambda x: split_heads(x, 2)
        add = lambda *inputs, expected: model.add(
            "MultiHeadAttention", list(inputs), expected, num_heads=2
        )
        q, k, v = heads(query), heads(key), heads(value)
        add(query, key, value, expected=[attend(q, k, v)])
        add(query, k, v, expected=[attend(q, k, v)])
        b = np.split(bias, 3)
        add(query, key, value, bias, expected=[
            attend(heads(query + b[0]), heads(key + b[1]), heads(value + b[2]))
        ])  # fmt: skip
        hidden = np.where(np.arange(5) < lengths[:, None], 0, -1e4)[:, None, None]
        add(query, key, value, None, lengths, expected=[attend(q, k, v, hidden)])
        packed = np.stack([k, v], 3).transpose(0, 2, 1, 3, 4)
        add(query, packed, expected=[attend(q, k, v)])
        past = self.random(2, 2, 4, 4), self.random(2, 2, 4, 4)
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
        add(query, key, value, None, None, None, *past,
            expected=[attend(q, k, v), k, v])  # fmt: skip
        self.check(model)

    def test_group_query_attention(self):
        """A run that adds to a cache, from another place on in each sequence."""
        model = Model()
        query, fresh = self.random(2, 2, 32), [self.random(2, 2, 16) for _ in range(2)]
        past = [self.random(2, 2, 5, 8) for _ in range(2)]
        last, total = np.array([4, 2], np.int32), np.array([5], np.int32)
        at = last[:, None] - 1 + np.arange(2)
        angles = self.random(6, 4)
        c, s = (f(angles)[at][:, None] for f in (np.cos, np.sin))

        def turn(x):
            a, b = np.split(x, 2, -1)
            return np.concatenate([a * c - b * s, a * s + b * c], -1)

        def add(turns=lambda x: x, extra=(), window=9, cap=None, **attributes):
            q, new = split_heads(query, 4), [split_heads(x, 2) for x in fresh]
            q, new[0] = turns(q), turns(new[0])
            keys, values = (x.copy() for x in past)
            for row, places in enumerate(at):
                keys[row, :, places] = new[0][row].swapaxes(0, 1)
                values[row, :, places] = new[1][row].swapaxes(0, 1)
            distance = at[:, None, :, None] - np.arange(5)
            hidden = np.where((distance >= 0) & (distance < window), 0, -np.inf)
            k, v = (np.repeat(x, 2, 1) for x in (keys, values))
            scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(8)
            scores = np.tanh(scores / cap) * cap if cap else scores
            y = join_heads(softmax(scores + hidden) @ v)
            model.add("GroupQueryAttention", [query, *fresh, *past, last, total, *extra],
                      [y, keys, values], num_heads=4, kv_num_heads=2,
                      **attributes)  # fmt: skip

        add()
        add(window=2, local_window_size=2)
        add(cap=2.0, softcap=2.0)
        add(turn, [np.cos(angles), np.sin(angles)], do_rotary=1)
        self.check(model)

    def test_rotary_embedding(self):
        model = Model()
        x, angles = self.random(2, 3, 8), self.random(6, 2)
        cos, sin = np.cos(angles), np.sin(angles)
        for start in True, False:
            at = np.array([2] if start else [[0, 5, 2], [2, 1, 0]], np.int64)
            places = at[0] + np.arange(3) if start else at
            c, s = (t[places].reshape(-1, 1, 3, 2) for t in (cos, sin))
            for interleaved in 0, 1:
                heads = split_heads(x, 2)
                a, b = (
                    (heads[..., ::2], heads[..., 1::2])
                    if interleaved
                    else np.split(heads, 2, -1)
                )
                parts = a * c - b * s, a * s + b * c
                y = (
                    np.stack(parts, -1).reshape(heads.shape)
                    if interleaved
                    else np.concatenate(parts, -1)
                )
                model.add("RotaryEmbedding", [x, at, cos, sin], [join_heads(y)],
                          interleaved=interleaved)  # fmt: skip
        self.check(model)

    def test_quantized(self):
        model = Model()
        byte = lambda *shape: self.rng.integers(0, 256, shape).astype(np.uint8)
        scale, zero = np.float32(0.1), np.uint8(20)
        wide = lambda q: (q.astype(np.float32) - zero) * scale
        to, origin = np.float32(0.25), np.uint8(100)
        parameters, result = [scale, zero], [to, origin]
        a, b = byte(3, 4), byte(4)
        add = lambda op, inputs, y, **attributes: model.add(
            op, inputs, [quantize(y, to, origin)], **attributes
        )
        both = [a, *parameters, b, *parameters, *result]
        add("QLinearAdd", both, wide(a) + wide(b))
        add("QLinearMul", both, wide(a) * wide(b))
        unary = [a, *parameters, *result]
        add("QLinearSigmoid", unary, sigmoid(wide(a)))
        x = wide(a)
        add("QLinearLeakyRelu", unary, np.where(x < 0, x * 0.5, x), alpha=0.5)
        add("QLinearConcat", [*result, a, *parameters, byte(0, 4), *parameters], x)
        image = byte(1, 4, 6, 2)
        add("QLinearGlobalAveragePool", [image, *parameters, *result],
            wide(image).mean((1, 2), keepdims=True), channels_last=1)  # fmt: skip
        blocks = wide(image).reshape(1, 2, 2, 3, 2, 2).mean((2, 4))
        add("QLinearAveragePool", [image, *parameters, *result], blocks,
            kernel_shape=[2, 2], strides=[2, 2], channels_last=1)  # fmt: skip
        weights = self.rng.integers(-127, 128, (4, 5)).astype(np.int8)
        scales = self.rng.uniform(0.1, 0.2, 5).astype(np.float32)
        none, bias = np.zeros(5, np.int8), self.random(5)
        y = x @ (weights * scales)
        model.add("MatMulIntegerToFloat", [a, weights, scale, scales, zero, none, bias],
                  [y + bias])  # fmt: skip
        counts = self.rng.integers(-99, 99, 5).astype(np.int32)
        model.add("QGemm", [a, scale, zero, weights, scales, none, counts],
                  [y + counts * scale * scales])  # fmt: skip
        rows = np.array([[0, 255, 51, 102]], np.float32) / 64  # of the scale 1 / 64
        model.add("DynamicQuantizeMatMul", [rows, weights, scales],
                  [rows @ (weights * scales)])  # fmt: skip
        inputs = byte(2, 3, 4), self.rng.integers(-9, 9, (4, 24)).astype(np.int8)
        bias, s = self.random(24), np.float32(0.05)
        parts = np.split(wide(inputs[0]) @ (inputs[1] * s) + bias, 3, -1)
        model.add("QAttention", [*inputs, bias, scale, s, None, zero, np.int8(0)],
                  [attend(*(split_heads(p, 2) for p in parts))], num_heads=2)  # fmt: skip
        self.check(model, atol=1e-3)

    def test_errors(self):
        image, filters = [1, 3, 4, 4], [5, 3, 1, 1]
        self.refuse("FusedConv", [image, filters], '"Mish" is not supported',
                    activation="Mish")  # fmt: skip
        self.refuse("FusedMatMul", [[3, 4], [4, 5]], "rank 3 or more", transBatchA=1)
        x, weights = [2, 3, 8], [8, 24]
        self.refuse("Attention", [x, weights], "among 5 heads", num_heads=5)
        self.refuse("Attention", [x, weights], "attribute do_rotary is not supported",
                    num_heads=2, do_rotary=1)  # fmt: skip
        self.refuse("Attention", [x, weights, [24], [2, 4]], "expected a mask of [2, 3]",
                    num_heads=2)  # fmt: skip
        self.refuse("MultiHeadAttention", [x, [2, 3, 4], x], "do not fit together",
                    num_heads=2)  # fmt: skip
        self.refuse("Attention", [[8], [8]], "does not divide into", num_heads=2)
        self.refuse("RotaryEmbedding", [x, [1], [6, 0], [6, 0]], "caches [positions")
        self.refuse("GroupQueryAttention", [x, x, x, [2, 2, 5, 4], [2], [2], [1]],
                    "expected a past", num_heads=2, kv_num_heads=2)  # fmt: skip
        self.refuse("QGemm", [[3, 4], [], [], [5, 4], [], []], "QGemm")
        self.refuse("QLinearConcat", [[]] * 6, "found 6 inputs", axis=0)


if __name__ == "__main__":
    tool_test.main()
