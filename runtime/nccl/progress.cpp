//===- progress.cpp - How far collectives are -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "progress.h"

#include "collective.h"

#include <algorithm>
#include <atomic>

namespace tinh::nccl {

using namespace runtime::cuda;

void Progress::allocate() {
  const char *what = "cannot allocate what tells how far collectives are";
  void *memory = nullptr;
  check(driver().cuMemHostAlloc(&memory, kMostWords * sizeof(uint32_t),
                                kHostAllocPortable),
        what);
  words = static_cast<uint32_t *>(memory);
  for (uint32_t i = kMostWords; i-- > 0;)
    free_words.push_back(words + i);
  constexpr uint32_t kStates[] = {0, kReady, kDone};
  check(driver().cuMemAlloc_v2(&states, sizeof kStates), what);
  check(driver().cuMemcpyHtoD_v2(states, kStates, sizeof kStates), what);
  check(driver().cuStreamSynchronize(nullptr), what); // Until it has arrived.
}

void Progress::free() noexcept {
  for (auto &[ticket, collective] : all)
    events.insert(events.end(), {collective.ready, collective.done});
  for (CUevent event : events)
    if (event)
      driver().cuEventDestroy_v2(event);
  if (words)
    driver().cuMemFreeHost(words);
  if (states)
    driver().cuMemFree_v2(states);
}

CUevent Progress::take_event() {
  CUevent event = nullptr;
  if (events.empty()) {
    check(driver().cuEventCreate(&event, kEventDisableTiming),
          "cannot make an event");
    return event;
  }
  event = events.back();
  events.pop_back();
  return event;
}

Progress::Collective &Progress::add(const tinh_collective_t &collective,
                                    bool in_graph, uint64_t &ticket) {
  if (in_graph && free_words.empty())
    throw Refusal("there are " + std::to_string(kMostWords) +
                  " collectives in graphs already");
  ticket = ++num_tickets;
  Collective &added = all[ticket];
  added.what = describe(collective, ticket);
  if (in_graph) {
    added.word = free_words.back();
    free_words.pop_back();
  } else {
    added.ready = take_event();
    added.done = take_event();
  }
  return added;
}

void Progress::write(const Collective &collective, uint32_t state,
                     CUstream stream) {
  check(driver().cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(collective.word),
                               states + state * sizeof(uint32_t),
                               sizeof(uint32_t), stream),
        collective.what);
}

void Progress::begin(const Collective &collective, CUstream stream) {
  if (collective.word)
    return write(collective, kReady, stream);
  check(driver().cuEventRecord(collective.ready, stream), collective.what);
}

void Progress::end(const Collective &collective, CUstream stream) {
  if (collective.word)
    return write(collective, kDone, stream);
  check(driver().cuEventRecord(collective.done, stream), collective.what);
}

void Progress::run(uint64_t ticket, CUstream stream) {
  Collective &next = find(ticket);
  if (next.word)
    std::atomic_ref(*next.word).store(0);
  next.stream = stream;
  next.since = std::nullopt;
  running.push_back(ticket);
}

Progress::Collective &Progress::find(uint64_t ticket) {
  auto found = all.find(ticket);
  if (found == all.end())
    throw Refusal("there is no collective " + std::to_string(ticket) +
                  " to wait for");
  return found->second;
}

static bool has_passed(CUevent event, const std::string &what) {
  CUresult result = driver().cuEventQuery(event);
  if (result != kNotReady)
    check(result, what);
  return result == runtime::cuda::kSuccess;
}

bool Progress::is_ready(const Collective &collective) const {
  return collective.word ? std::atomic_ref(*collective.word).load() >= kReady
                         : has_passed(collective.ready, collective.what);
}

bool Progress::is_done(const Collective &collective) const {
  if (!collective.word)
    return has_passed(collective.done, collective.what);
  // The GPU may fail before it comes to the collective.
  CUresult result = driver().cuStreamQuery(collective.stream);
  if (result != kNotReady)
    check(result, collective.what);
  return std::atomic_ref(*collective.word).load() == kDone;
}

const Progress::Collective *Progress::find_overdue(Clock::duration timeout) {
  for (uint64_t ticket : running) {
    Collective &next = all.at(ticket);
    if (is_done(next))
      continue;
    if (!is_ready(next))
      return nullptr;
    auto now = Clock::now();
    if (!next.since)
      next.since = now;
    return now - *next.since > timeout ? &next : nullptr;
  }
  return nullptr;
}

void Progress::finish(uint64_t ticket) {
  std::erase(running, ticket);
  Collective &finished = all.at(ticket);
  if (finished.word)
    return;
  events.insert(events.end(), {finished.ready, finished.done});
  all.erase(ticket);
}

void Progress::release(uint64_t ticket) {
  free_words.push_back(find(ticket).word);
  std::erase(running, ticket);
  all.erase(ticket);
}

} // namespace tinh::nccl
