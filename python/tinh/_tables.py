"""Tables as text and, in notebooks, as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


class Table:
    """Rows under headings: numbers to the right, all else to the left."""

    def __init__(self, headings: Sequence[str], rows: Sequence[Sequence[object]]):
        self.headings = list(headings)
        self.rows = [list(row) for row in rows]

    def _is_number(self, column: int) -> bool:
        return bool(self.rows) and all(
            isinstance(row[column], (int, float)) for row in self.rows
        )

    def __repr__(self) -> str:
        cells = [self.headings] + [[_text(v) for v in row] for row in self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.headings))]
        numbers = [self._is_number(i) for i in range(len(widths))]
        lines = []
        for row in cells:
            padded = [
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, numbers)
            ]
            lines.append("  ".join(padded).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], tag: str) -> str:
            inner = "".join(
                f'<{tag} style="text-align:'
                f'{"right" if self._is_number(i) else "left"}">'
                f"{html.escape(cell)}</{tag}>"
                for i, cell in enumerate(cells)
            )
            return f"<tr>{inner}</tr>"

        body = "".join(line([_text(v) for v in row], "td") for row in self.rows)
        head = line(self.headings, "th")
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
