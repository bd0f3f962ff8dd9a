#!/usr/bin/env python3
"""One engine in one live process, for compare.py.

    engines.py ENGINE MODEL_DIR THREADS CPUS OPTIONS

Pins itself to CPUS (a comma-separated list), prepares the model with its
inputs, and is then a worker (workers.py) that first says how far its outputs
are from the expected ones. OPTIONS is JSON.
"""

import json
import os
import pathlib
import sys
import time

from workers import serve


def load_tensors(folder):
    """The folder's .npy files by their names, which are those of tensors."""
    import numpy as np

    return {f.stem: np.load(f) for f in sorted(folder.glob("*.npy"))}


def named(feed, names):
    """The inputs by the model's own names: in files' names, / is _."""
    return {name: feed[name.replace("/", "_")] for name in names}


# Each engine: (model folder, inputs, threads, options) -> a function that runs
# the model once and returns its outputs in the order of their names.


def tinh(folder, feed, threads, options):
    from tinh_runtime import Model

    model = Model(options["runtime"], options["artifact"], threads)
    call, results = model.bind(named(feed, [n for n, _, _ in model.inputs]))
    outputs = [results[name] for name in sorted(results)]

    def run():
        call()
        return outputs

    return run


def torch_module(folder, threads):
    import torch

    import models

    torch.set_num_threads(threads)
    module, inputs, _ = models.build(folder.name)
    return torch, module, inputs


def torch_call(torch, module, inputs):
    def run():
        with torch.inference_mode():
            results = module(*inputs)
        return [results] if torch.is_tensor(results) else list(results)

    return run


def torch_eager(folder, feed, threads, options):
    return torch_call(*torch_module(folder, threads))


def torch_compile(folder, feed, threads, options):
    torch, module, inputs = torch_module(folder, threads)
    run = torch_call(torch, torch.compile(module), inputs)
    run()
    return run


def torch_compile_frozen(folder, feed, threads, options):
    os.environ["TORCHINDUCTOR_FREEZING"] = "1"
    torch, module, inputs = torch_module(folder, threads)
    compiled = torch.compile(module)

    # Freezing needs no_grad rather than inference_mode.
    def run():
        with torch.no_grad():
            results = compiled(*inputs)
        return [results] if torch.is_tensor(results) else list(results)

    run()
    return run


def onnxruntime(folder, feed, threads, options):
    import onnxruntime as ort

    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    session = ort.InferenceSession(
        folder / "model.onnx", settings, providers=["CPUExecutionProvider"]
    )
    names = sorted(o.name for o in session.get_outputs())
    inputs = named(feed, [i.name for i in session.get_inputs()])
    return lambda: session.run(names, inputs)


def openvino(folder, feed, threads, options):
    import openvino as ov

    core = ov.Core()
    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": False,
    }
    model = core.compile_model(str(folder / "model.onnx"), "CPU", settings)
    request = model.create_infer_request()
    inputs = named(feed, [port.get_any_name() for port in model.inputs])
    for name, value in inputs.items():
        request.set_tensor(name, ov.Tensor(value, shared_memory=True))
    ports = sorted(model.outputs, key=lambda port: port.get_any_name())

    def run():
        request.infer()
        return [request.get_tensor(port).data for port in ports]

    run.keep = feed
    return run


ENGINES = {
    "tinh": tinh,
    "torch": torch_eager,
    "torch.compile": torch_compile,
    "torch.compile frozen": torch_compile_frozen,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
}


def largest_error(results, expected):
    import numpy as np

    return max(
        float(np.abs(np.asarray(a) - b).max() / np.abs(b).max())
        for a, b in zip(results, expected, strict=True)
    )


def main():
    engine, folder, threads, cpus, options = sys.argv[1:]
    # What engines print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = threads
    folder = pathlib.Path(folder)
    expected = list(load_tensors(folder / "expected").values())
    start = time.perf_counter()
    feed = load_tensors(folder / "inputs")
    run = ENGINES[engine](folder, feed, int(threads), json.loads(options))
    results = run()
    ready = {
        "error": largest_error(results, expected),
        "load_s": time.perf_counter() - start,
    }
    print(json.dumps(ready), file=answers)
    serve(run, answers)


if __name__ == "__main__":
    main()
