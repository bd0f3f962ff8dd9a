//===- ranks.h - A tool as one of several ranks -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_RANKS_H
#define TINH_TOOLS_RANKS_H

#include "tinh/collectives.hpp"

#include <optional>
#include <string>

namespace tinh::tools {

/// The processes that mpirun has started. One that is alone is rank 0 of 1, and
/// all that it does together with others is done at once.
class Ranks {
public:
  /// Joins them if a launcher has started this process, by its MPI or by
  /// another library, such as kNccl. On all but the first one, what is printed
  /// from then on to the standard output is dropped.
  static Ranks join(double timeout, const std::string &library = "");
  static constexpr char kNccl[] = "libtinh_nccl.so";

  uint32_t rank() const { return joined ? joined->rank() : 0; }
  uint32_t count() const { return joined ? joined->num_ranks() : 1; }
  bool are_many() const { return count() > 1; }
  bool is_first() const { return rank() == 0; }
  /// For a context; null if it is alone.
  tinh_collectives_t *table() const {
    return joined ? joined->handle() : nullptr;
  }
  /// The GPU that this rank's collectives are of, if they are of one.
  std::optional<uint32_t> gpu() const;
  /// The file that this rank writes where all write one: that of the first has
  /// the name that the user gave, "trace.json", the third's is
  /// "trace.rank-2.json".
  std::string own_file(const std::string &path) const;

  /// Of the first one, for all.
  void broadcast(tinh_buffer_t buffer) const;
  /// What all have, one behind the other.
  std::vector<char> all_gather(std::vector<char> &own) const;
  /// Over all, in place.
  void sum(std::vector<double> &numbers) const;
  /// Throws unless all have the same.
  void compare(const std::string &what, const std::string &text) const;

  /// Tells the others why this one ends, and leaves them.
  void give_up(const std::string &why);

private:
  std::optional<Collectives> joined;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_RANKS_H
