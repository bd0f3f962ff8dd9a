"""What a compilation did, and where the time of runs goes."""

from __future__ import annotations

from ._tables import Table


class Report(dict):
    """What the compiler says of a model: kernels, memory, time.

    The keys are `milliseconds` (by stage), `distinct_kernels`, `kernels`,
    `functions`, `weights_size` and `state_size` (bytes).
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

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


class Profile(dict):
    """Where the time of a function's runs goes, step by step.

    The keys are `function`, `runs`, `median_ms`, `min_ms` and `steps`, in the
    order of the schedule.
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

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()
