//===- rounds.cpp - A collective through shared memory --------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "rounds.h"

#include "elements.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tinh::mpi {

namespace {

tinh_collective_t without_addresses(tinh_collective_t what) {
  what.input = nullptr;
  what.output = nullptr;
  return what;
}

} // namespace

Rounds::Rounds(const tinh_collective_t &collective, const Group &group,
               SharedMemory &memory, uint64_t first)
    : Operation(collective), group(group), memory(memory), first(first),
      size(element_size(collective.communication_dtype)),
      in_round(memory.slot_size() / size) {
  if (what.kind == TINH_REDUCE_SCATTER)
    in_round =
        std::max(in_round / static_cast<size_t>(group.num_ranks), size_t(1));
  behind = first + std::max((what.count + in_round - 1) / in_round,
                            uint64_t(1)); // Of nothing, too.
}

/// A round at most: between two of them the communicator looks after the other
/// ranks.
bool Rounds::advance(bool) {
  bool has_moved = go_on(Phase::read);
  has_moved |= go_on(Phase::reduced);
  has_moved |= go_on(Phase::written);
  return has_moved;
}

/// Does this phase of the next round, if that is one of this collective and the
/// other ranks are so far.
bool Rounds::go_on(Phase phase) {
  uint64_t round = memory.rounds(phase);
  if (round < first || round >= behind)
    return false;
  switch (phase) {
  case Phase::written:
    if (!memory.is_free(round))
      return false;
    if (round == first)
      memory.started(group.rank, first) = without_addresses(what);
    write(round);
    break;
  case Phase::reduced:
    if (!memory.have_all(Phase::written, round + 1))
      return false;
    if (round == first)
      compare_started();
    reduce_slots(round);
    break;
  case Phase::read:
    if (sends_results() ? !memory.have_all(Phase::reduced, round + 1)
                        : memory.rounds(Phase::reduced) <= round)
      return false;
    read(round);
    break;
  }
  memory.advance(phase);
  return true;
}

/// Slots of another collective have other elements in other places. All ranks
/// say the same.
void Rounds::compare_started() const {
  const tinh_collective_t &expected = memory.started(0, first);
  for (int rank = 1; rank < group.num_ranks; ++rank)
    if (const tinh_collective_t &found = memory.started(rank, first);
        !are_alike(found, expected))
      throw Failure("rank " + std::to_string(rank) + " has started the " +
                    describe_in_full(found) + " where rank 0 has started the " +
                    describe_in_full(expected) +
                    "; all ranks have to start the same collectives in the "
                    "same order");
}

Operation::Piece Rounds::elements(uint64_t round) const {
  size_t offset = (round - first) * in_round;
  return {offset, std::min(in_round, what.count - offset)};
}

void Rounds::send(size_t offset, size_t count, std::byte *to) const {
  if (!is_rounded())
    return copy_to_shared(to, input(offset), count * size);
  uint16_t rounded[2048];
  for (size_t at = 0; at < count; at += std::size(rounded)) {
    size_t n = std::min(count - at, std::size(rounded));
    round_to_bf16(static_cast<const float *>(what.input) + offset + at, n,
                  rounded);
    copy_to_shared(to + at * size, reinterpret_cast<std::byte *>(rounded),
                   n * size);
  }
}

void Rounds::receive(const std::byte *from, size_t offset, size_t count) const {
  if (is_rounded())
    extend_bf16(reinterpret_cast<const uint16_t *>(from), count,
                static_cast<float *>(what.output) + offset);
  else if (from != output(offset))
    std::memcpy(output(offset), from, count * size);
}

//===----------------------------------------------------------------------===//
// What a rank writes into its slot
//===----------------------------------------------------------------------===//

void Rounds::write(uint64_t round) const {
  std::byte *to = memory.slot(group.rank, round);
  auto [offset, count] = elements(round);
  switch (what.kind) {
  case TINH_ALL_GATHER:
    return send(offset, count, to);
  case TINH_BROADCAST:
    if (is_root())
      send(offset, count, to);
    return;
  case TINH_REDUCE_SCATTER:
    for (int rank = 0; rank < group.num_ranks; ++rank)
      if (!reads_input(rank))
        send(static_cast<size_t>(rank) * what.count + offset, count,
             to + static_cast<size_t>(rank) * count * size);
    return;
  case TINH_ALL_REDUCE:
    if (!sends_results())
      return send(offset, count, to);
    for (int rank = 0; rank < group.num_ranks; ++rank)
      if (Piece part = piece(count, rank, group.num_ranks); !reads_input(rank))
        send(offset + part.offset, part.count, to + part.offset * size);
    return;
  }
}

//===----------------------------------------------------------------------===//
// What it reduces
//===----------------------------------------------------------------------===//

/// Its own input, which lies at element `own` of it, and that in the slots of
/// all others, `in_slot` elements from their begin.
void Rounds::reduce_parts(uint64_t round, size_t own, size_t in_slot,
                          size_t count, void *to) const {
  std::vector<const void *> parts;
  for (int rank = 0; rank < group.num_ranks; ++rank)
    parts.push_back(rank == group.rank && !is_rounded()
                        ? input(own)
                        : memory.slot(rank, round) + in_slot * size);
  reduce(what.communication_dtype, what.reduction, parts, count, to);
}

void Rounds::reduce_slots(uint64_t round) {
  std::byte *slot = memory.slot(group.rank, round);
  auto [offset, count] = elements(round);
  auto rank = static_cast<size_t>(group.rank);
  if (what.kind == TINH_REDUCE_SCATTER) {
    std::byte *row = slot + rank * count * size;
    void *to = is_rounded() ? row : output(offset);
    reduce_parts(round, rank * what.count + offset, rank * count, count, to);
    if (is_rounded())
      receive(row, offset, count);
  } else if (sends_results()) {
    Piece part = piece(count, group.rank, group.num_ranks);
    std::byte *result = slot + part.offset * size;
    std::byte *to = is_rounded() ? result : output(offset + part.offset);
    reduce_parts(round, offset + part.offset, part.offset, part.count, to);
    if (!is_rounded())
      copy_to_shared(result, to, part.count * size);
  } else if (what.kind == TINH_ALL_REDUCE) {
    std::vector<std::byte> result(is_rounded() ? count * size : 0);
    void *to = is_rounded() ? result.data() : output(offset);
    reduce_parts(round, offset, 0, count, to);
    if (is_rounded())
      receive(result.data(), offset, count);
  }
}

//===----------------------------------------------------------------------===//
// What it reads of all slots
//===----------------------------------------------------------------------===//

void Rounds::read(uint64_t round) const {
  auto [offset, count] = elements(round);
  if (what.kind == TINH_BROADCAST)
    return receive(is_root() ? input(offset)
                             : memory.slot(static_cast<int>(what.root), round),
                   offset, count);
  for (int rank = 0; rank < group.num_ranks; ++rank) {
    const std::byte *from = memory.slot(rank, round);
    if (what.kind == TINH_ALL_GATHER)
      receive(rank == group.rank ? input(offset) : from,
              static_cast<size_t>(rank) * what.count + offset, count);
    else if (sends_results() && !reads_input(rank))
      if (Piece part = piece(count, rank, group.num_ranks); part.count > 0)
        receive(from + part.offset * size, offset + part.offset, part.count);
  }
}

} // namespace tinh::mpi
