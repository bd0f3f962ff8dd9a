"""The functions of random programs in three libraries.

NumPy, Tinh and Torch have the same names; what one of them has no definition for
is the library's function of that name.
"""

import math

import numpy as np
import tinh

try:
    import torch
except ImportError:
    torch = None


class NumPy:
    """Of arrays. What has no definition here is NumPy's function."""

    erf = staticmethod(np.vectorize(math.erf))

    def __getattr__(self, name):
        return getattr(np, name)

    def sigmoid(self, x):
        return 1 / (1 + np.exp(-x))

    def relu(self, x):
        return np.maximum(x, 0)

    def softplus(self, x):
        return np.logaddexp(x, 0)

    def softmax(self, x, axis):
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    def log_softmax(self, x, axis):
        return x - self.logsumexp(x, axis, True)

    def logsumexp(self, x, axis, keepdims):
        return np.log(np.exp(x).sum(axis, keepdims=keepdims))

    def layer_norm(self, x):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + x.dtype.type(1e-3))

    def reduce(self, name, x, axis, keepdims):
        if name == "count_nonzero":
            return np.asarray(np.count_nonzero(x, axis, keepdims=keepdims))
        return getattr(np, name)(x, axis=axis, keepdims=keepdims)

    def cast(self, x, dtype):
        return x.astype(dtype)

    def reshape(self, x, shape):
        return np.reshape(x, shape)

    def clamp(self, x, low, high):
        return np.clip(x, low, high)

    def permute(self, x, order):
        return np.transpose(x, order)

    def concat(self, xs, axis):
        return np.concatenate(xs, axis)

    def unsqueeze(self, x, axis):
        return np.expand_dims(x, axis)

    def pad(self, x, low, high):
        return np.pad(x, list(zip(low, high)))

    def assign(self, x, key, value):
        x = x.copy()
        x[key] = value
        return x

    def add_to(self, x, y):
        x = x.copy()
        x += y
        return x

    def constant(self, array):
        return array


class Wide(NumPy):
    """In f64, whatever a program says."""

    def cast(self, x, dtype):
        return x.astype("float64" if dtype == "float32" else dtype)


class Tinh:
    """Of tensors. What has no definition here is tinh's function."""

    def __getattr__(self, name):
        return getattr(tinh, name)

    def power(self, x, y):
        return x**y

    def layer_norm(self, x):
        return tinh.layer_norm(x, x.shape[-1:], epsilon=1e-3)

    def reduce(self, name, x, axis, keepdims):
        if name == "var":
            return tinh.var(x, axis, keepdims, 0)
        return getattr(tinh, name)(x, axis, keepdims)

    def cast(self, x, dtype):
        return x.to(dtype)

    def pad(self, x, low, high):
        return tinh.pad(x, low, high)

    def assign(self, x, key, value):
        x = x.clone()
        x[key] = value
        return x

    def add_to(self, x, y):
        x = x.clone()
        x += y
        return x

    def constant(self, array):
        return tinh.tensor(array)


class Torch:
    """For gradients, so the steps of smooth programs. Else as NumPy."""

    def __getattr__(self, name):
        return getattr(torch, name)

    def softplus(self, x):
        return torch.nn.functional.softplus(x)

    def logsumexp(self, x, axis, keepdims):
        return torch.logsumexp(x, axis, keepdims)

    def layer_norm(self, x):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=1e-3)

    def reduce(self, name, x, axis, keepdims):
        if axis is None:
            axis = tuple(range(x.ndim))
        if name in ("max", "min"):
            return getattr(torch, "a" + name)(x, axis, keepdims)
        if name == "var":
            return torch.var(x, axis, correction=0, keepdim=keepdims)
        if name == "prod" and isinstance(axis, tuple):
            for i in sorted((a % x.ndim for a in axis), reverse=True):
                x = torch.prod(x, i, keepdim=keepdims)
            return x
        return getattr(torch, name)(x, axis, keepdim=keepdims)

    def unsqueeze(self, x, axis):
        return torch.unsqueeze(x, axis)

    def concat(self, xs, axis):
        return torch.cat(xs, axis)

    def power(self, x, y):
        return x**y

    def pad(self, x, low, high):
        both = [n for pair in reversed(list(zip(low, high))) for n in pair]
        return torch.nn.functional.pad(x, both)

    def flip(self, x, axis):
        return torch.flip(x, (axis,))

    def assign(self, x, key, value):
        x = x.clone()
        x[key] = value
        return x

    def add_to(self, x, y):
        return x + y

    def constant(self, array):
        return torch.from_numpy(np.array(array))
