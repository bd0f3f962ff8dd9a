//===- ranks.h - The ranks that a context computes with ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_RANKS_H
#define TINH_RUNTIME_RANKS_H

#include "tinh/artifact.h"
#include "tinh/collectives.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tinh::runtime {

/// Whether a table, maybe of a program that knows an older one, has this.
template <typename Member>
bool has_member(const tinh_collectives_t &table,
                Member tinh_collectives_t::*member) {
  auto end = reinterpret_cast<const char *>(&(table.*member) + 1);
  return end <= reinterpret_cast<const char *>(&table) + table.struct_size;
}

/// Whether it has collectives of the GPUs' memory.
inline bool computes_on_gpus(const tinh_collectives_t &table) {
  return has_member(table, &tinh_collectives_t::gpu) && table.gpu;
}

/// Compares the number that stands for `what` on all ranks. Throws INCOMPATIBLE
/// on all of them, which names one that has another, or COLLECTIVE_FAILED.
void compare_ranks(tinh_collectives_t &table, const char *what,
                   uint64_t number);

/// Of a context, for the runs in all its arenas.
class Ranks {
public:
  /// `identity` is that of the module, of which its program for a GPU is run,
  /// or that for the CPU. `turns` says how runs take turns with arenas, in
  /// which ranks whose GPUs compute together must be alike.
  Ranks(tinh_collectives_t *table, uint64_t identity, bool on_gpu,
        uint64_t turns)
      : table(*table), identity(identity), on_gpu(on_gpu), turns(turns) {}

  /// Before the first collective of a function's first run: whether all ranks
  /// run the same. Null, or what has failed. Not for two threads at a time.
  const char *compare(const tinh_function_desc_t &function);

  /// What has failed first, and null until then. It stays, since failures are
  /// final, and as long as the table does.
  const char *failure() const { return failed.load(std::memory_order_acquire); }
  void fail(const char *why);
  /// Fails on all ranks, if nothing has failed yet.
  void give_up(const std::string &why);
  /// Whether messages may still come to memory, or NCCL may still use it: after
  /// any failure but a difference of ranks, before which nothing has begun.
  bool are_broken() const;
  /// Throws COLLECTIVE_FAILED after a failure: what variables hold is not what
  /// any number of steps would have made.
  void require_whole() const;

  tinh_collectives_t &table;

private:
  const uint64_t identity;
  const bool on_gpu;
  const uint64_t turns;
  std::vector<const tinh_function_desc_t *> compared;
  std::string difference, given_up; ///< What is wrong on this rank.
  std::mutex giving_up;             ///< Several runs may fail at the same time.
  std::atomic<const char *> failed{nullptr};
  std::atomic<bool> broken{false};
};

/// How many CPUs are for a context with these ranks, or alone if that is null;
/// less than 1 where ranks outnumber CPUs.
double usable_cpus(const tinh_collectives_t *table);

/// Never frees `memory`, which messages of collectives that have failed may
/// still be read from or written to.
void keep_for_ever(std::shared_ptr<const void> memory);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_RANKS_H
