# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of several ranks, by a table of functions that a program brings.

usage: PYTHONPATH=tests/support:benchmarks python tests/training/data_parallel_test.py
           BIN_DIR LIBRARY [unittest's options]
"""

import ctypes as c
import json
import pathlib
import sys
import time

import numpy as np

import tool_test
from tinh_runtime import Model

LIBRARY = None  # libtinh_runtime.so.
BATCH, WIDTH, LAYERS = 256, 512, 4
ALL_REDUCE = 0


class Collective(c.Structure):
    """tinh_collective_t."""

    _fields_ = [
        ("kind", c.c_int),
        ("reduction", c.c_int),
        ("dtype", c.c_int),
        ("communication_dtype", c.c_int),
        ("root", c.c_uint32),
        ("count", c.c_uint64),
        ("input", c.c_void_p),
        ("output", c.c_void_p),
    ]


START = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.POINTER(Collective), c.POINTER(c.c_uint64))
WAIT = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_uint64)


class Table(c.Structure):
    """tinh_collectives_t as it began."""

    _fields_ = [
        ("struct_size", c.c_uint32),
        ("rank", c.c_uint32),
        ("num_ranks", c.c_uint32),
        ("local_rank", c.c_uint32),
        ("num_local_ranks", c.c_uint32),
        ("library", c.c_char_p),
        ("start", START),
        ("wait", WAIT),
        ("abort", c.c_void_p),
        ("destroy", c.c_void_p),
    ]


class Wire:
    """One rank, whose reductions take `delay` each, one after the other."""

    def __init__(self):
        self.delay = 0
        self.forget()
        self.table = Table(
            c.sizeof(Table), 0, 1, 0, 1, b"a test's", START(self.start), WAIT(self.wait)
        )

    def forget(self):
        self.started, self.waited, self.done = [], 0, [0]

    def start(self, _, collective, ticket):
        now = time.monotonic()
        what = collective.contents
        if what.input != what.output:
            size = what.count * (8 if what.kind != ALL_REDUCE else 4)
            c.memmove(what.output, what.input, size)
        if what.kind == ALL_REDUCE:
            self.started.append(now)
            self.done.append(max(now, self.done[-1]) + self.delay)
        else:
            self.done.append(now)
        ticket[0] = len(self.done) - 1
        return None

    def wait(self, _, ticket):
        missing = self.done[ticket] - time.monotonic()
        if missing > 0:
            self.waited += missing
            time.sleep(missing)
        return None


class DataParallelTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(2)
        weights, nodes, at = [], [], "x"
        self.weights = random.normal(0, WIDTH**-0.5, (LAYERS, WIDTH, WIDTH))
        for i in range(LAYERS):
            weights.append(
                {"name": f"w{i}", "dtype": "f32", "shape": [WIDTH, WIDTH], "data": 0}
            )
            for op, inputs in ("matmul", [at, f"w{i}"]), ("relu", [f"matmul{i}"]):
                nodes.append({"op": op, "inputs": inputs, "outputs": [f"{op}{i}"]})
            at = f"relu{i}"
        model = {
            "tinh": 1,
            "name": "layers",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [BATCH, WIDTH]}],
            "weights": weights,
            "nodes": nodes,
            "outputs": [at],
        }
        (self.folder / "layers.json").write_text(json.dumps(model))
        self.feed = {
            name: random.normal(size=(BATCH, WIDTH)).astype(np.float32)
            for name in ("x", "target")
        }

    def step(self, name, *options, wire=None):
        self.compile(
            "layers.json", name, "--train", "--loss=mse", "--optimizer=adam", *options
        )
        table = wire and c.addressof(wire.table)
        path = self.folder / name
        model = Model(LIBRARY, path, 1, "train_step", collectives=table)
        for i, value in enumerate(self.weights):
            model.write_variable(f"w{i}", value.astype(np.float32))
        return model

    def weight(self, model):
        return model.read_variable("w1", (WIDTH, WIDTH))

    def test_one_rank_computes_what_a_step_does(self):
        wire = Wire()  # As long as the model.
        ranks = self.step("ranks.so", "--data-parallel", wire=wire)
        alone = self.step("alone.so")
        for _ in range(2):
            found, expected = ranks.run(self.feed), alone.run(self.feed)
            np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)
        np.testing.assert_allclose(
            self.weight(ranks), self.weight(alone), rtol=1e-4, atol=1e-6
        )

    def test_reductions_run_beside_the_backward_pass(self):
        """What is waited for is the last bucket at most."""
        wire = Wire()
        model = self.step("ranks.so", "--data-parallel", "--network=1,1000", wire=wire)
        run, _ = model.bind(self.feed)
        run()
        wire.forget()
        run()
        buckets = len(wire.started)
        self.assertGreaterEqual(buckets, 2)
        # As much as there is time for until the last gradient is there.
        wire.delay = 0.5 * (wire.started[-1] - wire.started[0]) / (buckets - 1)
        exposed = []
        for _ in range(5):
            wire.forget()
            run()
            exposed.append(wire.waited)
        self.assertLessEqual(min(exposed), 1.5 * wire.delay)

    def test_refused_without_ranks(self):
        model = self.step("ranks.so", "--data-parallel")
        with self.assertRaisesRegex(RuntimeError, "computes together with other ranks"):
            model.run(self.feed)


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
