//===- shared_state.cpp - The variables of several ranks --------*- C++ -*-===//
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
#include "shared_state.h"

#include "inputs.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace tinh::tools {

static constexpr std::string_view kOptimizer = "optimizer.";

SharedState::SharedState(const Module &module, const Context &context,
                         const Ranks &ranks)
    : module(module), context(context), ranks(ranks) {
  for (uint32_t v = 0; v < module.info().num_variables; ++v)
    variables.push_back({v, module.variable_info(v), std::nullopt});
  // A step for a number of ranks is one whose optimizer's state is divided.
  uint32_t wanted =
      module.function_info(module.find_function("train_step")).num_ranks;
  if (wanted != 0 && wanted != ranks.count())
    throw UserError("'train_step' was compiled for " + std::to_string(wanted) +
                    " ranks, and there " + (ranks.are_many() ? "are " : "is ") +
                    std::to_string(ranks.count()) + "; start it by mpirun -n " +
                    std::to_string(wanted));
  if (wanted != 0)
    find_parts();
  if (ranks.are_many())
    compare();
}

/// What the optimizer keeps for a parameter: "optimizer.w1.exp_avg" is a part
/// of a tensor like "w1", flat and filled up with zeros.
void SharedState::find_parts() {
  for (Variable &variable : variables) {
    std::string_view name = variable.info.type.name;
    size_t end = name.rfind('.');
    if (!name.starts_with(kOptimizer) || end < kOptimizer.size())
      continue;
    name = name.substr(kOptimizer.size(), end - kOptimizer.size());
    for (const Variable &parameter : variables)
      if (parameter.info.trainable && parameter.info.type.name == name) {
        variable.whole = parameter.info.type;
        variable.whole->name = variable.info.type.name;
        has_parts = true;
      }
  }
}

void SharedState::compare() const {
  std::string text = module.info().model;
  for (const Variable &variable : variables)
    text += std::string("\n") + variable.info.type.name + ' ' +
            type_text(variable.info.type);
  ranks.compare("artifact", text);
}

void SharedState::share(const Variable &variable) const {
  std::vector<char> value(variable.info.type.size);
  if (ranks.is_first())
    context.read_variable(variable.index, buffer(value));
  ranks.broadcast(buffer(value));
  if (ranks.is_first())
    return;
  uint64_t seed;
  if (std::string_view(variable.info.type.name) == kGenerator &&
      value.size() >= sizeof seed) {
    std::memcpy(&seed, value.data(), sizeof seed);
    seed = seed_of_rank(seed, ranks.rank());
    std::memcpy(value.data(), &seed, sizeof seed);
  }
  context.write_variable(variable.index, buffer(value));
}

void SharedState::share() const {
  if (!ranks.are_many())
    return;
  for (const Variable &variable : variables)
    if (!variable.whole)
      share(variable);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// All of a variable.
std::vector<char> SharedState::gather(const Variable &variable) const {
  std::vector<char> own(variable.info.type.size);
  context.read_variable(variable.index, buffer(own));
  if (!variable.whole)
    return own;
  std::vector<char> all = ranks.all_gather(own);
  all.resize(variable.whole->size); // Without the zeros at its end.
  return all;
}

void SharedState::save(const std::string &path,
                       const Metadata &metadata) const {
  if (!has_parts) {
    if (ranks.is_first())
      context.save_state(path, metadata);
    return;
  }
  std::vector<std::vector<char>> values;
  std::vector<tinh_safetensors_tensor_t> tensors;
  for (const Variable &variable : variables) {
    std::vector<char> value = gather(variable);
    if (!ranks.is_first())
      continue;
    values.push_back(std::move(value));
    tensors.push_back({variable.whole ? *variable.whole : variable.info.type,
                       values.back().data(), 0});
  }
  if (ranks.is_first())
    TensorFile::write(path, tensors, metadata);
}

static bool is_same_type(const tinh_tensor_info_t &a,
                         const tinh_tensor_info_t &b) {
  return a.dtype == b.dtype && a.rank == b.rank &&
         std::equal(a.dims, a.dims + a.rank, b.dims);
}

/// The tensor of the file for a variable; throws UserError if it is none.
static tinh_safetensors_tensor_t find(const TensorFile &file,
                                      const std::string &path,
                                      const tinh_tensor_info_t &type) {
  std::string where =
      "cannot load the state from '" + path + "': its '" + type.name + "' ";
  for (const tinh_safetensors_tensor_t &tensor : file.tensors())
    if (std::string_view(tensor.type.name) == type.name) {
      if (!is_same_type(tensor.type, type))
        throw UserError(where + "is " + type_text(tensor.type) + ", and " +
                        type_text(type) + " is expected");
      return tensor;
    }
  throw UserError(where + "is missing");
}

/// `whole` is that of the first rank.
void SharedState::load_part(const Variable &variable, const void *whole) const {
  size_t size = variable.info.type.size;
  std::vector<char> all(size * ranks.count());
  if (ranks.is_first())
    std::memcpy(all.data(), whole, variable.whole->size);
  ranks.broadcast(buffer(all));
  context.write_variable(variable.index,
                         {all.data() + size * ranks.rank(), size});
}

void SharedState::load(const std::string &path) const {
  if (!has_parts) {
    if (ranks.is_first())
      context.load_state(path);
    return;
  }
  std::optional<TensorFile> file;
  std::vector<const void *> values(variables.size());
  if (ranks.is_first()) {
    file.emplace(path);
    for (const Variable &variable : variables)
      values[variable.index] =
          find(*file, path,
               variable.whole ? *variable.whole : variable.info.type)
              .data;
  }
  for (const Variable &variable : variables)
    if (variable.whole)
      load_part(variable, values[variable.index]);
    else if (ranks.is_first())
      context.write_variable(variable.index,
                             {const_cast<void *>(values[variable.index]),
                              variable.info.type.size});
}

} // namespace tinh::tools
