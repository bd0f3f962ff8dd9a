//===- block.cpp - Runs one block of an emulated kernel ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "block.h"

#include <algorithm>
#include <cstring>

using namespace tinh::emulator;

namespace tinh::fake {

static constexpr uint32_t kWarp = 32;
// Behind shared memory: nobody may write there.
static constexpr uint64_t kGuard = 1024;
static constexpr char kGuardByte = 0x5a;

static thread_local Block *currentBlock = nullptr;

Block *Block::running() { return currentBlock; }

void Block::startThread() {
  Block &block = current();
  block.kernel->code->entry(block.kernel->parameters.data());
  block.active->state = Thread::State::Done;
  --block.live;
  tinh_fake_switch(&block.active->fiber, block.scheduler);
  __builtin_unreachable();
}

void Block::prepare(const Launch &launch, Size3 index) {
  kernel = &launch;
  blockIndex = index;
  live = uint32_t(launch.block.count());
  stacks.reserve(live);
  threads.resize(live);
  for (uint32_t i = 0; i < live; ++i) {
    threads[i].index = i;
    threads[i].state = Thread::State::Ready;
    threads[i].open.clear();
    threads[i].groups.clear();
    threads[i].fiber = prepareFiber(stacks.top(i), startThread);
  }
  warps.assign((live + kWarp - 1) / kWarp, {});
  barriers.clear();
  sharedSize = launch.code->staticShared + launch.dynamicShared;
  races.begin(sharedSize);
  memory.assign(kSharedAlignment + sharedSize + kGuard, char(settings->poison));
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  address = (address + kSharedAlignment - 1) / kSharedAlignment;
  sharedMemory = reinterpret_cast<char *>(address * kSharedAlignment);
  std::memset(sharedMemory + sharedSize, kGuardByte,
              memory.data() + memory.size() - sharedMemory - sharedSize);
}

std::string Block::run(const Launch &launch, Size3 index,
                       const Settings &wanted) {
  settings = &wanted;
  error.clear();
  prepare(launch, index);
  currentBlock = this;
  schedule();
  currentBlock = nullptr;
  if (error.empty())
    return {};
  return "kernel '" + std::string(launch.code->name) + "', block " +
         std::to_string(index.x) +
         (active ? ", thread " + std::to_string(active->index) : "") + ": " +
         error;
}

bool Block::runThreads() {
  bool any = false;
  for (size_t i = 0; i < threads.size(); ++i) {
    Thread &thread = threads[settings->descending ? threads.size() - 1 - i : i];
    if (thread.state != Thread::State::Ready)
      continue;
    any = true;
    active = &thread;
    tinh_fake_switch(&scheduler, thread.fiber);
    if (!error.empty())
      return false;
  }
  active = nullptr;
  return any;
}

void Block::schedule() {
  while (live > 0)
    if (!runThreads()) {
      if (error.empty())
        error = describeDeadlock();
      return;
    }
  checkSharedMemory();
  for (const Thread &thread : threads)
    if (!thread.open.empty())
      error = "a thread ended with asynchronous copies of no group";
}

void Block::checkSharedMemory() {
  const char *end = memory.data() + memory.size();
  if (std::any_of(sharedMemory + sharedSize, const_cast<char *>(end),
                  [](char byte) { return byte != kGuardByte; }))
    error = "memory behind the " + std::to_string(sharedSize) +
            " bytes of shared memory was written";
}

std::string Block::describeDeadlock() const {
  std::map<std::string, std::vector<uint32_t>> places;
  for (const Thread &thread : threads)
    places[thread.state == Thread::State::Done
               ? "have ended"
               : "wait for " + std::string(thread.waitsFor)]
        .push_back(thread.index);
  std::string text = "threads wait for each other:";
  for (const auto &[place, list] : places)
    text += " " + std::to_string(list.size()) + " (" +
            std::to_string(list.front()) + " first) " + place + ";";
  text.pop_back();
  return text;
}

void Block::fail(const std::string &message) {
  error = message;
  tinh_fake_switch(&active->fiber, scheduler); // Which never comes back.
  __builtin_unreachable();
}

void Block::wait(const char *what) {
  active->state = Thread::State::Waiting;
  active->waitsFor = what;
  tinh_fake_switch(&active->fiber, scheduler);
}

uint32_t Block::read(Register which) const {
  switch (which) {
  case Register::TidX:
    return active->index;
  case Register::NtidX:
    return kernel->block.x;
  case Register::CtaidX:
    return blockIndex.x;
  case Register::NctaidX:
    return kernel->grid.x;
  case Register::Laneid:
    return active->index % kWarp;
  }
  __builtin_unreachable();
}

bool Block::isIgnored(bool isBarrier, uint32_t site) const {
  const auto &ignored = settings->ignored;
  return ignored && ignored->isBarrier == isBarrier && ignored->site == site &&
         ignored->kernel == kernel->code->name;
}

bool Block::isShared(const void *address, uint64_t size) const {
  const char *first = static_cast<const char *>(address);
  return first >= sharedMemory && first + size <= sharedMemory + sharedSize;
}

uint64_t Block::sharedOffset(const void *address, uint32_t size) {
  auto offset = static_cast<const char *>(address) - sharedMemory;
  if (!isShared(address, size))
    fail("an access of shared memory at " + std::to_string(offset) +
         ", of which there are " + std::to_string(sharedSize) + " bytes");
  return uint64_t(offset);
}

void Block::noteRead(const void *address, uint32_t size) {
  uint64_t offset = sharedOffset(address, size);
  if (!settings->races)
    return;
  std::string race = races.read(offset, size, active->index);
  if (!race.empty())
    fail(race);
}

void Block::noteWrite(const void *address, uint32_t size) {
  uint64_t offset = sharedOffset(address, size);
  if (!settings->races)
    return;
  std::string race = races.write(offset, size, active->index,
                                 static_cast<const char *>(address));
  if (!race.empty())
    fail(race);
}

void Block::waitAtBarrier(uint32_t site, uint32_t index) {
  std::vector<Thread *> &waiting = barriers[index];
  for (const Thread *other : waiting)
    if (other->index / kWarp == active->index / kWarp && other->waitsAt != site)
      fail("threads of one warp wait at different barriers");
  if (waiting.size() + 1 < threads.size()) {
    active->waitsAt = site;
    waiting.push_back(active);
    wait("a barrier");
    return;
  }
  for (Thread *other : waiting)
    other->state = Thread::State::Ready;
  waiting.clear();
  races.synchronise();
}

void Block::runTogether(const char *operation, uint32_t mask, const void *input,
                        void *output, void (*complete)(Group &)) {
  uint32_t lane = active->index % kWarp, warp = active->index / kWarp;
  uint32_t lanes = std::min<uint32_t>(kWarp, threads.size() - warp * kWarp);
  if (!(mask >> lane & 1))
    fail(std::string("a lane is not in its own mask of ") + operation);
  if (lanes < kWarp)
    mask &= (1u << lanes) - 1;
  std::vector<Group> &groups = warps[warp];
  auto group = std::find_if(groups.begin(), groups.end(),
                            [&](Group &g) { return g.mask & mask; });
  if (group == groups.end())
    group = groups.insert(groups.end(), Group{operation, mask, 0, {}, {}, {}});
  else if (group->mask != mask || std::strcmp(group->operation, operation))
    fail(std::string("lanes of a warp do ") + operation + " and " +
         group->operation + " at the same time");
  group->arrived |= 1u << lane;
  group->inputs[lane] = input;
  group->outputs[lane] = output;
  if (group->arrived != mask) {
    wait(operation);
    return;
  }
  complete(*group);
  for (uint32_t i = 0; i < lanes; ++i)
    if (i != lane && mask >> i & 1)
      threads[warp * kWarp + i].state = Thread::State::Ready;
  groups.erase(group);
}

} // namespace tinh::fake
