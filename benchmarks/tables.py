"""The table of compare.py, in Markdown, and the figures in it."""

import statistics

from workers import format_ms, ratio

NONE = "–"


def best_other(times):
    """The engine beside Tinh that is fastest, and its time over Tinh's; (None,
    None) where there is no other or no Tinh."""
    others = [engine for engine in times if engine != "tinh"]
    if "tinh" not in times or not others:
        return None, None
    return min(
        ((engine, ratio(times, engine, "tinh")) for engine in others),
        key=lambda pair: pair[1],
    )


def bound_ms(flops, limits):
    """How long the model's products take at the machine's rate."""
    if flops is None or limits is None:
        return None
    return flops / limits["gflops"] / 1e6


def engine_cell(times, engine):
    if engine not in times:
        return NONE
    cell = format_ms(statistics.median(times[engine]))
    if engine != "tinh" and "tinh" in times:
        cell += f" ({ratio(times, 'tinh', engine):.2f})"
    return cell


def eager_cell(result):
    """Tinh's eager mode, over PyTorch's."""
    times, eager = result["times"], result["eager"]
    if "tinh" not in times or eager is None:
        return NONE
    cell = format_ms(eager * statistics.median(times["tinh"]))
    if "torch" in times:
        cell += f" ({eager * ratio(times, 'tinh', 'torch'):.2f})"
    return cell


def line(cells):
    return "| " + " | ".join(cells) + " |"


def row(result, engines):
    cells = [result["model"], str(result["threads"])]
    cells += [engine_cell(result["times"], engine) for engine in engines]
    cells.append(eager_cell(result))
    engine, factor = best_other(result["times"])
    cells.append(NONE if engine is None else f"{factor:.2f} ({engine})")
    bound = result["bound_ms"]
    cells.append(NONE if bound is None else format_ms(bound))
    error = result["errors"].get("tinh")
    cells.append(NONE if error is None else f"{error:.0e}")
    return line(cells)


def mean_cell(ratios, models, brackets="{}"):
    """Of how many models, where it is not all of them."""
    if not ratios:
        return NONE
    cell = brackets.format(f"{statistics.geometric_mean(ratios):.2f}")
    return cell if len(ratios) == models else f"{cell} of {len(ratios)}"


def mean_row(results, threads, engines):
    """Geometric means of the ratios over the models at so many threads."""
    measured = [r["times"] for r in results if r["threads"] == threads]
    cells = ["geometric mean", str(threads)]
    for engine in engines:
        ratios = [
            ratio(times, "tinh", engine)
            for times in measured
            if engine != "tinh" and {"tinh", engine} <= times.keys()
        ]
        cells.append(mean_cell(ratios, len(measured), "({})"))
    factors = [best_other(times)[1] for times in measured]
    factors = [factor for factor in factors if factor is not None]
    cells += [NONE, mean_cell(factors, len(measured)), NONE, NONE]
    return line(cells)


def introduction(report):
    settings, machine = report["settings"], report["machine"]
    text = (
        f"{machine['cpu']}, {machine['cores']} cores, {report['date']},"
        f" {settings['rounds']} rounds of {settings['slice']} s. Median ms; in"
        " brackets Tinh's time over the engine's, so less than 1 means that Tinh"
        " is faster. Tinh's eager mode, by its ratio to the compiled model in"
        " graph-compare, in brackets over PyTorch's eager mode. Best other: the"
        " fastest other engine's time over Tinh's, so more than 1 means that"
        " Tinh is faster. Bound: the model's matmuls and convolutions as"
        " written, at the rate of multiply-adds that the CPU sustains;"
        " Winograd's algorithm needs fewer for convolutions of 3 × 3, and may"
        " take less. Errors as a part of max|y|."
    )
    versions = ", ".join(
        f"{engine} {version}"
        for engine, version in report["versions"].items()
        if version
    )
    limits = "; ".join(
        f"{'1 thread' if threads == 1 else f'{threads} threads'}:"
        f" {each['gflops']:.0f} GFLOP/s,"
        f" {each['read_gb_s']:.0f} GB/s"
        for threads, each in machine["limits"].items()
        if each
    )
    return "\n\n".join(part for part in (text, versions, limits) if part)


def print_table(report, out):
    engines, results = report["settings"]["engines"], report["results"]
    heads = ["model", "threads", *engines, "tinh, eager"]
    heads += ["best other / Tinh", "bound, ms", "tinh's error"]
    print(introduction(report) + "\n", file=out)
    print(line(heads), file=out)
    print("|" + "---|" * len(heads), file=out)
    for result in results:
        print(row(result, engines), file=out)
    if len({result["model"] for result in results}) > 1:
        for threads in sorted({result["threads"] for result in results}):
            print(mean_row(results, threads, engines), file=out)
    out.flush()
