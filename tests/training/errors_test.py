# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What graph-compile --train refuses, and what it says.

usage: PYTHONPATH=tests/support python3 tests/training/errors_test.py BIN_DIR
"""

import json

import tool_test


class ErrorsTest(tool_test.ToolTest):
    def train(self, *options, nodes=None, outputs=("y",), dtype="f32", training=None):
        nodes = nodes or [{"op": "mul", "inputs": ["x", "w"], "outputs": ["y"]}]
        model = {
            "tinh": 1,
            "name": "scale",
            "inputs": [{"name": "x", "dtype": dtype, "shape": [2, 3]}],
            "weights": [
                {"name": "w", "dtype": dtype, "shape": [3], "data": [1, 2, 3]},
                {"name": "v", "dtype": dtype, "shape": [3], "data": [3, 2, 1]},
            ],
            "nodes": nodes,
            "outputs": list(outputs),
        }
        if training is not None:
            model["training"] = training
        (self.folder / "model.json").write_text(json.dumps(model))
        done = self.run_tool("graph-compile", "model.json", *options, "-o", "m.so")
        self.assertFalse((self.folder / "m.so").exists())
        return done

    def refuses(self, loss, optimizer, *parts, **model):
        done = self.train(
            "--train", f"--loss={loss}", f"--optimizer={optimizer}", **model
        )
        self.fails(done, "model.json: error: ", *parts)
        self.assertNotIn("internal error", done.stderr)

    def test_names(self):
        self.refuses("rms", "sgd", 'there is no loss "rms"', "mse", "kl_div")
        self.refuses("mse", "sdg", 'there is no optimizer "sdg"', "adamw", "lion")

    def test_options(self):
        self.refuses("mse", "adam,rate=1", 'adam has no option "rate"', "beta1")
        self.refuses("mse,delta=1", "adam", 'mse has no option "delta"')
        self.refuses("mse", "sgd,lr=fast", 'option lr is "fast"', "number")
        self.refuses("mse,reduction=none", "sgd", '"mse" is not one number')

    def test_losses_name_no_place_in_the_compiler(self):
        self.refuses("huber,delta=0", "sgd", ": huber_loss: delta is 0")
        done = self.train("--train", "--loss=huber,delta=0", "--optimizer=sgd")
        self.assertNotIn("cpp:", done.stderr)

    def test_what_is_trained(self):
        for option, message in (
            ("--trainable=fc*", 'no weight of the model fits "fc*"'),
            ("--trainable=[", 'the pattern "[" of trainable weights is malformed'),
        ):
            done = self.train("--train", "--loss=mse", "--optimizer=sgd", option)
            self.fails(done, message)
        self.refuses("mse", "sgd", "no weights that could be trained", dtype="i32")

    def test_independent_parameter(self):
        nodes = [
            {"op": "mul", "inputs": ["x", "w"], "outputs": ["y"]},
            {"op": "mul", "inputs": ["x", "v"], "outputs": ["z"]},
        ]
        model = {"nodes": nodes, "outputs": ("y", "z")}
        step = ("--train", "--loss=mse", "--optimizer=sgd")
        done = self.train(*step, "--trainable=*", **model)
        self.fails(done, 'the loss does not depend on parameter "v"')
        # Without a pattern it stays a constant.
        done = self.run_tool("graph-compile", "model.json", *step, "--emit=fused")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('graph.variable "w"', done.stdout)
        self.assertNotIn('graph.variable "v"', done.stdout)

    def test_end_of_a_gradient(self):
        nodes = [
            {"op": "mul", "inputs": ["x", "w"], "outputs": ["y"]},
            {
                "op": "argmax",
                "name": "choose",
                "inputs": ["y"],
                "outputs": ["z"],
                "attributes": {"axis": 1},
            },
            {
                "op": "cast",
                "inputs": ["z"],
                "outputs": ["u"],
                "attributes": {"dtype": "f32"},
            },
        ]
        self.refuses(
            "mse",
            "sgd",
            "node 'choose'",
            'the gradient of the loss with respect to parameter "w" ends at graph.argmax',
            nodes=nodes,
            outputs=("u",),
        )

    def test_labels_for_a_loss_of_floats(self):
        nodes = [
            {
                "op": "compare",
                "inputs": ["x", "w"],
                "outputs": ["y"],
                "attributes": {"predicate": "less"},
            }
        ]
        self.refuses("mse", "sgd", "no tensor of floating-point numbers", nodes=nodes)

    def test_names_that_files_cannot_have(self):
        for name, shown in (("__metadata__", "__metadata__"), ("a\0b", "a\\00b")):
            model = {
                "tinh": 1,
                "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}],
                "weights": [
                    {"name": name, "dtype": "f32", "shape": [3], "data": [1, 2, 3]}
                ],
                "nodes": [{"op": "mul", "inputs": ["x", name], "outputs": ["y"]}],
                "outputs": ["y"],
            }
            (self.folder / "model.json").write_text(json.dumps(model))
            for options in (
                ("--train", "--loss=mse", "--optimizer=sgd"),
                ("--loadable-weights",),
            ):
                done = self.run_tool(
                    "graph-compile", "model.json", *options, "-o", "m.so"
                )
                self.fails(done, "model.json: error: ", f'called "{shown}"')
            # Where no file has the name, it may be any.
            self.compile("model.json", "m.so", "--weights=external")

    def test_what_nobody_says(self):
        done = self.train("--train", "--loss=mse")
        self.fails(done, "the model's file names no optimizer; --optimizer=NAME does")
        done = self.train("--train", "--optimizer=sgd")
        self.fails(done, "the model's file names no loss; --loss=NAME does")

    def test_precision(self):
        train = ["--train", "--loss=mse", "--optimizer=sgd"]
        for name, parts in (
            ("f8", ('there is no precision "f8"; there are f32, bf16 and f16',)),
            # The only op is an element-wise one.
            ("bf16", ('"bf16" changes nothing', "no matmuls or convolutions")),
        ):
            self.fails(self.train(*train, f"--precision={name}"), *parts)
        said = {"precision": "f16"}
        self.fails(self.train(*train, training=said), '"f16" changes nothing')
        for patterns, message in (
            ("mul,conv*", 'no op and no node of the model fits "conv*"'),
            ("[", 'the pattern "[" of what is kept in f32 is malformed'),
            ("mul", '"bf16" changes nothing'),
        ):
            options = (*train, "--precision=bf16", f"--keep-f32={patterns}")
            self.fails(self.train(*options), message)
        done = self.train(*train, "--keep-f32=mul")
        self.fails(done, "all of the model is f32; what is kept")

    def test_loss_scale(self):
        nodes = [{"op": "matmul", "inputs": ["x", "w"], "outputs": ["y"]}]
        half = ("--precision=f16",)
        for scale, message in (
            ("static", 'there is no loss scale "static"; there are dynamic and powers'),
            ("1000", "the scale is 1000; it must be a power of two from 2^-126"),
            ("-2", "the scale is -2; it must be a power of two"),
            ("inf", "the scale is inf; it must be a power of two"),
            ("1024,growth_interval=3", "1024 is fixed and has no option"),
            ("dynamic,init_scale=3", "init_scale is 3; it must be a power of two"),
            ("dynamic,growth_factor=1", "growth_factor is 1; it must be a power"),
            ("dynamic,backoff_factor=2", "of two below 1"),
            ("dynamic,growth_interval=0", "growth_interval is 0; it must be from 1"),
            ("dynamic,growth_interval=x", 'growth_interval is "x"; it must be an'),
            ("dynamic,factor=2", 'dynamic has no option "factor"; it has init_scale'),
        ):
            options = ("--train", "--loss=mse", "--optimizer=sgd", *half)
            done = self.train(*options, f"--loss-scale={scale}", nodes=nodes)
            self.fails(done, "model.json: error: ", message)
        train = ("--train", "--loss=mse", "--optimizer=sgd", "--loss-scale=8")
        for precision in ("f32", "bf16"):
            done = self.train(*train, f"--precision={precision}", nodes=nodes)
            self.fails(done, 'the loss scale "8" is for gradients in f16', precision)
        self.fails(self.train(*train, nodes=nodes), "is trained in f32, whose range")
        said = {"precision": "bf16", "loss_scale": 8}
        self.fails(self.train(*train[:-1], training=said), "is trained in bf16")

    def test_weights_in_f16(self):
        """What f16 loses in an update it would lose here, too."""
        nodes = [
            {"op": "cast", "inputs": ["w"], "outputs": ["u"]},
            {"op": "cast", "inputs": ["x"], "outputs": ["z"]},
            {"op": "matmul", "inputs": ["z", "u"], "outputs": ["y"]},
        ]
        for node in nodes[:2]:
            node["attributes"] = {"dtype": "f32"}
        train = ("--train", "--loss=mse", "--optimizer=sgd", "--precision=f16")
        done = self.train(*train, nodes=nodes, dtype="f16")
        self.fails(done, "parameter \"w\" is 'f16'", "training in f16 needs", "convert")

    def test_memory_budget(self):
        train = ("--train", "--loss=mse", "--optimizer=sgd")
        done = self.train(*train, "--memory-budget=200B")
        self.fails(
            done,
            "@train_step does not fit into the memory budget of 200 bytes",
            "the least that was reached is ",
            "make batches smaller",
        )
        for text in ("much", "12XB", "-1", "0", "1e999", "%", "GB", "1 MB", "5 %"):
            done = self.train(*train, f"--memory-budget={text}")
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(f"the memory budget is '{text}'", done.stderr)
            self.assertIn("expected bytes, such as", done.stderr)

    def test_key_of_a_file(self):
        for training, message in (
            ([], '"training": expected an object'),
            ({"epochs": 3}, '"training": unknown key "epochs"'),
            ({"loss": "mse"}, '"training": "loss" is not an object'),
            ({"optimizer": {"lr": 1}}, '"training": "optimizer" is not an object'),
            ({"loss": {"name": "mse", "x": [1]}}, '"training": "loss" is not an'),
            ({"precision": 1}, '"training": "precision" is not a string'),
            ({"keep_f32": "fc"}, '"training": "keep_f32" is not a list'),
            ({"loss_scale": "dynamic"}, '"loss_scale" is neither a number nor'),
            ({"loss_scale": {"init_scale": 1}}, '"loss_scale" is neither a number'),
            ({"trainable": "fc*"}, '"training": "trainable" is not a list'),
        ):
            self.fails(self.train(training=training), message)

    def test_command_line(self):
        for options, message in (
            (["--loss=mse"], "are about --train"),
            (["--trainable=w"], "are about --train"),
            (["--loss-scale=8"], "are about --train"),
            (
                ["--train", "--loss-scale=8", "--emit=normalised"],
                "--loss-scale are about phase 'differentiated'",
            ),
            (["--precision=bf16", "--emit=graph"], "about phase 'differentiated'"),
            (["--keep-f32=mul", "--from=fused"], "about phase 'differentiated'"),
            (
                ["--train", "--loss=mse", "--optimizer=sgd", "--emit=onnx"],
                "--emit=onnx writes models as they are read",
            ),
            (["--memory-budget=1GB", "--emit=graph"], "about phase 'optimised'"),
            (["--memory-budget=1GB", "--from=optimised"], "about phase 'optimised'"),
            (
                ["--train", "--loss=mse", "--optimizer=sgd", "--from=fused"],
                "--train takes models in phase graph or normalised",
            ),
        ):
            done = self.train(*options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    tool_test.main()
