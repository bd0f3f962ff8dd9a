"""Records ATen ops and graphs with what PyTorch makes of them, for tests that
have no PyTorch: tests/python/aten_test.py compiles and runs them.

    build/venv-bench/bin/python benchmarks/record_aten.py

writes tests/python/aten/ops.json.gz: for each op of Tinh's table some calls that
PyTorch's own samples of its operators (`op_db`) make, forward and backward; and
graphs.json.gz: whole graphs of small models, as torch.compile hands them over.
It needs the environment of benchmarks/requirements.txt, the package tinh in it,
and expecttest.
"""

import argparse
import collections
import gzip
import json
import math
import pathlib
import sys
import warnings

import torch
import torch_model_set
from tinh import aten, dynamo
from tinh._fx import Reader, dtype_name, op_name
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from models import seeded_inputs, summary  # noqa: E402

MOST_ELEMENTS = 300
CALLS = 5  # Of each op.
FIRST_ALONE = {
    "max_pool2d_with_indices.default",
    "max_pool3d_with_indices.default",
    "_scaled_dot_product_flash_attention_for_cpu.default",
}

# What op_db does not reach: ops that only torch.compile makes, and those whose
# samples are large.
NUMBERS = torch.tensor([-3.5, -1.0, -0.5, -1e-4, 0.0, 2e-5, 0.3, 0.5, 1.5, 2.5, 60.0])
UNARY = [
    "abs", "asinh", "atan", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor",
    "isinf", "isnan", "neg", "relu", "round", "sigmoid", "sign", "sin",
    "sinh", "tan", "tanh", "trunc",
]
WITHIN_ONE = ["acos", "asin", "atanh", "log1p"]
x, w = torch.randn(2, 4, 3, 3), torch.rand(4) + 0.5
rows, columns = torch.rand(2, 1, 1, 3) + 0.5, torch.rand(4, 1, 1) + 0.5
OTHERS = [
    ("_native_batch_norm_legit_functional", (x, w, w, w, w, True, 0.1, 1e-5)),
    ("_native_batch_norm_legit_functional", (x, None, None, w, w, True, 0.2, 1e-3)),
    ("_native_batch_norm_legit_no_training", (x, w, w, w, w, 0.1, 1e-5)),
    ("_weight_norm_interface_backward", (x, x + 1, rows[:1], rows[1:], 3)),
    ("_weight_norm_interface_backward", (x[0], x[1], columns, columns + 1, 0)),
    ("select_backward", (torch.randn(2, 3), [2, 4, 3], 1, -1)),
    ("slice_backward", (torch.randn(2, 2), [2, 5], 1, 1, 5, 2)),
    ("embedding_dense_backward", (torch.randn(3, 4), torch.tensor([1, 0, 1]), 5, 0, False)),
    ("copy", (x, w[:3])),
    ("fill.Tensor", (x, torch.tensor(2.0))),
    ("clamp_max", (x, 0.5)),
    ("div.Scalar_mode", (x, 0.7), {"rounding_mode": "floor"}),
    ("fmod.Scalar", (x, 0.7)),
    ("slice_scatter", (x, torch.randn(2, 2, 3, 3), 1, 1, 3)),
    ("slice_scatter", (x, torch.randn(2, 2, 3, 3), 1, 0, None, 2)),
    ("lift_fresh_copy", (x,)),
    ("_unsafe_index_put", (x, [torch.tensor([1, 0])], torch.randn(2, 4, 3, 3))),
    ("upsample_nearest3d", (torch.randn(1, 2, 2, 2, 3), [4, 3, 6])),
    ("reflection_pad3d", (torch.randn(1, 2, 3, 3, 3), [1, 2, 0, 1, 2, 1])),
    ("replication_pad3d", (torch.randn(1, 2, 3, 3, 3), [1, 2, 0, 1, 2, 1])),
    ("as_strided", (torch.randn(4, 6), [2, 3], [6, 2], 1)),
    ("as_strided", (torch.randn(4, 6), [6, 4], [1, 6])),
    ("as_strided_scatter", (x, torch.randn(3, 2), [3, 2], [5, 2], 1)),
    ("bitwise_and.Scalar", (torch.arange(6), 3)),
    ("bitwise_or.Scalar", (torch.arange(6), 3)),
    ("bitwise_xor.Scalar", (torch.arange(6), 3)),
    ("bitwise_left_shift.Tensor_Scalar", (torch.arange(6), 2)),
    ("bitwise_right_shift.Tensor_Scalar", (torch.arange(6), 1)),
    ("prims.convert_element_type", (x, torch.int32)),
    (
        "tinh.max_pool2d_gradient",
        (torch.randn(1, 2, 4, 2), torch.randn(1, 2, 6, 5), [3, 2], [2, 2], [1, 0],
         [1, 2], True),
    ),
    ("_fused_rms_norm", (torch.randn(2, 5), [5], torch.rand(5), 1e-3)),
    ("_unsafe_index", (x, [None, None, torch.tensor([[0], [2]]), torch.tensor([1, 0])])),
]


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = collections.defaultdict(dict)
        self.refused = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.offer(function, args, kwargs or {}, result)
        return result

    def offer(self, function, args, kwargs, result):
        name = op_name(function)
        calls = self.calls[name]
        if name not in aten.TABLE or len(calls) >= CALLS or "empty" in name:
            return
        try:
            case = make_case(name, args, kwargs, result)
            aten.lower(aten.Graph.from_json(case["graph"]))
        except TypeError:
            return
        except aten.Unsupported as error:
            self.refused.update(error.ops)
            return
        # Calls that differ in more than numbers.
        pattern = json.dumps(case["graph"]["nodes"]) if len(calls) < 2 else str(
            [[len(t) for _, t in case["graph"]["inputs"]], kinds(args), sorted(kwargs)]
        )
        calls.setdefault(pattern, case)


def operator(name):
    """That of PyTorch with a name as the table has it."""
    namespace = torch.ops.aten
    first, _, rest = name.partition(".")
    if first in ("prims", "tinh"):
        namespace, (first, _, rest) = getattr(torch.ops, first), rest.partition(".")
    packet = getattr(namespace, first)
    return getattr(packet, rest) if rest else packet


def kinds(argument):
    if isinstance(argument, (list, tuple)):
        return [kinds(a) for a in argument]
    if isinstance(argument, torch.Tensor):
        return str(argument.dtype)
    return argument if isinstance(argument, (bool, str)) else type(argument).__name__


def tensor_type(tensor):
    name = dtype_name(tensor.dtype)
    if (
        name is None
        or tensor.numel() > MOST_ELEMENTS
        or tensor.layout != torch.strided
        or type(tensor) is not torch.Tensor
        or tensor.dtype in (torch.float16, torch.bfloat16)
    ):
        raise TypeError(str(tensor.dtype))
    return aten.TensorType(name, tuple(tensor.shape))


def make_case(name, args, kwargs, result):
    inputs, data = [], []

    def convert(argument):
        if isinstance(argument, torch.Tensor):
            inputs.append((f"x{len(inputs)}", tensor_type(argument)))
            data.append(elements(argument))
            return aten.Ref(inputs[-1][0])
        if isinstance(argument, (list, tuple)):
            return [convert(a) for a in argument]
        if isinstance(argument, torch.dtype):
            return aten.Dtype(dtype_name(argument))
        if isinstance(argument, (torch.device, torch.layout, torch.memory_format)):
            return None
        if argument is None or isinstance(argument, (bool, int, float, str)):
            return argument
        raise TypeError(type(argument))

    unused = ("device", "layout", "pin_memory", "memory_format", "generator")
    args = tuple(convert(a) for a in args)
    kwargs = {k: convert(v) for k, v in kwargs.items() if k not in unused}
    results = result if isinstance(result, (list, tuple)) else [result]
    types = [tensor_type(r) for r in results]
    node = aten.Node("y", name, args, kwargs, types)
    # Of some ops the table gives the first result alone.
    count = 1 if name in FIRST_ALONE else len(results)
    outputs = [aten.Ref("y", i) for i in range(count)]
    graph = aten.Graph(inputs, [node], outputs)
    expected = [elements(r) for r in results[:count]]
    return {"graph": graph.to_json(), "inputs": data, "expected": expected}


def elements(tensor):
    """Row by row; what JSON has no numbers for as strings."""
    values = tensor.detach().reshape(-1).tolist()
    return [
        str(v) if isinstance(v, float) and not math.isfinite(v) else v for v in values
    ]


def run_samples(recorder):
    from torch.testing._internal.common_methods_invocations import op_db

    skipped = ("rand", "bernoulli", "multinomial", "dropout", "normal", "empty")
    for operator in op_db:
        if any(part in operator.name for part in skipped):
            continue
        for dtype in (torch.float32, torch.int64, torch.bool):
            if dtype not in operator.dtypes:
                continue
            is_float = dtype == torch.float32
            gradient = is_float and operator.supports_autograd
            try:
                samples = list(
                    operator.sample_inputs("cpu", dtype, requires_grad=gradient)
                )
            except Exception:
                continue
            for sample in samples[:40]:
                run(recorder, operator, sample, gradient)


def run(recorder, operator, sample, gradient):
    try:
        with recorder:
            result = operator(sample.input, *sample.args, **sample.kwargs)
            if not gradient:
                return
            for leaf in tree_leaves(result):
                if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
                    leaf.sum().backward(retain_graph=True)
    except Exception:
        return  # What eager mode refuses is nothing to compare with.


# Models whose graphs are recorded, and whether they are trained.
GRAPHS = [
    ("torchvision/squeezenet1_1", False),
    ("torchvision/mobilenet_v3_small", False),
    ("timm/levit_128s", False),
    ("transformers/bert", True),
    ("transformers/gpt2", True),
    ("transformers/llama", False),
    ("transformers/t5", False),
    ("transformers/wav2vec2", False),
]


def small_convolutions():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2, 1),
        torch.nn.BatchNorm2d(8),
        torch.nn.SiLU(),
        torch.nn.MaxPool2d(3, 2, 1, ceil_mode=True),
        torch.nn.Conv2d(8, 16, 3, 1, 1, groups=4),
        torch.nn.GroupNorm(4, 16),
        torch.nn.ReLU(),
        torch.nn.AvgPool2d(2, 2),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 5),
    )


def record_graphs():
    """What torch.compile hands over, with seeded inputs and PyTorch's outputs."""
    handed, original = [], dynamo._executable

    def record(module, constants, options):
        reader = Reader(module)
        if not reader.constants and not reader.draws:
            handed.append((name, module, reader.graph.to_json()))
        return original(module, constants, options)

    dynamo._executable = record
    models = [(n, *torch_model_set.make(n), trained) for n, trained in GRAPHS]
    image = torch.randn(2, 3, 21, 19)
    models.append(("small convolutions", small_convolutions(), (image,), True))
    for name, model, inputs, trained in models:
        torch._dynamo.reset()
        compiled = torch.compile(model.train(trained), backend=dynamo.compile)
        if trained:
            compiled(*inputs).sum().backward()
        else:
            with torch.no_grad():
                compiled(*inputs)
    dynamo._executable = original
    recorded = []
    for name, module, graph in handed:
        types = [type for _, type in graph["inputs"]]
        inputs = [torch.from_numpy(x) for x in seeded_inputs(types)]
        with torch.no_grad():
            outputs = module(*inputs)
        expected = [o if o is None else summary(o.numpy()) for o in outputs]
        recorded.append({"name": name, "graph": graph, "expected": expected})
    return recorded


def write(path, data):
    with open(path, "wb") as file:
        # Without a time, so that equal contents are equal files.
        file.write(gzip.compress(json.dumps(data).encode(), mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--folder", default=ROOT / "tests/python/aten", type=pathlib.Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    graphs = record_graphs()
    write(arguments.folder / "graphs.json.gz", graphs)
    print(f"{len(graphs)} graphs of {sum(len(g['graph']['nodes']) for g in graphs)} ops")
    torch.manual_seed(0)
    recorder = Recorder()
    unary = [(name, (NUMBERS,)) for name in UNARY]
    unary += [(name, (NUMBERS[1:8],)) for name in WITHIN_ONE]
    for name, args, *more in unary + OTHERS:
        keywords = more[0] if more else {}
        with recorder:
            operator(name)(*args, **keywords)
    run_samples(recorder)
    calls = {n: list(c.values()) for n, c in sorted(recorder.calls.items()) if c}
    cases = [case for cases in calls.values() for case in cases]
    write(arguments.folder / "ops.json.gz", cases)
    missing = sorted(set(aten.TABLE) - set(calls))
    count = sum(map(len, calls.values()))
    for reason in sorted(recorder.refused):
        print(f"refused: {reason}")
    print(f"{count} calls of {len(calls)} ops; none of {', '.join(missing)}")


if __name__ == "__main__":
    main()
