//===- state.cpp - The variables of a context -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "state.h"

#include "error.h"
#include "tensor.h"

#include <cstring>
#include <set>
#include <string_view>

namespace tinh::runtime {

State::State(const Module &module)
    : module(module),
      memory(MappedMemory::anonymous(module.artifact().state_size)) {}

char *State::variable(uint32_t index) {
  std::call_once(initialised, [&] { reset(); });
  return memory.data() + module.artifact().variables[index].offset;
}

void State::reset() {
  const tinh_artifact_t &artifact = module.artifact();
  for (uint32_t i = 0; i < artifact.num_variables; ++i) {
    const tinh_variable_desc_t &variable = artifact.variables[i];
    char *to = memory.data() + variable.offset;
    if (variable.size == 0)
      continue;
    if (variable.initial_offset == TINH_INITIALLY_ZERO)
      std::memset(to, 0, variable.size);
    else
      std::memcpy(to, module.weights() + variable.initial_offset,
                  variable.size);
  }
}

void State::save(const std::string &path, MetadataToWrite metadata) {
  const tinh_artifact_t &artifact = module.artifact();
  std::vector<tinh_safetensors_tensor_t> tensors;
  for (uint32_t i = 0; i < artifact.num_variables; ++i)
    tensors.push_back({info_of(artifact.variables[i]), variable(i), 0});
  write_tensors(path, tensors, metadata);
}

/// What is wrong with a file for these variables, the first of each kind; empty
/// if nothing is.
static std::string compare(const TensorFile &file,
                           const tinh_artifact_t &artifact) {
  std::string missing, unexpected, misshapen;
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < artifact.num_variables; ++i) {
    const tinh_variable_desc_t &variable = artifact.variables[i];
    std::string name = variable.name;
    names.insert(variable.name);
    const TensorFile::Tensor *tensor = file.find(name);
    if (!tensor) {
      if (missing.empty())
        missing = "; it lacks '" + name + "'";
      continue;
    }
    std::string expected =
                    type_text(variable.dtype, variable.dims, variable.rank),
                found = type_text(tensor->dtype, tensor->dims.data(),
                                  tensor->dims.size());
    if (misshapen.empty() && found != expected)
      misshapen = "; its '" + name + "' is " + found + ", and " + expected +
                  " is expected";
  }
  for (const TensorFile::Tensor &tensor : file.tensors())
    if (unexpected.empty() && !names.count(tensor.name))
      unexpected = "; its '" + tensor.name + "' is no variable of the model";
  return missing + unexpected + misshapen;
}

void State::load(const std::string &path) {
  TensorFile file(path);
  const tinh_artifact_t &artifact = module.artifact();
  if (std::string problems = compare(file, artifact); !problems.empty())
    throw Error(TINH_INVALID_FILE, "cannot load the state from '" + path +
                                       "': it is the state of another model" +
                                       problems);
  for (uint32_t i = 0; i < artifact.num_variables; ++i) {
    const tinh_variable_desc_t &desc = artifact.variables[i];
    if (desc.size)
      std::memcpy(variable(i), file.data(*file.find(desc.name)), desc.size);
  }
}

} // namespace tinh::runtime
