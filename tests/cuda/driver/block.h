//===- block.h - Runs the blocks of an emulated kernel ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block runs on one host thread, with a fiber for each of its threads. One
// goes on until it must wait for others; then the next one that can runs, in
// the order of the settings. So without a barrier that is needed, one thread
// is far ahead of the others.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_BLOCK_H
#define TINH_TESTS_CUDA_DRIVER_BLOCK_H

#include "compiler/Codegen/CUDA/Emulate/EmulatorAbi.h"
#include "fiber.h"
#include "races.h"
#include "settings.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace tinh::fake {

struct Size3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// One kernel on one grid.
struct Launch {
  const emulator::Kernel *code = nullptr;
  Size3 grid, block;
  uint64_t dynamicShared = 0;
  std::vector<void *> parameters; // The address of each one.
};

/// An asynchronous copy that is on its way.
struct PendingCopy {
  char *to;
  const char *from;
  uint32_t size, read;
};

struct Thread {
  enum class State { Ready, Waiting, Done };
  void *fiber = nullptr;
  State state = State::Ready;
  uint32_t index = 0;
  uint32_t waitsAt = 0; // The site of a barrier.
  const char *waitsFor = "";
  std::vector<PendingCopy> open;                // Copies of no group yet.
  std::vector<std::vector<PendingCopy>> groups; // From the oldest on.
};

/// Lanes of a warp that do something together.
struct Group {
  const char *operation = nullptr; // Null: there is none.
  uint32_t mask = 0, arrived = 0;
  std::array<const void *, 32> inputs;
  std::array<void *, 32> outputs;
  void (*complete)(Group &) = nullptr;
};

class Block {
public:
  /// Runs block `index` of the grid; says what is wrong with it, if anything.
  std::string run(const Launch &launch, Size3 index, const Settings &settings);

  /// The block of the fiber that is running; null outside of one.
  static Block *running();
  static Block &current() { return *running(); }

  // For the functions of the emulator's ABI, on fibers.
  uint32_t read(emulator::Register which) const;
  char *shared() { return sharedMemory; }
  Thread &thread() { return *active; }
  /// Whether the settings leave out this site of the kernel.
  bool isIgnored(bool isBarrier, uint32_t site) const;
  /// Waits for all threads.
  void waitAtBarrier(uint32_t site, uint32_t barrier);
  /// Waits for the lanes in `mask`; the last one runs `complete`, which finds
  /// the operands of each lane.
  void runTogether(const char *operation, uint32_t mask, const void *input,
                   void *output, void (*complete)(Group &));
  bool copiesEarly() const { return settings->earlyCopies; }
  /// Whether these bytes are the block's shared memory.
  bool isShared(const void *address, uint64_t size) const;
  /// What a thread accesses in shared memory; ends the block if it is not there
  /// or races.
  void noteRead(const void *address, uint32_t size);
  void noteWrite(const void *address, uint32_t size);
  /// Ends the block.
  [[noreturn]] void fail(const std::string &message);

private:
  static void startThread();
  void prepare(const Launch &launch, Size3 index);
  void schedule();
  /// Runs each thread that can go on; false if there was none.
  bool runThreads();
  void wait(const char *what);
  std::string describeDeadlock() const;
  void checkSharedMemory();
  uint64_t sharedOffset(const void *address, uint32_t size);

  const Settings *settings = nullptr;
  const Launch *kernel = nullptr;
  Size3 blockIndex;
  Stacks stacks;
  std::vector<Thread> threads;
  std::vector<std::vector<Group>> warps;
  std::map<uint32_t, std::vector<Thread *>> barriers; // Those that wait.
  std::vector<char> memory;
  char *sharedMemory = nullptr;
  uint64_t sharedSize = 0;
  RaceDetector races;
  Thread *active = nullptr;
  uint32_t live = 0;
  void *scheduler = nullptr;
  std::string error;
};

/// Runs all blocks, on several host threads; says what went wrong, if anything.
std::string runKernel(const Launch &launch, const Settings &settings);

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_BLOCK_H
