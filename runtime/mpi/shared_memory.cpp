//===- shared_memory.cpp - Memory of all ranks of a machine ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "shared_memory.h"

#include "group.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <linux/futex.h>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tinh::mpi {

namespace {

// Ranks that share a core wait for it each time they wait for one another: many
// and large slots let them go on alone. All of them together stay within what
// containers have of such memory (Docker: 64 MiB); more ranks than have the
// smallest slots in that, 64, send messages.
constexpr uint64_t kSlots = 8;
constexpr size_t kLargestSlot = 1 << 20, kSmallestSlot = 64 << 10;
constexpr size_t kMostBytes = 32 << 20;

constexpr size_t kLine = 64, kPage = 4096;

} // namespace

/// What a rank writes; its slots follow.
struct alignas(kLine) SharedMemory::Segment {
  alignas(kLine) std::atomic<uint64_t> rounds[3] = {}; ///< By phase.
  /// 1 if it sleeps, or is about to: whoever changes that to 0 wakes it.
  alignas(kLine) std::atomic<uint32_t> sleeps = 0;
  alignas(kLine) tinh_collective_t started[kSlots] = {}; ///< By slot.
};

#if defined(__SSE2__)
void copy_to_shared(std::byte *to, const std::byte *from, size_t size) {
  constexpr size_t kVector = sizeof(__m128i);
  size_t ahead =
      (kVector - reinterpret_cast<uintptr_t>(to) % kVector) % kVector;
  ahead = std::min(ahead, size);
  std::memcpy(to, from, ahead);
  size_t end = ahead + (size - ahead) / kVector * kVector;
  for (size_t at = ahead; at < end; at += kVector)
    _mm_stream_si128(
        reinterpret_cast<__m128i *>(to + at),
        _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + at)));
  std::memcpy(to + end, from + end, size - end);
  _mm_sfence();
}
#else
void copy_to_shared(std::byte *to, const std::byte *from, size_t size) {
  std::memcpy(to, from, size);
}
#endif

std::unique_ptr<SharedMemory> SharedMemory::allocate(MPI_Comm machine) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  std::unique_ptr<SharedMemory> memory(new SharedMemory());
  int num_ranks = 0;
  check(MPI_Comm_rank(machine, &memory->rank), "MPI_Comm_rank");
  check(MPI_Comm_size(machine, &num_ranks), "MPI_Comm_size");
  size_t most =
      kMostBytes / static_cast<size_t>(num_ranks) / kSlots / kLine * kLine;
  if (most < kSmallestSlot)
    return nullptr;
  memory->bytes_of_slot = std::min(most, kLargestSlot);
  // Whole pages, so that each is near to the CPU of its rank.
  size_t bytes = kLine + sizeof(Segment) + kSlots * memory->bytes_of_slot;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  void *base = nullptr;
  int is_allocated =
      MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL,
                              machine, &base, &memory->window) == MPI_SUCCESS;
  check(
      MPI_Allreduce(MPI_IN_PLACE, &is_allocated, 1, MPI_INT, MPI_MIN, machine),
      "MPI_Allreduce");
  // Where some ranks have it, they keep it: to free it they would wait for
  // those that have none.
  if (!is_allocated)
    return nullptr;
  for (int rank = 0; rank < num_ranks; ++rank) {
    MPI_Aint size = 0;
    int unit = 0;
    check(MPI_Win_shared_query(memory->window, rank, &size, &unit, &base),
          "MPI_Win_shared_query");
    auto at = reinterpret_cast<uintptr_t>(base);
    memory->segments.push_back(
        reinterpret_cast<Segment *>((at + kLine - 1) / kLine * kLine));
  }
  new (&memory->own()) Segment;
  check(MPI_Barrier(machine), "MPI_Barrier"); // Nobody reads it before.
  return memory;
}

void SharedMemory::release() { check(MPI_Win_free(&window), "MPI_Win_free"); }

uint64_t SharedMemory::rounds(Phase phase) const {
  return own().rounds[static_cast<size_t>(phase)].load(
      std::memory_order_relaxed);
}

bool SharedMemory::have_all(Phase phase, uint64_t rounds) const {
  return std::ranges::all_of(segments, [&](const Segment *segment) {
    return segment->rounds[static_cast<size_t>(phase)].load(
               std::memory_order_acquire) >= rounds;
  });
}

bool SharedMemory::is_free(uint64_t round) const {
  return round < kSlots || have_all(Phase::read, round + 1 - kSlots);
}

std::byte *SharedMemory::slot(int rank, uint64_t round) const {
  Segment *segment = segments[static_cast<size_t>(rank)];
  return reinterpret_cast<std::byte *>(segment + 1) +
         round % kSlots * bytes_of_slot;
}

tinh_collective_t &SharedMemory::started(int rank, uint64_t round) const {
  return segments[static_cast<size_t>(rank)]->started[round % kSlots];
}

void SharedMemory::advance(Phase phase) {
  // Sequentially consistent, as is what wake() reads, and the fence between a
  // sleeper's announcement and its last look: either it sees the new number, or
  // this rank sees that it sleeps.
  own().rounds[static_cast<size_t>(phase)].fetch_add(1);
  for (int other = 0; other < static_cast<int>(segments.size()); ++other)
    if (other != rank)
      wake(other);
}

void SharedMemory::announce() {
  own().sleeps.store(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void SharedMemory::retract() {
  own().sleeps.store(0, std::memory_order_relaxed);
}

void SharedMemory::sleep(std::chrono::milliseconds most) {
  timespec time = {most.count() / 1000, most.count() % 1000 * 1000000};
  syscall(SYS_futex, &own().sleeps, FUTEX_WAIT, 1, &time, nullptr, 0);
  retract();
}

void SharedMemory::wake(int other) {
  std::atomic<uint32_t> &sleeps = segments[static_cast<size_t>(other)]->sleeps;
  if (sleeps.load() != 0 && sleeps.exchange(0) != 0)
    syscall(SYS_futex, &sleeps, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace tinh::mpi
