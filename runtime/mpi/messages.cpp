//===- messages.cpp - A collective, message by message --------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "messages.h"

#include "elements.h"

#include <cstring>

namespace tinh::mpi {

namespace {

/// The type of MPI whose elements have as many bytes. Nothing is computed by
/// MPI, which need not know more of them.
MPI_Datatype message_type(tinh_dtype_t dtype) {
  switch (element_size(dtype)) {
  case 8:
    return MPI_UINT64_T;
  case 4:
    return MPI_UINT32_T;
  case 2:
    return MPI_UINT16_T;
  default:
    return MPI_UINT8_T;
  }
}

std::unique_ptr<std::byte[]> allocate(size_t count, tinh_dtype_t dtype) {
  return std::make_unique_for_overwrite<std::byte[]>(count *
                                                     element_size(dtype));
}

} // namespace

int Messages::total() const {
  auto count = static_cast<int>(what.count);
  return what.kind == TINH_REDUCE_SCATTER ? count * group.num_ranks : count;
}

const void *Messages::sent() {
  if (!is_rounded())
    return what.input;
  auto count = static_cast<size_t>(total());
  outgoing = allocate(count, what.wire);
  round_to_bf16(static_cast<const float *>(what.input), count,
                reinterpret_cast<uint16_t *>(outgoing.get()));
  return outgoing.get();
}

void Messages::begin() {
  MPI_Datatype type = message_type(what.wire);
  auto count = static_cast<int>(what.count);
  switch (what.kind) {
  case TINH_ALL_REDUCE:
  case TINH_REDUCE_SCATTER:
    return begin_reduction();
  case TINH_ALL_GATHER:
    return check(MPI_Iallgather(what.input, count, type, what.output, count,
                                type, group.scatter, &request),
                 "MPI_Iallgather");
  case TINH_BROADCAST:
    if (group.rank == static_cast<int>(what.root) && what.input != what.output)
      std::memcpy(what.output, what.input,
                  what.count * element_size(what.dtype));
    return check(MPI_Ibcast(what.output, count, type,
                            static_cast<int>(what.root), group.scatter,
                            &request),
                 "MPI_Ibcast");
  }
}

void Messages::begin_reduction() {
  MPI_Datatype type = message_type(what.wire);
  auto ranks = static_cast<size_t>(group.num_ranks);
  auto count = static_cast<size_t>(total());
  const void *input = sent();
  gathers = what.kind == TINH_ALL_REDUCE && !is_small(group.num_ranks);
  if (what.kind == TINH_ALL_REDUCE && !gathers) {
    incoming = allocate(count * ranks, what.wire);
    return check(MPI_Iallgather(input, total(), type, incoming.get(), total(),
                                type, group.scatter, &request),
                 "MPI_Iallgather");
  }
  auto own = static_cast<int>(piece_of(group.rank).count);
  incoming = allocate(ranks * static_cast<size_t>(own), what.wire);
  for (int rank = 0; rank < group.num_ranks; ++rank) {
    counts.push_back(static_cast<int>(piece_of(rank).count));
    offsets.push_back(static_cast<int>(piece_of(rank).offset));
    own_counts.push_back(own);
    own_offsets.push_back(own * rank);
  }
  check(MPI_Ialltoallv(input, counts.data(), offsets.data(), type,
                       incoming.get(), own_counts.data(), own_offsets.data(),
                       type, group.scatter, &request),
        "MPI_Ialltoallv");
}

bool Messages::has_arrived() {
  int is_complete = 0;
  check(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE), "MPI_Test");
  return is_complete;
}

bool Messages::advance(bool may_gather) {
  Stage before = stage;
  if (stage == Stage::scattering && has_arrived())
    end_first_message();
  if (stage == Stage::reduced && may_gather)
    begin_gathering();
  if (stage == Stage::gathering && has_arrived())
    end_gathering();
  return stage != before;
}

/// Of what has been received, `count` elements of each rank.
void Messages::reduce_parts(size_t count, void *output) const {
  std::vector<const void *> parts;
  size_t size = count * element_size(what.wire);
  for (size_t rank = 0; rank < static_cast<size_t>(group.num_ranks); ++rank)
    parts.push_back(incoming.get() + rank * size);
  reduce(what.wire, what.reduction, parts, count, output);
}

void Messages::end_first_message() {
  stage = gathers ? Stage::reduced : Stage::done;
  if (!is_reduction())
    return;
  outgoing.reset();
  bool is_divided = gathers || what.kind == TINH_REDUCE_SCATTER;
  size_t count = is_divided ? piece_of(group.rank).count : what.count;
  // Pieces are sent as they are, so that all ranks round them alike.
  bool is_final = !gathers && !is_rounded();
  void *target = what.output;
  if (!is_final) {
    results = allocate(count, what.wire);
    target = results.get();
  }
  reduce_parts(count, target);
  incoming.reset();
  if (!gathers && is_rounded())
    extend_bf16(reinterpret_cast<const uint16_t *>(results.get()), count,
                static_cast<float *>(what.output));
}

void Messages::begin_gathering() {
  stage = Stage::gathering;
  MPI_Datatype type = message_type(what.wire);
  void *target = what.output;
  if (is_rounded()) {
    incoming = allocate(what.count, what.wire);
    target = incoming.get();
  }
  check(MPI_Iallgatherv(results.get(),
                        static_cast<int>(piece_of(group.rank).count), type,
                        target, counts.data(), offsets.data(), type,
                        group.gather, &request),
        "MPI_Iallgatherv");
}

void Messages::end_gathering() {
  stage = Stage::done;
  if (is_rounded())
    extend_bf16(reinterpret_cast<const uint16_t *>(incoming.get()), what.count,
                static_cast<float *>(what.output));
  incoming.reset();
  results.reset();
}

} // namespace tinh::mpi
