# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of bf16, whose sums are f32.

Factors are multiples of an eighth, of which f32 has all products and sums: only the
result is rounded, and has to be the nearest number of bf16."""

import numpy as np

from op_cases.cases import case, draw, ints, swap_last
from op_cases.contractions import conv
from op_cases.gradients import conv_weight_gradient, windows


def eighths(*shape):
    return draw(*shape, dt=np.int32, lo=-16, hi=17).astype(np.float32) / 8


def bits_of(x):
    """The bits of bf16, the nearest even."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), bits >> 16 | 0x40, rounded).astype(np.uint16)


def rounded(x):
    return (bits_of(x).astype(np.uint32) << 16).view(np.float32)


def shape_text(shape):
    return "x".join(map(str, shape))


def product_cases(name, op, reference, left, right, result):
    """The product `op` of f32 that become bf16, with a right factor that is
    computed and with one that is a constant."""
    a, b, y = (f"tensor<{shape_text(s)}xbf16>" for s in (left.shape, right.shape, result))
    constant = f'graph.constant dense<"0x{bits_of(right).tobytes().hex()}"> : {b}'
    for suffix, weights, inputs in [
        ("", f"graph.cast %1 : t1 to {b}", (left, right)),
        ("_constant", constant, (left,)),
    ]:
        case(
            f"{name}{suffix}",
            f"%a = graph.cast %0 : t0 to {a}\n"
            f"  %b = {weights}\n"
            f"  %c = {op} : {a}, {b} -> {y}\n"
            f"  %y = graph.cast %c : {y} to ty",
            lambda a, b=right: rounded(
                reference(a.astype(np.float64), b.astype(np.float64))
            ),
            *inputs,
            tol=0,
        )


MATMUL = "graph.matmul %a, %b {}"
for a, b in [
    ((64, 64), (64, 64)),
    ((13, 37), (37, 29)),
    ((64, 257), (257, 70)),
    ((100, 1031), (1031, 100)),
    ((3, 40, 64), (3, 64, 40)),
    ((3, 33, 31), (3, 31, 33)),
    ((1, 50), (50, 65)),
    ((40, 3), (3, 40)),
    ((2, 17, 33), (33, 128)),
]:
    shape = np.broadcast_shapes(a[:-2], b[:-2]) + (a[-2], b[-1])
    product_cases(
        f"matmul_bf16{a}{b}", MATMUL.format(""), np.matmul, eighths(*a), eighths(*b), shape
    )
for ta, tb in [(True, False), (False, True), (True, True)]:
    product_cases(
        f"matmul_bf16_{'t' if ta else 'n'}{'t' if tb else 'n'}",
        MATMUL.format("transpose_a " * ta + "transpose_b" * tb),
        lambda a, b, ta=ta, tb=tb: (
            (swap_last(a) if ta else a) @ (swap_last(b) if tb else b)
        ),
        eighths(*((130, 70) if ta else (70, 130))),
        eighths(*((90, 130) if tb else (130, 90))),
        (70, 90),
    )
# What is no number stays in its row: groups end with zeros.
wild = eighths(30, 33)
wild[::3, 0] = np.inf
wild[1::3, -1] = np.nan
product_cases(
    "matmul_bf16_wild", MATMUL.format(""), np.matmul, wild, eighths(33, 40) + 4, (30, 40)
)

for x, w, stride, pad, dilation, groups in [
    ((1, 16, 9, 9), (32, 16, 3, 3), 1, 1, 1, 1),
    ((2, 3, 15, 15), (20, 3, 5, 5), 2, 2, 1, 1),
    ((1, 30, 7, 8), (50, 30, 1, 1), 1, 0, 1, 1),
    ((1, 33, 20, 20), (40, 33, 3, 3), 1, 1, 1, 1),
    ((1, 8, 12, 12), (8, 8, 3, 3), 1, 2, 2, 1),
    ((1, 24, 10, 10), (24, 1, 3, 3), 2, 1, 1, 24),
    ((1, 16, 10, 10), (32, 4, 3, 3), 1, 1, 1, 4),
    ((1, 64, 30), (70, 64, 4), 1, 1, 1, 1),
    ((1, 33, 13, 8), (33, 33, 3, 1), 1, 0, 1, 1),
]:
    r = len(x) - 2
    padding = [pad] * 2 * r

    def convolve(a, b, s=stride, p=padding, d=dilation, g=groups):
        count = a.ndim - 2
        return conv(a, b, [s] * count, p, [d] * count, g)

    product_cases(
        f"conv_bf16{x}{w}",
        f"graph.conv %a, %b strides {ints([stride] * r)} padding {ints(padding)} "
        f"dilations {ints([dilation] * r)} groups {groups} channels_first",
        convolve,
        eighths(*x),
        eighths(*w),
        convolve(np.zeros(x), np.zeros(w)).shape,
    )

# Sums over positions: with planes of a stride and dilated taps, of rows and columns
# that fill no tile, several images and parts of a long one.
for channels, outputs, batch, extents, kernel, strides, pad, dilations in [
    (32, 48, 2, (9, 8), (3, 3), (1, 1), 1, (1, 1)),
    (70, 35, 2, (9, 8), (3, 3), (1, 1), 1, (1, 1)),
    (64, 33, 9, (7, 7), (3, 3), (1, 1), 1, (1, 1)),
    (40, 33, 2, (15, 17), (3, 3), (2, 2), 1, (1, 1)),
    (64, 40, 3, (14, 11), (3, 3), (2, 1), 2, (2, 2)),
    (17, 64, 1, (13, 9), (4, 2), (3, 2), 0, (1, 3)),
    (20, 36, 2, (700,), (5,), (1,), 2, (1,)),
    (33, 150, 4, (40, 41), (2, 3), (1, 1), 1, (1, 1)),
]:
    padding = [pad] * 2 * len(extents)
    counts, _ = windows(extents, kernel, strides, padding, dilations)
    x, dy = (
        eighths(batch, *sizes) for sizes in ((*extents, channels), (*counts, outputs))
    )
    a, b, y = (
        f"tensor<{shape_text(s)}xbf16>"
        for s in (x.shape, dy.shape, (outputs, channels, *kernel))
    )

    def reference(x, dy, k=kernel, s=strides, p=padding, d=dilations):
        first = (np.moveaxis(x, -1, 1), np.moveaxis(dy, -1, 1))
        return rounded(conv_weight_gradient(*first, k, s, p, d))

    case(
        f"dw_bf16{channels, outputs, *extents}",
        f"%a = graph.cast %0 : t0 to {a}\n"
        f"  %b = graph.cast %1 : t1 to {b}\n"
        f"  %c = graph.conv_weight_gradient %a, %b kernel {ints(kernel)} "
        f"strides {ints(strides)} padding {ints(padding)} "
        f"dilations {ints(dilations)} groups 1 channels_last : {a}, {b} -> {y}\n"
        f"  %y = graph.cast %c : {y} to ty",
        reference,
        x,
        dy,
        tol=0,
    )
