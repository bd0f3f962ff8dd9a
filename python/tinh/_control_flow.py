"""Branches and loops that depend on what tensors hold, and gradients of one's own.

In a function that is traced, the branches and loops become part of its graph;
elsewhere they are Python's, which wait for the condition. State and results are
tensors, or lists, tuples and dicts of them. Functions may refer to any tensors,
and what they change in place is changed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _tinh
from ._structure import describe, flatten, of_tensors, rebuild
from ._tinh import Tensor


def _take_apart(value: Any) -> tuple[Any, list[Tensor]]:
    tensors: list[Tensor] = []
    return flatten(of_tensors(value), tensors), tensors


def _same(where: str, expected: Any, found: Any) -> None:
    if expected != found:
        raise TypeError(
            f"{where}: expected {describe(expected)}, found {describe(found)}"
        )


def _condition(where: str, value: Any) -> Tensor:
    if isinstance(value, bool):
        value = _tinh.tensor(value)
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{where}: expected a tensor of one boolean, found {type(value).__name__}"
        )
    return value


def cond(condition: Tensor, then: Callable, otherwise: Callable) -> Any:
    """then() or otherwise(), by the condition, one boolean. Both give the same
    structure, with tensors of the same dtypes and shapes."""
    structures: dict[Callable, Any] = {}

    def branch(function: Callable) -> Callable[[], list[Tensor]]:
        def run() -> list[Tensor]:
            structures[function], tensors = _take_apart(function())
            return tensors

        return run

    condition = _condition("cond", condition)
    results = _tinh._cond(condition, branch(then), branch(otherwise))
    taken, *others = structures.values()
    for other in others:
        _same("cond: what the other branch gives", taken, other)
    return rebuild(taken, results)


def while_loop(condition: Callable, body: Callable, state: Any) -> Any:
    """state = body(state) while condition(state), one boolean; the last state.
    Its structure, dtypes and shapes stay the same.

    tinh.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 2), (0, x))
    """
    structure, initial = _take_apart(state)

    def test(tensors: list[Tensor]) -> Tensor:
        found = condition(rebuild(structure, tensors))
        return _condition("while_loop: the condition", found)

    def step(tensors: list[Tensor]) -> list[Tensor]:
        found, following = _take_apart(body(rebuild(structure, tensors)))
        _same("while_loop: what the body gives", structure, found)
        return following

    return rebuild(structure, _tinh._while_loop(test, step, initial))


def scan(
    body: Callable, state: Any, inputs: Any = (), length: int | None = None
) -> tuple[Any, Any]:
    """Calls body(state, row) for each row of the inputs, which are tensors of
    equally many rows; it gives the next state and an item. Returns the last state
    and the items, stacked along a new dimension in front. Without inputs, length
    is the number of calls."""
    structure, initial = _take_apart(state)
    rows_structure, rows = _take_apart(inputs)
    items_structure: Any = ("tuple",)

    def step(tensors: list[Tensor], row: list[Tensor]) -> tuple[list, list]:
        nonlocal items_structure
        given = body(rebuild(structure, tensors), rebuild(rows_structure, row))
        if not isinstance(given, tuple) or len(given) != 2:
            raise TypeError(
                "scan: the body is to give a tuple of the next state and an item"
            )
        found, following = _take_apart(given[0])
        _same("scan: the next state", structure, found)
        items_structure, items = _take_apart(given[1])
        return following, items

    count = -1 if length is None else length
    last, stacked = _tinh._scan(step, initial, rows, count)
    return rebuild(structure, last), rebuild(items_structure, stacked)


def custom_gradient(forward: Callable, gradient: Callable, inputs: list[Tensor]) -> Any:
    """forward(*inputs), whose gradients are what gradient(inputs, outputs,
    output_gradients), all lists of tensors, returns: one for each input, or None."""
    structure: Any = None

    def compute(tensors: list[Tensor]) -> list[Tensor]:
        nonlocal structure
        structure, results = _take_apart(forward(*tensors))
        return results

    def differentiate(
        given: list[Tensor], outputs: list[Tensor], gradients: list[Tensor]
    ) -> list[Tensor | None]:
        found = gradient(given, outputs, gradients)
        return [found] if isinstance(found, Tensor) else list(found)

    results = _tinh._custom_gradient(compute, differentiate, list(inputs))
    return rebuild(structure, results)
