//===- shared_state.h - The variables of several ranks ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_SHARED_STATE_H
#define TINH_TOOLS_SHARED_STATE_H

#include "ranks.h"

#include <optional>

namespace tinh::tools {

/// The variable that random numbers of the model come from: seed and counter.
constexpr const char *kGenerator = "random.generator";

/// The state of a training, of which each rank has all or, of what is divided
/// (graph-compile --shard-optimizer), a part. Files have all of it, as that of
/// one process, and are read and written by the first rank alone: so they are
/// for any number of ranks. All functions are for all ranks at a time.
class SharedState {
public:
  /// Throws unless all ranks have the same variables.
  SharedState(const Module &module, const Context &context, const Ranks &ranks);

  void save(const std::string &path, const Metadata &metadata) const;
  void load(const std::string &path) const;

  /// Gives all ranks the first one's variables, but for parts, and each a seed
  /// of its own, which follows from the first one's: so ranks draw other random
  /// numbers, and go on with them from a file that has the first one's.
  void share() const;

  const Module &module;
  const Context &context;
  const Ranks &ranks;

private:
  /// A variable, and what it is a part of.
  struct Variable {
    uint32_t index;
    tinh_variable_info_t info;
    std::optional<tinh_tensor_info_t> whole; ///< If it is divided.
  };

  void find_parts();
  void compare() const;
  void share(const Variable &variable) const;
  void load_part(const Variable &variable, const void *whole) const;
  std::vector<char> gather(const Variable &variable) const;

  std::vector<Variable> variables;
  bool has_parts = false;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_SHARED_STATE_H
