#!/usr/bin/env python3
"""Training steps of one engine in one live process, for compare_training.py.

    training_engines.py ENGINE TASK THREADS CPUS OPTIONS

Pins itself to CPUS (a comma-separated list), makes the network with its weights
and batch, and is then a worker (workers.py) that first says the losses of its
first steps, and how long the very first one took, compilation included. OPTIONS
is JSON.
"""

import json
import os
import sys
import time

from workers import serve

# Losses of so many steps are compared before anything is timed.
FIRST_STEPS = 5


# Each engine: (task, threads, options) -> a function that makes a training step
# and returns its loss.


def tinh(task, threads, options):
    from tinh_runtime import Model

    model = Model(
        options["runtime"], options["artifact"], threads, "train_step"
    )
    x, target = task.batch()
    call, results = model.bind({"x": x.numpy(), "target": target.numpy()})

    def step():
        call()
        return results["loss"]

    return step


def torch_step(task, threads, wrap):
    import torch

    from training_tasks import make_optimizer

    torch.set_num_threads(threads)
    module, function = task.module(), task.loss_function()
    optimizer = make_optimizer(task.optimizer, module.parameters())
    loss_of = wrap(lambda x, target: function(module(x), target))
    x, target = task.batch()

    def step():
        optimizer.zero_grad()
        loss = loss_of(x, target)
        loss.backward()
        optimizer.step()
        return loss

    return step


def torch_eager(task, threads, options):
    return torch_step(task, threads, lambda function: function)


def torch_compile(task, threads, options):
    import torch

    return torch_step(task, threads, torch.compile)


def torch_compile_step(task, threads, options):
    """Gradients and updates in one graph, which is faster than the usual way
    where steps are short. Not for networks with running statistics."""
    import torch

    from training_tasks import parse

    torch.set_num_threads(threads)
    module, function = task.module(), task.loss_function()
    parameters = {k: v.detach() for k, v in module.named_parameters()}
    name, settings = parse(task.optimizer)
    if name != "sgd" or set(settings) != {"lr"} or any(module.buffers()):
        raise SystemExit("torch.compile step: only SGD, without buffers")

    def loss_of(parameters, x, target):
        y = torch.func.functional_call(module, parameters, (x,))
        return function(y, target)

    @torch.compile
    def step(parameters, x, target):
        gradients, loss = torch.func.grad_and_value(loss_of)(
            parameters, x, target
        )
        for key, value in parameters.items():
            value.sub_(settings["lr"] * gradients[key])
        return loss

    x, target = task.batch()
    return lambda: step(parameters, x, target)


def jax_jit(task, threads, options):
    import training_jax

    return training_jax.make_step(task)


ENGINES = {
    "tinh": tinh,
    "torch": torch_eager,
    "torch.compile": torch_compile,
    "torch.compile step": torch_compile_step,
    "jax": jax_jit,
}


def main():
    engine, name, threads, cpus, options = sys.argv[1:]
    # What engines print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = threads
    from training_tasks import TASKS

    step = ENGINES[engine](TASKS[name], int(threads), json.loads(options))
    start = time.perf_counter()
    losses = [float(step())]
    first_s = time.perf_counter() - start
    losses += [float(step()) for _ in range(FIRST_STEPS - 1)]
    print(json.dumps({"losses": losses, "first_s": first_s}), file=answers)
    serve(step, answers)


if __name__ == "__main__":
    main()
