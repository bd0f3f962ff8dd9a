"""Ways of running a model, side by side."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ._compile import CompileError, _check_memory, _dense, _file, _is_torch_module
from ._compile import compile as _compile
from ._model import Model
from ._tables import Table

_DTYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "bool": "?"}
_DTYPES |= {f"{k}{8 * size}": f"{k}{size}" for k in "iu" for size in (1, 2, 4, 8)}
_SAFETENSORS = {"f8e4m3fn": "F8_E4M3", "f8e4m3fnuz": "F8_E4M3FNUZ"}
_SAFETENSORS |= {"f8e5m2": "F8_E5M2", "f8e5m2fnuz": "F8_E5M2FNUZ"}
_SAFETENSORS["f8e8m0fnu"] = "F8_E8M0"
# Options of tinh.compile that graph-compare has, too.
_OPTIONS = ("cpu", "jobs", "keep_f32", "math", "precision", "winograd")
_SLICE = 0.1  # Seconds that a way runs before the next one's turn.


class Comparison(dict):
    """Rows by name of the way, in milliseconds: `compile_ms`, `first_ms`,
    `median_ms`, `over_compiled` (its time over that of the compiled model, of
    turns that they took) and `difference` from the compiled model's outputs, as
    a part of the largest output."""

    def _table(self) -> Table:
        columns = ["compile_ms", "first_ms", "median_ms", "over_compiled", "difference"]
        headings = ["", "compile, ms", "first call, ms", "median, ms"]
        headings += ["over compiled", "difference"]
        rows = []
        for name, row in self.items():
            cells = [row.get(c) for c in columns]
            texts = ["" if v is None else f"{v:.3f}" for v in cells[:4]]
            texts.append("" if cells[4] is None else f"{cells[4]:.1e}")
            rows.append([name, *texts])
        return Table(headings, rows)

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


def compare(
    model: Any,
    example_inputs: tuple | None = None,
    *,
    memory: dict[str, Any] | None = None,
    threads: int = 1,
    runs: int = 20,
    **options: Any,
) -> Comparison:
    """Runs a model eagerly, compiled, and by what else is installed: ONNX Runtime
    for ONNX files, eager PyTorch for a torch.nn.Module.

    model, example_inputs, memory: as tinh.compile has them.
    threads: for all of them. runs: of eager and compiled, in turns.
    Other options are those of tinh.compile: cpu, jobs, keep_f32, math, precision
    and winograd, or all of them for a torch.nn.Module.
    """
    if memory and not isinstance(model, dict):
        raise TypeError(
            "tinh.compare takes memory for a dict, a graph in the JSON format, not "
            f"for {type(model).__name__}"
        )
    if _is_torch_module(model):
        return _compare_torch(model, example_inputs, threads, options)
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(
                f'tinh.compare has no option "{name}" for such a model; it has '
                f"memory, runs, threads, {', '.join(_OPTIONS)}"
            )
    with tempfile.TemporaryDirectory(prefix="tinh-") as folder:
        if memory:
            model = _with_weights(model, memory, folder)
        path = _file(model, folder)
        try:
            rows = _run_tool(path, threads, runs, options)
        except CompileError as error:
            # A model without a file has none that anybody knows.
            said = [m.replace(folder + os.sep, "") for m in error.messages]
            raise CompileError(error.status, said) from None
        if path.endswith(".onnx") and importlib.util.find_spec("onnxruntime"):
            compiled = _compile(path, threads=threads, **options)
            feeds = _random_inputs(compiled)
            ways = {"onnxruntime": lambda: _onnxruntime(path, feeds, threads)}
            rows |= _in_turns(compiled, feeds, ways)
            del rows["onnxruntime"]["compiled_ms"]
    return Comparison(rows)


def _with_weights(model: dict, memory: dict[str, Any], folder: str) -> dict:
    """The graph with weights in a file: another process sees no memory of ours."""
    _check_memory(model, "model.json", memory)
    name = "memory.safetensors"
    header, blocks, end, weights = {}, [], 0, []
    for weight in model.get("weights", ()):
        if weight.get("memory") in memory:
            block = memoryview(_dense(memory[weight["memory"]])).cast("B")
            header[weight["name"]] = {
                "dtype": _SAFETENSORS.get(weight["dtype"], weight["dtype"].upper()),
                "shape": weight["shape"],
                "data_offsets": [end, end + len(block)],
            }
            end += len(block)
            blocks.append(block)
            weight = {"name": weight["name"], "file": name, "tensor": weight["name"]}
        weights.append(weight)
    with open(os.path.join(folder, name), "wb") as file:
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        file.write(len(text).to_bytes(8, "little") + text)
        for block in blocks:
            file.write(block)
    return {**model, "weights": weights}


def _run_tool(path: str, threads: int, runs: int, options: dict) -> dict:
    """Eager and compiled, by graph-compare, in a process of its own."""
    command = [sys.executable, "-m", "tinh", "graph-compare", path, "--json"]
    command += ["--threads", str(threads), "--runs", str(runs)]
    for name, value in options.items():
        for given in value if isinstance(value, (list, tuple)) else [value]:
            command.append(f"--{name.replace('_', '-')}={given}")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CompileError("failed", done.stderr.strip().splitlines())
    found = json.loads(done.stdout)
    eager, compiled = found["eager"], found["compiled"]
    rows = {
        name: {key: row[key] for key in ("compile_ms", "first_ms", "median_ms")}
        for name, row in (("eager", eager), ("compiled", compiled))
    }
    rows["eager"]["over_compiled"] = found["speedup"]
    rows["eager"]["difference"] = found["max_rel_difference"]
    rows["compiled"]["over_compiled"] = 1.0
    return rows


def _random_inputs(model: Model) -> dict[str, np.ndarray]:
    """Floats within [0, 1), zeros of other dtypes, by name."""
    random = np.random.default_rng(0)
    inputs = {}
    for info in model.inputs:
        dtype = np.dtype(_DTYPES[info.dtype])
        if dtype.kind == "f":
            inputs[info.name] = random.random(info.shape).astype(dtype)
        else:
            inputs[info.name] = np.zeros(info.shape, dtype)
    return inputs


def _onnxruntime(path: str, feeds: dict, threads: int) -> Callable[[], list]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"]
    )
    return lambda: session.run(None, feeds)


def _compare_torch(
    module: Any, example_inputs: tuple | None, threads: int, options: dict
) -> Comparison:
    import torch

    begin = time.perf_counter()
    compiled = _compile(module, example_inputs, threads=threads, **options)
    compile_ms = 1e3 * (time.perf_counter() - begin)
    given = tuple(x.detach() for x in example_inputs or ())
    names = [info.name for info in compiled.inputs]
    before, was_training = torch.get_num_threads(), module.training

    def eager() -> list:
        result = module(*given)
        results = result if isinstance(result, (tuple, list)) else [result]
        return [r.numpy() for r in results]

    try:
        torch.set_num_threads(threads)
        module.eval()
        with torch.no_grad():
            begin = time.perf_counter()
            compiled(*given)
            first_ms = 1e3 * (time.perf_counter() - begin)
            ways = {"torch": lambda: eager}
            rows = _in_turns(compiled, dict(zip(names, given)), ways)
    finally:
        torch.set_num_threads(before)
        module.train(was_training)
    median_ms = rows["torch"].pop("compiled_ms")
    compiled_row = {"compile_ms": compile_ms, "first_ms": first_ms}
    compiled_row |= {"median_ms": median_ms, "over_compiled": 1.0}
    return Comparison({"compiled": compiled_row, **rows})


def _time(call: Callable[[], Any]) -> float:
    """Milliseconds of a call, of as many as fit into a slice."""
    calls, begin = 0, time.perf_counter()
    while True:
        call()
        calls += 1
        elapsed = time.perf_counter() - begin
        if elapsed >= _SLICE:
            return 1e3 * elapsed / calls


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest, as a part of the largest element; booleans count as numbers."""
    if not a.size:
        return 0.0
    a, b = a.astype("f8"), b.astype("f8")
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30))


def _in_turns(model: Model, feeds: dict, ways: dict) -> dict:
    """Each way beside the compiled model, with its outputs compared."""
    expected = model(**feeds)
    expected = expected if isinstance(expected, tuple) else (expected,)
    rows = {}
    for name, prepare in ways.items():
        begin = time.perf_counter()
        call = prepare()
        prepared = time.perf_counter()
        found = call()
        first = time.perf_counter()
        differences = [
            _difference(np.asarray(a), np.asarray(b))
            for a, b in zip(found, expected)
        ]
        pairs = []
        for _ in range(7):
            mine = _time(lambda: model(**feeds))
            time.sleep(0.01)  # Workers go to sleep.
            pairs.append((_time(call), mine))
        rows[name] = {
            "compile_ms": 1e3 * (prepared - begin),
            "first_ms": 1e3 * (first - prepared),
            "median_ms": statistics.median(theirs for theirs, _ in pairs),
            "over_compiled": statistics.median(a / b for a, b in pairs),
            "difference": max(differences, default=0.0),
            "compiled_ms": statistics.median(mine for _, mine in pairs),
        }
    return rows
