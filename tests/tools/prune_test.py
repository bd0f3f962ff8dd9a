#!/usr/bin/env python3
# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""graph-prune: smaller models, and what it says where there is no way.

usage: PYTHONPATH=tests/support prune_test.py BIN_DIR
"""

import re
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

import tool_test
from onnx_models import Network, random_network, run

RANDOM = None  # setUp makes it.
PADS = {"pads": [1, 1, 1, 1]}


def draw(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def constants(model):
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


def network(shape=(2, 3, 8, 8)):
    return Network(draw, shape)


def residual(path):
    """Convolutions with batch norms, a residual sum, a pool and a product."""
    net = network()
    stem = net.same("Relu", net.norm(net.conv("x", 32)))
    inner = net.same("Relu", net.norm(net.conv(stem, 48)))
    sum = net.same("Add", net.norm(net.conv(inner, 32)), stem)
    pooled = net.pool(net.same("Relu", sum))
    return net.write(path, net.dense(net.flatten(pooled), 10))


def zeroed(model, pruned, path):
    """The model with zeros for all weights that are gone: elements are told apart
    by their values, which are random."""
    model, left = onnx.load(model), constants(onnx.load(pruned))
    variances = {n.input[4] for n in model.graph.node if n.op_type == "BatchNormalization"}
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor)
        # Weights that no output depends on are not there at all.
        isCut = tensor.name in left and tensor.name not in variances
        if value.dtype == np.float32 and isCut:
            value = np.where(np.isin(value, left[tensor.name]), value, np.float32(0))
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    onnx.save(model, path)
    return path


class Prune(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        global RANDOM
        RANDOM = np.random.default_rng(3)  # The same whatever ran before.
        self.output = self.folder / "small.onnx"

    def prune(self, model, *arguments):
        options = ["-o", self.output, *arguments]
        if not any(str(a).startswith("--max") for a in arguments):
            options.append("--max-macs=0.5")
        return self.run_tool("graph-prune", model, *options)

    def succeeds(self, *arguments):
        done = self.prune(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        onnx.checker.check_model(onnx.load(self.output), full_check=True)
        return done.stdout

    def share(self, text, what):
        return float(re.search(rf"^{what} .* ([\d.]+)%$", text, re.M)[1]) / 100

    def outputs_left(self, text):
        """By layer: how many outputs there were, and are."""
        found = {}
        for line in re.findall(r"^\S+ +(?:conv|matmul) .*", text, re.M):
            name, _, _, outputs, *_ = re.split("  +", line)
            widths = [int(width) for width in outputs.split(" → ")]
            found[name] = (widths[0], widths[-1])
        return found

    def assertEqualsZeroed(self, model, message=None):
        shape = [d.dim_value for d in onnx.load(model).graph.input[0].type.tensor_type.shape.dim]
        x = draw(*shape)
        expected = run(zeroed(model, self.output, self.folder / "zeroed.onnx"), x)
        found = run(self.output, x)
        self.assertGreater(np.abs(expected).max(), 0, message)
        np.testing.assert_allclose(
            found, expected, atol=2e-5 * np.abs(expected).max(), err_msg=str(message)
        )
        return x, found

    #===- What it makes -----------------------------------------------------===#

    def test_equals_the_model_with_zeros(self):
        model = residual(self.folder / "model.onnx")
        text = self.succeeds(model, "--multiple=8")
        self.assertLessEqual(self.share(text, "multiplications"), 0.5)
        x, found = self.assertEqualsZeroed(model)
        self.compile(self.output, "small.so")
        np.save(self.folder / "x.npy", x)
        done = self.run_tool(
            "graph-run", "small.so", "--input", f"x={self.folder / 'x.npy'}",
            "--output-dir", "out",
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = np.load(self.folder / "out" / "y.npy")
        np.testing.assert_allclose(ours, found, atol=1e-4 * np.abs(found).max())

    def test_random_networks(self):
        cut = 0
        for seed in range(40):
            model = random_network(self.folder / "model.onnx", draw, seed)
            done = self.prune(model, "--max-bytes=0.6", f"--multiple={1 + seed % 4}")
            if done.returncode:
                self.fails(done, "out of reach")
                continue
            self.assertEqual(done.stderr, "", seed)
            self.assertEqualsZeroed(model, f"seed {seed}")
            cut += 1
        self.assertGreater(cut, 30)

    def test_sums_keep_the_same_channels(self):
        text = self.succeeds(residual(self.folder / "model.onnx"), "--multiple=8")
        left = self.outputs_left(text)
        self.assertEqual(left["t0"], left["t6"])
        self.assertLess(left["t0"][1], 32)

    def test_names_and_batch_norms_stay(self):
        model = residual(self.folder / "model.onnx")
        self.succeeds(model)
        before, after = onnx.load(model), onnx.load(self.output)
        self.assertLessEqual(set(constants(before)), set(constants(after)))
        ops = [n.op_type for n in after.graph.node]
        self.assertEqual(ops.count("BatchNormalization"), 3)
        self.assertLessEqual(
            {n.name for n in before.graph.node if n.op_type == "Conv"},
            {n.name for n in after.graph.node},
        )

    def test_equal_weights_keep_their_names(self):
        net = network()
        wide = net.norm(net.conv("x", 1024, 1))
        net.weights["w2"][:] = 1  # The scale, as it is before it is trained.
        self.succeeds(net.write(self.folder / "model.onnx", net.conv(wide, 4, 1)))
        self.assertEqual(constants(onnx.load(self.output))["w2"].shape, (512,))

    def test_multiples(self):
        model = residual(self.folder / "model.onnx")
        for multiple in (1, 4, 8, 16):
            text = self.succeeds(model, f"--multiple={multiple}", "--max-bytes=0.55")
            for name, (all, left) in self.outputs_left(text).items():
                if all != left:
                    self.assertEqual(left % multiple, 0, name)
                    self.assertGreaterEqual(left, multiple, name)

    def test_widths_that_are_no_multiple(self):
        net = network()
        inner = net.same("Relu", net.conv("x", 30))
        model = net.write(self.folder / "model.onnx", net.conv(inner, 4))
        text = self.succeeds(model, "--multiple=8", "--max-macs=0.99")
        self.assertEqual(self.outputs_left(text)["t0"], (30, 24))

    def test_the_least_goes_first(self):
        net = network()
        inner = net.same("Relu", net.conv("x", 16))
        model = net.write(self.folder / "model.onnx", net.conv(inner, 4))
        weights = constants(onnx.load(model))
        norms = sum(
            (np.square(weights[name]).sum(axes))
            for name, axes in (("w0", (1, 2, 3)), ("w1", ()), ("w2", (0, 2, 3)))
        )
        self.succeeds(model, "--multiple=4")
        best = np.sort(np.argsort(norms)[8:])
        np.testing.assert_array_equal(
            constants(onnx.load(self.output))["w0"], weights["w0"][best]
        )

    def test_heads_go_as_a_whole(self):
        net = network((2, 6, 32))
        model = net.write(self.folder / "model.onnx", net.attention("x", 4))
        self.succeeds(model, "--max-bytes=0.5")
        self.assertEqualsZeroed(model)
        left = constants(onnx.load(self.output))
        before = constants(onnx.load(model))
        kept = np.isin(before["w0"], left["w0"]).all(0).reshape(4, 8)
        self.assertEqual(sorted(kept.sum(1)), [0, 0, 8, 8])

    def test_heads_behind_a_dimension_that_stays(self):
        """Queries, keys and values of one product: [batch, length, 3, heads, width]
        is cut along the heads, as all three are read."""
        net = network((2, 6, 32))
        split = net.reshaped(net.product("x", net.matrix(32, 96)), 2, 6, 3, 4, 8)
        parts = []
        for i in range(3):
            index = net.integers(i)
            net.weights[index] = np.array(i, np.int64)
            part = net.add("Gather", [split, index], (2, 6, 4, 8), axis=2)
            parts.append(net.transposed(part, [0, 2, 3, 1] if i == 1 else [0, 2, 1, 3]))
        scores = net.same("Softmax", net.product(parts[0], parts[1]))
        mixed = net.transposed(net.product(scores, parts[2]), [0, 2, 1, 3])
        last = net.product(net.reshaped(mixed, 2, 6, 32), net.matrix(32, 5))
        model = net.write(self.folder / "model.onnx", last)
        text = self.succeeds(model, "--max-bytes=0.6")
        self.assertEqual(self.outputs_left(text)["t0"], (96, 48))
        self.assertEqualsZeroed(model)

    def test_attention_with_shared_keys(self):
        """A head of the keys goes with the two that read it."""
        heads = {"q": 8, "k": 4, "v": 4}
        lines = []
        for name, count in heads.items():
            flat, split = f"2x6x{8 * count}xf32", f"2x6x{count}x8xf32"
            lines += [
                f"%w{name} = graph.constant dense<0.1> : tensor<64x{8 * count}xf32>",
                f"%f{name} = graph.matmul %x, %w{name} : tensor<2x6x64xf32>, "
                f'tensor<64x{8 * count}xf32> -> tensor<{flat}> loc("{name}")',
                f"%s{name} = graph.reshape %f{name} : tensor<{flat}> to tensor<{split}>",
                f"%{name} = graph.transpose %s{name} [0, 2, 1, 3] : tensor<{split}> "
                f"-> tensor<2x{count}x6x8xf32>",
            ]
        path = self.folder / "model.mlir"
        path.write_text(
            'func.func @main(%x: tensor<2x6x64xf32> {graph.name = "x"}) -> '
            '(tensor<2x6x5xf32> {graph.name = "y"}) {\n' + "\n".join(lines) + """
            %a = graph.attention %q, %k, %v scale 1.0 : tensor<2x8x6x8xf32>,
                tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>
            %t = graph.transpose %a [0, 2, 1, 3] : tensor<2x8x6x8xf32>
                -> tensor<2x6x8x8xf32>
            %m = graph.reshape %t : tensor<2x6x8x8xf32> to tensor<2x6x64xf32>
            %w = graph.constant dense<0.5> : tensor<64x5xf32>
            %y = graph.matmul %m, %w : tensor<2x6x64xf32>, tensor<64x5xf32>
                -> tensor<2x6x5xf32> loc("last")
            return %y : tensor<2x6x5xf32>
            }"""
        )
        self.output = self.folder / "small.json"
        done = self.prune(path, "--max-bytes=0.6", "--multiple=8")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            self.outputs_left(done.stdout),
            {"q": (64, 32), "k": (32, 16), "v": (32, 16), "last": (5, 5)},
        )
        self.compile(self.output, "small.so")

    def test_images_that_are_flattened_channels_last(self):
        net = network()
        inner = net.transposed(net.same("Relu", net.conv("x", 16)), [0, 2, 3, 1])
        model = net.write(
            self.folder / "model.onnx", net.dense(net.reshaped(inner, 2, 1024), 10)
        )
        text = self.succeeds(model, "--multiple=4")
        self.assertEqual(self.outputs_left(text)["t0"], (16, 8))
        self.assertEqualsZeroed(model)

    def test_channels_that_are_shuffled(self):
        """Taken apart into two by eight, and together as eight by two."""
        net = network()
        mixed = net.shuffled(net.same("Relu", net.conv("x", 16)))
        model = net.write(self.folder / "model.onnx", net.conv(mixed, 4))
        text = self.succeeds(model, "--multiple=4")
        self.assertEqual(self.outputs_left(text)["t0"], (16, 8))
        self.assertEqualsZeroed(model)

    def test_tables_of_positions(self):
        """Heads, with a bias for each that is picked by indices."""
        net = network((2, 6, 32))
        heads = net.reshaped(net.product("x", net.matrix(32, 32)), 2, 6, 4, 8)
        heads = net.transposed(heads, [0, 2, 1, 3])
        indices = net.integers(*RANDOM.integers(0, 9, 6))
        net.weights[indices] = net.weights[indices][:, None]
        bias = net.add("GatherND", [net.weight(9, 4), indices], (6, 4))
        bias = net.reshaped(net.transposed(bias, [1, 0]), 4, 6, 1)
        merged = net.transposed(net.same("Add", heads, bias), [0, 2, 1, 3])
        last = net.product(net.reshaped(merged, 2, 6, 32), net.matrix(32, 5))
        model = net.write(self.folder / "model.onnx", last)
        text = self.succeeds(model, "--max-bytes=0.6")
        self.assertEqual(self.outputs_left(text)["t0"], (32, 16))
        self.assertEqualsZeroed(model)

    def test_time_and_bytes(self):
        model = residual(self.folder / "model.onnx")
        for option, what in (("time", "estimated cycles"), ("bytes", "weights, bytes")):
            cpu = "--cpu=x86-64-v3"  # Wider vectors make larger steps.
            text = self.succeeds(model, f"--max-{option}=0.7", "--multiple=4", cpu)
            self.assertLessEqual(self.share(text, what), 0.7)
            self.assertGreater(self.share(text, what), 0.5)

    def test_gives_the_same_file_again(self):
        model = residual(self.folder / "model.onnx")
        self.succeeds(model)
        once = self.output.read_bytes()
        self.succeeds(model)
        self.assertEqual(self.output.read_bytes(), once)

    def test_writes_json(self):
        self.output = self.folder / "small.json"
        done = self.prune(residual(self.folder / "model.onnx"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.compile(self.output, "small.so")

    def test_trains_on(self):
        net = network()
        inner = net.same("Relu", net.norm(net.conv("x", 32)))
        last = net.dense(net.flatten(net.pool(inner)), 4)
        model = net.write(self.folder / "model.onnx", last)
        self.succeeds(model)
        options = ["--train", "--loss=cross_entropy", "--optimizer=adam,lr=0.01"]
        self.compile(self.output, "step.so", *options)
        np.save(self.folder / "x.npy", draw(16, 3, 8, 8))
        np.save(self.folder / "y.npy", RANDOM.integers(0, 4, 16))
        done = self.run_tool(
            "graph-run", "step.so", "--train", "--data", "x.npy,y.npy", "--epochs", 20
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        losses = [float(loss) for loss in re.findall(r"loss ([\d.e-]+)", done.stdout)]
        self.assertLess(losses[-1], losses[0] / 2)

    #===- Gradients ----------------------------------------------------------===#

    def test_taylor_finds_what_does_not_matter(self):
        """Large weights of channels that nothing reads have no gradient."""
        net = network()
        inner = net.same("Relu", net.conv("x", 16))
        last = net.dense(net.flatten(net.conv(inner, 4)), 4)
        idle = [1, 4, 5, 9, 10, 11, 14, 15]
        net.weights["w0"][idle] *= 10
        net.weights["w2"][:, idle] = 0
        model = net.write(self.folder / "model.onnx", last)
        data = self.folder / "data.npz"
        np.savez(data, x=draw(8, 3, 8, 8), target=RANDOM.integers(0, 4, 8))
        options = ["--keep=t2", "--multiple=8", "--max-bytes=0.9"]
        gradients = ["--score=taylor", "--loss=cross_entropy", "--data", data]
        x = draw(4, 3, 8, 8)
        self.succeeds(model, *options, *gradients)
        np.testing.assert_allclose(run(self.output, x), run(model, x), atol=1e-5)
        self.succeeds(model, *options)
        self.assertGreater(np.abs(run(self.output, x) - run(model, x)).max(), 0.1)

    def test_taylor_scores(self):
        """The sums of |gradient · weight| over two batches, as NumPy has them."""
        net = network((4, 6))
        last = net.dense(net.same("Relu", net.dense("x", 16)), 3)
        model = net.write(self.folder / "model.onnx", last)
        x, target = draw(8, 6), draw(8, 3)
        data = self.folder / "data.npz"
        np.savez(data, x=x, target=target)
        gradients = ["--score=taylor", "--loss=mse", "--data", data]
        self.succeeds(model, "--multiple=8", *gradients)
        w0, b0, w1, b1 = (net.weights[f"w{i}"] for i in range(4))
        scores = np.zeros(16)
        for batch, wanted in zip(np.split(x, 2), np.split(target, 2)):
            hidden = np.maximum(batch @ w0.T + b0, 0)
            dy = 2 * (hidden @ w1.T + b1 - wanted) / wanted.size
            dh = dy @ w1 * (hidden > 0)
            scores += np.abs(dh.T @ batch * w0).sum(1)
            scores += np.abs(dh.sum(0) * b0)
            scores += np.abs(dy.T @ hidden * w1).sum(0)
        best = np.sort(np.argsort(scores)[8:])
        left = constants(onnx.load(self.output))
        np.testing.assert_array_equal(left["w0"], w0[best])

    def test_wrong_targets(self):
        model = residual(self.folder / "model.onnx")
        data = self.folder / "data.npz"

        def refuses(*parts, loss="cross_entropy", **arrays):
            np.savez(data, **arrays)
            options = ["--score=taylor", f"--loss={loss}", "--data", data]
            self.fails(self.prune(model, *options), *parts)
            self.assertFalse(self.output.exists())

        x, target = draw(8, 3, 8, 8), RANDOM.integers(0, 10, 8)
        refuses("no array 'target'", "it has x", x=x)
        refuses("8x1", "expects N", x=x, target=target[:, None])
        refuses("dtype f32", "expects i64", x=x, target=target.astype(np.float32))
        refuses("expects Nx10", loss="mse", x=x, target=draw(8, 11))
        refuses("\"best\"", loss="best", x=x, target=target)
        refuses("not one number", loss="mse,reduction=none", x=x, target=draw(8, 10))
        x[5, 0, 0, 0] = np.nan
        refuses("NaN in sample 5", x=x, target=target)

    #===- What stays ---------------------------------------------------------===#

    def test_keep(self):
        model = residual(self.folder / "model.onnx")
        text = self.succeeds(model, "--keep=t3", "--max-macs=0.9")
        self.assertEqual(self.outputs_left(text)["t3"], (48, 48))
        self.assertIn("48  asked for", text)
        self.fails(self.prune(model, "--keep=fc*"), "fits 'fc*'", "'t0'")
        self.fails(self.prune(model, "--keep=["), "'[' is no pattern")

    def test_says_what_stays(self):
        """A softmax needs all of its elements, and what reads them in another
        order than any that is known does."""
        net = network((4, 16))
        first = net.add("Softmax", [net.dense("x", 32)], (4, 32), axis=1)
        second = net.same("Relu", net.dense(first, 32))
        index = net.weight(4, 32)
        net.weights[index] = RANDOM.integers(0, 32, (4, 32))
        mixed = net.add("GatherElements", [second, index], (4, 32), axis=1)
        last = net.dense(net.same("Relu", net.dense(mixed, 64)), 4)
        text = self.succeeds(
            net.write(self.folder / "model.onnx", last), "--max-macs=0.8"
        )
        self.assertIn("kept by graph.softmax 't1'", text)
        self.assertIn("graph.gather_elements 't4' is not understood", text)
        *kept, pruned, last = self.outputs_left(text).values()
        self.assertEqual([*kept, last], [(32, 32), (32, 32), (4, 4)])
        # Whole vectors of the CPU stay, of 16 or of 8 floats.
        self.assertIn(pruned, [(64, 32), (64, 40)])

    #===- 2:4 ----------------------------------------------------------------===#

    def test_report(self):
        net = network((4, 16))
        model = net.write(self.folder / "model.onnx", net.dense("x", 8))
        squares = np.sort(net.weights["w0"].reshape(8, 4, 4) ** 2, -1)
        energy = 100 * squares[..., 2:].sum() / squares.sum()
        done = self.run_tool("graph-prune", model, "--report=2:4")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"matmul +{energy:.1f}% +512 +272\n")
        self.assertEqual(list(self.folder.iterdir()), [model])

    #===- Wrong models and options ------------------------------------------===#

    def test_out_of_reach(self):
        done = self.prune(residual(self.folder / "model.onnx"), "--max-macs=0.01")
        self.fails(done, "out of reach", "% of the multiplications")

    def test_nothing_to_prune(self):
        net = network((4, 16))
        done = self.prune(net.write(self.folder / "one.onnx", net.dense("x", 32)))
        self.fails(done, "nothing to prune", "'y' stay, an output of the model")
        net = network((4, 16))
        done = self.prune(net.write(self.folder / "none.onnx", net.same("Relu", "x")))
        self.fails(done, "nothing to prune", "constant weights")
        net = network((4, 16))
        last = net.dense(net.same("Relu", net.dense("x", 8)), 4)
        done = self.prune(net.write(self.folder / "thin.onnx", last), "--multiple=8")
        self.fails(done, "nothing to prune", "wider than 8")

    def test_a_model_that_is_quantised(self):
        """It can be quantised afterwards."""
        model = residual(self.folder / "model.onnx")
        self.succeeds(model)
        data, int8 = self.folder / "data.npz", self.folder / "int8.onnx"
        np.savez(data, x=draw(8, 3, 8, 8))
        done = self.run_tool("graph-quantize", self.output, "--data", data, "-o", int8)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 of 4 layers in int8", done.stdout)
        self.fails(self.prune(int8), "is quantised", "in f32")

    def test_functions_without_main(self):
        path = self.folder / "two.mlir"
        type = "tensor<4xf32>"
        path.write_text(
            f'func.func @f(%x: {type} {{graph.name = "x"}}) -> ({type} '
            f'{{graph.name = "y"}}) {{ return %x : {type} }}'
        )
        self.fails(self.prune(path), "@main can be pruned")
        self.fails(self.run_tool("graph-prune", path, "--report=2:4"), "@main")

    def test_open_shapes(self):
        model = onnx.load(residual(self.folder / "model.onnx"))
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
        path = self.folder / "open.onnx"
        onnx.save(model, path)
        self.fails(self.prune(path), "x", "--shape")
        self.succeeds(path, "--shape", "x=4x3x8x8")

    def test_usage(self):
        model = residual(self.folder / "model.onnx")
        wrong = "--max-time=1.5 --max-time=nan --score=taylor --score=0 --loss=mse"
        wrong = [*wrong.split(), "--multiple=0"]
        for options in (
            [],
            ["--max-macs=0.5"],
            ["-o", self.output],
            ["-o", self.output, "--report=2:4"],
            *(["-o", self.output, "--max-macs=0.5", option] for option in wrong),
        ):
            done = self.run_tool("graph-prune", model, *options)
            self.assertEqual(done.returncode, 2, options)
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    tool_test.main()
