#!/usr/bin/env python3
"""Makes the coefficients of the polynomials beside this, and prints their errors.

    coefficients.py [NAME ...]

Needs mpmath. A polynomial is nearly the best one in the sense of the greatest
weighted error over an interval: least squares on a grid, weighted again and again
where the error is greatest (Lawson). Its coefficients are rounded to f32 one after
the other, the lowest first, and the rest is fitted again to what the rounded ones
leave. A quotient's denominator is found in the same way, and rounded; its numerator
is then fitted as above.
"""

import struct
import sys

from mpmath import mp, mpf

mp.dps = 40
GRID = 200


def grid(a, b, count=GRID):
    a, b = mpf(a), mpf(b)
    return [
        (a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (i + mpf(1) / 2) / count)
        for i in range(count)
    ]


def to_f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def to_f64(x):
    return mpf(float(x))


def lawson(values, weights, rows_of, error_of, rounds):
    """The best factors found, with their greatest error. `rows_of` gives rows and
    what they shall sum to, `error_of` the errors of factors."""
    trust = [mpf(1)] * len(values)
    best = None
    for _ in range(rounds):
        rows, right = rows_of()
        scales = [mp.sqrt(t) * w for t, w in zip(trust, weights)]
        rows = [[e * s for e in row] for row, s in zip(rows, scales)]
        right = [r * s for r, s in zip(right, scales)]
        columns = list(zip(*rows))
        normal = mp.matrix([[mp.fdot(a, b) for b in columns] for a in columns])
        factors = mp.lu_solve(normal, mp.matrix([mp.fdot(a, right) for a in columns]))
        errors = [abs(e * w) for e, w in zip(error_of(factors), weights)]
        if best is None or max(errors) < best[1]:
            best = list(factors), max(errors)
        mean = mp.fdot(errors, trust) / sum(trust)
        trust = [t * (e / mean + mpf("1e-4")) for t, e in zip(trust, errors)]
    return best


def minimax(values, rows, weights):
    """Factors of the columns of `rows` whose sum is near `values`, and the error."""

    def errors(factors):
        return [v - mp.fdot(row, factors) for v, row in zip(values, rows)]

    return lawson(values, weights, lambda: (rows, values), errors, 40)


def fit(values, rows, weights, rounding):
    """The same with rounded factors."""
    done = []
    rest = list(values)
    while len(done) < len(rows[0]):
        columns = [row[len(done) :] for row in rows]
        factor = rounding(minimax(rest, columns, weights)[0][0])
        rest = [r - factor * c[0] for r, c in zip(rest, columns)]
        done.append(factor)
    return done, max(abs(r * w) for r, w in zip(rest, weights))


def show(name, factors, error=None):
    digits = 9 if all(to_f32(f) == f for f in factors) else 17
    numbers = ", ".join(mp.nstr(f, digits, strip_zeros=True) for f in factors)
    print(f"{name}: {{{numbers}}}")
    if error is not None:
        print(f"  error 2^{float(mp.log(error, 2)):.1f}")


def polynomial(name, function, a, b, powers, weight, rounding=to_f32):
    """`function` as a sum of powers, with errors times `weight`."""
    points = grid(a, b)
    rows = [[x**power for power in powers] for x in points]
    values = [function(x) for x in points]
    show(name, *fit(values, rows, [weight(x) for x in points], rounding))


def denominator(values, tops, bottoms, weights):
    """Factors of `bottoms`, which are added to 1, in the best quotient."""
    divisors = [mpf(1)] * len(values)

    def rows():
        both = zip(values, tops, bottoms, divisors)
        return (
            [[e / q for e in t] + [-v * e / q for e in b] for v, t, b, q in both],
            [v / q for v, q in zip(values, divisors)],
        )

    def errors(factors):
        top, below = factors[: len(tops[0])], factors[len(tops[0]) :]
        divisors[:] = [1 + mp.fdot(below, row) for row in bottoms]
        both = zip(values, tops, divisors)
        return [v - mp.fdot(top, row) / q for v, row, q in both]

    factors, error = lawson(values, weights, rows, errors, 80)
    print(f"  unrounded: error 2^{float(mp.log(error, 2)):.1f}")
    return factors[len(tops[0]) :]


def quotient(name, function, a, b, powers, below, weight):
    """`function` as a quotient whose denominator begins with 1."""
    points = grid(a, b)
    values = [function(x) for x in points]
    weights = [weight(x) for x in points]
    tops = [[x**p for p in powers] for x in points]
    bottoms = [[x**p for p in below] for x in points]
    factors = [to_f32(q) for q in denominator(values, tops, bottoms, weights)]
    divisors = [1 + mp.fdot(factors, row) for row in bottoms]
    rows = [[e / q for e in row] for row, q in zip(tops, divisors)]
    show(name, *fit(values, rows, weights, to_f32))
    show(name + ", below", [mpf(1)] + factors)


def relative(function):
    return lambda x: 1 / abs(function(x))


ROOT = mp.sqrt(2)
HALF_LOG = mp.log(2) / 2 * mpf("1.0001")


def exponentials():
    for name, degree in (("exp", 6), ("exp fast", 5)):
        weight = relative(mp.exp if degree == 5 else mp.expm1)
        polynomial(
            name + ": (e^r - 1 - r) / r^2",
            lambda r: (mp.expm1(r) - r) / r**2,
            -HALF_LOG,
            HALF_LOG,
            range(degree - 1),
            lambda r, w=weight: r**2 * w(r),
        )
    for degree in (6, 5):
        polynomial(
            f"exp2, degree {degree}: (2^f - 1) / f",
            lambda f: mp.expm1(f * mp.log(2)) / f,
            "-0.50001",
            "0.50001",
            range(degree),
            lambda f: abs(f) / 2**f,
        )


def logarithms():
    for name, degree in (("log", 10), ("log fast", 8)):
        polynomial(
            name + ": (log(1 + f) - f) / f^2",
            lambda f: (mp.log1p(f) - f) / f**2,
            1 / ROOT - 1,
            ROOT - 1,
            range(degree - 1),
            lambda f: f**2 / abs(mp.log1p(f)),
        )
    for degree in (10, 12):
        polynomial(
            f"log2 of pow, degree {degree}: log2(1 + f) / f",
            lambda f: mp.log1p(f) / f / mp.log(2),
            1 / ROOT - 1,
            ROOT - 1,
            range(degree),
            lambda f: abs(f / mp.log1p(f)) * mp.log(2),
            to_f64,
        )


def trigonometric():
    end = mp.pi / 4 * mpf("1.02")
    polynomial(
        "sin: (sin r / r - 1) / r^2 in r^2",
        lambda r: (mp.sin(r) / r - 1) / r**2,
        "1e-6",
        end,
        (0, 2, 4),
        lambda r: r**3 / mp.sin(r),
    )
    polynomial(
        "cos: (cos r - 1 + r^2 / 2) / r^4 in r^2",
        lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4,
        "1e-5",
        end,
        (0, 2, 4),
        lambda r: r**4 / mp.cos(r),
    )


ERF_SPLIT = "0.921875"
ERF_END = "3.92"


def erf():
    polynomial(
        "erf: erf(x) / x - 1 in x^2, below the split",
        lambda x: mp.erf(x) / x - 1,
        "1e-6",
        ERF_SPLIT,
        range(0, 14, 2),
        lambda x: x / mp.erf(x),
    )
    polynomial(
        "erf: log2(erfc(x)), above the split",
        lambda x: mp.log(mp.erfc(x), 2),
        ERF_SPLIT,
        ERF_END,
        range(7),
        lambda x: mp.erfc(x) / mp.erf(x) * mp.log(2),
    )


def fast_quotients():
    for name, function, end, degree in (
        ("erf", mp.erf, ERF_END, 5),
        ("tanh", mp.tanh, "9.01", 4),
    ):
        quotient(
            f"{name} fast: {name}(x) / x in x^2",
            lambda x, f=function: f(x) / x,
            "1e-3",
            end,
            range(0, 2 * degree + 1, 2),
            range(2, 2 * degree + 1, 2),
            lambda x, f=function: x / f(x),
        )


PARTS = {
    "exponentials": exponentials,
    "logarithms": logarithms,
    "trigonometric": trigonometric,
    "erf": erf,
    "fast": fast_quotients,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
