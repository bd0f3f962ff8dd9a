"""What an ONNX file says of a model: its inputs and outputs, and its work."""

import math

import onnx

# Larger initialisers than this say nothing of shapes.
LARGE = 1 << 16


def constant_names(graph):
    return {tensor.name for tensor in graph.initializer}


def input_values(graph):
    """The inputs that no initialiser fills."""
    filled = constant_names(graph)
    return [value for value in graph.input if value.name not in filled]


def dimensions(value):
    """The shape that a value's type says; None where it leaves one open."""
    type = value.type.tensor_type
    if not type.HasField("shape"):
        return None
    shape = [
        dim.dim_value if dim.HasField("dim_value") else None
        for dim in type.shape.dim
    ]
    return None if None in shape else shape


def infer_shapes(model):
    """{value: shape}. Takes the model's weights away: no shape needs them."""
    graph = model.graph
    shapes = {t.name: list(t.dims) for t in graph.initializer}
    for tensor in graph.initializer:
        if len(tensor.raw_data) > LARGE:
            tensor.ClearField("raw_data")
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    for value in [*graph.input, *graph.output, *graph.value_info]:
        shape = dimensions(value)
        if shape is not None:
            shapes.setdefault(value.name, shape)
    return shapes


def multiplications(node, shapes):
    """How many numbers the node multiplies as it stands."""
    left, right = shapes[node.input[0]], shapes[node.input[1]]
    if node.op_type == "Conv":
        return math.prod(shapes[node.output[0]]) * math.prod(right[1:])
    if node.op_type == "ConvTranspose":
        return math.prod(left) * math.prod(right[1:])
    depth = left[-1]
    if node.op_type == "Gemm":
        attributes = {a.name: a.i for a in node.attribute}
        depth = left[0] if attributes.get("transA") else left[1]
    return math.prod(shapes[node.output[0]]) * depth


def flops(model):
    """2 for each multiplication of products and convolutions; None where a shape
    is not known."""
    shapes = infer_shapes(model)
    products = ("MatMul", "Gemm", "Conv", "ConvTranspose")
    try:
        return 2 * sum(
            multiplications(node, shapes)
            for node in model.graph.node
            if node.op_type in products
        )
    except KeyError:
        return None


def describe(path):
    """Names of inputs and outputs in the model's order, FLOPs."""
    model = onnx.load(path, load_external_data=False)
    return {
        "inputs": [value.name for value in input_values(model.graph)],
        "outputs": [value.name for value in model.graph.output],
        "flops": flops(model),
    }
