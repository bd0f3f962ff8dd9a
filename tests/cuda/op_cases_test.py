# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All cases of ops of tests/end-to-end on an emulated GPU, against NumPy.

usage: PYTHONPATH=tests/support:tests/end-to-end python
           tests/cuda/op_cases_test.py BIN_DIR FAKE_DRIVER [unittest's options]
"""


import numpy as np

import cuda_test
from op_cases import CASES
from run_op_cases import agrees, expected, make_model

if cuda_test.RECORD:  # To be carried to a GPU, where memory is not what is tested.
    CASES = [case for case in CASES if sum(x.nbytes for x in case[3]) < 100_000]


@cuda_test.needs_libdevice
class OpCasesTest(cuda_test.CudaTest):
    def test_all(self):
        text, inputs = make_model(CASES)
        model = self.folder / "cases.mlir"
        model.write_text(text)
        artifact = self.folder / "cases.so"
        self.compile(model, artifact, "--target=cuda", "--cuda-chips=emulated")
        options = []
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            options += ["--input", f"{name}={self.folder / name}.npy"]
        for settings in cuda_test.SETTINGS:
            got, _ = self.outputs_of(artifact, *options, settings=settings)
            wrong = [
                f"{case[0]}: {got[f'y_{i}'].ravel()[:4]}, not {expected(case).ravel()[:4]}"
                for i, case in enumerate(CASES)
                if not agrees(case, got[f"y_{i}"])
            ]
            self.assertEqual(wrong, [], settings)


if __name__ == "__main__":
    cuda_test.main()
