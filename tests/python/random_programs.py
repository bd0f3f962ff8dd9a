"""Random programs: NumPy's results and tinh's, of each step.

    python tests/python/random_programs.py --first 0 --count 1000

A program is a list of steps over a few arrays, drawn from a seed: the same steps
run through NumPy and through tinh.Tensor, whose operations are all queued before
one is looked at. Every fourth program is also traced by tinh.function, and every
third one is differentiated: gradients are those of PyTorch if that is installed,
else differences.

What rounding may do to a result is measured: NumPy computes each program in f64
as well.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
import tinh

from random_libraries import NumPy, Tinh, Torch, Wide, torch
from random_steps import Drawing, Step, is_float



@dataclass
class Program:
    seed: int
    inputs: list[np.ndarray]
    steps: list[Step]
    smooth: bool

    def run(self, library, inputs) -> list:
        values = list(inputs)
        for step in self.steps:
            values.append(step.run(library, *(values[i] for i in step.operands)))
        return values

    def text(self, last: int | None = None) -> str:
        lines = [
            f"v{i}: {x.dtype}{list(x.shape)}" for i, x in enumerate(self.inputs)
        ]
        for i, step in enumerate(self.steps, len(self.inputs)):
            operands = ", ".join(f"v{o}" for o in step.operands)
            lines.append(f"v{i} = {step.name}({operands}) {step.note}".rstrip())
        return "\n".join(lines if last is None else lines[: last + 1])


SHAPES = [(), (1,), (5,), (3, 4), (4, 3), (4, 4), (2, 3, 4), (1, 4), (3, 1), (2, 1, 5)]


def draw(seed: int, smooth: bool = False) -> Program:
    """The program of a seed. Smooth ones have gradients, and are all of f64."""
    random = np.random.default_rng([seed, smooth])
    drawing = Drawing(random, smooth)
    for i in range(int(random.integers(3, 6))):
        shape = SHAPES[random.integers(len(SHAPES))]
        dtype = "f8" if smooth else ["f4", "f4", "f8", "i8", "i4"][i]
        if dtype[0] == "f":
            value = random.uniform(-2, 2, shape)
        else:
            value = random.integers(-9, 10, shape)
        drawing.values.append(np.asarray(value, dtype))
    inputs = list(drawing.values)
    length, numpy = int(random.integers(10, 31)), NumPy()
    kinds = Drawing.SMOOTH if smooth else Drawing.ALL
    while len(drawing.steps) < length:
        chosen = getattr(drawing, kinds[random.integers(len(kinds))])()
        if chosen is None or chosen[1] is None or None in chosen[1]:
            continue
        step = Step(*chosen)
        value = np.asarray(
            step.run(numpy, *(drawing.values[i] for i in step.operands))
        )
        if value.size == 0 or value.size > 4096 or value.ndim > 5:
            continue
        drawing.values.append(value)
        drawing.steps.append(step)
    return Program(seed, inputs, drawing.steps, smooth)


class Wrong(AssertionError):
    pass


EPSILON = {"f": 1e-5, "d": 1e-12}


def compare(program: Program, what: str, found: list, expected: list) -> None:
    """Each value with NumPy's. How much rounding may change one is what it
    changes in NumPy, between the program's dtypes and f64."""
    wide = program.run(
        Wide(), [x.astype("f8") if is_float(x) else x for x in program.inputs]
    )
    for i, (y, x) in enumerate(zip(found, expected)):
        x, y = np.asarray(x), np.asarray(y)
        note = f"seed {program.seed}, {what}, v{i}"
        if y.dtype != x.dtype or y.shape != x.shape:
            raise Wrong(
                f"{note}: {y.dtype}{list(y.shape)} instead of "
                f"{x.dtype}{list(x.shape)}\n{program.text(i)}"
            )
        if is_float(x):
            rounding = np.abs(x - wide[i]).max(initial=0)
            limit = EPSILON[x.dtype.char] * (1 + np.abs(x).max(initial=0))
            wrong = ~(np.abs(y - x) <= limit + 30 * rounding)
            wrong &= ~(np.isnan(x) & np.isnan(y))
        else:
            wrong = x != y
        if wrong.any():
            at = tuple(int(n[0]) for n in np.nonzero(np.atleast_1d(wrong)))
            raise Wrong(
                f"{note}: {np.atleast_1d(y)[at]!r} instead of "
                f"{np.atleast_1d(x)[at]!r} at {at}\n{program.text(i)}"
            )


def run_eager(program: Program) -> None:
    tensors = program.run(Tinh(), [tinh.tensor(x) for x in program.inputs])
    expected = program.run(NumPy(), program.inputs)
    compare(program, "eager", [t.numpy() for t in tensors], expected)


def run_traced(program: Program) -> None:
    """The last six values, as results of a compiled function, called twice."""
    last = slice(-6, None)
    function = tinh.function(lambda *inputs: program.run(Tinh(), inputs)[last])
    inputs = [tinh.tensor(x) for x in program.inputs]
    expected = program.run(NumPy(), program.inputs)
    for _ in range(2):
        # None for the values before: they are not compared.
        found = [t.numpy() for t in function(*inputs)]
        compare(program, "traced", expected[:-6] + found, expected)


def total(values: list, count: int):
    """A number that depends on the values that were computed last."""
    result = values[-1].mean()
    for value in values[-count:-1]:
        result = result + value.mean() / 2
    return result


def run_gradients(program: Program) -> None:
    inputs = [tinh.tensor(x) for x in program.inputs]
    for x in inputs:
        x.requires_grad = True
    result = total(program.run(Tinh(), inputs), 5)
    if not result.requires_grad:  # Of constants alone.
        return
    result.backward()
    found = [None if x.grad is None else x.grad.numpy() for x in inputs]
    if torch is not None:
        compare_with_torch(program, found)
    else:
        compare_with_differences(program, found)


def require_close(program, i, at, found, expected, tolerance):
    if not abs(found - expected) <= tolerance * (1 + abs(expected)):
        raise Wrong(
            f"seed {program.seed}, gradient of v{i} at {at}: {found} instead of "
            f"{expected}\n{program.text()}"
        )


def compare_with_torch(program: Program, found: list) -> None:
    given = [torch.from_numpy(x.copy()).requires_grad_() for x in program.inputs]
    result = total(program.run(Torch(), given), 5)
    if not result.requires_grad:
        return
    result.backward()
    for i, x in enumerate(given):
        ours = np.zeros(x.shape) if found[i] is None else found[i]
        theirs = np.zeros(x.shape) if x.grad is None else x.grad.numpy()
        for at in np.ndindex(*x.shape):
            require_close(program, i, at, ours[at], theirs[at], 1e-9)


def compare_with_differences(program: Program, found: list) -> None:
    random, step = np.random.default_rng(program.seed), 1e-5
    for i, x in enumerate(program.inputs):
        for flat in random.permutation(x.size)[:3]:
            at = np.unravel_index(flat, x.shape)
            moved = []
            for way in (step, -step):
                inputs = [y.copy() for y in program.inputs]
                inputs[i][at] += way
                moved.append(float(total(program.run(NumPy(), inputs), 5)))
            expected = (moved[0] - moved[1]) / (2 * step)
            ours = 0.0 if found[i] is None else found[i][at]
            require_close(program, i, at, ours, expected, 1e-4)


def check(seed: int) -> None:
    """All of a seed. Raises Wrong, or what a library does."""
    with np.errstate(all="ignore"):
        program = draw(seed)
        run_eager(program)
        if seed % 4 == 0:
            run_traced(program)
        if seed % 3 == 0:
            run_gradients(draw(seed, smooth=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--show", action="store_true", help="print the programs")
    options = parser.parse_args()
    failures = 0
    for seed in range(options.first, options.first + options.count):
        if options.show:
            print(f"seed {seed}\n{draw(seed).text()}\n")
        try:
            check(seed)
        except Exception as error:
            failures += 1
            if isinstance(error, Wrong):
                print(error)
            else:
                print(f"seed {seed}: {type(error).__name__}: {error}")
    print(f"{options.count - failures} of {options.count} programs are right")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
