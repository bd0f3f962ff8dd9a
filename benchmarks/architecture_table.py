"""The table of architectures.py, in Markdown, and what is said above it."""

import statistics

from workers import format_ms

# Bars for compiling: seconds, and MB beside so many times the weights.
COMPILE_S, COMPILE_MB, COMPILE_WEIGHTS = 60, 1000, 4
NONE = "–"


def summary(rows):
    """A line for each exporter: how many are right, and what the others are."""
    lines = []
    for exporter in dict.fromkeys(row["exporter"] for row in rows):
        mine = [row for row in rows if row["exporter"] == exporter]
        exported = [row for row in mine if row.get("failed") != "export"]
        right = sum(row["ok"] for row in mine)
        lines.append(
            f"{exporter}: {len(exported)} of {len(mine)} models are exported,"
            f" {right} of these are right"
        )
    return "\n".join(lines)


def within_bars(row):
    return (
        row["compile_s"] <= COMPILE_S
        and row["compile_mb"] <= COMPILE_WEIGHTS * row["model_mb"] + COMPILE_MB
    )


def verdict(row):
    if row["ok"]:
        return f"{row['error']:.0e}"
    return row.get("failed") or f"differs by {row['error']:.0e}"


def cells(row, timed):
    found = [verdict(row)]
    if "compile_s" in row:
        compiled = f"{row['compile_s']:.1f}", f"{row['compile_mb']:.0f}"
        found += [*compiled, str(row["kernels"])]
    else:
        found += [NONE] * 3
    if timed and "ratio" in row:
        found += [format_ms(row["tinh_ms"]), f"{row['ratio']:.2f}"]
    elif timed:
        found += [NONE] * 2
    return found


def document(rows):
    """The table, a line for each model, and the messages of those that fail."""
    by_name = {}
    for row in rows:
        by_name.setdefault(row["model"], {})[row["exporter"]] = row
    exporters = list(dict.fromkeys(row["exporter"] for row in rows))
    timed = any("ratio" in row for row in rows)
    heads = ["error", "compile, s", "MB", "kernels"]
    heads += ["ms", "over ONNX Runtime"] * timed
    columns = [f"{exporter}: {head}" for exporter in exporters for head in heads]
    lines = [summary(rows), "", "| model | " + " | ".join(columns) + " |"]
    lines.append("|---|" + "---:|" * len(columns))
    for name in by_name:
        line = [name]
        for exporter in exporters:
            row = by_name[name].get(exporter)
            line += cells(row, timed) if row else [NONE] * len(heads)
        lines.append("| " + " | ".join(line) + " |")
    if timed:
        lines.append("")
        lines += [mean_line(rows, exporter) for exporter in exporters]
    return "\n".join(lines + ["", *failures(rows)]) + "\n"


def mean_line(rows, exporter):
    ratios = [r["ratio"] for r in rows if r["exporter"] == exporter and "ratio" in r]
    if not ratios:
        return f"{exporter}: none is timed"
    mean = statistics.geometric_mean(ratios)
    return f"{exporter}: {mean:.2f} of ONNX Runtime's time, over {len(ratios)} models"


def failures(rows):
    """Who failed at what, the same messages together."""
    messages = {}
    for row in rows:
        if not row["ok"]:
            said = row.get("message") or verdict(row)
            key = row.get("failed") or "compare", said.replace("|", "\\|")
            messages.setdefault(key, []).append(f"{row['model']} ({row['exporter']})")
    lines = ["| step | message | models |", "|---|---|---|"] if messages else []
    for (step, said), models in sorted(messages.items()):
        lines.append(f"| {step} | {said} | {', '.join(models)} |")
    return lines
