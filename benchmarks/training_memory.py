"""The memory that a training step needs: of PyTorch, and of a compiled one."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tinh_runtime import Model
from training_tasks import make_optimizer


class LiveStorages(TorchDispatchMode):
    """Adds up the storages of tensors from when operations make them until
    they are freed."""

    def __init__(self):
        super().__init__()
        self.live = self.peak = 0
        self._known = {}

    def add(self, tensor):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._known:
            return
        size = storage.nbytes()
        self._known[key] = weakref.finalize(storage, self._remove, key, size)
        self.live += size
        self.peak = max(self.peak, self.live)

    def _remove(self, key, size):
        del self._known[key]
        self.live -= size

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for value in tree_leaves(result):
            if isinstance(value, torch.Tensor):
                self.add(value)
        return result


def of_pytorch(task):
    """Peak bytes of live tensors in a step of eager PyTorch, without the batch:
    parameters, buffers, the optimizer's state, gradients, activations."""
    module, function = task.module(), task.loss_function()
    optimizer = make_optimizer(task.optimizer, module.parameters())
    x, target = task.batch()

    def step():
        optimizer.zero_grad()
        function(module(x), target).backward()
        optimizer.step()

    step()
    optimizer.zero_grad()
    state = [*module.parameters(), *module.buffers()]
    state += [
        value
        for values in optimizer.state.values()
        for value in values.values()
        if isinstance(value, torch.Tensor)
    ]
    with LiveStorages() as storages:
        for tensor in state:
            storages.add(tensor)
        storages.add(x)
        storages.add(target)
        step()
    return storages.peak - x.nbytes - target.nbytes


def of_artifact(runtime, artifact):
    """Of a compiled step: bytes of the arena, of the variables, and what no
    plan can go below."""
    model = Model(runtime, artifact, 1, "train_step")
    return {
        "arena": model.info.arena_size,
        "state": model.state_size(),
        "bound": model.info.lower_bound_size,
    }
