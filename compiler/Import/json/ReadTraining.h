//===- ReadTraining.h - How a JSON model is trained -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_IMPORT_JSON_READTRAINING_H
#define TINH_IMPORT_JSON_READTRAINING_H

#include "compiler/Import/Import.h"
#include "compiler/Import/json/Problems.h"

namespace tinh::json {

/// Reads the key "training" of a model, if it is there, and notes what is not
/// as docs/json-format.md has it. What losses and optimizers there are, and
/// their options, is not known here.
void readTraining(const Json &root, TrainingInfo &training, const Scope &scope);

} // namespace tinh::json

#endif // TINH_IMPORT_JSON_READTRAINING_H
