# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of tensors that are written and read where they lie."""

import numpy as np

from op_cases.cases import case, draw, type_of


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def matrix(x):
    return np.matmul(x, np.full((x.shape[-1], x.shape[-1]), 0.25, x.dtype))


def pool(x):
    """The largest of three neighbours along each of two dimensions."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    h, w = x.shape[1:3]
    windows = [padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)]
    return np.max(windows, 0)


def pieces(shape):
    """What kernels of each strategy compute, as text with the names of results,
    from two tensors of `shape`; all of that shape."""
    n, h, w, c = shape
    t = type_of(np.empty(shape, np.float32))
    turned = f"tensor<{n}x{w}x{h}x{c}xf32>"
    columns = f"tensor<{n}x{h}x{c}x{w}xf32>"
    square = f"tensor<{c}x{c}xf32>"
    return "\n".join(
        [
            # Rows, along the lanes and not.
            f"%soft = graph.softmax %0 axis 3 : {t}",
            f"%sum = graph.cumsum %1 axis 1 : {t}",
            # A product; a window.
            f"%k = graph.constant dense<0.25> : {square}",
            f"%product = graph.matmul %0, %k : {t}, {square} -> {t}",
            f"%window = graph.max_pool %1 kernel [3, 3] strides [1, 1] padding "
            f"[1, 1, 1, 1] dilations [1, 1] channels_last : {t} -> {t}",
            # Transposed in registers: two kernels read it.
            f"%turn = graph.transpose %2 [0, 1, 3, 2] : {columns} -> {t}",
            f"%turnsoft = graph.softmax %turn axis 3 : {t}",
            # Transposed as rows.
            f"%swap = graph.transpose %3 [0, 2, 1, 3] : {turned} -> {t}",
            f"%swapsoft = graph.softmax %swap axis 3 : {t}",
        ]
    )


NAMES = ["soft", "sum", "product", "window", "turn", "turnsoft", "swap", "swapsoft"]


def values(a, b, c, d):
    turn, swap = c.transpose(0, 1, 3, 2), d.transpose(0, 2, 1, 3)
    products = [softmax(a), b.cumsum(1), matrix(a), pool(b)]
    return products + [turn, softmax(turn), swap, softmax(swap)]


def chain(x):
    a = softmax(x)
    b = matrix(a)
    ab = np.concatenate([a, b], 3)
    abc = np.concatenate([ab, pool(ab)], 3)
    h = softmax(b.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
    return np.concatenate([abc, softmax(abc), h], 3)


# Vectors have a tail, or none, and pieces begin anywhere.
for channels in (3, 16, 37):
    for axis in range(4):
        shape = (2, 5, 4, channels)
        n, h, w, c = shape
        t = type_of(np.empty(shape, np.float32))
        operands = ", ".join("%" + name for name in NAMES)
        kinds = ", ".join([t] * len(NAMES))
        concat = f"%y = graph.concat {operands} axis {axis} : ({kinds}) -> ty"
        case(
            f"concat_of_kernels_axis{axis}_{channels}",
            pieces(shape) + "\n" + concat,
            lambda *x, axis=axis: np.concatenate(values(*x), axis),
            draw(*shape),
            draw(*shape),
            draw(n, h, c, w),
            draw(n, w, h, c),
        )

# Concatenations of concatenations, whose pieces and which are read on the way:
# by a product, along a window, by rows and by a transposition.
case(
    "concat_chain",
    """%a = graph.softmax %0 axis 3 : t0
%ka = graph.constant dense<0.25> : tensor<19x19xf32>
%b = graph.matmul %a, %ka : t0, tensor<19x19xf32> -> t0
%ab = graph.concat %a, %b axis 3 : (t0, t0) -> tensor<2x5x4x38xf32>
%c = graph.max_pool %ab kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] channels_last : tensor<2x5x4x38xf32> -> tensor<2x5x4x38xf32>
%abc = graph.concat %ab, %c axis 3 : (tensor<2x5x4x38xf32>, tensor<2x5x4x38xf32>) -> tensor<2x5x4x76xf32>
%d = graph.softmax %abc axis 3 : tensor<2x5x4x76xf32>
%f = graph.transpose %b [0, 1, 3, 2] : t0 -> tensor<2x5x19x4xf32>
%g = graph.softmax %f axis 3 : tensor<2x5x19x4xf32>
%h = graph.transpose %g [0, 1, 3, 2] : tensor<2x5x19x4xf32> -> t0
%y = graph.concat %abc, %d, %h axis 3 : (tensor<2x5x4x76xf32>, tensor<2x5x4x76xf32>, t0) -> ty""",
    chain,
    draw(2, 5, 4, 19),
)

# Slices of what a kernel computes and of an input, along each dimension, read by
# a product, which does so where its operand lies.
for axis in range(3):
    starts, sizes = [0, 0, 0], [3, 4, 40]
    starts[axis], sizes[axis] = 1, 2 if axis < 2 else 21
    part = f"tensor<{sizes[0]}x{sizes[1]}x{sizes[2]}xf32>"
    where = tuple(slice(b, b + s) for b, s in zip(starts, sizes))
    case(
        f"slice_for_product_axis{axis}",
        f"""%s = graph.softmax %0 axis 2 : t0
%a = graph.slice %s starts {starts} sizes {sizes} steps [1, 1, 1] : t0 -> {part}
%b = graph.slice %0 starts {starts} sizes {sizes} steps [1, 1, 1] : t0 -> {part}
%c = graph.matmul %a, %b transpose_b : {part}, {part} -> tensor<{sizes[0]}x{sizes[1]}x{sizes[1]}xf32>
%y = graph.matmul %c, %a : tensor<{sizes[0]}x{sizes[1]}x{sizes[1]}xf32>, {part} -> ty""",
        lambda x, where=where: np.matmul(
            np.matmul(softmax(x)[where], np.swapaxes(x[where], 1, 2)),
            softmax(x)[where],
        ),
        draw(3, 4, 40),
    )

# Other elements than four bytes, and booleans.
for dt in (np.float64, np.float16, np.int8, np.uint8, np.int64):
    name = np.dtype(dt).name
    case(
        f"concat_of_sums_{name}",
        """%a = graph.cumsum %0 axis 0 : t0
%b = graph.cumsum %1 axis 1 : t1
%y = graph.concat %a, %b axis 1 : (t0, t1) -> ty""",
        lambda x, z: np.concatenate(
            [x.cumsum(0, dtype=x.dtype), z.cumsum(1, dtype=z.dtype)], 1
        ),
        draw(6, 7, dt=dt, lo=0, hi=3),
        draw(6, 19, dt=dt, lo=0, hi=3),
        tol=2e-2 if dt == np.float16 else 1e-5,
    )
case(
    "concat_of_bools",
    """%a = graph.reduce max %0 axes [1] : t0 -> tensor<5x3xi1>
%b = graph.reduce min %0 axes [1] : t0 -> tensor<5x3xi1>
%y = graph.concat %a, %b axis 1 : (tensor<5x3xi1>, tensor<5x3xi1>) -> ty""",
    lambda x: np.concatenate([x.max(1), x.min(1)], 1),
    draw(5, 4, 3) > 0,
)
