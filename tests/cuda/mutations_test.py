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


import cuda_models
import cuda_test


class MutationsTest(cuda_test.CudaTest):
    def test_two_layer(self):
        self.check_sites(cuda_models.two_layer())

    def test_narrow_layers(self):
        for dtype in ("f16", "bf16"):
            self.check_sites(cuda_models.narrow_layers(dtype))

    def test_lenet(self):
        self.check_sites(cuda_models.lenet())

    @cuda_test.needs_libdevice
    def test_transformer_layer(self):
        self.check_sites(cuda_models.transformer_layer())


if __name__ == "__main__":
    cuda_test.main()
