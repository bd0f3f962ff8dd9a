# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own tests of single nodes: models, inputs and expected outputs."""

import dataclasses
import json

import ml_dtypes
import numpy as np
import onnx
import onnx.numpy_helper
from onnx.backend.test.case.node import collect_testcases

DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u64": np.uint64,
    "u32": np.uint32,
    "u16": np.uint16,
    "u8": np.uint8,
    "bool": np.bool_,
}


@dataclasses.dataclass
class Case:
    name: str
    model: object  # an onnx.ModelProto
    inputs: list  # arrays, lists of them for sequences, None for absent optionals
    outputs: list
    rtol: float
    atol: float
    is_random: bool


def collect():
    """All cases, in the order of their names; one for each of several data sets."""
    np.random.seed(0)
    cases = []
    for case in collect_testcases():
        for i, data_set in enumerate(case.data_sets):
            name = case.name if len(case.data_sets) == 1 else f"{case.name}/{i}"
            inputs, outputs = ([to_array(value) for value in x] for x in data_set)
            random = is_random(case.model, inputs)
            cases.append(
                Case(name, case.model, inputs, outputs, case.rtol, case.atol, random)
            )
    return sorted(cases, key=lambda case: case.name)


# A program has a byte for each number of 4 or 2 bits.
BYTES = {
    ml_dtypes.int4: np.int8,
    ml_dtypes.uint4: np.uint8,
    ml_dtypes.int2: np.int8,
    ml_dtypes.uint2: np.uint8,
}


def to_array(value):
    """A value of a data set; sequences and optionals stay what they are."""
    if isinstance(value, onnx.TensorProto):
        array = onnx.numpy_helper.to_array(value)
        return array.astype(BYTES.get(array.dtype.type, array.dtype))
    return value


def sources(graph):
    """What each tensor of a graph, and of those in it, is computed from: the output
    of a node with branches also from theirs."""
    found = {}
    for node in graph.node:
        inner = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        for i, output in enumerate(node.output):
            of_branches = [g.output[i].name for g in inner if i < len(g.output)]
            found[output] = [*node.input, *of_branches]
        for subgraph in inner:
            found |= sources(subgraph)
    return found


def inputs_behind(model, name):
    """The model's inputs that the tensor `name` is computed from, in its order."""
    known = sources(model.graph)
    waiting, seen = [name], set()
    while waiting:
        tensor = waiting.pop()
        if tensor not in seen:
            seen.add(tensor)
            waiting += known.get(tensor, [])
    return [value.name for value in model.graph.input if value.name in seen]


def freeze(case, name):
    """The case with an input made a constant of the model: one that decides on
    the tensor `name`. Nothing if there is none such."""
    names = [value.name for value in case.model.graph.input]
    behind = inputs_behind(case.model, name)
    if not behind:
        return None
    index = names.index(behind[0])
    if not isinstance(case.inputs[index], np.ndarray | np.generic):
        return None
    model = type(case.model)()
    model.CopyFrom(case.model)
    tensor = onnx.numpy_helper.from_array(np.asarray(case.inputs[index]), behind[0])
    model.graph.initializer.append(tensor)
    del model.graph.input[index]
    inputs = [value for i, value in enumerate(case.inputs) if i != index]
    return dataclasses.replace(case, model=model, inputs=inputs)


def tensors(values):
    """Those of sequences one by one, and none of absent optionals: what a program
    has in place of them."""
    found = []
    for value in values:
        found += value if isinstance(value, list) else [] if value is None else [value]
    return found


def is_string(value):
    return isinstance(value, np.ndarray) and value.dtype.kind in "OUS"


def to_bytes(strings):
    """UTF-8 in a last dimension, filled up with NUL, as a program has strings."""
    encoded = np.array([str(s).encode() for s in strings.ravel()], np.bytes_)
    width = max(encoded.dtype.itemsize, 1)
    encoded = encoded.astype(f"S{width}").view(np.uint8)
    return encoded.reshape(*strings.shape, width)


def from_bytes(array):
    strings = np.ascontiguousarray(array).view(f"S{array.shape[-1]}")[..., 0]
    return np.array([s.decode() for s in strings.ravel()], object).reshape(strings.shape)


def interface(case):
    """How long sequences are and what shapes they hold, which optionals are there,
    the shapes of tensors that are open, and how long strings are."""
    lengths, shapes, string_lengths = {}, {}, {}
    for info, value in zip(case.model.graph.input, case.inputs):
        kind = info.type.WhichOneof("value")
        if isinstance(value, list):
            lengths[info.name] = len(value)
            for i, element in enumerate(value):
                shapes[f"{info.name}.{i}"] = list(np.shape(element))
        elif kind == "optional_type":
            lengths[info.name] = -1 if value is None else 1
        elif any(not d.HasField("dim_value") for d in info.type.tensor_type.shape.dim):
            shapes[info.name] = list(np.shape(value))
        if is_string(value):
            string_lengths[info.name] = to_bytes(value).shape[-1]
    return {"lengths": lengths, "shapes": shapes, "string_lengths": string_lengths}


def write(case, folder):
    """Writes model.onnx, what its interface leaves open and the inputs' elements, as
    the runner reads them."""
    folder.mkdir()
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "interface.json").write_text(json.dumps(interface(case)))
    for i, value in enumerate(tensors(case.inputs)):
        if is_string(value):
            value = to_bytes(value)
        if isinstance(value, np.ndarray | np.generic):
            data = np.ascontiguousarray(value).tobytes()
            (folder / f"input_{i}.bin").write_bytes(data)


def read_outputs(folder, descriptions):
    return [
        np.fromfile(folder / f"output_{i}.bin", DTYPES[d["dtype"]]).reshape(d["shape"])
        for i, d in enumerate(descriptions)
    ]


# Which numbers these draw is the implementation's own.
RANDOM = {"Bernoulli", "RandomUniformLike"}


def is_random(model, inputs):
    """Whether a node draws numbers: also a Dropout with a ratio that is trained."""
    names = [value.name for value in model.graph.input]
    given = dict(zip(names, inputs))
    for node in model.graph.node:
        if node.op_type in RANDOM:
            return True
        if node.op_type == "Dropout" and len(node.input) == 3:
            ratio = given.get(node.input[1], 0.5)
            if given[node.input[2]] and ratio != 0:
                return True
    return False


def difference(case, got):
    """What is wrong with the outputs; nothing if they are as they should be."""
    expected = tensors(case.outputs)
    if len(got) != len(expected):
        return f"{len(got)} outputs, expected {len(expected)}"
    for i, (a, b) in enumerate(zip(got, expected)):
        b = np.asarray(b)
        if is_string(b) and a.dtype == np.uint8 and a.ndim > 0:
            a, b = from_bytes(a), b.astype(object)
        if a.shape != b.shape or a.dtype != b.dtype:
            return (
                f"output {i} is {a.dtype}{list(a.shape)}, "
                f"expected {b.dtype}{list(b.shape)}"
            )
        if case.is_random:
            continue
        if not agree(case, a, b):
            return f"output {i} is {a.ravel()[:6]}, expected {b.ravel()[:6]}"
    return None


def tolerances(case, expected):
    """rtol and atol, as the case asks for, or as the type of its floats allows.

    Two results of 16 bits may be two neighbours apart, as intermediate ones are
    rounded in other places; and what is expected has errors of its own, which
    show where sums cancel."""
    eps = float(ml_dtypes.finfo(expected.dtype).eps)
    expected = expected.astype(np.float64)
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    if eps < 1e-6:
        return case.rtol, max(case.atol, eps * largest)
    return max(case.rtol, 2 * eps), case.atol


def agree(case, a, b):
    """Whether results agree. Floats of 8 and 4 bits are rounded once."""
    if a.dtype.kind in "biuO":
        return np.array_equal(a, b)
    if a.dtype.itemsize == 1:
        return np.array_equal(a.astype(np.float32), b.astype(np.float32), equal_nan=True)
    rtol, atol = tolerances(case, b)
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
