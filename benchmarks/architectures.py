#!/usr/bin/env python3
"""Models of torch_model_set.py by both of PyTorch's ONNX exporters: does Tinh
compile them, are they right, what do compiling and running take.

    build/venv-bench/bin/python benchmarks/architectures.py [OPTION ...] [NAME ...]

NAME is part of a model's name, such as torchvision/ or bert. Each model is
exported in a process of its own, compiled by graph-compile, and run by Tinh and
by ONNX Runtime (engines.py), whose outputs are compared with PyTorch's; with
--time both take turns (workers.py). What fails at one step is said with its
message, and is no failure of the steps before it. --json FILE keeps what is
done: a second run goes on. --output FILE writes the table of all that is in
there. --under COMMAND runs graph-compile, too.
"""

import argparse
import functools
import importlib
import json
import os
import pathlib
import resource
import shutil
import signal
import statistics
import sys
import tempfile
import time
import traceback

import architecture_table
from check_models import report_of
from workers import Worker, add_timing_options, measure, ratio

HERE = pathlib.Path(__file__).resolve().parent
EXPORTERS = {"dynamo": True, "torchscript": False}
# Of any step: bytes of address space, and seconds.
MEMORY = 14 << 30
EXPORT_S, COMPILE_S, RUN_S = 600, 600, 300


# In a process of its own: from PyTorch to a file


def export(name, exporter, folder):
    """Writes model.onnx, inputs and expected outputs. Weights are perturbed as
    those of models.py, so that all of them show in the results."""
    import torch

    import models
    import onnx_files
    import torch_model_set

    module, inputs = torch_model_set.make(name, batch=1)
    generator = torch.Generator().manual_seed(99)
    models.perturb(module, generator)
    models.fill_constants(module, generator)
    module.eval()
    torch_model_set.spread_scores(module, inputs)
    with torch.no_grad():
        results = module(*inputs)
        results = [results] if torch.is_tensor(results) else list(results)
        names = [f"x{i}" for i in range(len(inputs))]
        outputs = [f"y{i}" for i in range(len(results))]
        torch.onnx.export(
            module,
            inputs,
            str(folder / "model.onnx"),
            dynamo=EXPORTERS[exporter],
            input_names=names,
            output_names=outputs,
            external_data=False,
        )
    for kind, keys, values in (
        ("inputs", names, inputs),
        ("expected", outputs, results),
    ):
        arrays = {key: value.numpy() for key, value in zip(keys, values)}
        onnx_files.save_tensors(folder / kind, arrays)


def cause_of(error):
    """What an exporter failed of first, in a line."""
    while error.__cause__:
        error = error.__cause__
    lines = str(error).strip().splitlines() or [""]
    return f"error: {type(error).__name__}: {lines[0]}"


# In this process: the steps of a model


class Failure(Exception):
    """A step that failed, and what it said."""

    def __init__(self, step, message):
        super().__init__(message)
        self.step = step


def start(action, out, err):
    """A process that executes a command, or calls a function."""
    process = os.fork()
    if process:
        return process
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    try:
        if callable(action):
            action()
            os._exit(0)
        os.execvp(action[0], [str(word) for word in action])
    except Exception as error:
        traceback.print_exc()
        print(cause_of(error), file=sys.stderr, flush=True)
    os._exit(1)


def peak_mb(process, before):
    """Of its resident memory up to now; what was known before once it is gone.
    What wait4 says begins with that of the process that forked it."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return before


def run_step(step, action, seconds):
    """Its standard output, the seconds of wall and of CPU time, and the peak of
    resident memory in MB."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        begin = time.perf_counter()
        process, ended, peak = start(action, out, err), 0, 0
        while not ended:
            peak = peak_mb(process, peak)
            if time.perf_counter() - begin > seconds:
                os.kill(process, signal.SIGKILL)
            time.sleep(0.01)
            ended, status, used = os.wait4(process, os.WNOHANG)
        elapsed = time.perf_counter() - begin
        code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if code:
            raise Failure(step, reason_of(code, err.read(), seconds))
        return out.read(), elapsed, used.ru_utime + used.ru_stime, peak


def reason_of(code, said, seconds):
    """The error that was said, or the last line."""
    if code == -signal.SIGKILL:
        return f"takes more than {seconds} s"
    if code < 0:
        return f"died of signal {-code}"
    _, error, message = said.rpartition("error: ")
    if not error:
        message = (said.strip().splitlines() or ["?"])[-1]
    return " ".join(message.split())[:400]


def export_apart(name, exporter, folder):
    action = functools.partial(export, name, exporter, folder)
    _, elapsed, _, _ = run_step("export", action, EXPORT_S)
    return {"export_s": elapsed}


def compile_model(args, folder):
    command = [*args.under, args.build / "bin" / "graph-compile"]
    command += [folder / "model.onnx", "-o", folder / "model.so"]
    command += ["--no-cache", "--report"]
    out, elapsed, cpu, peak = run_step("compile", command, COMPILE_S)
    return {
        "compile_s": elapsed,
        "compile_cpu_s": cpu,
        "compile_mb": peak,
        "kernels": report_of(out).get("dispatches"),
    }


def start_worker(args, folder, engine, threads):
    """A worker of engines.py, which has run the model once."""
    import onnx

    graph = onnx.load(folder / "model.onnx", load_external_data=False).graph
    artifact = "model.so" if engine == "tinh" else "model.onnx"
    options = {
        "runtime": str(args.build / "lib" / "libtinh_runtime.so"),
        "artifact": str(folder / artifact),
        "outputs": [value.name for value in graph.output],
    }
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:threads]))
    command = ["timeout", RUN_S, sys.executable, HERE / "engines.py", engine]
    command += [folder, threads, cpus, json.dumps(options)]
    try:
        return Worker(engine, command, folder / f"{engine}.log", args.under)
    except RuntimeError as error:
        raise Failure(f"run {engine}", str(error).split("; see ")[0]) from None


def run_onnxruntime(args, folder, row):
    """Its worker, if it runs the file: what differs there is the exporter's."""
    try:
        worker = start_worker(args, folder, "onnxruntime", args.threads)
    except Failure as failure:
        row["onnxruntime_error"] = str(failure)
        return []
    row["onnxruntime_error"] = worker.ready["error"]
    return [worker]


def run_tinh(args, folder, row, others):
    """Tinh's error, and times where they are asked for."""
    worker = start_worker(args, folder, "tinh", args.threads)
    row["error"] = worker.ready["error"]
    row["ok"] = architecture_table.is_right(row["error"])
    workers = [*others, worker]
    try:
        if args.time and row["ok"] and others:
            row |= time_turns(args, workers)
    finally:
        worker.close()


def time_turns(args, workers):
    times = measure(workers, args)
    return {
        "threads": args.threads,
        "tinh_ms": statistics.median(times["tinh"]),
        "onnxruntime_ms": statistics.median(times["onnxruntime"]),
        "ratio": ratio(times, "tinh", "onnxruntime"),
    }


def measure_model(args, name, exporter):
    folder = args.work / name.replace("/", "-") / exporter
    row = {"model": name, "exporter": exporter, "ok": False}
    others = []
    try:
        if not (folder / "expected").exists():
            folder.mkdir(parents=True, exist_ok=True)
            row |= export_apart(name, exporter, folder)
        row["model_mb"] = (folder / "model.onnx").stat().st_size / 1e6
        others = run_onnxruntime(args, folder, row)
        row |= compile_model(args, folder)
        run_tinh(args, folder, row, others)
    except Failure as failure:
        row |= {"failed": failure.step, "message": str(failure)}
    finally:
        for worker in others:
            worker.close()
    if row["ok"] and not args.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return row


# The whole


def import_libraries():
    """Once, before the processes that export are forked."""
    for library in ("torchvision", "timm", "transformers", "onnxscript"):
        importlib.import_module(library)
    for module in ("models", "onnx_files", "torch_model_set"):
        importlib.import_module(module)


def read_rows(path):
    """{(model, exporter): its last row}."""
    if not (path and path.exists()):
        return {}
    rows = map(json.loads, path.read_text().splitlines())
    return {(row["model"], row["exporter"]): row for row in rows}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--exporter", choices=EXPORTERS, help="by default both")
    parser.add_argument("--time", action="store_true", help="beside ONNX Runtime")
    parser.add_argument("--again", action="store_true",
                        help="also what --json has: of that, what was not right")
    parser.add_argument("--keep", action="store_true",
                        help="keep the files of models that are right, too")
    parser.add_argument("--build", type=pathlib.Path, metavar="DIR",
                        default=HERE.parent / "build")
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR",
                        help="for exported models; build/architectures by default")
    add_timing_options(parser)
    parser.set_defaults(threads="2")
    args = parser.parse_args()
    if not args.threads.isdigit() or int(args.threads) < 1:
        parser.error(f"--threads={args.threads}: expected one number of threads")
    args.threads = int(args.threads)
    args.work = args.work or args.build / "architectures"
    return args


def main():
    args = parse_arguments()
    import_libraries()
    import torch_model_set

    rows = read_rows(args.json)
    for name in torch_model_set.names():
        if args.names and not any(part in name for part in args.names):
            continue
        for exporter in [args.exporter] if args.exporter else EXPORTERS:
            known = rows.get((name, exporter))
            if known and not (args.again and not known["ok"]):
                continue
            row = rows[name, exporter] = measure_model(args, name, exporter)
            line = json.dumps(row)
            print(line, flush=True)
            if args.json:
                with open(args.json, "a") as file:
                    file.write(line + "\n")
    print(architecture_table.summary(rows.values()))
    if args.output:
        args.output.write_text(architecture_table.document(rows.values()))


if __name__ == "__main__":
    main()
