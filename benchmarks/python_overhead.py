"""What a call from Python costs beyond the model: the two-layer network through
the C API, and from Python with arrays of NumPy and of PyTorch, and ONNX Runtime.

    build/venv-bench/bin/python benchmarks/python_overhead.py

One process, one thread, in turns; medians of the rounds. A turn is short, for the
CPU's clock drifts, and begins with calls that do not count, for the turn before has
left other things in the caches. Overheads are differences from the C API's time of
the same round. ONNX Runtime's is what its
call takes beyond its own `run_with_iobinding` of arrays that are bound already.
It needs a C compiler, the package tinh, and for the last lines torch, onnx and
onnxruntime.
"""

import ctypes
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import tinh

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROUNDS, WARMUP = 301, 3

LOOP = """
#include <tinh/runtime.h>
#include <time.h>
double call(const char *path, void *x, void *y, unsigned long nx,
            unsigned long ny, int calls) {
  static tinh_module_t *module;
  static tinh_context_t *context;
  if (!context) {
    tinh_context_options_t options;
    tinh_context_options_init(&options);
    options.threads = 1;
    if (tinh_module_load(path, &module) ||
        tinh_context_create(module, &options, &context))
      return -1;
  }
  tinh_buffer_t in = {x, nx}, out = {y, ny};
  struct timespec begin, end;
  for (int i = -WARMUP; i < calls; ++i) {
    if (i == 0)
      clock_gettime(CLOCK_MONOTONIC, &begin);
    if (tinh_context_run(context, 0, &in, 1, &out, 1))
      return -1;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((end.tv_sec - begin.tv_sec) * 1e9 + end.tv_nsec - begin.tv_nsec) / calls;
}
"""


def two_layer(rows, inputs, hidden, outputs):
    random = np.random.default_rng(0)
    weights = {
        "w1": random.standard_normal((inputs, hidden), dtype="f4") / 30,
        "w2": random.standard_normal((hidden, outputs), dtype="f4") / 10,
    }
    graph = {
        "tinh": 1,
        "inputs": [{"name": "x", "dtype": "f32", "shape": [rows, inputs]}],
        "weights": [
            {"name": n, "dtype": "f32", "shape": list(w.shape), "memory": n}
            for n, w in weights.items()
        ],
        "nodes": [
            {"op": "matmul", "inputs": ["x", "w1"], "outputs": ["h"]},
            {"op": "relu", "inputs": ["h"], "outputs": ["r"]},
            {"op": "matmul", "inputs": ["r", "w2"], "outputs": ["y"]},
        ],
        "outputs": ["y"],
    }
    return graph, weights, random.standard_normal((rows, inputs), dtype="f4")


def c_call(folder, artifact, x, y):
    source, library = folder / "loop.c", folder / "loop.so"
    source.write_text(LOOP)
    lib = ROOT / "build/lib"
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", source, "-o", library,
         f"-DWARMUP={WARMUP}", f"-I{ROOT}/runtime/include", f"-L{lib}",
         "-ltinh_runtime", f"-Wl,-rpath,{lib}"],
        check=True,
    )
    function = ctypes.CDLL(str(library)).call
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p,
                         ctypes.c_ulong, ctypes.c_ulong, ctypes.c_int]
    arguments = (str(artifact).encode(), x.ctypes.data, y.ctypes.data, x.nbytes,
                 y.nbytes)
    return lambda calls: function(*arguments, calls) / 1e3


def python_call(function):
    def measure(calls):
        for _ in range(WARMUP):
            function()
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        return (time.perf_counter() - begin) / calls * 1e6

    return measure


def torch_calls(f, x):
    try:
        import torch
    except ImportError:
        return {}
    tensor, out = torch.from_numpy(x), torch.empty(f.outputs[0].shape)
    return {
        "torch": python_call(lambda: f(tensor)),
        "torch, out=": python_call(lambda: f(tensor, out=out)),
    }


def onnxruntime_calls(folder, artifact_model, weights, x):
    try:
        import onnxruntime
        from onnx import TensorProto, helper, numpy_helper, save
    except ImportError:
        return {}
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w2"], ["y"]),
    ]
    rows, outputs = x.shape[0], weights["w2"].shape[1]
    graph = helper.make_graph(
        nodes, "two_layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, outputs])],
        [numpy_helper.from_array(w, n) for n, w in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=opset, ir_version=8),
         folder / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    y = np.empty((rows, outputs), "f4")
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)

    def run_bound(kept=(x, y)):  # The binding does not keep the arrays.
        session.run_with_iobinding(binding)

    return {
        "onnxruntime, bound": python_call(run_bound),
        "onnxruntime": python_call(lambda: session.run(None, {"x": x})),
    }


def measure(title, sizes, calls):
    graph, weights, x = two_layer(*sizes)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        f = tinh.compile(graph, memory=weights, threads=1)
        f.save(folder / "model.so")
        y = np.empty((sizes[0], sizes[3]), "f4")
        ways = {
            "C API": c_call(folder, folder / "model.so", x, y),
            "NumPy": python_call(lambda: f(x)),
            "NumPy, out=": python_call(lambda: f(x, out=y)),
            **torch_calls(f, x),
            **onnxruntime_calls(folder, graph, weights, x),
        }
        times = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, call in ways.items():
                times[way].append(call(calls))
    print(f"{title}\n{'':20}{'µs a call':>12}{'above':>10}")
    for way, values in times.items():
        base = "onnxruntime, bound" if way == "onnxruntime" else "C API"
        above = statistics.median(a - b for a, b in zip(values, times[base]))
        shown = "" if way in ("C API", "onnxruntime, bound") else f"{above:10.2f}"
        print(f"{way:20}{statistics.median(values):12.2f}{shown}")


def main():
    measure("two-layer network, 64 x 1000 -> 100 -> 10", (64, 1000, 100, 10), 10)
    measure("the same, 1 x 8 -> 4 -> 2: the call alone", (1, 8, 4, 2), 500)


if __name__ == "__main__":
    main()
