# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for GPUs that are compiled together, as one image.

usage: PYTHONPATH=tests/support python tests/cuda/images_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]
"""

import re

import cuda_models
import cuda_test


def chain():
    """Six products and six sums, no two of them of the same shape."""
    model = cuda_models.Builder("chain")
    value = model.input("x", 3, 8)
    for width in range(8, 14):
        value = model.dense(value, f"layer{width}", width, width + 1)
    return model.finish(value)


class ImagesTest(cuda_test.CudaTest):
    def test_kernels_share_images(self):
        artifact = self.compile_for(chain(), "cuda", "--no-fuse")
        _, log = self.outputs_of(artifact, "--input", "x=random")
        kernels = {l.split()[1] for l in log if l.startswith("image ")}
        loads = [l for l in log if l.startswith("cuModuleLoadData")]
        # Eight and the other four.
        self.assertEqual((len(kernels), len(loads)), (12, 2))

    def test_the_wrong_kernel_is_named(self):
        """One of an image cannot be compiled: the error is its own."""
        self.compile_for(chain(), "cuda", "--no-fuse")
        path = self.folder / "chain.mlir"
        self.compile(
            self.folder / "chain.json",
            path,
            *("--target=cuda", "--cuda-chips=emulated", "--no-fuse", "--emit=llvm"),
        )
        text = path.read_text()
        functions = list(re.finditer(r"llvm\.func @(\w+)\(.*\{\n", text))
        self.assertGreater(len(functions), 8)
        third = functions[2]
        broken = (
            text[: third.start()]
            + "llvm.func @nowhere()\n"
            + third[0]
            + "llvm.call @nowhere() : () -> ()\n"
            + text[third.end() :]
        )
        path.write_text(broken)
        done = self.run_tool(
            "graph-compile", path, "--from=llvm", "-o", self.folder / "broken.so"
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"kernel '{third[1]}' cannot be compiled", done.stderr)
        self.assertIn("nowhere", done.stderr)
        self.assertNotIn("internal", done.stderr)


if __name__ == "__main__":
    cuda_test.main()
