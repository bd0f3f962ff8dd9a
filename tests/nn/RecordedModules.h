//===- RecordedModules.h - Modules by their records -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_NN_RECORDEDMODULES_H
#define TINH_TESTS_NN_RECORDEDMODULES_H

#include "tinh/nn.h"
#include "tinh/options.h"

#include <map>
#include <nlohmann/json.hpp>

namespace tinh::test {

using Tensors = std::vector<Tensor>;

/// How record.py calls a module, and one like its own.
struct RecordedModule {
  std::function<nn::Handle<nn::Module>()> make;
  std::function<Tensors(nn::Module &module, const Tensors &inputs)> call;
};

const std::map<std::string, RecordedModule> &recordedModules();

/// All of recorded.json.
const nlohmann::json &recorded();

/// The options of a recorded loss or optimizer.
Options optionsOf(const nlohmann::json &record);

} // namespace tinh::test

#endif // TINH_TESTS_NN_RECORDEDMODULES_H
