"""The open models that Tinh is measured and checked on.

build(name) gives a torch module in eval mode, its inputs and their names. All
weights are random, from fixed seeds. Biases and norm scales are perturbed and
batch-norm statistics come from a real batch, so that a wrong layout or a lost
bias shows in the results.
"""

import torch
import torch.nn as nn

NAMES = [
    "two_layer",
    "mlp",
    "resnet50_b1",
    "resnet50_b8",
    "mobilenet_v2_b1",
    "vgg16_b1",
    "bert_base_s128",
    "gpt2_s128",
]


class TwoLayer(nn.Module):
    """64×1000 → 100 → 10 without biases: little work, much overhead."""

    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(1000, 100))
        self.w2 = nn.Parameter(torch.randn(100, 10))

    def forward(self, x):
        return torch.relu(x @ self.w1) @ self.w2


def mlp():
    return nn.Sequential(
        nn.Linear(512, 2048),
        nn.ReLU(),
        nn.Linear(2048, 512),
        nn.ReLU(),
        nn.Linear(512, 1),
    )


class Positional(nn.Module):
    """A transformers model that takes and returns tensors by position."""

    def __init__(self, model, inputs, outputs, **options):
        super().__init__()
        self.model = model
        self.inputs = inputs
        self.outputs = outputs
        self.options = options

    def forward(self, *tensors):
        result = self.model(**dict(zip(self.inputs, tensors)), **self.options)
        values = tuple(getattr(result, name) for name in self.outputs)
        return values[0] if len(values) == 1 else values


def perturb(module, generator):
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.add_(0.05 * noise)


def calibrate(module, batch):
    norms = [
        m
        for m in module.modules()
        if isinstance(m, nn.modules.batchnorm._BatchNorm)
    ]
    for norm in norms:
        norm.momentum = 1.0
        norm.training = True
    if norms:
        with torch.no_grad():
            module(batch)
    for norm in norms:
        norm.momentum = 0.1
        norm.training = False


def transformer(name, generator):
    import transformers

    ids = torch.randint(0, 30000, (1, 128), generator=generator)
    if name.startswith("bert"):
        model = Positional(
            transformers.BertModel(transformers.BertConfig()),
            ["input_ids", "attention_mask"],
            ["last_hidden_state", "pooler_output"],
        )
        return model, [ids, torch.ones(1, 128, dtype=torch.int64)]
    model = Positional(
        transformers.GPT2LMHeadModel(transformers.GPT2Config()),
        ["input_ids"],
        ["logits"],
        use_cache=False,
    )
    return model, [ids]


def build(name):
    if name not in NAMES:
        raise ValueError(f"no model '{name}'; there are {', '.join(NAMES)}")
    torch.manual_seed(1234)
    generator = torch.Generator().manual_seed(99)
    names = ["x"]
    if name == "two_layer":
        module = TwoLayer()
        inputs = [torch.randn(64, 1000, generator=generator)]
    elif name == "mlp":
        module = mlp()
        inputs = [torch.randn(1024, 512, generator=generator)]
    elif name.startswith(("bert", "gpt2")):
        module, inputs = transformer(name, generator)
        names = module.inputs
    else:
        import torchvision

        base, batch = name.rsplit("_b", 1)
        module = getattr(torchvision.models, base)(weights=None)
        inputs = [torch.randn(int(batch), 3, 224, 224, generator=generator)]
    perturb(module, generator)
    module.eval()
    if inputs[0].dim() == 4:
        shape = (4, *inputs[0].shape[1:])
        calibrate(module, torch.randn(shape, generator=generator))
    return module.requires_grad_(False), inputs, list(names)
