"""Makes of any ONNX file what export_models.py makes of a model: a folder with
model.onnx, whose dimensions are all known, inputs and expected outputs."""

import json

import numpy as np
import onnx
import onnxruntime

from model_facts import input_values

# Beyond this, weights do not fit into a protobuf message.
LARGEST_MESSAGE = 2_000_000_000


def name_of(path):
    """What tables call it: model.onnx says less than the folder it is in."""
    return path.parent.name if path.stem == "model" else path.stem


def prepare(path, files, dims, below):
    """The folder, in `files`. Open dimensions are those of `dims` by their
    names, others 1; integers are drawn below `below`."""
    folder = files / name_of(path)
    made_from = folder / "made-from.json"
    status = path.stat()
    source = [str(path.resolve()), status.st_mtime_ns, dims, below]
    source = json.dumps(source)
    if made_from.exists() and made_from.read_text() == source:
        return folder
    try:
        make_folder(folder, onnx.load(path), dims, below)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise RuntimeError(f"{path}: {lines[0][:200]}") from None
    made_from.write_text(source)
    return folder


def make_folder(folder, model, dims, below):
    fix_dimensions(model.graph, dims)
    feed = draw_inputs(model.graph, below)
    (folder / "model.onnx").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    save_model(model, folder)
    save_tensors(folder / "inputs", feed)
    save_tensors(
        folder / "expected", reference_outputs(folder / "model.onnx", feed)
    )


def fix_dimensions(graph, dims):
    """Shapes of values in between are forgotten: they had open ones, too."""
    known = dict(dims)
    for value in input_values(graph):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value <= 0:
                dim.dim_value = known.setdefault(dim.dim_param, 1)
    for value in graph.output:
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param") and dim.dim_param in known:
                dim.dim_value = known[dim.dim_param]
    graph.ClearField("value_info")


def draw_inputs(graph, below):
    random = np.random.default_rng(99)
    return {
        value.name: draw(value, below, random) for value in input_values(graph)
    }


def draw(value, below, random):
    type = value.type.tensor_type
    if not (value.type.HasField("tensor_type") and type.HasField("shape")):
        raise ValueError(f"input {value.name} is no tensor of a known rank")
    shape = [dim.dim_value for dim in type.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(type.elem_type)
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        return random.integers(0, below, shape).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        return random.standard_normal(shape).astype(dtype)
    raise ValueError(f"input {value.name}: no values are drawn of {dtype}")


def save_model(model, folder):
    size = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    onnx.save(
        model,
        folder / "model.onnx",
        save_as_external_data=size > LARGEST_MESSAGE,
        location="weights",
    )


def reference_outputs(path, feed):
    """By ONNX Runtime as the model stands, without optimisations."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    session = onnxruntime.InferenceSession(
        path, settings, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feed)))


def save_tensors(folder, tensors):
    folder.mkdir(exist_ok=True)
    for file in folder.glob("*.npy"):
        file.unlink()
    for name, value in tensors.items():
        np.save(folder / f"{name.replace('/', '_')}.npy", value)
