# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every barrier and every wait for asynchronous copies of a kernel is needed.

usage: PYTHONPATH=tests/support python tests/cuda/mutations_test.py
           BIN_DIR FAKE_DRIVER [unittest's options]

The fake driver leaves out one of them at a time. Then a run fails or gives
something else, with at least one order of threads and one content of fresh
memory: otherwise the emulation could not tell code that waits from code that
forgets to.
"""

import re
import unittest

import numpy as np

import cuda_models
import cuda_test


def sites_of(log):
    """Kernel, "barrier" or "wait", and number, of all that were loaded."""
    for line in log:
        match = re.match(r"image (\S+) barriers (\d+) waits (\d+)$", line)
        if match:
            for kind, count in (("barrier", match[2]), ("wait", match[3])):
                for number in range(int(count)):
                    yield match[1], kind, number


class MutationsTest(cuda_test.CudaTest):
    def is_caught(self, artifact, expected, site):
        kernel, kind, number = site
        for settings in cuda_test.MUTATION_SETTINGS:
            folder = self.root / "mutant"
            done, _ = self.run_artifact(
                artifact,
                *("--input", "x=random", "--output-dir", folder),
                settings=f"ignore={kernel}:{kind}:{number} {settings}",
            )
            if done.returncode:
                return True
            for name, values in expected.items():
                got = np.load(folder / f"{name}.npy")
                if not self.is_close(got, values):
                    return True
        return False

    def check(self, model):
        artifact = self.compile_for(model, "cuda")
        expected, log = self.outputs_of(artifact, "--input", "x=random")
        sites = list(sites_of(log))
        self.assertTrue(sites, "no kernel has a barrier or a wait")
        missed = [s for s in sites if not self.is_caught(artifact, expected, s)]
        self.assertEqual(missed, [], f"of {len(sites)} nobody misses these")

    def test_two_layer(self):
        self.check(cuda_models.two_layer())

    def test_narrow_layers(self):
        for dtype in ("f16", "bf16"):
            self.check(cuda_models.narrow_layers(dtype))

    def test_lenet(self):
        self.check(cuda_models.lenet())

    @unittest.skipUnless(cuda_test.toolkit(), "needs the CUDA toolkit's libdevice")
    def test_transformer_layer(self):
        self.check(cuda_models.transformer_layer())


if __name__ == "__main__":
    cuda_test.main()
