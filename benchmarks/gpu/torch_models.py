#!/usr/bin/env python3
"""Times a model of a bundle in PyTorch, on the machine's GPU.

    torch_models.py MODEL WEIGHTS [--device DEVICE] [--runs N]

MODEL is the model's folder, WEIGHTS the .safetensors file with its weights. The
nodes of model.json are run op by op (eager), as one CUDA graph, and by
torch.compile in its default mode and the one with CUDA graphs; a training step
is forward, backward and update. As for graph-run, tensors of the caller lie in
host memory and their copies count. Prints JSON: for each way median, least and
first time in ms, or why it failed.
"""

import argparse
import json
import math
import pathlib
import statistics
import time

import torch
import torch.nn.functional as F

DTYPES = {
    "F32": torch.float32,
    "F16": torch.float16,
    "I64": torch.int64,
    "I32": torch.int32,
}


def load_tensors(path):
    """Those of a .safetensors file, by name."""
    bytes = bytearray(path.read_bytes())
    end = 8 + int.from_bytes(bytes[:8], "little")
    header = json.loads(bytes[8:end])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        count = math.prod(entry["shape"])
        begin = end + entry["data_offsets"][0]
        flat = torch.frombuffer(
            bytes, dtype=DTYPES[entry["dtype"]], count=count, offset=begin
        )
        tensors[name] = flat.reshape(entry["shape"]).clone()
    return tensors


# Each op: (its inputs, its attributes, whether the model is trained) -> output.
OPS = {
    "add": lambda x, a, t: x[0] + x[1],
    "matmul": lambda x, a, t: x[0] @ x[1],
    "relu": lambda x, a, t: F.relu(x[0]),
    "gelu": lambda x, a, t: F.gelu(x[0]),
    "gather": lambda x, a, t: F.embedding(x[1], x[0]),
    "conv": lambda x, a, t: F.conv2d(
        x[0], x[1], stride=a["strides"], padding=a["padding"][:2]
    ),
    "batch_norm": lambda x, a, t: F.batch_norm(
        x[0], x[3], x[4], x[1], x[2], training=t
    ),
    "max_pool": lambda x, a, t: F.max_pool2d(
        x[0], a["kernel"], a["strides"], a["padding"][:2]
    ),
    "reduce": lambda x, a, t: x[0].mean(a["axes"]),
    "reshape": lambda x, a, t: x[0].reshape(a["shape"]),
    "transpose": lambda x, a, t: x[0].permute(a["permutation"]),
    "layer_norm": lambda x, a, t: F.layer_norm(x[0], x[0].shape[-1:], x[1], x[2]),
    "attention": lambda x, a, t: F.scaled_dot_product_attention(
        *x[:3], scale=a["scale"]
    ),
}


class Network(torch.nn.Module):
    """The nodes of a model's JSON, on tensors by name."""

    def __init__(self, model, tensors):
        super().__init__()
        self.nodes, self.output = model["nodes"], model["outputs"][0]
        self.inputs = [value["name"] for value in model["inputs"]]
        self.names = {}
        for name, tensor in tensors.items():
            own = name.replace(".", "_")
            self.names[name] = own
            if name.rsplit(".")[-1] in ("mean", "variance"):
                self.register_buffer(own, tensor)
            else:
                self.register_parameter(own, torch.nn.Parameter(tensor))

    def forward(self, *inputs):
        values = dict(zip(self.inputs, inputs))
        for name, own in self.names.items():
            values[name] = getattr(self, own)
        for node in self.nodes:
            operands = [values[name] for name in node["inputs"]]
            values[node["outputs"][0]] = OPS[node["op"]](
                operands, node["attributes"], self.training
            )
        return values[self.output]


def random_input(value):
    """As graph-run's: integers are 0, which every table of words has."""
    if value["dtype"].startswith("i"):
        return torch.zeros(value["shape"], dtype=torch.int64)
    return torch.randn(value["shape"])


def parse(text):
    """A name and its settings, of "sgd,lr=0.1"."""
    name, *settings = text.split(",")
    return name, dict(setting.split("=") for setting in settings)


# A model is what runs on the device, and the inputs that the host gives it.


def inference(network, inputs):
    network.eval()

    def infer(*inputs):
        with torch.no_grad():
            return network(*inputs)

    return infer, inputs


def loss_of(about, network, inputs, device):
    """A function, its settings and a target."""
    name, settings = parse(about["loss"])
    if name == "cross_entropy":
        target = torch.zeros(len(inputs[0]), dtype=torch.int64)
        return F.cross_entropy, settings, target
    if name != "mse":
        raise ValueError(f"no loss '{name}'")
    with torch.no_grad():
        output = network(*[value.to(device) for value in inputs])
    return F.mse_loss, settings, torch.randn(output.shape)


def training_step(network, inputs, about, device):
    loss, settings, target = loss_of(about, network, inputs, device)
    name, numbers = parse(about["optimizer"])
    if name != "sgd":
        raise ValueError(f"no optimizer '{name}'")
    optimizer = torch.optim.SGD(
        network.parameters(), **{key: float(value) for key, value in numbers.items()}
    )

    def step(*values):
        optimizer.zero_grad()
        result = loss(network(*values[:-1]), values[-1], **settings)
        result.backward()
        optimizer.step()
        return result.detach()

    return step, [*inputs, target]


KERNELS = {
    "copy": lambda a: torch.neg(a),
    "elementwise": lambda a, b: torch.sigmoid(a + b) * a - b,
    "softmax": lambda a: torch.softmax(a, 1),
    "layer_norm": lambda a, scale, bias: F.layer_norm(a, a.shape[1:], scale, bias),
    "matmul": lambda a, b: a @ b,
}


def kernel(name, weights):
    operands = [weights[f"a{i}"] for i in range(len(weights) - 1)]
    return lambda: KERNELS[name](*operands), []


def make_model(folder, weights, device):
    about = json.loads((folder / "about.json").read_text())
    weights = {name: tensor.to(device) for name, tensor in weights.items()}
    if "kernel" in about:
        return kernel(about["kernel"], weights)
    model = json.loads((folder / "model.json").read_text())
    known = {weight["name"] for weight in model["weights"]}
    network = Network(model, {n: t for n, t in weights.items() if n in known})
    inputs = [random_input(value) for value in model["inputs"]]
    if "loss" in about:
        return training_step(network, inputs, about, device)
    return inference(network, inputs)


# Ways to run one. Each gives a function of no arguments.


def with_copies(call, inputs, device):
    """From tensors of the host to a tensor of the host, but for kernels."""
    if not inputs:
        return call
    if device.type == "cuda":
        inputs = [value.pin_memory() for value in inputs]
    return lambda: call(*[v.to(device, non_blocking=True) for v in inputs]).cpu()


def cuda_graph(call, inputs, device):
    if device.type != "cuda":
        raise RuntimeError("needs a GPU")
    fixed = [value.to(device) for value in inputs]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call(*fixed)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = call(*fixed)

    def replay(*values):
        for to, value in zip(fixed, values):
            to.copy_(value)
        graph.replay()
        return output

    return with_copies(replay, inputs, device)


def compiled(mode):
    def make(call, inputs, device):
        return with_copies(torch.compile(call, mode=mode), inputs, device)

    return make


WAYS = {
    "eager": with_copies,
    "cuda_graph": cuda_graph,
    "compile": compiled(None),
    "compile_reduce_overhead": compiled("reduce-overhead"),
}


def measure(run, device, runs):
    """Times in ms, each from the call to the result."""

    def once():
        begin = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - begin)

    first = once()
    for _ in range(max(2, runs // 10)):
        once()
    times = [once() for _ in range(runs)]
    return {
        "first_ms": first,
        "median_ms": statistics.median(times),
        "min_ms": min(times),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("--device", default="cuda", type=torch.device)
    parser.add_argument("--runs", type=int, default=200)
    args = parser.parse_args()
    # Products of f32 are exact, as ours are without --allow-tf32.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    result = {"version": torch.__version__}
    weights = load_tensors(args.weights)
    for name, way in WAYS.items():
        torch.manual_seed(1)
        try:
            call, inputs = make_model(args.model, weights, args.device)
            run = way(call, inputs, args.device)
            result[name] = measure(run, args.device, args.runs)
        except Exception as error:  # One way's failure stops no other.
            result[name] = {"error": f"{type(error).__name__}: {error}"[:2000]}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
