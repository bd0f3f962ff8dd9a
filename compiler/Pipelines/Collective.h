//===- Collective.h - Collectives of a plan for the runtime -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_COLLECTIVE_H
#define TINH_PIPELINES_COLLECTIVE_H

#include "dialects/plan/Plan.h"
#include "tinh/artifact.h"

namespace tinh {

/// What a step of a plan starts, as an artifact has it; `count` is of elements.
tinh_collective_desc_t describeCollective(plan::StartOp start);

} // namespace tinh

#endif // TINH_PIPELINES_COLLECTIVE_H
