//===- launch.cpp - Runs the blocks of an emulated kernel -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "block.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

namespace tinh::fake {

//===----------------------------------------------------------------------===//
// Accesses of memory that is not there
//===----------------------------------------------------------------------===//

#ifdef TINH_FAKE_CUDA_NO_SIGNALS

namespace {
struct SignalStack {
  ~SignalStack() {}
};
} // namespace

#else

static struct sigaction earlierAction;

static void onBadAccess(int signal, siginfo_t *info, void *context) {
  if (Block *block = Block::running()) {
    char text[64];
    std::snprintf(text, sizeof text,
                  "an access of memory at %p that is not "
                  "its own",
                  info->si_addr);
    block->fail(text);
  }
  ::sigaction(signal, &earlierAction, nullptr); // And the access fails again.
}

/// Handles signals of this thread on a stack of its own: those of fibers are
/// small, and may be what has come to an end.
namespace {
class SignalStack {
public:
  SignalStack() : memory(new char[kSize]) {
    static std::once_flag once;
    std::call_once(once, [] {
      struct sigaction action = {};
      action.sa_sigaction = onBadAccess;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
      ::sigaction(SIGSEGV, &action, &earlierAction);
    });
    stack_t stack = {};
    stack.ss_sp = memory.get();
    stack.ss_size = kSize;
    ::sigaltstack(&stack, &earlier);
  }
  ~SignalStack() { ::sigaltstack(&earlier, nullptr); }

private:
  static constexpr size_t kSize = 64 << 10;
  std::unique_ptr<char[]> memory;
  stack_t earlier;
};
} // namespace

#endif

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

static std::mutex mutex;
/// Blocks that are not running, with the stacks that they have.
static std::vector<std::unique_ptr<Block>> &spareBlocks() {
  static auto *blocks = new std::vector<std::unique_ptr<Block>>;
  return *blocks;
}

static std::unique_ptr<Block> takeBlock() {
  std::lock_guard lock(mutex);
  auto &spare = spareBlocks();
  if (spare.empty())
    return std::make_unique<Block>();
  std::unique_ptr<Block> block = std::move(spare.back());
  spare.pop_back();
  return block;
}

static void giveBack(std::unique_ptr<Block> block) {
  std::lock_guard lock(mutex);
  spareBlocks().push_back(std::move(block));
}

static Size3 placeOf(uint64_t number, const Size3 &grid) {
  return {uint32_t(number % grid.x), uint32_t(number / grid.x % grid.y),
          uint32_t(number / grid.x / grid.y)};
}

std::string runKernel(const Launch &launch, const Settings &settings) {
  uint64_t count = launch.grid.count();
  std::atomic<uint64_t> next = 0;
  std::string error;
  auto work = [&] {
    SignalStack signals;
    std::unique_ptr<Block> block = takeBlock();
    for (uint64_t i; (i = next++) < count;) {
      uint64_t number = settings.descending ? count - 1 - i : i;
      std::string problem =
          block->run(launch, placeOf(number, launch.grid), settings);
      if (problem.empty())
        continue;
      std::lock_guard lock(mutex);
      error = problem;
      next = count;
    }
    giveBack(std::move(block));
  };
  std::vector<std::thread> helpers;
  for (uint64_t i = 1; i < std::min<uint64_t>(settings.threads, count); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  return error;
}

} // namespace tinh::fake
