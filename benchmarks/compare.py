#!/usr/bin/env python3
"""Compares Tinh with other engines, side by side, as `./dev bench` does.

    compare.py [--build DIR] [OPTION ...] [NAME | FILE.onnx ...]

NAMEs are those of model_sets.py: they are exported from PyTorch where they are
not there yet. Of any other ONNX file, inputs are drawn at random, and outputs
are expected that ONNX Runtime computes without optimisations.

Each engine has a Python environment of its own (environments.py). Engines run
at the same time but take turns (workers.py). The figures are medians over the
rounds. Outputs are checked first. Prints a table in Markdown.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import onnx_files
from conversions import Conversions
from engines import ENGINES, TORCH_ENGINES
from environments import TORCH, Environments
from machine_limits import cpu_flags, measure_limits
from model_facts import describe
from model_sets import FILES, SETS, has_module
from tables import bound_ms, print_table, row
from workers import Worker, add_timing_options, cpu_name, measure

HERE = pathlib.Path(__file__).resolve().parent
# Before this much difference, as a part of max|y|, an engine is not timed.
TOLERANCE = 1e-3


def say(text):
    print(text, file=sys.stderr, flush=True)


class Comparison:
    """What the models and the threads that are compared have in common."""

    def __init__(self, args):
        self.args = args
        self.models = args.build / "models"
        self.models.mkdir(parents=True, exist_ok=True)
        self.log = args.build / "bench" / "engines.log"
        self.log.parent.mkdir(exist_ok=True)
        self.log.unlink(missing_ok=True)
        self.environments = Environments(args.build)
        self.conversions = Conversions(args.build, self.python_of, self.log)
        # Those whose environments have been asked for.
        self.usable = {}
        self.versions = {engine: None for engine in args.engines}
        self.limits = {}

    def installed(self, engine):
        """Whether the engine's environment can be had; says so if not."""
        try:
            self.python_of(engine)
        except (RuntimeError, OSError) as error:
            say(f"{engine}: {error}; not timed")
            return False
        return True

    def python_of(self, engine):
        shared = TORCH if engine in TORCH_ENGINES else engine
        return self.environments.python(shared)

    def folders(self):
        """Those of the models that are asked for, exported or made."""
        named = [model for model in self.args.models if is_name(model)]
        export(self.models, named, self.python_of)
        for model in self.args.models:
            if is_name(model):
                yield self.models / model
                continue
            try:
                yield self.file_folder(pathlib.Path(model))
            except RuntimeError as error:
                say(f"error: {error}")

    def file_folder(self, path):
        files = self.args.build / "bench" / FILES
        dims, below = self.args.dims, self.args.integers_below
        return onnx_files.prepare(path, files, dims, below)

    def limits_at(self, cpus):
        """Measured once for each number of threads, before engines run."""
        if len(cpus) not in self.limits:
            machine = self.args.build / "bin" / "machine"
            self.limits[len(cpus)] = measure_limits(machine, cpus)
        return self.limits[len(cpus)]

    def loadable(self, folder):
        """{engine: the path that it loads} of those that take the model."""
        paths = {}
        for engine in self.args.engines:
            if engine in TORCH_ENGINES and not has_module(folder):
                continue
            if engine not in self.usable:
                self.usable[engine] = self.installed(engine)
            if not self.usable[engine]:
                continue
            try:
                paths[engine] = self.conversions.convert(engine, folder)
            except (RuntimeError, OSError) as error:
                say(f"{folder.name}: {engine}: {error}")
        return paths

    def start_worker(self, engine, folder, cpus, options):
        """A worker whose outputs are right; None after saying why not."""
        command = [self.python_of(engine), HERE / "engines.py", engine, folder]
        command += [len(cpus), ",".join(map(str, cpus)), json.dumps(options)]
        try:
            worker = Worker(engine, command, self.log, self.args.under)
        except RuntimeError as error:
            say(f"{folder.name}: {error}")
            return None
        error = worker.ready["error"]
        if not error <= TOLERANCE:
            say(
                f"{folder.name}: {engine} differs by {error:.1e} of max|y|;"
                " not timed"
            )
            worker.close()
            return None
        self.versions[engine] = worker.ready["version"]
        return worker

    def start_workers(self, folder, cpus, paths, facts):
        workers = []
        for engine, path in paths.items():
            options = {
                "runtime": str(self.args.build / "lib" / "libtinh_runtime.so"),
                "artifact": str(path),
                "inputs": facts["inputs"],
                "outputs": facts["outputs"],
            }
            worker = self.start_worker(engine, folder, cpus, options)
            if worker:
                workers.append(worker)
        return workers

    def eager_over_compiled(self, folder, cpus):
        """Tinh's eager time over its compiled one, in turns in one process."""
        command = [self.args.build / "bin" / "graph-compare", "--json"]
        command += [folder / "model.onnx"]
        command += ["--threads", str(len(cpus)), "--runs", "20"]
        with open(self.log, "a") as log:
            result = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                preexec_fn=lambda: os.sched_setaffinity(0, cpus),
            )
        if result.returncode:
            say(f"{folder.name}: graph-compare failed; see {self.log}")
            return None
        return json.loads(result.stdout)["speedup"]

    def compare(self, folder, cpus, paths, facts):
        limits = self.limits_at(cpus)
        workers = self.start_workers(folder, cpus, paths, facts)
        errors = {w.engine: w.ready["error"] for w in workers}
        loads = {w.engine: w.ready["load_s"] for w in workers}
        try:
            times = measure_alive(workers, self.args)
        finally:
            for worker in workers:
                worker.close()
        eager = None
        if "tinh" in times:
            eager = self.eager_over_compiled(folder, cpus)
        return {
            "model": folder.name,
            "threads": len(cpus),
            "flops": facts["flops"],
            "bound_ms": bound_ms(facts["flops"], limits),
            "errors": errors,
            "load_s": loads,
            "times": times,
            "eager": eager,
        }

    def report(self, results):
        if "tinh" in self.versions:
            self.versions["tinh"] = tinh_version()
        args = self.args
        return {
            "date": time.strftime("%Y-%m-%d"),
            "machine": {
                "cpu": cpu_name(),
                "flags": cpu_flags(),
                "cores": len(os.sched_getaffinity(0)),
                "limits": self.limits,
            },
            "versions": self.versions,
            "settings": {
                "engines": args.engines,
                "rounds": args.rounds,
                "slice": args.slice,
                "pause": args.pause,
            },
            "results": results,
        }


def is_name(model):
    return model in SETS["all"]


def export(models, names, python_of):
    missing = [n for n in names if not (models / n / "model.onnx").exists()]
    if missing:
        say(f"exporting {', '.join(missing)}")
        command = [python_of(TORCH), HERE / "export_models.py", models]
        result = subprocess.run([*command, *missing], stdout=sys.stderr)
        if result.returncode:
            raise RuntimeError("models cannot be exported")


def measure_alive(workers, args):
    """The times of those that live; what dies is said."""
    while workers:
        try:
            return measure(workers, args)
        except (RuntimeError, OSError) as error:
            say(error)
            dead = [w for w in workers if w.process.poll() is not None]
            if not dead:
                raise
            workers = [w for w in workers if w not in dead]
    return {}


def tinh_version():
    result = subprocess.run(
        ["git", "-C", HERE, "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
    )
    return result.stdout.strip() or None


def dimension(text):
    name, separator, size = text.partition("=")
    if not separator or not size.isdigit() or int(size) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=SIZE")
    return name, int(size)


class Parser(argparse.ArgumentParser):
    """One line is enough to say what is wrong."""

    def error(self, message):
        self.exit(2, f"error: {message}\n")


def parse_arguments():
    parser = Parser(
        prog="bench", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="a name of model_sets.py, or any ONNX file; all names of --set if"
        " not given",
    )
    parser.add_argument(
        "--set",
        choices=SETS,
        default="open",
        help="the open models (the default), those that no benchmark had used,"
        " or all",
    )
    parser.add_argument(
        "--engines",
        default=",".join(ENGINES),
        help="comma-separated, of: " + ", ".join(ENGINES) + " (default: all)",
    )
    parser.add_argument(
        "--dim",
        dest="dims",
        type=dimension,
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="of an ONNX file: the size of a dimension that it leaves open;"
        " 1 if not given",
    )
    parser.add_argument(
        "--integers-below",
        type=int,
        default=2,
        metavar="N",
        help="of an ONNX file: integer inputs are drawn from 0 to N - 1"
        " (default: 2, which masks and token ids can be)",
    )
    parser.add_argument(
        "--build",
        type=pathlib.Path,
        default=HERE.parent / "build",
        metavar="DIR",
        help="Tinh's build, which gets the models and the environments, too",
    )
    parser.add_argument(
        "--plot",
        type=pathlib.Path,
        metavar="FILE.svg",
        help="the best other engine's time over Tinh's, as a plot",
    )
    add_timing_options(parser)
    return checked(parser, parser.parse_intermixed_args())


def checked(parser, args):
    args.engines = args.engines.split(",")
    unknown = set(args.engines) - set(ENGINES)
    if unknown:
        parser.error(
            f"no engine {', '.join(sorted(unknown))};"
            f" there are {', '.join(ENGINES)}"
        )
    for model in args.models:
        if is_name(model):
            continue
        if not model.endswith(".onnx"):
            parser.error(
                f"no model '{model}'; there are {', '.join(SETS['all'])},"
                " and any file that ends in .onnx"
            )
        if not pathlib.Path(model).is_file():
            parser.error(f"no file {model}")
    args.models = args.models or SETS[args.set]
    args.dims = dict(args.dims)
    args.build = args.build.resolve()
    args.thread_counts = thread_counts(parser, args.threads)
    for program in ("graph-compile", "graph-compare", "machine"):
        if not (args.build / "bin" / program).exists():
            parser.error(f"{args.build}/bin has no {program}: build Tinh first")
    return args


def thread_counts(parser, text):
    cpus = len(os.sched_getaffinity(0))
    words = text.split(",")
    if not all(word.isdigit() and 0 < int(word) <= cpus for word in words):
        parser.error(f"--threads={text}: there are CPUs for 1 to {cpus} threads")
    return list(map(int, words))


def write_plot(args, report, python):
    """The plot is drawn from a file of results, in an environment of its own."""
    results = args.json or args.plot.with_suffix(".json")
    results.write_text(json.dumps(report, indent=1))
    command = [python, HERE / "plot_ratios.py", results, args.plot]
    if subprocess.run(command).returncode:
        raise RuntimeError(f"{args.plot} cannot be drawn; {results} is there")


def write_files(comparison, report):
    args = comparison.args
    if args.output:
        with open(args.output, "w") as out:
            print_table(report, out)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1))
    if args.plot:
        write_plot(args, report, comparison.environments.python("plot"))


def run(args):
    comparison = Comparison(args)
    usable = sorted(os.sched_getaffinity(0))
    results = []
    for folder in comparison.folders():
        paths = comparison.loadable(folder)
        facts = describe(folder / "model.onnx")
        for threads in args.thread_counts:
            cpus = usable[:threads]
            results.append(comparison.compare(folder, cpus, paths, facts))
            say(row(results[-1], args.engines))
            # A run of hours that is cut short keeps what it has.
            if args.json:
                report = comparison.report(results)
                args.json.write_text(json.dumps(report, indent=1))
    if not results:
        raise RuntimeError("no model is left to compare")
    report = comparison.report(results)
    print_table(report, sys.stdout)
    write_files(comparison, report)


def main():
    try:
        run(parse_arguments())
    except (RuntimeError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
