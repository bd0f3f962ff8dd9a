"""Optimizers: rules by name, with the options of tinh/optim.h; clipping,
schedules of the learning rate, and the scaling of losses for f16.

    optimizer = tinh.optim.Optimizer(net.parameters(), tinh.optim.adam(lr=1e-3))
    schedule = tinh.optim.schedule("cosine", steps=1000, warmup=50)
    scheduler = tinh.optim.Scheduler(optimizer, schedule)
    loss.backward()
    tinh.optim.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step()
"""

from ._tinh.optim import (
    GradScaler as GradScaler,
    Optimizer as Optimizer,
    Rule as Rule,
    Scheduler as Scheduler,
    adagrad as adagrad,
    adam as adam,
    adamax as adamax,
    adamw as adamw,
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    lion as lion,
    nadam as nadam,
    rmsprop as rmsprop,
    schedule as schedule,
    sgd as sgd,
)
