"""Loads and runs models that Tinh has compiled.

    import tinh_runtime
    model = tinh_runtime.load("model.so", threads=2)
    y = model(x)                       # NumPy, torch (CPU), anything with DLPack
    future = model.submit(x); y = future.result()

The package `tinh` has the same, and the compiler.
"""

from ._runtime import Error, Function, Future, Model, TensorInfo, __version__

__all__ = ["Error", "Function", "Future", "Model", "TensorInfo", "load"]


def load(path, **options) -> Model:
    """The artifact at `path`, to be called. Model has the options."""
    return Model(path, **options)
