# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements put, or combined with others, where indices say."""

import numpy as np

from op_cases.cases import case, draw

COMBINE = {
    "assign": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def valid(index, extent):
    return min(max(index + extent if index < 0 else index, 0), extent - 1)


def scatter(kind, axis):
    def reference(x, indices, updates):
        y = np.moveaxis(x.copy(), axis, 0)
        rest = tuple(range(axis, axis + indices.ndim))
        updates = np.moveaxis(updates, rest, range(indices.ndim))
        for at in np.ndindex(*indices.shape):
            row = valid(indices[at], len(y))
            y[row] = COMBINE[kind](y[row], updates[at])
        return np.moveaxis(y, 0, axis)

    return reference


def scatter_elements(kind, axis):
    def reference(x, indices, updates):
        y = x.copy()
        for at in np.ndindex(*indices.shape):
            to = list(at)
            to[axis] = valid(indices[at], y.shape[axis])
            y[tuple(to)] = COMBINE[kind](y[tuple(to)], updates[at])
        return y

    return reference


def scatter_nd(kind):
    def reference(x, indices, updates):
        y = x.copy()
        for at in np.ndindex(*indices.shape[:-1]):
            to = tuple(valid(i, extent) for i, extent in zip(indices[at], y.shape))
            y[to] = COMBINE[kind](y[to], updates[at])
        return y

    return reference


def places(*shape, extent):
    """Negative ones among them."""
    return draw(*shape, dt=np.int64, lo=-extent, hi=extent)


for kind in COMBINE:
    for dt in (np.float32, np.int64, np.uint8, np.float16):
        name = f"{kind}_{np.dtype(dt).name}"
        case(
            f"scatter_{name}",
            f"%y = graph.scatter {kind} %0, %1, %2 axis 0 : t0, t1, t2",
            scatter(kind, 0),
            draw(5, 21, dt=dt, lo=0, hi=100),
            places(7, extent=5),
            draw(7, 21, dt=dt, lo=0, hi=100),
            tol=1e-2 if dt == np.float16 else 1e-5,
        )
        case(
            f"scatter_elements_{name}",
            f"%y = graph.scatter_elements {kind} %0, %1, %2 axis 1 : t0, t1, t2",
            scatter_elements(kind, 1),
            draw(3, 5, 4, dt=dt, lo=0, hi=100),
            places(3, 7, 4, extent=5).astype(np.int32),
            draw(3, 7, 4, dt=dt, lo=0, hi=100),
            tol=1e-2 if dt == np.float16 else 1e-5,
        )
        case(
            f"scatter_nd_{name}",
            f"%y = graph.scatter_nd {kind} %0, %1, %2 : t0, t1, t2",
            scatter_nd(kind),
            draw(3, 2, 9, dt=dt, lo=0, hi=100),
            places(2, 4, 2, extent=2),
            draw(2, 4, 9, dt=dt, lo=0, hi=100),
            tol=1e-2 if dt == np.float16 else 1e-5,
        )
OUTSIDE = np.int64([[3], [-4], [0], [9], [-1]])
case(
    "scatter_outside",
    "%y = graph.scatter add %0, %1, %2 axis 0 : t0, t1, t2",
    scatter("add", 0),
    draw(3, 4),
    OUTSIDE[:, 0],
    draw(5, 4),
)
case(
    "scatter_outside_elements",
    "%y = graph.scatter_elements add %0, %1, %2 axis 0 : t0, t1, t2",
    scatter_elements("add", 0),
    draw(3, 4),
    OUTSIDE,
    draw(5, 1),
)
case(
    "scatter_outside_nd",
    "%y = graph.scatter_nd add %0, %1, %2 : t0, t1, t2",
    scatter_nd("add"),
    draw(3, 4),
    OUTSIDE,
    draw(5, 4),
)
# Blocks of the last dimension, shared by chunks, and the axis between others.
case(
    "scatter_blocks",
    "%y = graph.scatter add %0, %1, %2 axis 0 : t0, t1, t2",
    scatter("add", 0),
    draw(40, 300),
    places(100, extent=40),
    draw(100, 300),
)
case(
    "scatter_middle",
    "%y = graph.scatter add %0, %1, %2 axis 1 : t0, t1, t2",
    scatter("add", 1),
    draw(3, 5, 70),
    places(2, 3, extent=5),
    draw(3, 2, 3, 70),
)
case(
    "scatter_last",
    "%y = graph.scatter add %0, %1, %2 axis 1 : t0, t1, t2",
    scatter("add", 1),
    draw(6, 37),
    places(50, extent=37),
    draw(6, 50),
)
case(
    "scatter_scalar_index",
    "%y = graph.scatter assign %0, %1, %2 axis 0 : t0, t1, t2",
    scatter("assign", 0),
    draw(4, 5),
    np.int64(-2),
    draw(5),
)
case(
    "scatter_nothing",
    "%y = graph.scatter assign %0, %1, %2 axis 0 : t0, t1, t2",
    scatter("assign", 0),
    draw(4, 5),
    np.zeros(0, np.int64),
    draw(0, 5),
)
case(
    "scatter_bool",
    "%y = graph.scatter assign %0, %1, %2 axis 0 : t0, t1, t2",
    scatter("assign", 0),
    draw(4, 5) > 0,
    places(3, extent=4),
    draw(3, 5) > 0,
)
case(
    "scatter_into_zeros",
    "%z = graph.constant dense<0.0> : tensor<40x33xf32>\n"
    "%y = graph.scatter add %z, %0, %1 axis 0 : tensor<40x33xf32>, t0, t1",
    lambda i, u: scatter("add", 0)(np.zeros((40, 33), np.float32), i, u),
    places(90, extent=40),
    draw(90, 33),
)
case(
    "scatter_computed",
    "%a = graph.exp %2 : t2\n"
    "%b = graph.neg %0 : t0\n"
    "%c = graph.scatter add %b, %1, %a axis 0 : t0, t1, t2\n"
    "%y = graph.tanh %c : t0",
    lambda x, i, u: np.tanh(scatter("add", 0)(-x, i, np.exp(u))),
    draw(4, 5),
    places(3, extent=4),
    draw(3, 5),
)
for axis, x, i in [(0, (5, 4), (3, 2)), (1, (5, 40), (2, 60)), (0, (6, 20), (3, 17))]:
    case(
        f"scatter_elements_part{x}{i}",
        f"%y = graph.scatter_elements add %0, %1, %2 axis {axis} : t0, t1, t2",
        scatter_elements("add", axis),
        draw(*x),
        places(*i, extent=x[axis]),
        draw(*i),
    )
case(
    "scatter_elements_row",
    "%y = graph.scatter_elements assign %0, %1, %2 axis 0 : t0, t1, t2",
    scatter_elements("assign", 0),
    draw(50),
    places(70, extent=50),
    draw(70),
)
case(
    "scatter_nd_elements",
    "%y = graph.scatter_nd add %0, %1, %2 : t0, t1, t2",
    scatter_nd("add"),
    draw(4, 5),
    places(30, 2, extent=4),
    draw(30),
)
case(
    "scatter_nd_one_tuple",
    "%y = graph.scatter_nd max %0, %1, %2 : t0, t1, t2",
    scatter_nd("max"),
    draw(4, 5, 6),
    np.int64([2, -1]),
    draw(6),
)
# Two into one, the second into the result of the first, in its place.
case(
    "scatter_twice",
    "%a = graph.scatter add %0, %1, %2 axis 0 : t0, t1, t2\n"
    "%b = graph.scatter add %a, %1, %2 axis 0 : t0, t1, t2\n"
    "%y = graph.concat %b, %0 axis 1 : (t0, t0) -> ty",
    lambda x, i, u: np.concatenate(
        [scatter("add", 0)(scatter("add", 0)(x, i, u), i, u), x], 1
    ),
    draw(4, 24),
    places(9, extent=4),
    draw(9, 24),
)
