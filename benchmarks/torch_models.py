"""Models of torchvision, timm and transformers through
torch.compile(backend="tinh"): are they right, how much of them is compiled, how
long it takes.

    build/venv-bench/bin/python benchmarks/torch_models.py [NAME …]
    build/venv-bench/bin/python benchmarks/torch_models.py --train [NAME …]
    build/venv-bench/bin/python benchmarks/torch_models.py --time [NAME …]

checks inference, trains for ten steps beside eager PyTorch, or times the first
call and later ones beside eager PyTorch and Inductor, with all caches of
kernels off. NAME is part of a name, such as torchvision/ or bert. Results
are written as lines of JSON to --json FILE, too, and as a table to
--markdown FILE.

It needs the environment of benchmarks/requirements.txt and the package tinh:
    build/venv-bench/bin/pip install --no-deps dist/tinh-*-cp311-*.whl
"""

import argparse
import copy
import json
import os
import statistics
import sys
import time
import traceback
import warnings

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"

import numpy  # noqa: E402
import torch  # noqa: E402
import torch_model_set  # noqa: E402
from tinh import dynamo  # noqa: E402

# The mask of wav2vec2 is drawn by NumPy, in eager mode and else.
torch._dynamo.config.use_numpy_random_stream = True

TOLERANCE = 1e-3
STEPS = 10


def relative_error(found, expected):
    if isinstance(expected, tuple):
        return max(map(relative_error, found, expected))
    if expected.numel() == 0:
        return 0.0
    scale = expected.abs().max().clamp_min(1e-9)
    return ((found.double() - expected.double()).abs().max() / scale).item()


def compiled(model, backend="tinh", **options):
    if backend == "tinh":
        return torch.compile(model, backend=dynamo.compile, **options)
    return torch.compile(model, backend=backend)


def start():
    torch._dynamo.reset()
    dynamo.coverage.__init__()


def coverage_row():
    c = dynamo.coverage
    row = {"graphs": c.graphs, "ops": c.ops, "compiled_ops": c.ops - c.fallback_ops}
    return row | ({"missing": sorted(c.missing)} if c.missing else {})


# Whether they are right


def check(name):
    start()
    model, inputs = torch_model_set.make(name)
    model.eval()
    with torch.no_grad():
        expected = model(*inputs)
        function = compiled(model)
        begin = time.perf_counter()
        found = function(*inputs)
        first = time.perf_counter() - begin
        again = function(*inputs)
    error = max(relative_error(y, expected) for y in (found, again))
    row = {"error": error, "first_call_s": first} | coverage_row()
    row["whole"] = row["compiled_ops"] == row["ops"]
    return row | {"ok": error < TOLERANCE}


def check_summary(rows):
    ops = sum(r.get("ops", 0) for r in rows)
    done = sum(r.get("compiled_ops", 0) for r in rows)
    right = sum(r["ok"] for r in rows)
    whole = sum(r.get("whole", False) for r in rows)
    print(
        f"{right} of {len(rows)} models right, {whole} compiled whole; "
        f"{done} of {ops} ops ({100 * done / max(ops, 1):.2f} %) computed by Tinh"
    )


# Training


def first(output):
    return output[0] if isinstance(output, tuple) else output


def loss_for(model, inputs):
    """A loss of the model's first output, against seeded goals."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        shape = first(copy.deepcopy(model)(*inputs)).shape
    if len(shape) == 3 and shape[-1] < 100:  # Hidden states.
        goal = torch.randn(shape, generator=generator)
        return lambda y: torch.nn.functional.mse_loss(first(y), goal.to(first(y).dtype))
    classes = shape[-1]
    goal = torch.randint(classes, (shape.numel() // classes,), generator=generator)
    return lambda y: torch.nn.functional.cross_entropy(
        first(y).reshape(-1, classes), goal
    )


def train_steps(model, function, inputs, loss):
    """The losses of ten steps; what is dropped is the same for all."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for step in range(STEPS):
        torch.manual_seed(step)
        numpy.random.seed(step)
        optimizer.zero_grad()
        value = loss(function(*inputs))
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def difference(a, b):
    return max(abs(x - y) / max(abs(y), 1e-6) for x, y in zip(a, b))


def train(name):
    """Beside eager PyTorch in f32 and in f64. Where f32 and f64 themselves part
    within ten steps, as batch normalisation of a few elements and ReLU make
    them, there is nothing to be equal to."""
    start()
    model, inputs = torch_model_set.make(name, batch=8)
    model.train()
    loss = loss_for(model, inputs)
    eager, exact = copy.deepcopy(model), copy.deepcopy(model).double()
    found = train_steps(model, compiled(model), inputs, loss)
    row = coverage_row()
    expected = train_steps(eager, eager, inputs, loss)
    doubles = [x.double() if x.is_floating_point() else x for x in inputs]
    best = train_steps(exact, exact, doubles, loss)
    row |= {
        "losses": [found[0], found[-1]],
        "to_eager": difference(found, expected),
        "to_f64": difference(found, best),
        "eager_to_f64": difference(expected, best),
    }
    return row | {"ok": row["to_eager"] < TOLERANCE}


def train_summary(rows):
    rows = [r for r in rows if "to_eager" in r]
    steady = [r for r in rows if r["eager_to_f64"] < TOLERANCE]
    print(
        f"{sum(r['ok'] for r in rows)} of {len(rows)} models: the losses of "
        f"{STEPS} steps are eager PyTorch's; in {len(steady)} eager f32 follows "
        f"f64, and of these {sum(r['ok'] for r in steady)} are equal"
    )


# Time


def time_calls(function, inputs, seconds):
    calls, begin = 0, time.perf_counter()
    while True:
        function(*inputs)
        calls += 1
        elapsed = time.perf_counter() - begin
        if elapsed >= seconds:
            return elapsed / calls


def warm_up():
    """What the first compilation of a process loads is no model's cost."""
    for backend in ("tinh", "inductor"):
        with torch.no_grad():
            compiled(torch.nn.Linear(3, 4), backend)(torch.ones(2, 3))


def time_model(name):
    row, functions = {}, {}
    model, inputs = torch_model_set.make(name)
    model.eval()
    functions["eager"] = model
    with torch.no_grad():
        for backend in ("tinh", "inductor"):
            options = {"options": {"cache": False}} if backend == "tinh" else {}
            start()
            function = compiled(copy.deepcopy(model), backend, **options)
            begin = time.perf_counter()
            function(*inputs)
            row[f"{backend}_first_s"] = time.perf_counter() - begin
            functions[backend] = function
        times = {name: [] for name in functions}
        for function in functions.values():
            time_calls(function, inputs, 0.1)
        for _ in range(5):
            for name, function in functions.items():
                time.sleep(0.02)  # The others' workers go to sleep.
                times[name].append(time_calls(function, inputs, 0.15))
    for name, values in times.items():
        row[f"{name}_ms"] = statistics.median(values) * 1e3
    for name in ("eager", "inductor"):
        ratios = [a / b for a, b in zip(times[name], times["tinh"])]
        row[f"{name}_over_tinh"] = statistics.median(ratios)
    return row | {"ok": row["tinh_first_s"] < row["inductor_first_s"]}


def time_summary(rows):
    rows = [r for r in rows if "tinh_first_s" in r]
    faster = sum(r["ok"] for r in rows)
    print(f"first call faster than Inductor's: {faster} of {len(rows)}")
    for key in ("eager_over_tinh", "inductor_over_tinh"):
        values = [r[key] for r in rows]
        if values:
            mean = statistics.geometric_mean(values)
            print(f"{key}: {mean:.2f} (geometric mean), least {min(values):.2f}")
    ratios = [r["inductor_first_s"] / r["tinh_first_s"] for r in rows]
    if ratios:
        print(
            f"Inductor's first call over Tinh's: {statistics.geometric_mean(ratios):.1f}"
            f" (geometric mean), least {min(ratios):.2f}"
        )


def shown(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def write_markdown(path, rows):
    columns = list(dict.fromkeys(k for r in rows for k in r if k not in ("ok",)))
    with open(path, "w") as file:
        file.write("| " + " | ".join(columns) + " |\n")
        file.write("|" + "---|" * len(columns) + "\n")
        for row in rows:
            cells = [shown(row.get(c, "")) for c in columns]
            file.write("| " + " | ".join(cells) + " |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    measure, summary = check, check_summary
    if arguments.train:
        measure, summary = train, train_summary
    elif arguments.time:
        measure, summary = time_model, time_summary
        warm_up()
    wanted = arguments.names or [""]
    known = torch_model_set.names(with_targets=not arguments.train)
    names = [n for n in known if any(w in n for w in wanted)]
    warnings.simplefilter("ignore")
    rows = []
    for name in names:
        try:
            row = measure(name)
        except Exception as error:
            traceback.print_exc()
            row = {"error": f"{type(error).__name__}: {error}"[:300], "ok": False}
        rows.append({"model": name} | row)
        line = json.dumps(rows[-1])
        print(line, flush=True)
        if arguments.json:
            with open(arguments.json, "a") as file:
                file.write(line + "\n")
    summary(rows)
    if arguments.markdown:
        write_markdown(arguments.markdown, rows)
    sys.exit(0 if all(r["ok"] for r in rows) else 1)


if __name__ == "__main__":
    main()
