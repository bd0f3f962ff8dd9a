//===- thread_ranks.h - Ranks that are threads ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What MPI does for two processes, for two threads: a collective is done when
// both have started it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_NCCL_THREAD_RANKS_H
#define TINH_TESTS_NCCL_THREAD_RANKS_H

#include "tinh/collectives.h"
#include "tinh/types.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <string>
#include <vector>

namespace tinh::tests {

struct Meeting {
  std::barrier<> all{2};
  std::vector<char> inputs[2];
};

struct Host : tinh_collectives_t {
  Meeting &meeting;
  std::string aborted;
  std::atomic<const char *> heard = nullptr; ///< Of other ranks' failures.

  Host(Meeting &meeting, uint32_t number)
      : tinh_collectives_t{}, meeting(meeting) {
    struct_size = sizeof(tinh_collectives_t);
    rank = local_rank = number;
    num_ranks = num_local_ranks = 2;
    library = "threads";
    start = [](tinh_collectives_t *table, const tinh_collective_t *collective,
               uint64_t *ticket) -> const char * {
      *ticket = 0;
      static_cast<Host *>(table)->compute(*collective);
      return nullptr;
    };
    wait = [](tinh_collectives_t *, uint64_t) -> const char * {
      return nullptr;
    };
    abort = [](tinh_collectives_t *table, const char *why) {
      static_cast<Host *>(table)->aborted = why;
    };
    destroy = [](tinh_collectives_t *) {};
    failure = [](tinh_collectives_t *table) -> const char * {
      return static_cast<Host *>(table)->heard;
    };
  }

private:
  void compute(const tinh_collective_t &c) {
    size_t size = c.count * tinh_dtype_size(c.dtype);
    size_t read = c.kind == TINH_REDUCE_SCATTER ? size * num_ranks : size;
    auto *input = static_cast<const char *>(c.input);
    meeting.inputs[rank].assign(input, input + read);
    meeting.all.arrive_and_wait();
    auto *output = static_cast<char *>(c.output);
    const auto &inputs = meeting.inputs;
    if (c.kind == TINH_ALL_GATHER)
      for (const std::vector<char> &each : inputs)
        output = std::copy(each.begin(), each.end(), output);
    else if (c.kind == TINH_BROADCAST)
      std::copy(inputs[c.root].begin(), inputs[c.root].end(), output);
    else if (c.dtype == TINH_DTYPE_F32)
      reduce<float>(c);
    else
      reduce<int64_t>(c);
    meeting.all.arrive_and_wait();
  }

  template <typename T> void reduce(const tinh_collective_t &c) const {
    size_t first = c.kind == TINH_REDUCE_SCATTER ? rank * c.count : 0;
    for (size_t i = 0; i < c.count; ++i) {
      T a, b;
      std::memcpy(&a, &meeting.inputs[0][(first + i) * sizeof(T)], sizeof(T));
      std::memcpy(&b, &meeting.inputs[1][(first + i) * sizeof(T)], sizeof(T));
      T result = c.reduction == TINH_REDUCE_MAX    ? std::max(a, b)
                 : c.reduction == TINH_REDUCE_MEAN ? (a + b) / 2
                                                   : a + b;
      std::memcpy(static_cast<char *>(c.output) + i * sizeof(T), &result,
                  sizeof(T));
    }
  }
};

} // namespace tinh::tests

#endif // TINH_TESTS_NCCL_THREAD_RANKS_H
