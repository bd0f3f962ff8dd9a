"""The table of architectures.py, in Markdown, and what is said above it."""

import statistics

from workers import format_ms

# Of the largest element of an output, as in torch_models.py.
TOLERANCE = 1e-3
# Bars for compiling: seconds, and MB beside so many times the weights.
COMPILE_S, COMPILE_MB, COMPILE_WEIGHTS = 60, 1000, 4
LONGEST_MESSAGE = 160
SLOWER = 1.3  # Than ONNX Runtime by as much is worth a look.
NONE = "–"


def is_right(error):
    """An engine's error is a number, or what it said instead of running."""
    return isinstance(error, float) and error <= TOLERANCE


def is_within_bars(row):
    """By CPU time, which other programs on the machine change least."""
    most = COMPILE_WEIGHTS * row["model_mb"] + COMPILE_MB
    return row["compile_cpu_s"] <= COMPILE_S and row["compile_mb"] <= most


def summary(rows):
    """A line for each exporter: how many it writes, and who gets them right."""
    lines = []
    for exporter in dict.fromkeys(row["exporter"] for row in rows):
        mine = [row for row in rows if row["exporter"] == exporter]
        written = [row for row in mine if row.get("failed") != "export"]
        right = sum(row["ok"] for row in written)
        other = sum(is_right(row.get("onnxruntime_error")) for row in written)
        compiled = [row for row in written if "compile_s" in row]
        lines.append(
            f"- {exporter}: of {len(mine)} models {len(written)} are written; of these"
            f" {right} are right with Tinh and {other} with ONNX Runtime."
            f" {sum(map(is_within_bars, compiled))} of the {len(compiled)} that are"
            f" compiled take at most {COMPILE_S} s of CPU time and"
            f" {COMPILE_WEIGHTS} × the file + {COMPILE_MB / 1000:.0f} GB for it."
        )
    return "\n".join(lines)


def verdict(row):
    if row["ok"]:
        return f"{row['error']:.0e}"
    return row.get("failed") or f"differs by {row['error']:.0e}"


def verdict_on_onnxruntime(error):
    if error is None:
        return NONE
    if isinstance(error, str):
        return "fails, too"
    return "is right" if is_right(error) else "differs from PyTorch"


def cells(row, timed):
    found = [verdict(row)]
    if "compile_s" in row:
        found += [f"{row[key]:.1f}" for key in ("compile_s", "compile_cpu_s")]
        found += [f"{row['compile_mb']:.0f}", str(row["kernels"])]
    else:
        found += [NONE] * 4
    if timed and "ratio" in row:
        found += [format_ms(row["tinh_ms"]), f"{row['ratio']:.2f}"]
    elif timed:
        found += [NONE] * 2
    return found


def line(parts):
    return "| " + " | ".join(parts) + " |"


def document(rows):
    """What is right, a table with a line for each model, and what failed."""
    timed = any("ratio" in row for row in rows)
    parts = [summary(rows), table(rows, timed)]
    if timed:
        exporters = dict.fromkeys(row["exporter"] for row in rows)
        parts += ["\n".join(ratio_line(rows, exporter) for exporter in exporters)]
    return "\n\n".join(parts + failures(rows)) + "\n"


def table(rows, timed):
    by_name = {}
    for row in rows:
        by_name.setdefault(row["model"], {})[row["exporter"]] = row
    exporters = list(dict.fromkeys(row["exporter"] for row in rows))
    heads = ["error", "compile, s", "CPU, s", "MB", "kernels"]
    heads += ["ms", "over ONNX Runtime"] * timed
    columns = [f"{exporter}: {head}" for exporter in exporters for head in heads]
    lines = [line(["model", *columns]), "|---|" + "---:|" * len(columns)]
    for name, found in by_name.items():
        parts = [name]
        for exporter in exporters:
            known = found.get(exporter)
            parts += cells(known, timed) if known else [NONE] * len(heads)
        lines.append(line(parts))
    return "\n".join(lines)


def ratio_line(rows, exporter):
    timed = [r for r in rows if r["exporter"] == exporter and "ratio" in r]
    if len(timed) < 2:
        return f"- {exporter}: {len(timed)} timed."
    ratios = [row["ratio"] for row in timed]
    first, median, third = statistics.quantiles(ratios, n=4)
    slowest = max(timed, key=lambda row: row["ratio"])
    return (
        f"- {exporter}: over {len(timed)} models, parts of ONNX Runtime's time: median"
        f" {median:.2f}, quartiles {first:.2f} and {third:.2f}, geometric mean"
        f" {statistics.geometric_mean(ratios):.2f}, from {min(ratios):.2f} to"
        f" {slowest['ratio']:.2f} ({slowest['model']}); {sum(r > 1 for r in ratios)}"
        f" above 1, {sum(r > SLOWER for r in ratios)} above {SLOWER}."
    )


def failures(rows):
    """A table of who failed at what; models with the same message together."""
    models = {}
    for row in rows:
        if row["ok"]:
            continue
        said = " ".join((row.get("message") or verdict(row)).split())
        if len(said) > LONGEST_MESSAGE:
            said = said[:LONGEST_MESSAGE] + "…"
        other = verdict_on_onnxruntime(row.get("onnxruntime_error"))
        key = row["exporter"], row.get("failed") or "compare", said, other
        models.setdefault(key, []).append(row["model"])
    if not models:
        return []
    lines = [line(["exporter", "fails to", "message", "ONNX Runtime", "models"])]
    lines.append("|---|---|---|---|---|")
    for (exporter, step, said, other), names in sorted(models.items()):
        said = "`" + said.replace("|", "\\|").replace("`", "'") + "`"
        lines.append(line([exporter, step, said, other, ", ".join(names)]))
    return ["\n".join(lines)]
