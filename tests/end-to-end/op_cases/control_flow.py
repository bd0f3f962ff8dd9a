# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops whose conditions are known only when the model runs."""

import numpy as np

from op_cases.cases import case, draw

ROW = "tensor<24xf32>"


def scalar(value, dt=np.int64):
    return np.array(value, dt)


def loop(length, count=None):
    return range(length if count is None else max(0, min(length, int(count))))


# -- if

for flag in (True, False):
    case(
        f"if {flag}",
        f"""%y = graph.if %0 : (ty) {{
            %a = graph.relu %1 : t1
            %b = graph.add %a, %1 : t1, t1 -> t1
            graph.yield %b : t1
        }} else {{
            graph.yield %1 : t1
        }}""",
        lambda c, x: np.maximum(x, 0) + x if c else x,
        scalar(flag, np.bool_),
        draw(24),
    )

# Both results are computed by one side and passed on by the other; a side has
# intermediate values, which may share memory with those of the other.
for flag in (True, False):
    case(
        f"if with two results, {flag}",
        f"""%s = graph.matmul %1, %2 : t1, t2 -> tensor<40x40xf32>
        %p, %q = graph.if %0 : (tensor<40x40xf32>, tensor<40x40xf32>) {{
            %a = graph.softmax %s axis 1 : tensor<40x40xf32>
            %b = graph.matmul %a, %s : tensor<40x40xf32>, tensor<40x40xf32> -> tensor<40x40xf32>
            graph.yield %b, %s : tensor<40x40xf32>, tensor<40x40xf32>
        }} else {{
            %a = graph.cumsum %s axis 1 : tensor<40x40xf32>
            %b = graph.matmul %s, %a : tensor<40x40xf32>, tensor<40x40xf32> -> tensor<40x40xf32>
            graph.yield %s, %b : tensor<40x40xf32>, tensor<40x40xf32>
        }}
        %y = graph.sub %p, %q : tensor<40x40xf32>, tensor<40x40xf32> -> ty""",
        lambda c, l, r: softmax(l @ r) @ (l @ r) - l @ r
        if c
        else l @ r - (l @ r) @ np.cumsum(l @ r, 1),
        scalar(flag, np.bool_),
        draw(40, 8),
        draw(8, 40),
        tol=1e-3,
    )


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# -- while


def doubled(x, limit):
    while x.max() < limit:
        x = x + x
    return x


for limit in (-1.0, 3.0, 1e4):
    case(
        f"while below {limit}",
        f"""%y = graph.while (%p = %0) : ({ROW}) {{
            %m = graph.reduce max %p axes [0] : {ROW} -> tensor<f32>
            %c = graph.compare less %m, %1 : tensor<f32>, tensor<f32> -> tensor<i1>
            graph.condition %c
        }} do (%p) {{
            %a = graph.add %p, %p : {ROW}, {ROW} -> {ROW}
            graph.yield %a : {ROW}
        }}""",
        doubled,
        draw(24, lo=0),
        scalar(limit, np.float32),
    )


def fibonacci(a, b, n):
    for _ in range(int(n)):
        a, b = b, a + b
    return a


# Carried values that change places.
for n in (0, 1, 2, 30):
    case(
        f"fibonacci {n}",
        """%a, %b, %k = graph.while (%p = %0, %q = %1, %i = %2) : (t0, t1, t2) {
            %zero = graph.constant dense<0> : t2
            %c = graph.compare less %zero, %i : t2, t2 -> tensor<i1>
            graph.condition %c
        } do (%p, %q, %i) {
            %one = graph.constant dense<1> : t2
            %s = graph.add %p, %q : t0, t1 -> t1
            %j = graph.sub %i, %one : t2, t2 -> t2
            graph.yield %q, %s, %j : t0, t1, t2
        }
        %y = graph.neg %a : t0""",
        lambda a, b, n: -fibonacci(a, b, n),
        draw(5, dt=np.int64),
        draw(5, dt=np.int64),
        scalar(n),
    )

# -- scan


def running_sums(xs, n=None, limit=np.inf):
    total, sums = np.zeros_like(xs[0]), np.zeros_like(xs)
    for i in loop(len(xs), n):
        total = total + xs[i] * (i + 1)
        sums[i] = total
        if total.max() > limit:
            break
    return sums


SUM = """%i_f = graph.cast %i : tensor<i64> to tensor<f32>
            %one = graph.constant dense<1.0> : tensor<f32>
            %k = graph.add %i_f, %one : tensor<f32>, tensor<f32> -> tensor<f32>
            %w = graph.mul %r, %k : ROW, tensor<f32> -> ROW
            %t = graph.add %a, %w : ROW, ROW -> ROW"""

case(
    "scan",
    f"""%zero = graph.constant dense<0.0> : ROW
        %last, %y = graph.scan %i length 11 carry (%a = %zero) over (%r = %0) : (ROW, t0) -> (ROW, ty) {{
            {SUM}
            graph.yield %t, %t : ROW, ROW
        }}""".replace("ROW", ROW),
    running_sums,
    draw(11, 24),
)
for n in (-3, 0, 1, 7, 11, 40):
    case(
        f"scan of {n} rows",
        f"""%zero = graph.constant dense<0.0> : ROW
        %last, %y = graph.scan %i length 11 trip_count %1 carry (%a = %zero) over (%r = %0) : (ROW, t0) -> (ROW, ty) {{
            {SUM}
            graph.yield %t, %t : ROW, ROW
        }}""".replace("ROW", ROW),
        running_sums,
        draw(11, 24),
        scalar(n),
    )
for limit in (-100, 4, 1000):
    case(
        f"scan until {limit}",
        f"""%zero = graph.constant dense<0.0> : ROW
        %true = graph.constant dense<true> : tensor<i1>
        %last, %y = graph.scan %i length 11 trip_count %1 while %true carry (%a = %zero) over (%r = %0) : (ROW, t0) -> (ROW, ty) {{
            {SUM}
            %m = graph.reduce max %t axes [0] : ROW -> tensor<f32>
            %c = graph.compare less_equal %m, %2 : tensor<f32>, tensor<f32> -> tensor<i1>
            graph.yield %c, %t, %t : tensor<i1>, ROW, ROW
        }}""".replace("ROW", ROW),
        running_sums,
        draw(11, 24),
        scalar(9),
        scalar(limit, np.float32),
    )

# Large enough for workers to share a step.
case(
    "scan of products",
    """%last, %rows = graph.scan %i length 5 carry (%a = %0) over (%r = %1) : (t0, t1) -> (t0, t1) {
            %p = graph.matmul %a, %r : t0, tensor<96x96xf32> -> t0
            %q = graph.tanh %p : t0
            graph.yield %q, %q : t0, t0
        }
        %y = graph.add %rows, %last : t1, t0 -> ty""",
    lambda a, rs: np.stack(list(products(a, rs))) + list(products(a, rs))[-1],
    draw(96, 96, lo=-0.2, hi=0.2),
    draw(5, 96, 96, lo=-0.2, hi=0.2),
    tol=1e-4,
)


def products(a, rs):
    for r in rs:
        a = np.tanh(a @ r)
        yield a


# -- nested


def nested(xs, limit):
    """Of each row the elements' sum, halved while it is above the limit, or the
    row itself if the sum is negative; of rows of rows."""
    out = np.zeros_like(xs)
    carried = np.zeros_like(xs[0, 0])
    for i in range(xs.shape[0]):
        for j in range(xs.shape[1]):
            total = (xs[i, j] + carried).sum()
            if total < 0:
                out[i, j] = xs[i, j] * i
            else:
                while total > limit:
                    total = total / np.float32(2)
                out[i, j] = xs[i, j] + total * j
            carried = xs[i, j]
    return out


case(
    "if and while in scan in scan",
    f"""%zero = graph.constant dense<0.0> : ROW
    %end, %y = graph.scan %i length 4 carry (%a = %zero) over (%r = %0) : (ROW, t0) -> (ROW, ty) {{
        %fi = graph.cast %i : tensor<i64> to tensor<f32>
        %inner, %rows = graph.scan %j length 3 carry (%b = %a) over (%s = %r) : (ROW, tensor<3x24xf32>) -> (ROW, tensor<3x24xf32>) {{
            %fj = graph.cast %j : tensor<i64> to tensor<f32>
            %sum = graph.add %s, %b : ROW, ROW -> ROW
            %total = graph.reduce sum %sum axes [0] : ROW -> tensor<f32>
            %null = graph.constant dense<0.0> : tensor<f32>
            %c = graph.compare less %total, %null : tensor<f32>, tensor<f32> -> tensor<i1>
            %o = graph.if %c : (ROW) {{
                %m = graph.mul %s, %fi : ROW, tensor<f32> -> ROW
                graph.yield %m : ROW
            }} else {{
                %h = graph.while (%t = %total) : (tensor<f32>) {{
                    %above = graph.compare less %1, %t : tensor<f32>, tensor<f32> -> tensor<i1>
                    graph.condition %above
                }} do (%t) {{
                    %two = graph.constant dense<2.0> : tensor<f32>
                    %half = graph.div %t, %two : tensor<f32>, tensor<f32> -> tensor<f32>
                    graph.yield %half : tensor<f32>
                }}
                %m = graph.mul %h, %fj : tensor<f32>, tensor<f32> -> tensor<f32>
                %n = graph.add %s, %m : ROW, tensor<f32> -> ROW
                graph.yield %n : ROW
            }}
            graph.yield %s, %o : ROW, ROW
        }}
        graph.yield %inner, %rows : ROW, tensor<3x24xf32>
    }}""".replace("ROW", ROW),
    nested,
    draw(4, 3, 24),
    scalar(1, np.float32),
    tol=1e-4,
)
