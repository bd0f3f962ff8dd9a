"""Optimizers: rules by name, with the options of tinh/optim.h.

    optimizer = tinh.optim.Optimizer(net.parameters(), tinh.optim.adam(lr=1e-3))
    loss.backward(); optimizer.step(); optimizer.zero_grad()
"""

from ._tinh.optim import (
    Optimizer,
    Rule,
    adagrad,
    adam,
    adamw,
    lion,
    rmsprop,
    sgd,
)

__all__ = ["Optimizer", "Rule", "adagrad", "adam", "adamw", "lion", "rmsprop", "sgd"]
