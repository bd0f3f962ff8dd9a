# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No kernel of models and training steps spills registers on any chip.

usage: PYTHONPATH=tests/support python tests/cuda/registers_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]

Models are compiled as they always are, by a toolkit whose ptxas takes spills
and memory of a thread's own for errors.
"""

import cuda_models
import cuda_test


def network(batch=16):
    """The stages of a ResNet: from large images to many channels."""
    b = cuda_models.Builder("network")
    x, inputs = b.input("x", batch, 64, 56, 56), 64
    for i, channels in enumerate((64, 128, 256, 512)):
        shape = (channels, inputs, 3, 3)
        weights = b.weight(f"conv{i}.weight", *shape, value=0.01)
        strides = [1, 1] if i == 0 else [2, 2]
        y = b.add("conv", x, weights, strides=strides, padding=[1] * 4)
        y = b.add("relu", b.batch_norm(y, f"norm{i}", channels))
        weights = b.weight(f"next{i}.weight", channels, channels, 3, 3, value=0.01)
        z = b.add("conv", y, weights, strides=[1, 1], padding=[1] * 4)
        z = b.batch_norm(z, f"last{i}", channels)
        x, inputs = b.add("relu", b.add("add", y, z)), channels
    x = b.add("max_pool", x, kernel=[3, 3], strides=[1, 1], padding=[1] * 4)
    x = b.add("avg_pool", x, kernel=[3, 3], strides=[1, 1], padding=[1] * 4)
    x = b.add("reduce", x, kind="mean", axes=[2, 3])
    return b.finish(b.dense(x, "fc", 512, 10))


def step(loss, optimizer, *options):
    return ("--train", f"--loss={loss}", f"--optimizer={optimizer}", *options)


@cuda_test.needs_ptxas
class RegistersTest(cuda_test.CudaTest):
    def test_spills_are_found(self):
        """By a limit that no kernel keeps, as the wrapper gives ptxas."""
        toolkit = self.strict_toolkit()
        ptxas = toolkit / "bin" / "ptxas"
        limit = "--maxrregcount=24 --override-directive-values"
        ptxas.write_text(ptxas.read_text().replace('"$@"', f'{limit} "$@"'))
        path = self.folder / "model.so"
        self.compile_for(cuda_models.two_layer(), "cpu")
        done = self.run_tool(
            "graph-compile",
            *(self.folder / "two_layer.json", "-o", path),
            *("--target=cuda", f"--cuda-path={toolkit}"),
        )
        self.assertIn("internal error: ", done.stderr)
        self.assertIn("spilled", done.stderr)

    def test_convolutions(self):
        self.check_chips(network())
        self.check_chips(network(), "--allow-tf32")
        self.check_chips(network(1))

    def test_steps_of_convolutions(self):
        self.check_chips(network(), *step("cross_entropy", "adamw,lr=0.001"))
        if cuda_test.THOROUGH:  # Updates by SGD are in test_transformers, too.
            self.check_chips(
                network(), *step("cross_entropy", "sgd,lr=0.1,momentum=0.9")
            )
        bf16 = "--precision=bf16"
        self.check_chips(network(), *step("cross_entropy", "adamw,lr=0.001", bf16))

    def test_transformers(self):
        layer = cuda_models.transformer_layer(4, 128, 256)
        self.check_chips(layer)
        self.check_chips(layer, *step("mse", "adam,lr=0.001"))
        self.check_chips(layer, *step("mse", "adamw,lr=0.001", "--precision=bf16"))
        self.check_chips(layer, *step("mse", "sgd,lr=0.1", "--allow-tf32"))

    def test_recurrences(self):
        layers = cuda_models.lstm(16, 20, 32, 64)
        self.check_chips(layers, *step("cross_entropy", "adam,lr=0.001"))

    def test_dense_layers(self):
        self.check_chips(cuda_models.mlp(256), *step("cross_entropy", "adamw,lr=0.001"))
        for dtype in ("f16", "bf16"):
            self.check_chips(cuda_models.narrow_layers(dtype))


if __name__ == "__main__":
    cuda_test.main()
