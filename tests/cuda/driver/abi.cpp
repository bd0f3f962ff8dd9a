//===- abi.cpp - What emulated kernels call ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <xmmintrin.h>

using namespace tinh::emulator;
using tinh::fake::Block;
using tinh::fake::Group;
using tinh::fake::PendingCopy;
using tinh::fake::Thread;

#define TINH_EMULATOR __attribute__((visibility("default")))

/// Calls `body` for each lane of the group.
template <typename Body> static void forLanes(const Group &group, Body body) {
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (group.mask >> lane & 1)
      body(lane);
}

template <typename Value>
static const Value &inputOf(const Group &group, uint32_t lane) {
  return *static_cast<const Value *>(group.inputs[lane]);
}

template <typename Value>
static Value &outputOf(const Group &group, uint32_t lane) {
  return *static_cast<Value *>(group.outputs[lane]);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

TINH_EMULATOR uint32_t tinh::emulator::tinh_emu_register(Register which) {
  return Block::current().read(which);
}

TINH_EMULATOR char *tinh::emulator::tinh_emu_shared() {
  return Block::current().shared();
}

TINH_EMULATOR void tinh::emulator::tinh_emu_barrier(uint32_t site,
                                                    uint32_t barrier) {
  Block &block = Block::current();
  if (!block.isIgnored(/*isBarrier=*/true, site))
    block.waitAtBarrier(site, barrier);
}

namespace {
struct ShuffleInput {
  Shuffle mode;
  uint32_t value, lane, clamp;
};
} // namespace

/// The lane whose value `lane` gets, or 32.
static uint32_t sourceLane(const ShuffleInput &input, uint32_t lane) {
  uint32_t segment = input.clamp >> 8 & 31, clamp = input.clamp & 31;
  uint32_t last = (lane & segment) | (clamp & ~segment);
  uint32_t first = lane & segment, offset = input.lane & 31;
  switch (input.mode) {
  case Shuffle::Up:
    return int(lane - offset) >= int(last) ? lane - offset : 32;
  case Shuffle::Down:
    return lane + offset <= last ? lane + offset : 32;
  case Shuffle::Butterfly:
    return (lane ^ offset) <= last ? lane ^ offset : 32;
  case Shuffle::Index: {
    uint32_t source = first | (offset & ~segment);
    return source <= last ? source : 32;
  }
  }
  __builtin_unreachable();
}

TINH_EMULATOR uint64_t tinh::emulator::tinh_emu_shuffle(Shuffle mode,
                                                        uint32_t mask,
                                                        uint32_t value,
                                                        uint32_t lane,
                                                        uint32_t clamp) {
  ShuffleInput input{mode, value, lane, clamp};
  uint64_t result = 0;
  Block::current().runTogether("shfl", mask, &input, &result, [](Group &g) {
    forLanes(g, [&](uint32_t lane) {
      const auto &own = inputOf<ShuffleInput>(g, lane);
      uint32_t source = sourceLane(own, lane);
      bool valid = source < 32;
      if (valid && !(g.mask >> source & 1))
        Block::current().fail("shfl reads a lane that takes no part");
      uint32_t value = inputOf<ShuffleInput>(g, valid ? source : lane).value;
      outputOf<uint64_t>(g, lane) = uint64_t(valid) << 32 | value;
    });
  });
  return result;
}

TINH_EMULATOR uint32_t tinh::emulator::tinh_emu_ballot(uint32_t mask,
                                                       uint32_t predicate) {
  uint32_t ballot = 0;
  Block::current().runTogether("vote", mask, &predicate, &ballot, [](Group &g) {
    uint32_t votes = 0;
    forLanes(g, [&](uint32_t lane) {
      votes |= (inputOf<uint32_t>(g, lane) & 1) << lane;
    });
    forLanes(g, [&](uint32_t lane) { outputOf<uint32_t>(g, lane) = votes; });
  });
  return ballot;
}

TINH_EMULATOR void tinh::emulator::tinh_emu_shared_read(const void *address,
                                                        uint32_t size) {
  Block::current().noteRead(address, size);
}

TINH_EMULATOR void tinh::emulator::tinh_emu_shared_wrote(const void *address,
                                                         uint32_t size) {
  Block::current().noteWrite(address, size);
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

static void perform(const PendingCopy &copy) {
  std::memcpy(copy.to, copy.from, copy.read);
  std::memset(copy.to + copy.read, 0, copy.size - copy.read);
  Block::current().noteWrite(copy.to, copy.size);
}

TINH_EMULATOR void tinh::emulator::tinh_emu_copy_async(void *shared,
                                                       const void *global,
                                                       uint32_t size,
                                                       uint32_t read) {
  Block &block = Block::current();
  if (!block.isShared(shared, size))
    block.fail("cp.async writes outside of shared memory");
  if (reinterpret_cast<uintptr_t>(shared) % size ||
      reinterpret_cast<uintptr_t>(global) % size)
    block.fail("cp.async of " + std::to_string(size) +
               " bytes at an address that is no multiple of them");
  PendingCopy copy{static_cast<char *>(shared),
                   static_cast<const char *>(global), size,
                   std::min(size, read)};
  if (block.copiesEarly()) {
    perform(copy);
    copy.size = copy.read = 0;
  }
  block.thread().open.push_back(copy);
}

TINH_EMULATOR void tinh::emulator::tinh_emu_copy_commit() {
  Thread &thread = Block::current().thread();
  thread.groups.push_back(std::move(thread.open));
  thread.open.clear();
}

TINH_EMULATOR void tinh::emulator::tinh_emu_copy_wait(uint32_t site,
                                                      uint32_t groups) {
  Block &block = Block::current();
  if (block.isIgnored(/*isBarrier=*/false, site))
    return;
  auto &pending = block.thread().groups;
  while (pending.size() > groups) {
    for (const PendingCopy &copy : pending.front())
      perform(copy);
    pending.erase(pending.begin());
  }
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

TINH_EMULATOR uint32_t tinh::emulator::tinh_emu_permute(uint32_t low,
                                                        uint32_t high,
                                                        uint32_t selector) {
  uint64_t bytes = uint64_t(high) << 32 | low;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t select = selector >> (4 * i) & 15;
    uint8_t byte = uint8_t(bytes >> (8 * (select & 7)));
    if (select & 8) // Its sign, eight times.
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t(byte) << (8 * i);
  }
  return result;
}

/// Not inlined: the compiler must not compute it in another rounding mode.
template <typename Float>
__attribute__((noinline)) static Float compute(Rounded operation, Float a,
                                               Float b, Float c) {
  switch (operation) {
  case Rounded::Add:
    return a + b;
  case Rounded::Multiply:
    return a * b;
  case Rounded::Fma:
    return std::fma(a, b, c);
  case Rounded::Divide:
    return a / b;
  case Rounded::Sqrt:
    return std::sqrt(a);
  }
  __builtin_unreachable();
}

template <typename Float>
static Float round(Rounded operation, Rounding rounding, Float a, Float b,
                   Float c) {
  unsigned mode = rounding == Rounding::Zero   ? _MM_ROUND_TOWARD_ZERO
                  : rounding == Rounding::Down ? _MM_ROUND_DOWN
                                               : _MM_ROUND_UP;
  unsigned saved = _mm_getcsr();
  _mm_setcsr((saved & ~unsigned(_MM_ROUND_MASK)) | mode);
  Float result = compute(operation, a, b, c);
  _mm_setcsr(saved);
  return result;
}

TINH_EMULATOR float tinh::emulator::tinh_emu_rounded_f32(Rounded operation,
                                                         Rounding rounding,
                                                         float a, float b,
                                                         float c) {
  return round(operation, rounding, a, b, c);
}

TINH_EMULATOR double tinh::emulator::tinh_emu_rounded_f64(Rounded operation,
                                                          Rounding rounding,
                                                          double a, double b,
                                                          double c) {
  return round(operation, rounding, a, b, c);
}

/// What compilers call to round to bf16, and not all systems have. The result
/// is returned in a register for floats, in its lowest 16 bits.
extern "C" TINH_EMULATOR float __truncsfbf2(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffff) > 0x7f800000)
    bits = bits >> 16 | 0x40; // Stays no number.
  else
    bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  std::memcpy(&value, &bits, 4);
  return value;
}

extern "C" TINH_EMULATOR float __truncdfbf2(double value) {
  // Rounded to odd first, so that rounding twice is rounding once.
  float narrow = float(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  if (double(narrow) != value && std::isfinite(narrow)) {
    if (std::fabs(double(narrow)) > std::fabs(value))
      --bits; // Towards zero.
    bits |= 1;
    std::memcpy(&narrow, &bits, 4);
  }
  return __truncsfbf2(narrow);
}
