# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the toy artifact on NumPy's own memory, through DLPack capsules.

usage: dlpack_numpy_test.py LIBRARY TOY
"""

import ctypes as c
import pathlib
import sys

import numpy as np

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from tinh_runtime import Buffer, TensorInfo  # noqa: E402

DLTENSOR = b"dltensor"

capsule_pointer = c.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = c.c_void_p
capsule_pointer.argtypes = [c.py_object, c.c_char_p]
new_capsule = c.pythonapi.PyCapsule_New
new_capsule.restype = c.py_object
new_capsule.argtypes = [c.c_void_p, c.c_char_p, c.c_void_p]


class Exported:
    """What np.from_dlpack takes: it then owns the tensor."""

    def __init__(self, managed):
        self.managed = managed

    def __dlpack__(self, **_):
        return new_capsule(self.managed, DLTENSOR, None)

    def __dlpack_device__(self):
        return (1, 0)


class Toy:
    def __init__(self, library, path):
        self.lib = c.CDLL(library)
        self.lib.tinh_last_error.restype = c.c_char_p
        self.module, self.context = c.c_void_p(), c.c_void_p()
        self.x, self.y = TensorInfo(), TensorInfo()
        call, module = self.call, self.module
        call("module_load", path.encode(), c.byref(module))
        call("module_input_info", module, 0, 0, c.byref(self.x))
        call("module_output_info", module, 0, 0, c.byref(self.y))
        call("context_create", module, None, c.byref(self.context))

    def call(self, name, *arguments):
        if getattr(self.lib, "tinh_" + name)(*arguments):
            raise ValueError(self.lib.tinh_last_error().decode())

    def buffer_of(self, tensor, managed):
        buffer = Buffer()
        managed = c.c_void_p(managed)
        self.call("buffer_from_dlpack", c.byref(tensor), managed, c.byref(buffer))
        return buffer

    def run(self, array):
        """The model's output for `array`, neither of them copied."""
        capsule = array.__dlpack__()
        given = self.buffer_of(self.x, capsule_pointer(capsule, DLTENSOR))
        assert given.data == array.ctypes.data
        made = c.c_void_p()
        self.call("dlpack_create", c.byref(self.y), c.byref(made))
        out = self.buffer_of(self.y, made.value)
        self.call(
            "context_run", self.context, 0, c.byref(given), 1, c.byref(out), 1
        )
        result = np.from_dlpack(Exported(made.value))
        assert result.ctypes.data == out.data
        return result


def refusal(toy, array):
    try:
        toy.run(array)
    except ValueError as error:
        return str(error)
    return None


def main():
    toy = Toy(*sys.argv[1:])
    weights = np.arange(1024, dtype=np.float32)
    x = weights / 7
    y = toy.run(x)
    assert np.array_equal(y, 2 * np.roll(x, -64) + weights), y
    view = np.arange(2048, dtype=np.float32)[::2]
    message = refusal(toy, view)
    assert message and "has strides [2]" in message, message
    message = refusal(toy, x.astype(np.float64))
    assert message and "elements of f64" in message, message
    message = refusal(toy, x.reshape(32, 32))
    assert message and "shape [32, 32], where [1024]" in message, message
    toy.lib.tinh_context_release(toy.context)
    toy.lib.tinh_module_release(toy.module)
    assert y[0] == 2 * x[64]  # It outlives its context.


if __name__ == "__main__":
    main()
