"""The models of benchmarks/gpu.sh: networks, their training steps, and kernels.

Each is a Model: the text of a model's file, whose weights or variables are zeros
that take no space; how they are drawn where the model is run; and the work of a
run. Kernels are measured on variables, which stay on the GPU: a run is the kernel
and nothing else. Needs the standard library alone.
"""

import dataclasses
import json
import math

# Of GPU from CPU: the norm of the difference, as a part of the norm.
TOLERANCE = 1e-4


@dataclasses.dataclass
class Model:
    text: str
    suffix: str
    flop: int  # Of products and convolutions, or of each element.
    bytes: int  # That must be read and written at least.
    arguments: list  # For graph-run.
    options: list = dataclasses.field(default_factory=list)  # For graph-compile.
    # (name, dtype, shape, mean, spread); a training step's variables that are
    # not listed begin as zeros.
    tensors: list = dataclasses.field(default_factory=list)
    tolerance: float = TOLERANCE
    # What PyTorch runs beside it (gpu/torch_models.py): the network in `text`,
    # trained with "loss" and "optimizer" if these are there, or a "kernel".
    torch: dict = dataclasses.field(default_factory=dict)

    @property
    def has_variables(self):
        return "--loadable-weights" not in self.options


class Builder:
    """A network as JSON. Names of tensors stand for them."""

    def __init__(self):
        self.inputs, self.nodes, self.weights, self.tensors = [], [], [], []
        self.flop = 0
        self.bytes = 0

    def input(self, name, *shape, dtype="f32"):
        self.inputs.append({"name": name, "dtype": dtype, "shape": shape})
        self.bytes += math.prod(shape) * (8 if dtype == "i64" else 4)
        return name

    def weight(self, name, *shape, mean=0.0, spread=0.05):
        weight = {"name": name, "dtype": "f32", "shape": shape, "data": 0}
        self.weights.append(weight)
        self.tensors.append((name, "f32", shape, mean, spread))
        self.bytes += math.prod(shape) * 4
        return name

    def add(self, op, *inputs, **attributes):
        output = f"{op}{len(self.nodes)}"
        node = {"op": op, "inputs": inputs, "outputs": [output]}
        self.nodes.append(node | {"attributes": attributes})
        return output

    def dense(self, x, name, rows, inputs, outputs, bias=True):
        weight = self.weight(
            f"{name}.weight", inputs, outputs, spread=math.sqrt(1 / inputs)
        )
        self.flop += 2 * rows * inputs * outputs
        product = self.add("matmul", x, weight)
        if not bias:
            return product
        return self.add("add", product, self.weight(f"{name}.bias", outputs))

    def model(self, output, shape, **settings):
        text = {
            "tinh": 1,
            "inputs": self.inputs,
            "weights": self.weights,
            "nodes": self.nodes,
            "outputs": [output],
        }
        arguments = ["--load-weights", "weights.safetensors"]
        for tensor in self.inputs:
            arguments += ["--input", f"{tensor['name']}=random"]
        return Model(
            json.dumps(text),
            ".json",
            self.flop,
            self.bytes + 4 * math.prod(shape),
            arguments,
            ["--loadable-weights"],
            self.tensors,
            **settings,
        )


def training(model, loss, optimizer, tolerance=1e-3):
    """The training step of a network: three times the work of a run, the first
    layer's included. `tolerance` is for three steps."""
    return dataclasses.replace(
        model,
        flop=3 * model.flop,
        bytes=3 * model.bytes,
        arguments=["--function", "train_step", "--load-state", *model.arguments[1:]]
        + ["--input", "target=random"],
        options=["--train", f"--loss={loss}", f"--optimizer={optimizer}"],
        torch={"loss": loss, "optimizer": optimizer},
        tolerance=tolerance,
    )


def two_layer(batch=64):
    b = Builder()
    h = b.add(
        "relu", b.dense(b.input("x", batch, 1000), "fc1", batch, 1000, 100, False)
    )
    return b.model(b.dense(h, "fc2", batch, 100, 10, False), (batch, 10))


def mlp(batch=1024, sizes=(512, 2048, 512, 1)):
    b = Builder()
    x = b.input("x", batch, sizes[0])
    for i in range(len(sizes) - 1):
        x = b.dense(x, f"fc{i}", batch, sizes[i], sizes[i + 1])
        x = b.add("relu", x) if i + 2 < len(sizes) else x
    return b.model(x, (batch, sizes[-1]))


class ConvBuilder(Builder):
    """Also knows channels and size of the image that it is at."""

    def __init__(self, batch, channels, size):
        super().__init__()
        self.batch, self.channels, self.size = batch, channels, size
        self.at = self.input("x", batch, channels, size, size)

    def conv(self, name, outputs, kernel, stride=1):
        fan_in = self.channels * kernel * kernel
        shape = (outputs, self.channels, kernel, kernel)
        weight = self.weight(f"{name}.weight", *shape, spread=math.sqrt(2 / fan_in))
        self.at = self.add(
            "conv",
            self.at,
            weight,
            strides=[stride, stride],
            padding=[kernel // 2] * 4,
        )
        self.channels, self.size = outputs, -(-self.size // stride)
        self.flop += 2 * self.batch * outputs * self.size**2 * fan_in

    def norm(self, name, scale=1.0):
        parts = (("scale", scale), ("bias", 0.0), ("mean", 0.0), ("variance", 1.0))
        weights = [
            self.weight(f"{name}.{part}", self.channels, mean=mean)
            for part, mean in parts
        ]
        self.at = self.add("batch_norm", self.at, *weights)

    def relu(self):
        self.at = self.add("relu", self.at)

    def pool(self, kernel, stride, padding=0):
        self.at = self.add(
            "max_pool",
            self.at,
            kernel=[kernel, kernel],
            strides=[stride, stride],
            padding=[padding] * 4,
        )
        self.size = (self.size + 2 * padding - kernel) // stride + 1

    def block(self, name, width, stride, bottleneck):
        """A residual block. Its branch is the smaller part of the sum, which
        would grow from block to block otherwise."""
        before = self.at, self.channels, self.size
        outputs = 4 * width if bottleneck else width
        convs = [(width, 1, 1), (width, 3, stride), (outputs, 1, 1)]
        if not bottleneck:
            convs = [(width, 3, stride), (width, 3, 1)]
        for i, (channels, kernel, step) in enumerate(convs):
            self.conv(f"{name}.conv{i}", channels, kernel, step)
            self.norm(f"{name}.norm{i}", 0.5 if i + 1 == len(convs) else 1.0)
            if i + 1 < len(convs):
                self.relu()
        branch, after = self.at, (self.channels, self.size)
        self.at, self.channels, self.size = before
        if after != before[1:]:
            self.conv(f"{name}.shortcut", outputs, 1, stride)
            self.norm(f"{name}.shortcut_norm")
        self.at = self.add("add", branch, self.at)
        self.relu()

    def head(self, outputs):
        x = self.add("reduce", self.at, kind="mean", axes=[2, 3])
        x = self.dense(x, "fc", self.batch, self.channels, outputs)
        return self.model(x, (self.batch, outputs))


def lenet(batch=64):
    b = ConvBuilder(batch, 1, 28)
    for i, outputs in enumerate((6, 16)):
        b.conv(f"conv{i}", outputs, 5)
        b.relu()
        b.pool(2, 2)
    x = b.add("reshape", b.at, shape=[batch, 784])
    x = b.add("relu", b.dense(x, "fc1", batch, 784, 84))
    return b.model(b.dense(x, "fc2", batch, 84, 10), (batch, 10))


def resnet_block(batch=8, channels=64, size=56):
    b = ConvBuilder(batch, channels, size)
    b.block("block", 2 * channels, 2, bottleneck=False)
    return b.model(b.at, (batch, b.channels, b.size, b.size))


def resnet(blocks, bottleneck, batch=1, size=224):
    b = ConvBuilder(batch, 3, size)
    b.conv("stem", 64, 7, 2)
    b.norm("stem_norm")
    b.relu()
    b.pool(3, 2, 1)
    for stage, count in enumerate(blocks):
        for i in range(count):
            stride = 2 if stage and not i else 1
            b.block(f"block{stage}.{i}", 64 << stage, stride, bottleneck)
    return b.head(1000)


def vgg16(batch=1):
    b = ConvBuilder(batch, 3, 224)
    for stage, (count, width) in enumerate(
        ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
    ):
        for i in range(count):
            b.conv(f"conv{stage}.{i}", width, 3)
            b.relu()
        b.pool(2, 2)
    x = b.add("reshape", b.at, shape=[batch, 512 * 7 * 7])
    x = b.add("relu", b.dense(x, "fc1", batch, 512 * 7 * 7, 4096))
    x = b.add("relu", b.dense(x, "fc2", batch, 4096, 4096))
    return b.model(b.dense(x, "fc3", batch, 4096, 1000), (batch, 1000))


class TransformerBuilder(Builder):
    def __init__(self, batch, tokens, width, heads):
        super().__init__()
        self.batch, self.tokens, self.width, self.heads = batch, tokens, width, heads
        self.rows = batch * tokens

    def norm(self, x, name):
        scale = self.weight(f"{name}.scale", self.width, mean=1.0)
        bias = self.weight(f"{name}.bias", self.width)
        return self.add("layer_norm", x, scale, bias, axis=2)

    def linear(self, x, name, inputs=None, outputs=None):
        inputs, outputs = inputs or self.width, outputs or self.width
        return self.dense(x, name, self.rows, inputs, outputs)

    def split(self, x):
        depth = self.width // self.heads
        shape = [self.batch, self.tokens, self.heads, depth]
        x = self.add("reshape", x, shape=shape)
        return self.add("transpose", x, permutation=[0, 2, 1, 3])

    def attention(self, x, name):
        parts = [
            self.split(self.linear(x, f"{name}.{part}"))
            for part in ("query", "key", "value")
        ]
        self.flop += 4 * self.batch * self.tokens**2 * self.width
        scale = (self.width // self.heads) ** -0.5
        y = self.add("attention", *parts, scale=scale)
        y = self.add("transpose", y, permutation=[0, 2, 1, 3])
        shape = [self.batch, self.tokens, self.width]
        return self.linear(self.add("reshape", y, shape=shape), f"{name}.out")

    def feed_forward(self, x, name):
        h = self.linear(x, f"{name}.up", outputs=4 * self.width)
        return self.linear(self.add("gelu", h), f"{name}.down", 4 * self.width)


def transformer_layer(batch=8, tokens=128, width=768, heads=12):
    b = TransformerBuilder(batch, tokens, width, heads)
    x = b.input("x", batch, tokens, width)
    x = b.add("add", x, b.attention(b.norm(x, "norm1"), "attention"))
    x = b.add("add", x, b.feed_forward(b.norm(x, "norm2"), "mlp"))
    return b.model(x, (batch, tokens, width))


def bert(batch=1, tokens=128, width=768, heads=12, layers=12, words=30522):
    b = TransformerBuilder(batch, tokens, width, heads)
    ids = b.input("ids", batch, tokens, dtype="i64")
    x = b.add("gather", b.weight("words", words, width), ids, axis=0)
    b.bytes -= 4 * (words - b.rows) * width  # Only those rows are read.
    x = b.norm(b.add("add", x, b.weight("positions", tokens, width)), "norm")
    for i in range(layers):
        x = b.norm(b.add("add", x, b.attention(x, f"attention{i}")), f"norm{i}.1")
        x = b.norm(b.add("add", x, b.feed_forward(x, f"mlp{i}")), f"norm{i}.2")
    return b.model(x, (batch, tokens, width))


def kernel(name, operands, body, flop, dtype="f32", tolerance=TOLERANCE):
    """A kernel, `name` to PyTorch, from variables to the variable `y`. `operands`
    are shapes of %a0, %a1, … and, last, of %y; `body` computes %r of them."""
    types = ["x".join(map(str, [*shape, dtype])) for shape in operands]
    names = [f"a{i}" for i in range(len(types) - 1)] + ["y"]
    lines = [
        f'graph.variable "{operand}" = dense<0.0> : tensor<{type}>'
        for operand, type in zip(names, types)
    ]
    arguments = ", ".join(
        f'%{operand}: tensor<{type}> {{graph.variable = "{operand}"}}'
        for operand, type in zip(names, types)
    )
    lines.append(f"func.func @main({arguments})")
    lines.append(f'    -> (tensor<{types[-1]}> {{graph.variable = "y"}}) {{')
    for i, type in enumerate(types):
        body = body.replace(f"T{names[i]}", f"tensor<{type}>")
    lines += [f"  {line.strip()}" for line in body.strip().splitlines()]
    lines += [f"  return %r : tensor<{types[-1]}>", "}", ""]
    return Model(
        "\n".join(lines),
        ".mlir",
        flop,
        sum(math.prod(s) for s in operands) * (4 if dtype == "f32" else 2),
        ["--load-state", "weights.safetensors"],
        tensors=[(n, dtype, s, 0.0, 1.0) for n, s in zip(names, operands)],
        tolerance=tolerance,
        torch={"kernel": name},
    )


def copy(rows=16384, columns=4096):
    """What the memory can do, as the others are compared with it: a kernel that
    moves all bytes and changes the sign, since a copy alone needs no kernel."""
    shape = (rows, columns)
    body = "%r = graph.neg %a0 : Ta0"
    return kernel("copy", [shape, shape], body, rows * columns)


def elementwise(rows=16384, columns=4096):
    body = """
        %0 = graph.add %a0, %a1 : Ta0, Ta1 -> Ty
        %1 = graph.sigmoid %0 : Ty
        %2 = graph.mul %1, %a0 : Ty, Ta0 -> Ty
        %r = graph.sub %2, %a1 : Ty, Ta1 -> Ty"""
    operands = [(rows, columns)] * 3
    return kernel("elementwise", operands, body, 4 * rows * columns)


def softmax(rows=16384, columns=4096):
    shape = (rows, columns)
    body = "%r = graph.softmax %a0 axis 1 : Ta0"
    return kernel("softmax", [shape, shape], body, 5 * rows * columns)


def layer_norm(rows=16384, columns=4096):
    body = "%r = graph.layer_norm %a0, %a1, %a2 axis 1 epsilon 1.0e-5 : Ta0, Ta1, Ta2"
    shape = (rows, columns)
    operands = [shape, (columns,), (columns,), shape]
    return kernel("layer_norm", operands, body, 8 * rows * columns)


def matmul(size, dtype="f32"):
    return kernel(
        "matmul",
        [(size, size)] * 3,
        "%r = graph.matmul %a0, %a1 : Ta0, Ta1 -> Ty",
        2 * size**3,
        dtype,
        TOLERANCE if dtype == "f32" else 5e-3,
    )


def all_models():
    """Functions that make them, by name."""
    rate = {"two_layer": "sgd,lr=1e-6", "mlp": "sgd,lr=0.01"}
    models = {
        "two_layer": two_layer,
        "two_layer_step": lambda: training(
            two_layer(), "mse,reduction=sum", rate["two_layer"]
        ),
        "mlp": mlp,
        "mlp_step": lambda: training(mlp(), "mse", rate["mlp"]),
        "lenet": lenet,
        "lenet_step": lambda: training(
            lenet(), "cross_entropy", "sgd,lr=0.1,momentum=0.9"
        ),
        "resnet_block": resnet_block,
        "transformer_layer": transformer_layer,
        "resnet50": lambda: resnet((3, 4, 6, 3), True),
        "bert_base": bert,
        "resnet18_step": lambda: training(
            resnet((2, 2, 2, 2), False, batch=16),
            "cross_entropy",
            "sgd,lr=0.001,momentum=0.9",
            # Among millions of numbers some are so close to 0 that a ReLU passes
            # them on one device alone, and each changes the gradients before it.
            tolerance=2e-2,
        ),
        "copy": copy,
        "elementwise": elementwise,
        "softmax": softmax,
        "layer_norm": layer_norm,
    }
    for size in (256, 512, 1024, 2048, 4096):
        models[f"matmul{size}"] = lambda size=size: matmul(size)
    for size in (1024, 4096):
        models[f"matmul{size}_f16"] = lambda size=size: matmul(size, "f16")
    return models


def small_models():
    """A few of them at sizes for an emulated GPU."""
    return {
        "mlp": lambda: mlp(8, (48, 64, 10)),
        "mlp_step": lambda: training(
            mlp(8, (48, 64, 10)), "cross_entropy", "sgd,lr=0.1,momentum=0.9"
        ),
        "copy": lambda: copy(8, 100),
        "softmax": lambda: softmax(8, 100),
        "matmul64": lambda: matmul(64),
    }
