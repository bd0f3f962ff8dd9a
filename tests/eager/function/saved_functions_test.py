# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""saved_functions_test.py SAVE_FUNCTIONS: the models that this program writes
are valid ONNX, and compute in ONNX Runtime what the functions do."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime


def check(model):
    onnx.checker.check_model(str(model), full_check=True)
    session = onnxruntime.InferenceSession(
        str(model), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    x = np.fromfile(model.with_suffix(".in"), np.float32).reshape(given.shape)
    (found,) = session.run(None, {given.name: x})
    expected = np.fromfile(model.with_suffix(".out"), np.float32)
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-4, atol=1e-5)
    print(f"{model.name}: {found.shape} agrees")


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        models = sorted(pathlib.Path(folder).glob("*.onnx"))
        assert len(models) == 4, models
        for model in models:
            check(model)


if __name__ == "__main__":
    main()
