"""Tinh: a static-graph deep-learning compiler.

    import tinh
    f = tinh.compile("model.onnx")     # or .json, bytes, onnx.ModelProto, torch.nn.Module
    y = f(x)                           # NumPy, torch (CPU), anything with DLPack
    f.save("model.so"); g = tinh.load("model.so", threads=2)
    future = g.submit(x); y = future.result()

Models are compiled ahead of time to native code that needs nothing of the
compiler; tinh_runtime, a package of its own, runs it as well.
"""

from ._compile import CompileError, compile, compile_training
from ._model import Model, load
from ._tinh import Error, Function, Future, TensorInfo, __version__

__all__ = [
    "CompileError",
    "Error",
    "Function",
    "Future",
    "Model",
    "TensorInfo",
    "compile",
    "compile_training",
    "load",
]
