# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training in f16, of losses that are scaled.

usage: PYTHONPATH=tests/support:benchmarks python
           tests/training/loss_scale_test.py BIN_DIR LIBRARY
           [unittest's options]
"""

import json
import pathlib
import struct
import sys

import numpy as np

import cnn
import tool_test
from tinh_runtime import Model
from training_test import Adam, Network, Sgd, cross_entropy, mse

LIBRARY = None  # libtinh_runtime.so.
MOMENTUM = "sgd,lr=0.05,momentum=0.9"
CPUS = ("native", "x86-64-v3")


def state_names(weights):
    """Of what a step with MOMENTUM changes, but for the scale."""
    trained = [name for name in weights if "running" not in name]
    buffers = [f"optimizer.{name}.momentum_buffer" for name in trained]
    shapes = {name: value.shape for name, value in weights.items()}
    shapes |= {b: weights[t].shape for b, t in zip(buffers, trained)}
    return shapes | {"optimizer.step": ()}


def read_header(path):
    with open(path, "rb") as file:
        return json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))


class LossScaleTest(tool_test.ToolTest):
    def compile_model(self, model, *options, output=None):
        """A file that no other call has made: a library that is loaded is not
        loaded again."""
        self.files = getattr(self, "files", 0) + 1
        output = output or f"step{self.files}.so"
        (self.folder / "network.json").write_text(json.dumps(model))
        self.compile("network.json", output, "--train", *options)
        return self.folder / output

    def load(self, model, *options, threads=1):
        path = self.compile_model(model, "--precision=f16", *options)
        return Model(LIBRARY, path, threads, "train_step")

    def train(self, loss, by_hand, optimizer, expected):
        """Losses are those of training by hand in f64, but for rounding."""
        for cpu, threads in zip(CPUS, (1, 2)):
            network, rule, losses = Network(), expected(), []
            # With the scale of 65536 the first gradients would be too large.
            options = (f"--loss={loss}", f"--optimizer={optimizer}", f"--cpu={cpu}")
            scale = "--loss-scale=dynamic,init_scale=1024"
            model = self.load(network.json(), *options, scale, threads=threads)
            target = network.t if loss == "mse" else network.labels
            run, results = model.bind({"x": network.x, "target": target})
            network.p = {name: p.astype(np.float64) for name, p in network.p.items()}
            for step in range(1, 101):
                run()
                value, dy = by_hand(network.predict(), network)
                losses.append(value)
                close = 5e-3 * losses[0]
                self.assertAlmostEqual(float(results["loss"]), value, delta=close)
                for name, g in network.gradients(dy).items():
                    network.p[name] = rule.update(network.p[name], g, name, step)
            self.assertLess(losses[-1], 0.6 * losses[0])
            self.assertEqual(model.read_variable("optimizer.step", ()), 100)

    def test_sgd(self):
        self.train("mse", mse, "sgd,lr=0.05", lambda: Sgd(0.05))

    def test_momentum(self):
        self.train("cross_entropy", cross_entropy, MOMENTUM, lambda: Sgd(0.05, 0.9))

    def test_adam(self):
        self.train("cross_entropy", cross_entropy, "adam,lr=0.01", lambda: Adam(0.01))

    def test_convolutions_and_batch_norms(self):
        """As PyTorch has trained the same network in f64."""
        weights, x, labels = cnn.make()
        expected = json.loads(cnn.RECORDED.read_text())
        options = ("--loss=cross_entropy", f"--optimizer={MOMENTUM}")
        model = self.load(cnn.graph(weights, x), *options)
        run, results = model.bind({"x": x, "target": labels})
        losses = []
        for _ in range(cnn.STEPS):
            run()
            losses.append(float(results["loss"]))
        np.testing.assert_allclose(losses, expected["losses"], atol=0.02 * losses[0])
        for name, value in expected["statistics"].items():
            found = model.read_variable(name, weights[name].shape)
            np.testing.assert_allclose(found, value, atol=0.02)

    def test_gradients(self):
        """Each as the difference that one step makes, at any scale."""
        network = Network()
        _, dy = mse(network.predict(), network)
        for scale, *options in ((512,), (512, "--no-fuse"), (4,)):
            step = ("--loss=mse", "--optimizer=sgd,lr=1", f"--loss-scale={scale}")
            model = self.load(network.json(), *step, *options)
            model.run({"x": network.x, "target": network.t})
            for name, expected in network.gradients(dy).items():
                found = network.p[name] - model.read_variable(name, expected.shape)
                error = np.abs(found - expected).max()
                self.assertLess(error, 3e-3 * np.abs(expected).max(), name)

    def test_gradients_below_f16(self):
        """The mean of y², where y = x · w is 2⁻¹² everywhere, has a gradient
        of 2⁻²⁷ by each weight, and f16 has no number between 0 and 2⁻²⁴."""
        model = {
            "tinh": 1,
            "name": "line",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [4, 8]}],
            "weights": [
                {"name": "w", "dtype": "f32", "shape": [8, 2], "data": [1] * 16}
            ],
            "nodes": [{"op": "matmul", "inputs": ["x", "w"], "outputs": ["y"]}],
            "outputs": ["y"],
        }
        x, target = np.full((4, 8), 2.0**-15), np.zeros((4, 2))
        step = ("--loss=mse", f"--optimizer=sgd,lr={2**20}")
        for option, expected in (
            ("--loss-scale=1", 1),
            ("--loss-scale=1024", 1 - 2**-7),
            ("--loss-scale=dynamic", 1 - 2**-7),
        ):
            loaded = self.load(model, *step, option)
            loaded.run({"x": x, "target": target})
            np.testing.assert_equal(loaded.read_variable("w", (8, 2)), expected)

    def test_overflow(self):
        """A step whose gradients are too large halves the scale and changes
        nothing else; so many good ones in a row double it."""
        weights, x, labels = cnn.make()
        shapes, initial, interval = state_names(weights), 2**100, 3
        scale = f"dynamic,init_scale={initial},growth_interval={interval}"
        options = ("--loss=cross_entropy", f"--optimizer={MOMENTUM}")
        model = self.load(
            cnn.graph(weights, x), *options, f"--loss-scale={scale}", threads=2
        )
        run, results = model.bind({"x": x, "target": labels})
        read = lambda: {n: model.read_variable(n, s) for n, s in shapes.items()}
        expected, in_a_row, before, steps = initial, 0, read(), []
        for _ in range(140):
            run()
            self.assertTrue(np.isfinite(results["loss"]))
            after = read()
            steps.append(after["optimizer.step"] > before["optimizer.step"])
            for name in shapes:
                same = np.array_equal(before[name], after[name])
                self.assertEqual(same, not steps[-1], name)
            in_a_row = in_a_row + 1 if steps[-1] else 0
            expected *= 1 if steps[-1] else 0.5
            if in_a_row == interval:
                in_a_row, expected = 0, 2 * expected
            self.assertEqual(model.read_variable("loss_scale", ()), expected)
            tracker = model.read_variable("loss_scale.growth_tracker", (), np.int32)
            self.assertEqual(tracker, in_a_row)
            before = after
        first = steps.index(True)
        self.assertGreater(first, 50)
        # It grows until gradients overflow again, and shrinks once then.
        self.assertIn(False, steps[first:])
        self.assertNotIn((False, False), list(zip(steps[first:], steps[first + 1 :])))

    def test_fixed_scale(self):
        """It is as large after a step that it spoils."""
        network = Network()
        step = ("--loss=mse", "--optimizer=adam", f"--loss-scale={2**100}")
        model = self.load(network.json(), *step)
        model.run({"x": network.x, "target": network.t})
        self.assertEqual(model.read_variable("loss_scale", ()), 2**100)
        self.assertEqual(model.read_variable("optimizer.step", ()), 0)
        # A program may write another one.
        model.write_variable("loss_scale", np.float32(1024))
        model.run({"x": network.x, "target": network.t})
        self.assertEqual(model.read_variable("optimizer.step", ()), 1)

    def test_input_that_is_no_number(self):
        weights, x, labels = cnn.make()
        shapes = state_names(weights)
        options = ("--loss=cross_entropy", f"--optimizer={MOMENTUM}")
        model = self.load(cnn.graph(weights, x), *options)
        before = {n: model.read_variable(n, s) for n, s in shapes.items()}
        wrong = x.copy()
        wrong[0, 0, 0, 0] = np.nan
        results = model.run({"x": wrong, "target": labels})
        self.assertTrue(np.isnan(results["loss"]))
        for name, value in before.items():
            found = model.read_variable(name, value.shape)
            np.testing.assert_equal(found, value, name)
        self.assertEqual(model.read_variable("loss_scale", ()), 32768)
        results = model.run({"x": x, "target": labels})
        self.assertTrue(np.isfinite(results["loss"]))
        self.assertEqual(model.read_variable("optimizer.step", ()), 1)

    def test_random_numbers(self):
        """They go on after a step that is skipped, which has drawn some."""
        network = Network()
        model = network.json()
        model["nodes"][3]["inputs"][0] = "d"
        drop = {"op": "dropout", "inputs": ["h"], "outputs": ["d"]}
        model["nodes"].insert(3, {**drop, "attributes": {"ratio": 0.5}})
        step = ("--loss=mse", "--optimizer=sgd", f"--loss-scale={2**100}")
        model = self.load(model, *step)
        run, results = model.bind({"x": network.x, "target": network.t})
        losses, counters = [], []
        for _ in range(3):
            run()
            losses.append(float(results["loss"]))
            generator = model.read_variable("random.generator", (2,), np.uint64)
            counters.append(int(generator[1]))
        self.assertEqual(model.read_variable("optimizer.step", ()), 0)
        self.assertEqual(len(set(losses)), 3)
        self.assertLess(0, counters[0])
        self.assertEqual(counters, [counters[0] * n for n in (1, 2, 3)])

    def test_checkpoint(self):
        """A run that goes on from a file goes on with the scale, too."""
        weights, x, labels = cnn.make()
        np.save(self.folder / "x.npy", x)
        np.save(self.folder / "y.npy", labels)
        path = self.compile_model(
            cnn.graph(weights, x), "--loss=cross_entropy", f"--optimizer={MOMENTUM}",
            "--precision=f16", "--loss-scale=dynamic,init_scale=4,growth_interval=3",
        )  # fmt: skip

        def train(epochs, file, *options):
            done = self.run_tool(
                *("graph-run", path, "--train", "--data", "x.npy,y.npy"),
                *("--epochs", epochs, "--checkpoint", file, *options),
            )
            self.assertEqual(done.returncode, 0, done.stderr)

        train(5, "at_once.safetensors")
        train(2, "parts.safetensors")
        train(5, "parts.safetensors", "--resume")
        state, parts = (
            (self.folder / name).read_bytes()
            for name in ("at_once.safetensors", "parts.safetensors")
        )
        self.assertEqual(state, parts)
        header = read_header(self.folder / "parts.safetensors")
        for name, dtype in (
            ("loss_scale", "F32"),
            ("loss_scale.growth_tracker", "I32"),
            *((name, "F32") for name in weights),
        ):
            self.assertEqual(header[name]["dtype"], dtype, name)
        # Weights are taken from such a file, and the scale is none.
        self.compile("network.json", "main.so", "--load-weights=parts.safetensors")

    def test_memory_budget(self):
        weights, x, labels = cnn.make()
        options = ("--loss=cross_entropy", f"--optimizer={MOMENTUM}", "--precision=f16")
        losses = []
        for budget in ((), ("--memory-budget=90%",)):
            self.files = getattr(self, "files", 0) + 1
            path = self.folder / f"step{self.files}.so"
            (self.folder / "network.json").write_text(json.dumps(cnn.graph(weights, x)))
            done = self.run_tool(
                *("graph-compile", "network.json", "-o", path, "--train"),
                *(*options, *budget),
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("kernels are computed again" in done.stderr, budget != ())
            model = Model(LIBRARY, path, 1, "train_step")
            run, results = model.bind({"x": x, "target": labels})
            found = []
            for _ in range(10):
                run()
                found.append(float(results["loss"]))
            losses.append(found)
        np.testing.assert_allclose(losses[1], losses[0], rtol=1e-3)

    def test_option_of_the_file(self):
        """The file's word is as good as the option, which comes first."""
        model = Network().json()
        step = ("--loss=mse", "--optimizer=sgd", "--emit=plan")
        compiled = lambda *options: self.compile_model(
            model, *step, *options, output="plan.mlir"
        ).read_text()
        half, options = "--precision=f16", {"init_scale": 8, "growth_interval": 5}
        text = ",".join(f"{name}={value}" for name, value in options.items())
        dynamic = compiled(half, f"--loss-scale=dynamic,{text}")
        fixed = compiled(half, "--loss-scale=16")
        narrow = compiled("--precision=bf16")
        self.assertEqual(compiled(half), compiled(half, "--loss-scale=dynamic"))
        self.assertIn('"loss_scale" = dense<8.0', dynamic)
        self.assertIn('"loss_scale" = dense<1.6', fixed)
        self.assertNotIn("growth_tracker", fixed)
        self.assertNotIn("loss_scale", narrow)
        for scale, expected in (
            ({"name": "dynamic", **options}, dynamic),
            (16, fixed),
        ):
            model["training"] = {"precision": "f16", "loss_scale": scale}
            self.assertEqual(compiled(), expected)
            self.assertEqual(compiled("--loss-scale=16"), fixed)
            self.assertEqual(compiled("--precision=bf16"), narrow)


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
