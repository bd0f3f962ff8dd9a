#!/usr/bin/env python3
"""Records what torch.nn and torch.optim compute, for RecordedTest.cpp.

    record.py > recorded.json

Needs PyTorch, which the test does not. Each name is one of RecordedModules.cpp
or of losses::make, optim::make and optim::make_schedule.
"""

import json

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(3)
NAMES = {"float32": "f32", "float64": "f64", "int64": "i64"}


def number(value):
    value = value.item()
    if not isinstance(value, float):
        return value
    return str(value) if not np.isfinite(value) else float(f"{value:.17g}")


def described(tensor):
    array = tensor.detach().numpy()
    if array.dtype == np.float32:  # As few digits as say the number.
        data = [float(str(v)) for v in array.reshape(-1)]
    else:
        data = [number(v) for v in array.reshape(-1)]
    return {
        "dtype": NAMES[array.dtype.name],
        "shape": list(array.shape),
        "data": data,
    }


def rounded(*shape, scale=1.0):
    return (torch.randn(*shape) * scale).round(decimals=3)


def state_of(module):
    return {name: described(value) for name, value in module.state_dict().items()}


# --- Modules ---------------------------------------------------------------


def first(result):
    """All tensors of a result, one after the other."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result for tensor in first(part)]


def module_record(name, module, *inputs, train=False, call=None):
    module.train(train)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(rounded(*parameter.shape, scale=0.4))
        for key, buffer in module.named_buffers():
            if key.endswith("running_mean"):
                buffer.copy_(rounded(*buffer.shape))
            if key.endswith("running_var"):
                buffer.copy_(rounded(*buffer.shape).abs() + 0.5)
    before = state_of(module)
    leaves = [
        x.requires_grad_() if x.is_floating_point() and i == 0 else x
        for i, x in enumerate(inputs)
    ]
    outputs = first((call or (lambda m, *x: m(*x)))(module, *leaves))
    # The sum of the outputs, each element with its own weight.
    loss = sum(
        (o * torch.arange(o.numel()).reshape(o.shape).sin()).sum() for o in outputs
    )
    loss.backward()
    record = {
        "name": name,
        "train": train,
        "state": before,
        "inputs": [described(x) for x in inputs],
        "outputs": [described(x) for x in outputs],
        "gradients": {k: described(p.grad) for k, p in module.named_parameters()},
    }
    if inputs[0].is_floating_point():
        record["input_gradient"] = described(inputs[0].grad)
    after = state_of(module)
    if after != before:
        record["after"] = after
    return record


def with_state(module, x, *state):
    return module(x, state if len(state) > 1 else state[0])


def modules():
    r = module_record
    image = lambda: rounded(2, 4, 5, 6)
    yield r("linear", nn.Linear(3, 4), rounded(2, 5, 3))
    yield r("linear_no_bias", nn.Linear(3, 2, bias=False), rounded(4, 3))
    yield r("conv1d", nn.Conv1d(4, 6, 3, 2, 1, groups=2), rounded(2, 4, 9))
    yield r("conv2d", nn.Conv2d(4, 3, (3, 2), padding=1, dilation=2), image())
    yield r("conv2d_no_bias", nn.Conv2d(4, 4, 3, 2, 1, groups=4, bias=False), image())
    yield r("conv_transpose1d", nn.ConvTranspose1d(4, 3, 3, 2), rounded(2, 4, 5))
    yield r(
        "conv_transpose2d",
        nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1, groups=2),
        rounded(2, 4, 3, 4),
    )
    yield r("batch_norm1d", nn.BatchNorm1d(3), rounded(4, 3))
    yield r("batch_norm1d", nn.BatchNorm1d(3), rounded(4, 3), train=True)
    yield r("batch_norm1d", nn.BatchNorm1d(3), rounded(4, 3, 2), train=True)
    yield r("batch_norm2d", nn.BatchNorm2d(4, eps=1e-3, momentum=0.3), image())
    yield r(
        "batch_norm2d", nn.BatchNorm2d(4, eps=1e-3, momentum=0.3), image(), train=True
    )
    yield r(
        "batch_norm2d_plain",
        nn.BatchNorm2d(4, affine=False, track_running_stats=False),
        image(),
    )
    yield r("layer_norm", nn.LayerNorm(4), rounded(2, 3, 4))
    yield r("layer_norm_no_bias", nn.LayerNorm((3, 4), bias=False), rounded(2, 3, 4))
    yield r("group_norm", nn.GroupNorm(2, 4), image())
    yield r("embedding", nn.Embedding(7, 3), torch.randint(0, 7, (2, 4)))
    yield r("max_pool2d", nn.MaxPool2d(3, 2, 1), image())
    yield r("avg_pool1d", nn.AvgPool1d(2), rounded(2, 3, 6))
    yield r("adaptive_avg_pool2d", nn.AdaptiveAvgPool2d((1, 1)), image())
    yield r(
        "sequential",
        nn.Sequential(nn.Conv2d(4, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(24, 3)),
        image(),
    )
    attention = lambda **k: nn.MultiheadAttention(6, 2, **k)
    itself = lambda m, x: m(x, x, x, need_weights=False)[0]
    yield r("attention", attention(), rounded(5, 2, 6), call=itself)
    yield r(
        "attention_batch_first",
        attention(batch_first=True, bias=False),
        rounded(2, 5, 6),
        rounded(2, 4, 6),
        call=lambda m, x, y: m(x, y, y, need_weights=False)[0],
    )
    causal = torch.ones(5, 5).triu(1).bool()
    yield r(
        "attention_causal",
        attention(batch_first=True),
        rounded(2, 5, 6),
        call=lambda m, x: m(x, x, x, attn_mask=causal, need_weights=False)[0],
    )
    encoder = lambda **k: nn.TransformerEncoderLayer(6, 2, 8, dropout=0, **k)
    yield r("encoder_layer", encoder(), rounded(4, 2, 6), train=True)
    yield r(
        "encoder_layer_norm_first",
        encoder(norm_first=True, activation="gelu", batch_first=True),
        rounded(2, 4, 6),
        train=True,
    )
    yield r("rnn", nn.RNN(3, 4), rounded(5, 2, 3))
    yield r("rnn_relu", nn.RNN(3, 4, nonlinearity="relu", bias=False), rounded(5, 2, 3))
    yield r("lstm", nn.LSTM(3, 4), rounded(5, 2, 3))
    yield r(
        "lstm_layers",
        nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True),
        rounded(2, 5, 3),
    )
    yield r(
        "lstm_state",
        nn.LSTM(3, 4),
        rounded(5, 2, 3),
        rounded(1, 2, 4),
        rounded(1, 2, 4),
        call=with_state,
    )
    yield r("gru", nn.GRU(3, 4), rounded(5, 2, 3))
    yield r("gru_layers", nn.GRU(3, 4, 2, bidirectional=True), rounded(5, 2, 3))
    yield r(
        "gru_state", nn.GRU(3, 4), rounded(5, 2, 3), rounded(1, 2, 4), call=with_state
    )


def more_modules():
    """Recorded last, so that the numbers of the others stay."""
    r = module_record
    image = lambda: rounded(2, 4, 5, 7)
    yield r("rnn_single", nn.RNN(3, 4), rounded(5, 3))
    yield r(
        "lstm_single",
        nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True),
        rounded(5, 3),
    )
    yield r(
        "gru_single_state", nn.GRU(3, 4), rounded(5, 3), rounded(1, 4), call=with_state
    )
    yield r("lstm_projected", nn.LSTM(3, 4, 2, proj_size=2), rounded(5, 2, 3))
    yield r(
        "lstm_projected_state",
        nn.LSTM(3, 4, bias=False, bidirectional=True, proj_size=3),
        rounded(5, 2, 3),
        rounded(2, 2, 3),
        rounded(2, 2, 4),
        call=with_state,
    )
    yield r(
        "embedding_padding",
        nn.Embedding(7, 3, padding_idx=-5),
        torch.tensor([[2, 0, 2], [6, 5, 0]]),
    )
    conv = lambda *a, how, **k: nn.Conv2d(4, *a, padding_mode=how, **k)
    yield r(
        "conv1d_reflect",
        nn.Conv1d(4, 3, 3, 2, 2, padding_mode="reflect"),
        rounded(2, 4, 6),
    )
    yield r(
        "conv2d_replicate",
        conv(3, 3, padding=(1, 2), dilation=2, how="replicate"),
        image(),
    )
    yield r("conv2d_circular", conv(2, 3, padding=(2, 1), how="circular"), image())
    yield r("max_pool2d_ceil", nn.MaxPool2d(2, 2, 1, 2, ceil_mode=True), image())
    yield r("avg_pool2d_ceil", nn.AvgPool2d(3, 2, 1, ceil_mode=True), image())
    inside = nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False)
    yield r("avg_pool2d_inside", inside, image())


# --- Losses ----------------------------------------------------------------


def loss_record(name, function, prediction, target, **options):
    prediction.requires_grad_()
    loss = function(prediction, target)
    (loss * torch.arange(loss.numel()).reshape(loss.shape).cos()).sum().backward()
    return {
        "name": name,
        "options": options,
        "prediction": described(prediction),
        "target": described(target),
        "expected": described(loss),
        "gradient": described(prediction.grad),
    }


def losses():
    r = loss_record
    pair = lambda: (rounded(3, 4, scale=2), rounded(3, 4, scale=2))
    for how in ("mean", "sum", "none"):
        yield r(
            "mse", lambda x, t: F.mse_loss(x, t, reduction=how), *pair(), reduction=how
        )
    yield r("l1", F.l1_loss, *pair())
    yield r("huber", F.huber_loss, *pair())
    yield r("huber", lambda x, t: F.huber_loss(x, t, delta=0.4), *pair(), delta=0.4)
    yield r("smooth_l1", lambda x, t: F.smooth_l1_loss(x, t, beta=2), *pair(), beta=2)
    yield r("smooth_l1", lambda x, t: F.smooth_l1_loss(x, t, beta=0), *pair(), beta=0)
    logits = lambda: rounded(4, 5, scale=3)
    labels = torch.tensor([1, 4, 0, 1])
    ce = F.cross_entropy
    yield r("cross_entropy", ce, logits(), labels)
    for how in ("sum", "none"):
        yield r(
            "cross_entropy",
            lambda x, t: ce(x, t, reduction=how),
            logits(),
            labels,
            reduction=how,
        )
    for how in ("mean", "none"):
        yield r(
            "cross_entropy",
            lambda x, t: ce(x, t, ignore_index=1, label_smoothing=0.2, reduction=how),
            logits(),
            labels,
            ignore_index=1,
            label_smoothing=0.2,
            reduction=how,
        )
    yield r("cross_entropy", ce, rounded(2, 3, 4), torch.randint(0, 3, (2, 4)))
    yield r("cross_entropy", ce, rounded(5), torch.tensor(3))
    soft = torch.rand(4, 5).softmax(1)
    yield r("cross_entropy", ce, logits(), soft, probabilities=True)
    yield r(
        "cross_entropy",
        lambda x, t: ce(x, t, label_smoothing=0.3),
        logits(),
        soft,
        probabilities=True,
        label_smoothing=0.3,
    )
    yield r("nll", F.nll_loss, logits().log_softmax(1).detach(), labels)
    yield r(
        "nll",
        lambda x, t: F.nll_loss(x, t, ignore_index=4),
        logits().log_softmax(1).detach(),
        labels,
        ignore_index=4,
    )
    bce = F.binary_cross_entropy_with_logits
    zeros_too = rounded(3, 4, scale=5)
    zeros_too[0, 0] = 0
    yield r("bce_with_logits", bce, zeros_too, torch.rand(3, 4))
    yield r("bce_with_logits", bce, rounded(4, scale=40), torch.tensor([0.0, 1, 0, 1]))
    sure = torch.tensor([[0.0, 0.25, 0.75], [1, 0, 0]])
    yield r("kl_div", F.kl_div, rounded(2, 3), sure)
    yield r(
        "kl_div",
        lambda x, t: F.kl_div(x, t, log_target=True, reduction="sum"),
        rounded(2, 3),
        rounded(2, 3),
        log_target=True,
        reduction="sum",
    )


def weighted_losses():
    """Those with tensors among their options, which no text has."""
    weight = torch.tensor([0.5, 2.0, 1.0])
    x, t = rounded(4, 3), torch.tensor([2, 0, 1, 1])
    soft = torch.rand(4, 3).softmax(1)
    case = lambda name, f, *inputs: {
        "name": name,
        "inputs": [described(i) for i in inputs],
        "expected": described(f(*inputs)),
    }
    ce = F.cross_entropy
    yield case("class_weights", lambda x, t, w: ce(x, t, w), x, t, weight)
    smooth = lambda x, t, w: ce(x, t, w, ignore_index=1, label_smoothing=0.1)
    yield case("smooth_class_weights", smooth, x, t, weight)
    yield case("soft_class_weights", lambda x, t, w: ce(x, t, w), x, soft, weight)
    yield case(
        "bce_weights",
        lambda x, t, w, p: F.binary_cross_entropy_with_logits(x, t, w, pos_weight=p),
        x,
        soft,
        weight,
        torch.tensor([3.0, 1.0, 0.5]),
    )


# --- Optimizers ------------------------------------------------------------


class Lion(optim.Optimizer):
    """Algorithm 2 of arXiv:2302.06675."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0):
        super().__init__(params, dict(lr=lr, betas=betas, decay=weight_decay))

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                b1, b2 = group["betas"]
                update = (b1 * m + (1 - b1) * p.grad).sign() + group["decay"] * p.data
                p.data -= group["lr"] * update
                m.mul_(b2).add_((1 - b2) * p.grad)


STEPS = 20


def optimizer_record(name, make, **options):
    given = dict(options)
    if "beta1" in given or "beta2" in given:
        given["betas"] = (given.pop("beta1", 0.9), given.pop("beta2", 0.999))
    shapes = [(2, 3), (4,)]
    parameters = [
        torch.randn(*s, dtype=torch.float64).round(decimals=3) for s in shapes
    ]
    record = {
        "name": name,
        "options": options,
        "parameters": [described(p) for p in parameters],
    }
    # That of numbers in the state, too.
    torch.set_default_dtype(torch.float64)
    optimizer = make([p.requires_grad_() for p in parameters], **given)
    gradients = []
    for step in range(STEPS):
        drawn = [torch.randn_like(p).round(decimals=2) for p in parameters]
        if step % 5 == 3:
            drawn[1] = None  # This parameter is not updated.
        for p, g in zip(parameters, drawn):
            p.grad = g
        optimizer.step()
        gradients.append([None if g is None else described(g)["data"] for g in drawn])
    torch.set_default_dtype(torch.float32)
    record["gradients"] = gradients
    record["expected"] = [described(p) for p in parameters]
    record["state"] = [
        {
            k: described(v.double())
            for k, v in optimizer.state[p].items()
            if v is not None
        }
        for p in parameters
    ]
    return record


def optimizers():
    r = optimizer_record
    yield r("sgd", optim.SGD, lr=0.1)
    yield r("sgd", optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.01)
    yield r("sgd", optim.SGD, lr=0.05, momentum=0.8, dampening=0.3)
    yield r("sgd", optim.SGD, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.1)
    yield r("adam", optim.Adam)
    yield r(
        "adam", optim.Adam, lr=0.02, beta1=0.8, beta2=0.95, weight_decay=0.1, eps=1e-4
    )
    yield r("adam", optim.Adam, lr=0.02, amsgrad=True)
    yield r("adamw", optim.AdamW)
    yield r("adamw", optim.AdamW, lr=0.05, weight_decay=0.2, amsgrad=True)
    yield r("adagrad", optim.Adagrad)
    more = {"weight_decay": 0.1, "initial_accumulator_value": 0.2}
    yield r("adagrad", optim.Adagrad, lr=0.1, lr_decay=0.05, **more)
    yield r("rmsprop", optim.RMSprop)
    yield r("rmsprop", optim.RMSprop, lr=0.02, alpha=0.9, momentum=0.7, centered=True)
    yield r("rmsprop", optim.RMSprop, lr=0.02, centered=True, weight_decay=0.1)
    yield r("lion", Lion)
    yield r("lion", Lion, lr=0.01, beta1=0.8, beta2=0.9, weight_decay=0.1)
    yield r("adamax", optim.Adamax)
    yield r("adamax", optim.Adamax, lr=0.02, beta2=0.9, weight_decay=0.1, eps=1e-3)
    yield r("nadam", optim.NAdam)
    yield r("nadam", optim.NAdam, lr=0.02, beta1=0.8, weight_decay=0.1, momentum_decay=0.3)
    yield r("nadam", optim.NAdam, weight_decay=0.1, decoupled_weight_decay=True)


def clipping():
    for norm, p in ((1.5, 2), (1e3, 2), (2, 1), (0.5, float("inf"))):
        leaves = [torch.zeros(s, dtype=torch.float64) for s in ((2, 3), (4,))]
        for leaf in leaves:
            leaf.grad = torch.randn_like(leaf)
        given = [described(leaf.grad) for leaf in leaves]
        total = nn.utils.clip_grad_norm_(leaves, norm, p)
        yield {
            "max_norm": norm,
            "p": str(p),
            "gradients": given,
            "total": total.item(),
            "expected": [described(leaf.grad) for leaf in leaves],
        }


def schedules():
    s = optim.lr_scheduler
    cases = [
        ("step", {"step_size": 3}, lambda o: s.StepLR(o, 3)),
        ("step", {"step_size": 2, "gamma": 0.5}, lambda o: s.StepLR(o, 2, 0.5)),
        ("multi_step", {"milestones": "2:5:5"}, lambda o: s.MultiStepLR(o, [2, 5, 5])),
        ("exponential", {"gamma": 0.9}, lambda o: s.ExponentialLR(o, 0.9)),
        ("cosine", {"steps": 12}, lambda o: s.CosineAnnealingLR(o, 12)),
        (
            "cosine",
            {"steps": 12, "minimum": 0.02},
            lambda o: s.CosineAnnealingLR(o, 12, 0.02),
        ),
        ("linear", {"steps": 5}, lambda o: s.LinearLR(o, total_iters=5)),
        (
            "cosine",
            {"steps": 8, "warmup": 4},
            lambda o: s.SequentialLR(
                o,
                [s.LinearLR(o, 0.25, 1, 3), s.CosineAnnealingLR(o, 8)],
                [4],
            ),
        ),
    ]
    for name, options, make in cases:
        optimizer = optim.SGD([torch.zeros(1)], lr=0.1)
        scheduler = make(optimizer)
        rates = []
        for _ in range(12):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        yield {"name": name, "options": options, "rates": rates}


def main():
    families = (modules, losses, weighted_losses, optimizers, clipping, schedules)
    records = {family.__name__: list(family()) for family in families}
    records["modules"] += more_modules()
    # Long lists on one line each, so that changes show.
    print("{")
    for i, (name, entries) in enumerate(records.items()):
        print(f'"{name}": [')
        print(",\n".join(json.dumps(x) for x in entries))
        print("]," if i + 1 < len(records) else "]")
    print("}")


if __name__ == "__main__":
    main()
