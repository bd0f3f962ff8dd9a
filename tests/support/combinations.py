# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which values of independent factors a test tries together."""

import itertools
import os

ALL = os.environ.get("COMBINATIONS") == "all"


def combinations(*factors):
    """Values, one of each factor: so many that each two values meet, or all of them
    with COMBINATIONS=all."""
    assert len(factors) > 1 and all(factors), factors
    every = list(itertools.product(*map(enumerate, factors)))

    def pairs(chosen):
        numbered = ((place, value[0]) for place, value in enumerate(chosen))
        return set(itertools.combinations(numbered, 2))

    kept, left = [], set().union(*map(pairs, every))
    while left:
        kept.append(max(every, key=lambda chosen: len(pairs(chosen) & left)))
        left -= pairs(kept[-1])
    return [[value for _, value in chosen] for chosen in (every if ALL else kept)]
