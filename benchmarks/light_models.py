#!/usr/bin/env python3
"""Writes the light models of the onnx package, as shipped and with weights.

    light_models.py DIR [--seed N] [--plain | --seeded] [NAME ...]

The nine light models have the architectures of real networks, but weights that
are all the same. This writes, for each NAME (default: all nine),

    DIR/NAME/model.onnx             the model as the onnx package ships it
    DIR/NAME/inputs/INPUT.npy       its input
    DIR/NAME/expected/OUTPUT.npy    the output that ships with it
    DIR/NAME-seeded/model.onnx      the same graph with seeded random weights,
                                    and the logits as another output
    DIR/NAME-seeded/inputs/INPUT.npy

and, where onnxruntime is installed, DIR/NAME-seeded/expected as well. Slashes
in tensor names become underscores in file names. Needs numpy and onnx.
"""

import argparse
import pathlib
import shutil

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.test.case.model import __file__ as cases_file

NAMES = [
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
]


def light_dir():
    """The folder of the onnx package that holds the light models."""
    tests = pathlib.Path(cases_file).parents[2]
    return tests / "data" / "light"


def file_name(tensor_name):
    return tensor_name.replace("/", "_") + ".npy"


def save_tensors(folder, tensors):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in tensors.items():
        np.save(folder / file_name(name), value)


def model_inputs(graph):
    """Names and shapes of the inputs that no initialiser fills."""
    filled = {i.name for i in graph.initializer}
    return {
        i.name: [d.dim_value for d in i.type.tensor_type.shape.dim]
        for i in graph.input
        if i.name not in filled
    }


def shipped_input(shape):
    """The input that the shipped outputs of the light models belong to."""
    size = int(np.prod(shape))
    return (np.arange(size).reshape(shape) / size).astype(np.float32)


def write_plain(name, folder):
    source = light_dir() / f"light_{name}.onnx"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, folder / "model.onnx")
    graph = onnx.load(source).graph
    inputs = {k: shipped_input(s) for k, s in model_inputs(graph).items()}
    save_tensors(folder / "inputs", inputs)
    shipped = onnx.TensorProto()
    shipped.ParseFromString(
        (light_dir() / f"light_{name}_output_0.pb").read_bytes()
    )
    save_tensors(
        folder / "expected",
        {graph.output[0].name: numpy_helper.to_array(shipped)},
    )


class Uses:
    """Who reads each tensor, and as which input."""

    def __init__(self, graph):
        self.of = {}
        for node in graph.node:
            for index, name in enumerate(node.input):
                self.of.setdefault(name, []).append((node, index))

    def first(self, name):
        """The first reader of `name`, seen through Unsqueeze."""
        for node, index in self.of.get(name, []):
            if node.op_type == "Unsqueeze":
                return self.first(node.output[0])
            return node, index
        return None, 0

    def ends_branch(self, node):
        """Whether the node's result is added to a residual."""
        return any(
            user.op_type == "Sum" for user, _ in self.of.get(node.output[0], [])
        )


def fan_in(node, shape):
    if node.op_type == "Conv":
        return int(np.prod(shape[1:]))
    transposed = any(a.name == "transB" and a.i for a in node.attribute)
    return shape[1] if transposed else shape[0]


def random_value(node, index, shape, uses, rng):
    """A value for a parameter that keeps activations near one."""
    normal = lambda scale: rng.standard_normal(shape) * scale
    uniform = lambda low, high: rng.uniform(low, high, shape)
    if node.op_type in ("Conv", "Gemm") and index == 1:
        return normal(np.sqrt(2.0 / fan_in(node, shape)))
    if node.op_type == "BatchNormalization" and index in (1, 4):
        # A residual branch of half the size keeps deep sums from growing.
        scale = 0.5 if index == 1 and uses.ends_branch(node) else 1.0
        return scale * uniform(0.75, 1.25)
    if node.op_type == "Mul":
        return uniform(0.75, 1.25)
    return normal(0.1)


def fill_with_random_weights(graph, seed):
    """Replaces constant parameters by initialisers with random values."""
    rng = np.random.default_rng(seed)
    uses = Uses(graph)
    shapes = {
        i.name: [int(d) for d in numpy_helper.to_array(i)]
        for i in graph.initializer
        if i.data_type == onnx.TensorProto.INT64
    }
    parameters = {}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            parameters[node.output[0]] = shapes[node.input[0]]
    for i in graph.initializer:
        if i.data_type == onnx.TensorProto.FLOAT and uses.first(i.name)[0]:
            parameters[i.name] = list(i.dims)

    used_shapes = {n.input[0] for n in graph.node if n.op_type == "ConstantOfShape"}
    gone = used_shapes | set(parameters)
    nodes = [n for n in graph.node if n.op_type != "ConstantOfShape"]
    kept = [i for i in graph.initializer if i.name not in gone]
    inputs = [i for i in graph.input if i.name not in gone]
    for name, shape in parameters.items():
        node, index = uses.first(name)
        value = random_value(node, index, shape, uses, rng)
        kept.append(numpy_helper.from_array(value.astype(np.float32), name))
    for field, values in (
        ("node", nodes),
        ("initializer", kept),
        ("input", inputs),
    ):
        graph.ClearField(field)
        getattr(graph, field).extend(values)


def add_logits_output(graph):
    """Makes the input of the final softmax an output too."""
    last = graph.node[-1]
    if last.op_type == "Softmax":
        logits = helper.make_tensor_value_info(
            last.input[0], onnx.TensorProto.FLOAT, None
        )
        shape = graph.output[0].type.tensor_type.shape
        logits.type.tensor_type.shape.CopyFrom(shape)
        graph.output.append(logits)


def write_seeded(name, folder, seed):
    model = onnx.load(light_dir() / f"light_{name}.onnx")
    # Initialisers need not be inputs from version 4 of the format on.
    model.ir_version = max(model.ir_version, 4)
    fill_with_random_weights(model.graph, seed)
    add_logits_output(model.graph)
    onnx.checker.check_model(model)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    rng = np.random.default_rng(seed + 1)
    inputs = {
        k: rng.standard_normal(s).astype(np.float32)
        for k, s in model_inputs(model.graph).items()
    }
    save_tensors(folder / "inputs", inputs)
    expected = run_with_onnxruntime(folder / "model.onnx", inputs)
    if expected:
        save_tensors(folder / "expected", expected)


def run_with_onnxruntime(path, inputs):
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(
        path, providers=["CPUExecutionProvider"]
    )
    names = [o.name for o in session.get_outputs()]
    wanted = {i.name for i in session.get_inputs()}
    feed = {k: v for k, v in inputs.items() if k in wanted}
    return dict(zip(names, session.run(names, feed)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seed", type=int, default=1234)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--plain", action="store_true", help="as shipped only")
    only.add_argument("--seeded", action="store_true", help="seeded only")
    args = parser.parse_args()
    for name in args.names or NAMES:
        if name not in NAMES:
            parser.error(f"no light model '{name}'; there are {', '.join(NAMES)}")
        if not args.seeded:
            write_plain(name, args.dir / name)
        if not args.plain:
            write_seeded(name, args.dir / f"{name}-seeded", args.seed)
        print(f"wrote {name}", flush=True)


if __name__ == "__main__":
    main()
