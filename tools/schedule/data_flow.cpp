//===- data_flow.cpp - Who reads what whom ----------------------*- C++ -*-===//
//-*-===//
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
#include "data_flow.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace tinh::tools {

namespace {

/// Follows the bytes that steps write, in the order of steps. Of the arms of a
/// branch each goes on from what was there before it; behind them there may be
/// what either has written.
class Follower {
public:
  explicit Follower(const Schedule &schedule) : schedule(schedule) {}

  DataFlow run() {
    auto count = static_cast<uint32_t>(schedule.steps.size());
    find_loops(count);
    result.reads.resize(count);
    for (uint32_t step = 0; step < count; ++step) {
      join(step);
      for (bool written : {false, true})
        for (const Access &access : accesses_of(step))
          if (access.written == written && access.size > 0)
            written ? write(step, access) : read(step, access);
      part(step);
    }
    for (const Value &value : values)
      if (value.space.first == schedule.arena)
        result.buffers.push_back(
            {value.begin, value.end - value.begin, value.first, value.last});
    std::ranges::sort(result.buffers, {}, &ArenaBuffer::first);
    add_live_bytes(count);
    return std::move(result);
  }

private:
  using Space = std::pair<tinh_space_t, uint32_t>;
  struct Value {
    Space space;
    uint64_t begin, end;
    uint32_t first, last;
    bool meets(const Access &access) const {
      return space == Space(access.space, access.index) &&
             begin < access.offset + access.size && access.offset < end;
    }
  };

  /// Indices of the values that a step may read.
  using State = std::set<size_t>;
  /// A branch whose arms are followed.
  struct Branch {
    uint32_t end;                   ///< Behind the arm.
    State before;                   ///< What the other arm starts from.
    std::optional<State> then = {}; ///< After the first arm, in the second.
  };

  void find_loops(uint32_t count) {
    ends.resize(count);
    std::vector<uint32_t> open;
    for (uint32_t step = 0; step < count; ++step) {
      result.depth.push_back(static_cast<uint32_t>(open.size()));
      if (schedule.steps[step].opcode == TINH_OP_LOOP)
        open.push_back(step);
      if (schedule.steps[step].opcode == TINH_OP_NEXT && !open.empty()) {
        result.depth.back()--;
        ends[open.back()] = step;
        open.pop_back();
      }
    }
  }

  /// Over all iterations of the loops around.
  std::vector<Access> accesses_of(uint32_t step) const {
    std::vector<Access> accesses = schedule.steps[step].accesses;
    for (const tinh_stride_t &stride : schedule.steps[step].strides) {
      uint64_t iterations = iterations_around(step, stride.loop);
      if (stride.bytes > 0 && iterations > 0)
        accesses[stride.buffer].size +=
            (iterations - 1) * static_cast<uint64_t>(stride.bytes);
    }
    return accesses;
  }

  uint64_t iterations_around(uint32_t step, uint32_t depth) const {
    for (uint32_t loop = 0; loop < step; ++loop)
      if (ends[loop] > step && result.depth[loop] == depth)
        return schedule.steps[loop].chunks;
    return 1;
  }

  /// What was there before a loop that reads it has to last for all iterations.
  uint32_t last_use(uint32_t step, uint32_t first) const {
    for (uint32_t loop = first + 1; loop <= step; ++loop)
      if (ends[loop] >= step)
        return ends[loop];
    return step;
  }

  void read(uint32_t step, const Access &access) {
    for (size_t i : live) {
      Value &value = values[i];
      if (!value.meets(access))
        continue;
      value.last = std::max(value.last, last_use(step, value.first));
      auto &reads = result.reads[step];
      if (std::ranges::find(reads, value.first) == reads.end())
        reads.push_back(value.first);
    }
  }

  void write(uint32_t step, const Access &access) {
    std::erase_if(live, [&](size_t i) {
      if (!values[i].meets(access))
        return false;
      // Nothing lasts beyond what is written over it, be it by a step that
      // reads it, or one in a loop whose later iterations read what was
      // written.
      if (values[i].first < step)
        values[i].last = std::min(values[i].last, step - 1);
      return true;
    });
    live.insert(values.size());
    values.push_back({{access.space, access.index},
                      access.offset,
                      access.offset + access.size,
                      step,
                      step});
  }

  /// Goes on with the other arm, or another branch.
  void part(uint32_t step) {
    const ScheduleStep &last = schedule.steps[step];
    if (last.opcode == TINH_OP_BRANCH && last.target > step) {
      branches.push_back({last.target, live});
    } else if (last.opcode == TINH_OP_JUMP && !branches.empty() &&
               branches.back().end == step + 1 && !branches.back().then) {
      Branch &branch = branches.back();
      branch.end = last.target;
      branch.then = std::exchange(live, branch.before);
    }
  }

  /// Ends branches whose arms end before `step`.
  void join(uint32_t step) {
    for (; !branches.empty() && branches.back().end <= step;
         branches.pop_back()) {
      const Branch &branch = branches.back();
      const State &other = branch.then ? *branch.then : branch.before;
      live.insert(other.begin(), other.end());
    }
  }

  /// Bytes that hold results of both arms of a branch count once.
  void add_live_bytes(uint32_t count) {
    result.live.resize(count);
    std::vector<uint64_t> counted(count); // Up to there in the arena, by step.
    std::vector<ArenaBuffer> buffers = result.buffers;
    std::ranges::sort(buffers, {}, &ArenaBuffer::offset);
    for (const ArenaBuffer &buffer : buffers)
      for (uint32_t step = buffer.first; step <= buffer.last; ++step) {
        uint64_t begin = std::max(buffer.offset, counted[step]),
                 end = std::max(buffer.offset + buffer.size, begin);
        result.live[step] += end - begin;
        counted[step] = end;
      }
  }

  const Schedule &schedule;
  DataFlow result;
  std::vector<Value> values;
  State live;
  std::vector<Branch> branches; ///< The innermost last.
  std::vector<uint32_t> ends;   ///< Of loops, by their step; 0 of others.
};

} // namespace

DataFlow data_flow_of(const Schedule &schedule) {
  return Follower(schedule).run();
}

} // namespace tinh::tools
