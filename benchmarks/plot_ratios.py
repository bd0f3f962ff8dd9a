#!/usr/bin/env python3
"""Draws what compare.py measured: the best other engine's time over Tinh's.

    plot_ratios.py RESULTS.json PLOT.svg

RESULTS.json is what `compare.py --json` writes. Bars go to the right of 1 where
Tinh is faster and to the left where it is not, and name the other engine. Needs
matplotlib.
"""

import json
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tables import best_other

COLOURS = ["#4477aa", "#ee8866", "#228833", "#aa3377"]
BAR = 0.38


def bars_of(results):
    """{threads: {model: (engine, factor)}} of what has another engine."""
    bars = {}
    for result in results:
        engine, factor = best_other(result["times"])
        if engine is not None:
            of_threads = bars.setdefault(result["threads"], {})
            of_threads[result["model"]] = engine, factor
    return bars


def draw_bars(axes, models, bars):
    height = 2 * BAR / len(bars)
    for number, (threads, of_models) in enumerate(sorted(bars.items())):
        label = "1 thread" if threads == 1 else f"{threads} threads"
        for place, model in enumerate(models):
            if model not in of_models:
                continue
            engine, factor = of_models[model]
            y = place - BAR + height * (number + 0.5)
            colour = COLOURS[number % len(COLOURS)]
            # In logarithms, bars begin at 1.
            axes.barh(y, factor - 1, height * 0.9, left=1, color=colour,
                      label=label)
            label = None
            faster = factor >= 1
            axes.annotate(
                f"{factor:.2f} {engine}",
                (factor, y),
                xytext=(4 if faster else -4, 0),
                textcoords="offset points",
                ha="left" if faster else "right",
                va="center",
                fontsize=7,
            )


def draw_axes(axes, models, bars):
    factors = [f for each in bars.values() for _, f in each.values()]
    axes.set_xscale("log")
    # Room for the engines' names.
    axes.set_xlim(min([*factors, 1]) / 1.5, max([*factors, 1]) * 1.5)
    axes.xaxis.set_major_locator(LogLocator(subs=(0.5, 0.7, 1, 1.5, 2, 3)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(models)), models)
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("best other engine's time / Tinh's (over 1: Tinh is faster)")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def draw(report, path):
    bars = bars_of(report["results"])
    models = list(dict.fromkeys(r["model"] for r in report["results"]))
    plt.rcParams["svg.fonttype"] = "none"
    plt.rcParams["svg.hashsalt"] = "tinh"
    plt.rcParams["font.size"] = 9
    figure, axes = plt.subplots(
        figsize=(8, 1.2 + 0.2 * len(models) * (1 + len(bars))),
        layout="constrained",
    )
    if bars:
        draw_bars(axes, models, bars)
        draw_axes(axes, models, bars)
    machine = report["machine"]
    title = f"{machine['cpu']}, {report['date']}"
    figure.suptitle(title, fontsize=9, x=0.02, ha="left")
    if bars:
        figure.legend(frameon=False, loc="upper right", fontsize=8, ncols=4)
    figure.savefig(path, format="svg", metadata={"Date": None})


def main():
    results, path = sys.argv[1:]
    with open(results) as file:
        draw(json.load(file), path)


if __name__ == "__main__":
    main()
