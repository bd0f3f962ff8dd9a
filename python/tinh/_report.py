"""What a compilation did, and where the time of runs goes."""

from __future__ import annotations

import html
import os

from . import _tinh
from ._tables import Table


class _Page(dict):
    """What a notebook shows as a page."""

    def __init__(self, values: dict, data: str):
        super().__init__(values)
        self._page = data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page, an HTML file that needs nothing else."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(_tinh._page(self._page))

    def _repr_html_(self) -> str:
        page = html.escape(_tinh._page(self._page))
        style = "width: 100%; height: 45em; border: 1px solid #8888"
        return (
            f'<iframe srcdoc="{page}" style="{style}" sandbox="allow-scripts" '
            f'title="{html.escape(type(self).__name__)}"></iframe>'
        )


class Report(_Page):
    """What the compiler says of a model: kernels, memory, time.

    The keys are `milliseconds` (by stage), `distinct_kernels`, `kernels`,
    `functions`, `weights_size` and `state_size` (bytes). A notebook shows a page:
    the graph before and after fusion, kernels, memory, and times.
    """

    def _table(self) -> Table:
        rows: list[tuple[str, object]] = [
            ("distinct kernels", self["distinct_kernels"]),
            ("weights, bytes", self["weights_size"]),
        ]
        if self["state_size"]:
            rows.append(("variables, bytes", self["state_size"]))
        for function in self["functions"]:
            of = f" of {function['name']}" if len(self["functions"]) > 1 else ""
            rows += [
                (f"dispatches{of}", function["dispatches"]),
                (f"arena{of}, bytes", function["arena_size"]),
                ("  without reuse", function["unplanned_size"]),
                ("  live-set lower bound", function["lower_bound_size"]),
            ]
        rows += [(f"{k}, ms", round(v)) for k, v in self["milliseconds"].items()]
        return Table(["", ""], rows)

    def __repr__(self) -> str:
        return repr(self._table()).lstrip("\n ")


class Profile(_Page):
    """Where the time of a function's runs goes, step by step.

    The keys are `function`, `runs`, `median_ms`, `min_ms` and `steps`, in the
    order of the schedule. A notebook shows a page, with all that is in the
    model's report beside.
    """

    def _table(self) -> Table:
        steps = [step for step in self["steps"] if step["executions"]]
        total = sum(step["median_ms"] for step in steps) or 1
        rows = []
        for step in sorted(steps, key=lambda step: -step["median_ms"]):
            ms = step["median_ms"]
            rows.append(
                [
                    ms,
                    f"{100 * ms / total:.1f} %",
                    step["operations"] / ms / 1e6 if ms else 0.0,
                    step["bytes"] / ms / 1e6 if ms else 0.0,
                    step["kernel"] or step["kind"],
                    ", ".join(step["nodes"]),
                ]
            )
        headings = ["ms", "share", "GFLOP/s", "GB/s", "step", "nodes of the model"]
        return Table(headings, rows)

    def __repr__(self) -> str:
        return (
            f"{self['function']}: {self['runs']} runs, "
            f"median {self['median_ms']:.3f} ms\n{self._table()!r}"
        )
