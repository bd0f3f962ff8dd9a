//===- ranks.cpp - The ranks that a context computes with -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "collectives/ranks.h"

#include "shared/cpu_count.h"
#include "support/error.h"

#include <algorithm>

namespace tinh::runtime {

void compare_ranks(tinh_collectives_t &table, const char *what,
                   uint64_t number) {
  // This rank's behind those of all.
  uint32_t count = table.num_ranks;
  auto numbers = std::make_shared<uint64_t[]>(count + 1);
  numbers[count] = number;
  tinh_collective_t gather = {};
  gather.kind = TINH_ALL_GATHER;
  gather.dtype = gather.communication_dtype = TINH_DTYPE_U64;
  gather.count = 1;
  gather.input = &numbers[count];
  gather.output = numbers.get();
  uint64_t ticket = 0;
  const char *error = table.start(&table, &gather, &ticket);
  if (!error)
    error = table.wait(&table, ticket);
  if (error) {
    keep_for_ever(numbers); // Messages may still come.
    throw_error(TINH_COLLECTIVE_FAILED, {error});
  }
  // The last one of those whose number fewest have.
  uint32_t odd = 0;
  ptrdiff_t fewest = count;
  for (uint32_t rank = 0; rank < count; ++rank) {
    ptrdiff_t alike =
        std::count(numbers.get(), numbers.get() + count, numbers[rank]);
    if (alike <= fewest) {
      fewest = alike;
      odd = rank;
    }
  }
  if (fewest < count)
    throw_error(TINH_INCOMPATIBLE,
                {"rank ", odd, " has another ", what, " than other ranks"});
}

const char *Ranks::compare(const tinh_function_desc_t &function) {
  if (std::ranges::find(compared, &function) != compared.end())
    return nullptr;
  try {
    std::string version = tinh_runtime_version();
    if (compared.empty()) {
      compare_ranks(
          table, "version of the runtime",
          tinh_checksum(TINH_CHECKSUM_START, version.data(), version.size()));
      compare_ranks(table, "artifact", identity);
      compare_ranks(table, "device to run on", on_gpu);
      if (computes_on_gpus(table))
        compare_ranks(table,
                      "way to execute runs (max_in_flight, check_numerics, "
                      "cuda_stream)",
                      turns);
    }
    std::string name = function.name;
    compare_ranks(table, "function to run",
                  tinh_checksum(function.num_steps, name.data(), name.size()));
    compared.push_back(&function);
    return nullptr;
  } catch (const Error &error) {
    difference = error.what();
    return difference.c_str();
  }
}

void Ranks::fail(const char *why) {
  if (why != difference.c_str())
    broken = true;
  const char *none = nullptr;
  failed.compare_exchange_strong(none, why, std::memory_order_release,
                                 std::memory_order_relaxed);
}

void Ranks::give_up(const std::string &why) {
  std::lock_guard lock(giving_up);
  if (failure())
    return;
  given_up = why;
  table.abort(&table, given_up.c_str());
  fail(given_up.c_str());
}

bool Ranks::are_broken() const {
  return broken || (computes_on_gpus(table) && table.failure &&
                    table.failure(&table) != nullptr);
}

void Ranks::require_whole() const {
  if (const char *why = failure())
    throw_error(TINH_COLLECTIVE_FAILED, {why});
}

double usable_cpus(const tinh_collectives_t *table) {
  double cpus = available_cpus();
  if (!table)
    return cpus;
  if (has_member(*table, &tinh_collectives_t::cpus) && table->cpus > 0)
    return std::min(cpus, table->cpus);
  return cpus / std::max(table->num_local_ranks, 1u);
}

void keep_for_ever(std::shared_ptr<const void> memory) {
  // Within reach of leak checkers, which so do not take it for lost.
  struct Kept {
    std::shared_ptr<const void> memory;
    Kept *next;
  };
  static std::atomic<Kept *> last;
  auto *kept = new Kept{std::move(memory), nullptr};
  kept->next = last.exchange(kept);
}

} // namespace tinh::runtime
