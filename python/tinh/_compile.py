"""From a model to something to call."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import warnings
from typing import Any

import numpy as np

from . import _tinh
from ._model import RUN_OPTIONS, Model, check_options
from ._report import Report

# What arrays call the dtypes of a graph that they have.
_DTYPES = {"bool": "bool", "bf16": "bfloat16"}
_DTYPES |= {f"f{bits}": f"float{bits}" for bits in (16, 32, 64)}
_DTYPES |= {f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}
_DTYPES |= {f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)}


class CompileError(_tinh.Error):
    """A model or an option that the compiler refuses: `messages` has its
    sentences, which name the file, the node and what to do."""

    def __init__(self, status: str, messages: list[str]):
        super().__init__("\n".join(messages) or status)
        self.status = status
        self.messages = messages


def compile(
    model: Any,
    example_inputs: tuple | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    memory: dict[str, Any] | None = None,
    cache: str | os.PathLike[str] | bool = True,
    **options: Any,
) -> Model:
    """Compiles a model for this machine and loads it.

    model: the path of an .onnx, .json, .mlir or .mlirbc file; such a file's
        bytes; an onnx.ModelProto; a dict, a graph in the JSON format; or a
        torch.nn.Module, which torch.export traces with `example_inputs`, a
        tuple of tensors, and whose parameters are read where they lie.
    output: where the artifact is written; if not given, it lives as long as
        the result, and save writes it.
    memory: dense arrays that weights of a JSON graph refer to, by name.
    cache: the folder of compiled kernels; True: the user's own cache; False:
        none.

    Other options are those of graph-compile, with its defaults:
        shapes: {name: shape} for inputs whose shape the model leaves open.
        input_values: {name: value} for inputs that become constants: numbers
        or arrays.
        lengths: {name: count} for inputs that are sequences, each of whose
        tensors is an input "name.0", "name.1" …; 1 or 0 for optional ones.
        string_lengths: {name: bytes} for inputs of strings, which are arrays
        of bytes with so many in a last dimension; 64 if not given.
        precision ("f32", "bf16", "f16"), keep_f32, winograd ("off",
        "accurate", "fast"), math ("accurate", "fast"), memory_budget, plans,
        tune (seconds), time_limit (seconds; none if not given), memory_limit
        ("8GiB", of this process; none if not given), loadable_weights,
        load_weights, weights ("automatic", "embedded", "external"), fuse,
        plain_variables, jobs, cpu, target ("cpu", "cuda", "cpu,cuda"),
        cuda_chips, allow_tf32, place, cuda_toolkit, collectives.
    And those of Model: threads, device, cuda_device, max_in_flight,
        pin_threads, spin_us, check_numerics, trace.

    Raises CompileError if the model or an option is wrong.
    """
    return _compile(model, example_inputs, None, output, memory, cache, options)


def compile_training(
    model: Any,
    loss: str = "",
    optimizer: str = "",
    *,
    trainable: list[str] | str | None = None,
    distill: str = "",
    learn_scales: bool = False,
    loss_scale: str = "",
    accumulate: int = 1,
    clip_grad_norm: float | None = None,
    output: str | os.PathLike[str] | None = None,
    memory: dict[str, Any] | None = None,
    cache: str | os.PathLike[str] | bool = True,
    **options: Any,
) -> Model:
    """Compiles whole training steps: a model with the functions train_step,
    evaluate and predict, whose variables are the parameters and the
    optimizer's state.

    loss, optimizer: names with options, as "cross_entropy,label_smoothing=0.1"
        and "adam,lr=1e-3"; if not given, those that a JSON graph has.
    trainable: patterns, as "fc*", of the weights that are trained; None: all.
    distill: a teacher to learn from, too: "teacher.onnx,temperature=4".
    learn_scales: train the scales of quantised tensors, too.
    loss_scale: for gradients in f16: a power of two, or "dynamic".
    accumulate: gradient accumulation: a step takes so many batches, one after
        the other, and updates by the mean of their gradients.
    clip_grad_norm: scale gradients down so that the norm of all of them
        together is at most this.
    All else is as in compile.
    """
    train = {
        "loss": loss,
        "optimizer": optimizer,
        "trainable": [trainable] if isinstance(trainable, str) else trainable or [],
        "distill": distill,
        "learn_scales": learn_scales,
        "loss_scale": loss_scale,
        "accumulate": accumulate,
        "clip_grad_norm": clip_grad_norm,
    }
    return _compile(model, None, train, output, memory, cache, options)


def _cache_folder(cache: str | os.PathLike[str] | bool) -> str:
    if cache is False:
        return ""
    if cache is True:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return os.path.join(home, "tinh")
    return os.fspath(cache)


def _value_text(value: Any) -> str:
    """Elements, as --input-value has them."""
    elements = np.asarray(value).ravel().tolist()
    return ",".join(
        str(e).lower() if isinstance(e, bool) else repr(e) for e in elements
    )


def _kind(content: bytes) -> str:
    """The ending of a file's name that such bytes would have."""
    start = content[:4096].lstrip()
    if content.startswith(b"ML\xefR"):
        return ".mlirbc"
    if start.startswith(b"{"):
        return ".json"
    if start.startswith((b"module", b"func", b"#", b"//", b"builtin", b'"builtin')):
        return ".mlir"
    return ".onnx"


def _is_torch_module(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _plain(value: Any) -> Any:
    """A number of NumPy's, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"a graph has numbers, text, lists and dicts, not {type(value).__name__}; "
        "weights may lie in arrays: give them as memory="
    )


def _file(model: Any, folder: str) -> str:
    """The path of the model's file, one in `folder` if it has none."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    name = "model"
    if isinstance(model, dict):
        content = json.dumps(model, default=_plain).encode()
        if re.fullmatch(r"[\w-]{1,100}", str(model.get("name", ""))):
            name = model["name"]
    elif hasattr(model, "SerializeToString"):
        content = model.SerializeToString()
    elif isinstance(model, (bytes, bytearray, memoryview)):
        content = bytes(model)
    else:
        raise TypeError(
            "tinh.compile takes a path, bytes, an onnx.ModelProto, a dict or a "
            f"torch.nn.Module, not {type(model).__name__}"
        )
    kind = ".json" if isinstance(model, dict) else _kind(content)
    path = os.path.join(folder, name + kind)
    with open(path, "wb") as file:
        file.write(content)
    return path


def _dense(array: Any) -> Any:
    """An object whose buffer is the array's elements, row by row."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return array.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    if hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray):
        array = np.from_dlpack(array)
    return array if memoryview(array).c_contiguous else memoryview(array).tobytes()


def _check_memory(model: Any, path: str, memory: dict[str, Any]) -> None:
    """That arrays are what the graph says of them: the compiler sees bytes, and
    so does this for what has no dtype, and for bytes in arrays."""
    if path.endswith(".json") and not isinstance(model, dict):
        with open(path, "rb") as file:
            try:
                model = json.load(file)
            except ValueError:  # For the compiler to say.
                return
    if not isinstance(model, dict):
        return
    for weight in model.get("weights", ()):
        array = memory.get(weight.get("memory"))
        expected = _DTYPES.get(weight.get("dtype"))
        if expected is None or not hasattr(array, "dtype"):
            continue
        dtype = str(array.dtype).removeprefix("torch.")
        found, shape = list(array.shape), list(weight["shape"])
        if dtype == "uint8" and len(found) == 1:
            continue
        if dtype != expected and (expected, dtype) != ("bfloat16", "uint16"):
            what = f"expected an array of {expected}, found {dtype}"
        elif found != shape:
            what = f"expected shape {shape}, found {found}"
        else:
            continue
        where = f'weight "{weight.get("name")}": memory "{weight["memory"]}"'
        message = f"{os.path.basename(path)}: error: {where}: {what}"
        raise CompileError("wrong input", [message])


def _compile(
    model: Any,
    example_inputs: tuple | None,
    train: dict | None,
    output: str | os.PathLike[str] | None,
    memory: dict[str, Any] | None,
    cache: str | os.PathLike[str] | bool,
    options: dict[str, Any],
) -> Model:
    if _is_torch_module(model):
        from . import dynamo

        model, memory = dynamo.export(model, example_inputs)
    running = {k: options.pop(k) for k in RUN_OPTIONS & options.keys()}
    check_options(running)
    options["cache"] = _cache_folder(cache)
    if "input_values" in options:
        values = dict(options["input_values"])
        options["input_values"] = {k: _value_text(v) for k, v in values.items()}
    with tempfile.TemporaryDirectory(prefix="tinh-") as folder:
        path = _file(model, folder)
        for name in memory or ():
            if not isinstance(name, str):
                raise TypeError(
                    f"memory: names are text, found {type(name).__name__}"
                )
        if memory:
            _check_memory(model, path, memory)
        artifact = os.fspath(output) if output else os.path.join(folder, "model.so")
        if not output and options.setdefault("weights", "embedded") != "embedded":
            raise ValueError(
                f'weights="{options["weights"]}" wants an output to lie beside'
            )
        status, messages, report, page = _tinh._compile(
            path,
            artifact,
            {name: _dense(array) for name, array in (memory or {}).items()},
            train,
            options,
        )
        # A model without a file has none that anybody knows.
        messages = [m.replace(folder + os.sep, "") for m in messages]
        if status != "succeeded":
            raise CompileError(status, messages)
        for message in messages:
            warnings.warn(message, stacklevel=3)
        compiled = Model(artifact, **running)
    compiled._report = Report(report, page)
    return compiled
