# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move elements without changing them."""

import numpy as np

from op_cases.cases import case, draw

for a, b in [
    ((2, 3, 4), (6, 4)),
    ((6, 4), (2, 3, 4)),
    ((2, 6), (3, 4)),
    ((1, 1), ()),
    ((), (1, 1)),
    ((4,), (1, 4, 1)),
    ((2, 3, 4), (4, 3, 2)),
    ((24,), (2, 3, 4)),
    ((2, 3, 4), (24,)),
    ((1, 6, 1, 1), (1, 6)),
    ((0, 3), (3, 0, 2)),
]:
    case(
        f"reshape{a}{b}",
        "%y = graph.reshape %0 : t0 to ty",
        lambda x, b=b: x.reshape(b),
        draw(*a),
    )
case(
    "bcast",
    "%y = graph.broadcast %0 : t0 to ty",
    lambda x: np.broadcast_to(x, (2, 3, 4)),
    draw(3, 1),
)
case(
    "bcast0",
    "%y = graph.broadcast %0 : t0 to ty",
    lambda x: np.broadcast_to(x, (2, 3)),
    draw(),
)
case(
    "transpose",
    "%y = graph.transpose %0 [2, 0, 3, 1] : t0 -> ty",
    lambda x: x.transpose(2, 0, 3, 1),
    draw(2, 3, 4, 5),
)
# Whole squares in registers, and what is left of rows and columns.
for dt in (np.float32, np.float64, np.float16, np.int8, np.uint16, np.int64):
    case(
        f"transpose_squares_{np.dtype(dt).name}",
        "%y = graph.transpose %0 [1, 0] : t0 -> ty",
        np.transpose,
        draw(37, 53, dt=dt, lo=0, hi=100),
    )
case(
    "transpose_squares_bool",
    "%y = graph.transpose %0 [0, 2, 1] : t0 -> ty",
    lambda x: x.transpose(0, 2, 1),
    draw(2, 33, 18) > 0,
)
for permutation in ([0, 3, 1, 2], [3, 1, 0, 2], [1, 0, 3, 2], [2, 3, 0, 1]):
    case(
        f"transpose{permutation}",
        f"%y = graph.transpose %0 {permutation} : t0 -> ty",
        lambda x, permutation=permutation: x.transpose(permutation),
        draw(3, 20, 17, 40),
    )
case(
    "transpose_long_rows",
    "%y = graph.transpose %0 [1, 0] : t0 -> ty",
    np.transpose,
    draw(1100, 5),
)
for shape, dt in [((2, 33, 1025), np.uint8), ((3, 37, 530), np.float64)]:
    case(
        f"transpose_row_blocks{shape}",
        "%y = graph.transpose %0 [0, 2, 1] : t0 -> ty",
        lambda x: x.transpose(0, 2, 1),
        draw(*shape, dt=dt, lo=0, hi=100),
    )
case(
    "concat",
    "%y = graph.concat %0, %1, %2 axis 1 : (t0, t1, t2) -> ty",
    lambda *a: np.concatenate(a, 1),
    draw(2, 3, 4),
    draw(2, 0, 4),
    draw(2, 2, 4),
)
case(
    "concat_u8",
    "%y = graph.concat %0, %1 axis 0 : (t0, t1) -> ty",
    lambda *a: np.concatenate(a, 0),
    draw(2, dt=np.uint8, lo=0, hi=255),
    draw(3, dt=np.uint8, lo=0, hi=255),
)
case(
    "slice",
    "%y = graph.slice %0 starts [1, 0] sizes [2, 3] steps [2, 1] : t0 -> ty",
    lambda x: x[1::2, :3],
    draw(5, 6),
)
case(
    "sliceneg",
    "%y = graph.slice %0 starts [4, 1] sizes [3, 2] steps [-2, 3] : t0 -> ty",
    lambda x: x[4::-2, 1:7:3],
    draw(5, 6),
)
case(
    "sliceneg1",
    "%y = graph.slice %0 starts [4, 1] sizes [1, 2] steps [-2, 3] : t0 -> ty",
    lambda x: x[4:5, 1:7:3],
    draw(5, 6),
)
PAD = "%y = graph.pad %0, %1 low {} high {} {} : t0, t1 -> ty"
case(
    "pad",
    PAD.format("[0, 1]", "[2, 3]", "constant"),
    lambda x, v: np.pad(x, [(0, 2), (1, 3)], constant_values=v),
    draw(3, 4),
    draw(),
)
# Lanes along a dimension that is padded, and rows that are padding as a whole.
case(
    "pad_lanes",
    "%y = graph.pad %0, %1 low [1, 2, 3] high [0, 1, 20] constant : t0, t1 -> ty",
    lambda x, v: np.pad(x, [(1, 0), (2, 1), (3, 20)], constant_values=v),
    draw(2, 3, 37),
    draw(),
)
case(
    "pad_lanes_cut",
    "%y = graph.pad %0, %1 low [-2, 5] high [1, -3] constant : t0, t1 -> ty",
    lambda x, v: np.pad(x[2:, :-3], [(0, 1), (5, 0)], constant_values=v),
    draw(5, 40, dt=np.uint8, lo=0, hi=200),
    draw(dt=np.uint8, lo=0, hi=200),
)
case(
    "padc",
    "%c = graph.constant dense<1.5> : tensor<f32>\n%y = graph.pad %0, %c low [0, 1] high [2, 3] constant : t0, tensor<f32> -> ty",
    lambda x: np.pad(x, [(0, 2), (1, 3)], constant_values=1.5),
    draw(3, 4),
)
case(
    "padneg",
    PAD.format("[-1, 1]", "[2, -2]", "constant"),
    lambda x, v: np.pad(x[1:, :-2], [(0, 2), (1, 0)], constant_values=v),
    draw(3, 4),
    draw(),
)
case(
    "padcutall",
    PAD.format("[-5]", "[8]", "constant"),
    lambda x, v: np.full(6, v),
    draw(3),
    draw(),
)
for mname, nm in (("edge", "edge"), ("reflect", "reflect"), ("wrap", "wrap")):
    case(
        "pad" + mname,
        PAD.format("[0, 2]", "[2, 3]", mname),
        lambda x, v, nm=nm: np.pad(x, [(0, 2), (2, 3)], mode=nm),
        draw(3, 4),
        draw(),
    )
    case(
        "padu" + mname,
        PAD.format("[2]", "[3]", mname),
        lambda x, v, nm=nm: np.pad(x, [(2, 3)], mode=nm),
        draw(4, dt=np.uint8, lo=0, hi=255),
        draw(dt=np.uint8, lo=0, hi=9).reshape(()),
    )
case(
    "gather",
    "%y = graph.gather %0, %1 axis 1 : t0, t1 -> ty",
    lambda x, i: np.take(x, np.clip(np.where(i < 0, i + 5, i), 0, 4), 1),
    draw(3, 5, 2),
    np.int64([[0, -1, 4], [-5, 9, -9]]),
)
case(
    "gather0",
    "%y = graph.gather %0, %1 axis 0 : t0, t1 -> ty",
    lambda x, i: np.take(x, i, 0),
    draw(3, 5),
    np.int64(2),
)
case(
    "gatheru",
    "%y = graph.gather %0, %1 axis 0 : t0, t1 -> ty",
    lambda x, i: np.take(x, i, 0),
    draw(3, 5, dt=np.uint8, lo=0, hi=255),
    np.int32([2, -1]),
)
case(
    "gatherel",
    "%y = graph.gather_elements %0, %1 axis 1 : t0, t1 -> ty",
    lambda x, i: np.take_along_axis(x, np.where(i < 0, i + 5, i), 1),
    draw(2, 5),
    draw(2, 3, dt=np.int64, lo=-5, hi=5),
)
case(
    "gathernd",
    "%y = graph.gather_nd %0, %1 batch_dims 0 : t0, t1 -> ty",
    lambda x, i: np.array([x[tuple(t)] for t in i]),
    draw(3, 4, 5),
    np.int64([[0, 1], [2, -1], [-3, 0]]),
)
case(
    "gathernd1",
    "%y = graph.gather_nd %0, %1 batch_dims 1 : t0, t1 -> ty",
    lambda x, i: np.array([[x[b][tuple(t)] for t in i[b]] for b in range(2)]),
    draw(2, 4, 5),
    draw(2, 3, 1, dt=np.int64, lo=-4, hi=4),
)
case(
    "iota",
    "%y = graph.iota start 3 step -2 : ty",
    lambda: np.int64(3) - 2 * np.arange(6),
)
case(
    "iotaf",
    "%y = graph.iota start 3 step 2 : ty",
    lambda: (3 + 2 * np.arange(6)).astype(np.float32),
)
