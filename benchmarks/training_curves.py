"""Losses of compiled training steps beside PyTorch's, for compare_training.py.

Each optimizer trains each network for 100 steps on ten batches in turn: with
PyTorch in f32 and in f64, and with the artifact in f32, from equal weights. What
the artifact's losses may differ from PyTorch's is the larger of 1e-3 and three
times of what PyTorch's own precision changes.
"""

import torch

from tinh_runtime import Model
from training_tasks import TASKS, make_optimizer, parse

STEPS = 100
BATCHES = 10
TOLERANCE = 1e-3
CURVES = ["two_layer", "mlp", "resnet18_small", "lstm", "transformer"]


def distance(losses, expected):
    """The largest relative difference."""
    return max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))


def optimizers(task):
    """By the learning rate of the task."""
    lr = parse(task.optimizer)[1]["lr"]
    return {
        "sgd": f"sgd,lr={lr:g}",
        "momentum": f"sgd,lr={lr / 10:g},momentum=0.9",
        "adam": "adam,lr=0.0001",
        "adamw": "adamw,lr=0.0001",
    }


def of_pytorch(task, optimizer, dtype):
    module, function = task.module().to(dtype), task.loss_function()
    rule = make_optimizer(optimizer, module.parameters())
    cast = lambda t: t.to(dtype) if t.is_floating_point() else t
    batches = [tuple(map(cast, task.batch(i))) for i in range(BATCHES)]
    losses = []
    for step in range(STEPS):
        x, target = batches[step % BATCHES]
        rule.zero_grad()
        loss = function(module(x), target)
        loss.backward()
        rule.step()
        losses.append(float(loss.detach()))
    return losses


def of_artifact(task, runtime, artifact, threads):
    model = Model(runtime, artifact, threads, "train_step")
    batches = [task.batch(i) for i in range(BATCHES)]
    x, target = (value.numpy().copy() for value in batches[0])
    run, results = model.bind({"x": x, "target": target})
    losses = []
    for step in range(STEPS):
        x[...], target[...] = (v.numpy() for v in batches[step % BATCHES])
        run()
        losses.append(float(results["loss"]))
    return losses


def report(args, compile_step):
    """Prints a table; 1 if a curve is too far off."""
    library = str(args.build / "lib" / "libtinh_runtime.so")
    threads = int(args.threads.split(",")[-1])
    torch.set_num_threads(threads)
    print("| network | optimizer | loss, first and last | to PyTorch f32 |"
          " PyTorch f32 to f64 | allowed |\n|---|---|---|---|---|---|")
    failed = 0
    for name in args.names or CURVES:
        task = TASKS[name]
        for label, optimizer in optimizers(task).items():
            artifact, _ = compile_step(args, name, optimizer)
            ours = of_artifact(task, library, artifact, threads)
            single = of_pytorch(task, optimizer, torch.float32)
            double = of_pytorch(task, optimizer, torch.float64)
            found, own = distance(ours, single), distance(single, double)
            allowed = max(TOLERANCE, 3 * own)
            failed |= not found <= allowed
            print(f"| {name} | {label} | {ours[0]:.4g}, {ours[-1]:.4g} |"
                  f" {found:.1e} | {own:.1e} | {allowed:.1e} |"
                  + " too far" * (not found <= allowed), flush=True)
    return int(failed)
