# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that clip the norm of all gradients together.

usage: PYTHONPATH=tests/support:benchmarks python
           tests/training/clip_grad_norm_test.py BIN_DIR LIBRARY [unittest's options]
"""

import json
import pathlib
import sys

import numpy as np

import tool_test
from tinh_runtime import Model
from training_test import Network, mse

LIBRARY = None  # libtinh_runtime.so.


def clip_grad_norm(gradients, max_norm):
    """As PyTorch's clip_grad_norm_; gives the norm."""
    norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
    factor = min(1, max_norm / (norm + 1e-6))
    return {name: g * factor for name, g in gradients.items()}, norm


class ClipGradNormTest(tool_test.ToolTest):
    def step(self, model, name, *options):
        (self.folder / "network.json").write_text(json.dumps(model))
        train = ("--train", "--loss=mse", "--optimizer=sgd,lr=1")
        self.compile("network.json", f"{name}.so", *train, *options)
        return Model(LIBRARY, self.folder / f"{name}.so", 2, "train_step")

    def expect(self, name, share, *options, tolerance=1e-5):
        """A step with so large a part of the norm changes the weights by the
        clipped gradients."""
        network = Network()
        _, dy = mse(network.predict(), network)
        _, norm = clip_grad_norm(network.gradients(dy), 1)
        clipped, _ = clip_grad_norm(network.gradients(dy), share * norm)
        limit = f"--clip-grad-norm={share * norm}"
        model = self.step(network.json(), name, limit, *options)
        model.run({"x": network.x, "target": network.t})
        for key, expected in clipped.items():
            found = network.p[key] - model.read_variable(key, expected.shape)
            error = np.abs(found - expected).max()
            self.assertLess(error, tolerance * np.abs(expected).max() + 1e-7, key)

    def test_large_gradients_are_scaled(self):
        self.expect("large", 0.25)

    def test_small_gradients_stay(self):
        self.expect("small", 4)

    def test_scaled_losses(self):
        """The scale does not count."""
        options = ("--precision=f16", "--loss-scale=512")
        self.expect("scaled", 0.25, *options, tolerance=5e-3)

    def test_refused(self):
        network = Network()
        (self.folder / "network.json").write_text(json.dumps(network.json()))
        for text in "0", "-1", "nan", "inf", "1e-50", "1e39":
            done = self.run_tool(
                "graph-compile", "network.json", "--train", f"--clip-grad-norm={text}"
            )
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(
                "--clip-grad-norm: expected a number above 0 that f32 holds, "
                f"found {text}",
                done.stderr,
            )


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
