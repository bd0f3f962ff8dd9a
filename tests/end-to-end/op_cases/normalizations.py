# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, norms and attention."""

import math

import numpy as np

from op_cases.cases import case, draw, swap_last


def softmax(x, ax):
    x = x.astype(np.float64)
    e = np.exp(x - x.max(ax, keepdims=True))
    return e / e.sum(ax, keepdims=True)


for ax in (0, 1, 2):
    case(
        f"softmax{ax}",
        f"%y = graph.softmax %0 axis {ax} : t0",
        lambda x, ax=ax: softmax(x, ax).astype(np.float32),
        draw(3, 4, 5, lo=-90, hi=90),
    )
    case(
        f"lsoftmax{ax}",
        f"%y = graph.log_softmax %0 axis {ax} : t0",
        lambda x, ax=ax: np.log(softmax(x, ax)).astype(np.float32),
        draw(3, 4, 5),
        tol=1e-4,
    )
case(
    "softmax_f16",
    "%y = graph.softmax %0 axis 1 : t0",
    lambda x: softmax(x, 1).astype(np.float16),
    draw(3, 4, 5, dt=np.float16),
    tol=1e-3,
)


def layer_norm(x, sc, bi, axis, eps, rms=False):
    xx = x.astype(np.float64)
    ax = tuple(range(axis, x.ndim))
    if not rms:
        xx = xx - xx.mean(ax, keepdims=True)
    y = xx / np.sqrt((xx * xx).mean(ax, keepdims=True) + eps) * sc
    return (y + (0 if bi is None else bi)).astype(x.dtype)


case(
    "ln",
    "%y = graph.layer_norm %0, %1, %2 axis 2 epsilon 1.0e-05 : t0, t1, t2",
    lambda x, s, b: layer_norm(x, s, b, 2, 1e-5),
    draw(2, 3, 8),
    draw(8),
    draw(8),
    tol=1e-4,
)
case(
    "ln1",
    "%y = graph.layer_norm %0, %1 axis 1 epsilon 1.0e-05 : t0, t1",
    lambda x, s: layer_norm(x, s, None, 1, 1e-5),
    draw(2, 3, 8),
    draw(3, 1),
    tol=1e-4,
)
case(
    "lnrms",
    "%y = graph.layer_norm %0, %1, %2 axis 1 epsilon 1.0e-05 rms : t0, t1, t2",
    lambda x, s, b: layer_norm(x, s, b, 1, 1e-5, True),
    draw(2, 8),
    draw(8),
    draw(8),
    tol=1e-4,
)
case(
    "ln16",
    "%y = graph.layer_norm %0, %1, %2 axis 1 epsilon 1.0e-05 : t0, t1, t2",
    lambda x, s, b: layer_norm(x, s, b, 1, 1e-5),
    draw(2, 8, dt=np.float16),
    draw(8, dt=np.float16),
    draw(8, dt=np.float16),
    tol=4e-3,
)


def batch_norm(x, s, b, m, v):
    return ((x - m) / np.sqrt(v + 1e-3) * s + b).astype(np.float32)


over_channels = lambda v: v[:, None, None]
case(
    "bnf",
    "%y = graph.batch_norm %0, %1, %2, %3, %4 epsilon 1.0e-03 channels_first : t0, t1, t2, t3, t4",
    lambda x, s, b, m, v: batch_norm(
        x, over_channels(s), over_channels(b), over_channels(m), over_channels(v)
    ),
    draw(2, 3, 4, 4),
    draw(3),
    draw(3),
    draw(3),
    draw(3, lo=0.5),
    tol=1e-4,
)
case(
    "bnl",
    "%y = graph.batch_norm %0, %1, %2, %3, %4 epsilon 1.0e-03 channels_last : t0, t1, t2, t3, t4",
    batch_norm,
    draw(2, 4, 4, 3),
    draw(3),
    draw(3),
    draw(3),
    draw(3, lo=0.5),
    tol=1e-4,
)


def local_response_norm(x, size, a, be, bi, ax):
    x = np.moveaxis(x, ax, -1).astype(np.float64)
    C_ = x.shape[-1]
    y = np.zeros_like(x)
    for c in range(C_):
        lo = max(0, c - (size - 1) // 2)
        hi = min(C_ - 1, c + math.ceil((size - 1) / 2))
        y[..., c] = (
            x[..., c] / (bi + a / size * (x[..., lo : hi + 1] ** 2).sum(-1)) ** be
        )
    return np.moveaxis(y, -1, ax).astype(np.float32)


for be in (0.75, 0.6):
    for size in (5, 4):
        case(
            f"lrn{be}{size}f",
            f"%y = graph.lrn %0 size {size} alpha 1.0e-01 beta {be:e} bias 1.5e+00 channels_first : t0",
            lambda x, be=be, size=size: local_response_norm(x, size, 0.1, be, 1.5, 1),
            draw(2, 7, 3, 3),
        )
case(
    "lrnl",
    "%y = graph.lrn %0 size 3 alpha 1.0e-01 beta 7.5e-01 bias 1.0e+00 channels_last : t0",
    lambda x: local_response_norm(x, 3, 0.1, 0.75, 1.0, 3),
    draw(2, 3, 3, 7),
)


def attention(q, k, v, m=0, scale=0.5, causal=False):
    q, k, v = [a.astype(np.float64) for a in (q, k, v)]
    g = q.shape[1] // k.shape[1]
    k = np.repeat(k, g, 1)
    v = np.repeat(v, g, 1)
    s = q @ swap_last(k) * scale + m
    if causal:
        i = np.arange(s.shape[2])[:, None] + s.shape[3] - s.shape[2]
        s = np.where(np.arange(s.shape[3])[None] <= i, s, -np.inf)
    return softmax(s, 3) @ v


# More scores than a cache holds, in blocks of queries, the last one a smaller one.
case(
    "attl",
    "%y = graph.attention %0, %1, %2 scale 5.0e-01 : t0, t1, t2",
    lambda q, k, v: attention(q, k, v).astype(np.float32),
    draw(1, 4, 1101, 8),
    draw(1, 4, 1000, 8),
    draw(1, 4, 1000, 6),
    tol=1e-4,
)
for dt, tol in ((np.float32, 1e-4), (np.float16, 3e-3)):
    q, k, v = draw(2, 4, 3, 8, dt=dt), draw(2, 4, 5, 8, dt=dt), draw(2, 4, 5, 6, dt=dt)
    case(
        "att",
        "%y = graph.attention %0, %1, %2 scale 5.0e-01 : t0, t1, t2",
        lambda q, k, v, dt=dt: attention(q, k, v).astype(dt),
        q,
        k,
        v,
        tol=tol,
    )
    case(
        "attm",
        "%y = graph.attention %0, %1, %2, %3 scale 5.0e-01 : t0, t1, t2, t3",
        lambda q, k, v, m, dt=dt: attention(q, k, v, m).astype(dt),
        q,
        k,
        v,
        draw(2, 1, 1, 5, dt=dt),
        tol=tol,
    )
    case(
        "attc",
        "%y = graph.attention %0, %1, %2 scale 5.0e-01 causal : t0, t1, t2",
        lambda q, k, v, dt=dt: attention(q, k, v, causal=True).astype(dt),
        q,
        k,
        v,
        tol=tol,
    )
    case(
        "attg",
        "%y = graph.attention %0, %1, %2, %3 scale 5.0e-01 causal : t0, t1, t2, t3",
        lambda q, k, v, m, dt=dt: attention(q, k, v, m, causal=True).astype(dt),
        q,
        np.ascontiguousarray(k[:, :2]),
        np.ascontiguousarray(v[:, :2]),
        draw(3, 5, dt=dt),
        tol=tol,
    )
