# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph ops with inputs and what NumPy says of them, a module for each family."""

# Each of these adds its cases to CASES.
from op_cases import (
    elementwise,
    bitcasts,
    contractions,
    quantization,
    bf16,
    float8,
    float4,
    pooling,
    reductions,
    normalizations,
    movement,
    scatters,
    gradients,
    views,
    control_flow,
)
from op_cases.cases import CASES, type_of

__all__ = ["CASES", "type_of"]
