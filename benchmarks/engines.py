#!/usr/bin/env python3
"""One engine in one live process, for compare.py.

    engines.py ENGINE MODEL_DIR THREADS CPUS OPTIONS

Pins itself to CPUS (a comma-separated list), prepares the model with its
inputs, and is then a worker (workers.py) that first says how far its outputs
are from the expected ones. OPTIONS is JSON: `artifact`, what the engine loads,
`inputs` and `outputs`, the model's names in its order, and `runtime`, Tinh's.
"""

import importlib.metadata
import json
import os
import pathlib
import sys
import time

from workers import serve


def file_name(name):
    """A tensor's name as files have it."""
    return name.replace("/", "_")


def load_tensors(folder):
    """The folder's .npy files by their names, which are those of tensors."""
    import numpy as np

    files = sorted(folder.glob("*.npy"), key=lambda file: file.stem)
    return {file.stem: np.load(file) for file in files}


def named(feed, names):
    """The inputs by the model's own names."""
    return {name: feed[file_name(name)] for name in names}


def by_name(outputs, names):
    """Outputs that have these names, in the order of their names."""
    order = sorted(range(len(names)), key=lambda i: file_name(names[i]))
    return [outputs[i] for i in order]


# Each engine: (model folder, inputs, threads, options) -> a function that runs
# the model once and returns its outputs in the order of their names.


def tinh(folder, feed, threads, options):
    from tinh_runtime import Model

    model = Model(options["runtime"], options["artifact"], threads)
    call, results = model.bind(named(feed, [n for n, _, _ in model.inputs]))
    names = sorted(model.own_outputs, key=file_name)

    def run():
        call()
        return [model.used(results, name) for name in names]

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
    settings.log_severity_level = 3
    session = ort.InferenceSession(
        options["artifact"], settings, providers=["CPUExecutionProvider"]
    )
    names = sorted(options["outputs"], key=file_name)
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
    model = core.compile_model(options["artifact"], "CPU", settings)
    request = model.create_infer_request()
    tensors = []
    for name, value in named(feed, options["inputs"]).items():
        tensors.append(ov.Tensor(value, shared_memory=True))
        request.set_tensor(name, tensors[-1])
    ports = by_name(model.outputs, options["outputs"])

    def run():
        request.infer()
        return [request.get_tensor(port).data for port in ports]

    run.keep = feed, tensors
    return run


def ncnn(folder, feed, threads, options):
    import ncnn
    import numpy as np

    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_vulkan_compute = False
    for kind in ("fp16_packed", "fp16_storage", "fp16_arithmetic"):
        setattr(net.opt, f"use_{kind}", False)
    net.opt.use_bf16_storage = False
    path = pathlib.Path(options["artifact"])
    if net.load_param(str(path / "model.param")):
        raise RuntimeError("ncnn has no layer that the model needs")
    net.load_model(str(path / "model.bin"))
    interface = json.loads((path / "interface.json").read_text())

    def mat(name, axis):
        value = feed[file_name(name)]
        if value.dtype == np.int64:
            value = value.astype(np.int32)
        return ncnn.Mat(value, batch_index=axis).clone()

    inputs = list(map(mat, interface["names"], interface["inputs"]))
    axes = interface["outputs"]

    def run():
        extractor = net.create_extractor()
        for i, value in enumerate(inputs):
            extractor.input(f"in{i}", value)
        # Arrays are views.
        run.keep = [extractor.extract(f"out{i}")[1] for i in range(len(axes))]
        results = map(lambda m, axis: m.numpy(batch_index=axis), run.keep, axes)
        return by_name(list(results), options["outputs"])

    return run


def iree(folder, feed, threads, options):
    import iree.runtime as rt

    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    rt.flags.parse_flags(f"--task_topology_cpu_ids={cpus}")
    rt.flags.parse_flags(f"--task_worker_stack_size={8 << 20}")
    config = rt.Config("local-task")
    module = rt.VmModule.mmap(config.vm_instance, options["artifact"])
    module = rt.load_vm_module(module, config)
    # The graph's; beside it stand the same to be waited for, and a constructor.
    name = next(
        name
        for name in module.vm_module.function_names
        if not name.endswith("$async") and not name.startswith("__")
    )
    function = module[name]
    values = named(feed, options["inputs"]).values()
    inputs = [rt.asdevicearray(config.device, value) for value in values]

    def run():
        results = function(*inputs)
        results = results if isinstance(results, tuple) else [results]
        return by_name(results, options["outputs"])

    return run


ENGINES = {
    "tinh": tinh,
    "torch": torch_eager,
    "torch.compile": torch_compile,
    "torch.compile frozen": torch_compile_frozen,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "ncnn": ncnn,
    "iree": iree,
}
# Those that run the module of models.py, and so no file.
TORCH_ENGINES = ("torch", "torch.compile", "torch.compile frozen")


def package_of(engine):
    """That whose version is the engine's; Tinh has none."""
    if engine in TORCH_ENGINES:
        return "torch"
    return {"tinh": None, "iree": "iree-base-compiler"}.get(engine, engine)


def version_of(engine):
    package = package_of(engine)
    return importlib.metadata.version(package) if package else None


def error_of(result, expected):
    import numpy as np

    result = np.asarray(result)
    if result.shape != expected.shape:
        raise RuntimeError(f"the shape is {result.shape}, not {expected.shape}")
    if expected.size == 0:
        return 0.0
    expected = expected.astype(np.float64)
    largest = np.abs(expected).max()
    difference = np.abs(result.astype(np.float64) - expected).max()
    return float(difference / largest if largest else difference)


def largest_error(results, expected):
    pairs = zip(results, expected, strict=True)
    return max(error_of(result, value) for result, value in pairs)


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
        "version": version_of(engine),
    }
    print(json.dumps(ready), file=answers)
    serve(run, answers)


if __name__ == "__main__":
    main()
