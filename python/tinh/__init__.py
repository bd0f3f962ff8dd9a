"""Tinh: a static-graph deep-learning compiler.

    import tinh
    f = tinh.compile("model.onnx")     # or .json, bytes, onnx.ModelProto, torch.nn.Module
    y = f(x)                           # NumPy, torch (CPU), anything with DLPack
    f.save("model.so"); g = tinh.load("model.so", threads=2)
    future = g.submit(x); y = future.result()

Models are compiled ahead of time to native code that needs nothing of the
compiler; tinh_runtime, a package of its own, runs it as well. Tensors are the
dynamic side, and @tinh.function compiles what is done with them:

    x = tinh.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = tinh.relu(x @ x.T - 8)

docs/python.md is a tour.
"""

from . import nn as nn, optim as optim
from ._compare import Comparison as Comparison, compare as compare
from ._compile import (
    CompileError as CompileError,
    compile as compile,
    compile_training as compile_training,
)
from ._control_flow import (
    cond as cond,
    custom_gradient as custom_gradient,
    scan as scan,
    while_loop as while_loop,
)
from ._function import TracedFunction as TracedFunction, function as function
from ._tinh import *  # noqa: F403  Tensors and all operations on them.
from ._tinh import __version__ as __version__

from ._model import Model as Model, load as load  # isort: skip
