//===- messages.cpp - A collective, message by message --------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "messages.h"

#include "elements.h"

#include <algorithm>
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

std::vector<tinh_collective_t> divide(const tinh_collective_t &collective,
                                      int num_ranks, uint64_t in_part) {
  bool has_parts = collective.kind == TINH_ALL_GATHER ||
                   collective.kind == TINH_REDUCE_SCATTER;
  uint64_t most =
      has_parts ? in_part / static_cast<uint64_t>(num_ranks) : in_part;
  most = std::max(most, uint64_t(1));
  size_t size = element_size(collective.dtype);
  std::vector<tinh_collective_t> parts;
  uint64_t at = 0;
  do {
    tinh_collective_t &part = parts.emplace_back(collective);
    part.count = std::min(most, collective.count - at);
    part.input = static_cast<const std::byte *>(collective.input) + at * size;
    part.output = static_cast<std::byte *>(collective.output) + at * size;
    at += part.count;
  } while (at < collective.count);
  return parts;
}

int Messages::total() const {
  auto count = static_cast<int>(what.count);
  return what.kind == TINH_REDUCE_SCATTER ? count * group.num_ranks : count;
}

const void *Messages::sent() {
  bool has_rows = is_reduction() && is_strided();
  if (!is_rounded() && !has_rows)
    return what.input;
  auto count = static_cast<size_t>(total());
  size_t row = has_rows ? what.count : count,
         size = element_size(what.communication_dtype);
  outgoing = allocate(count, what.communication_dtype);
  const auto *from = static_cast<const std::byte *>(what.input);
  for (size_t at = 0; at < count; at += row) {
    std::byte *to = outgoing.get() + at * size;
    if (is_rounded())
      round_to_bf16(reinterpret_cast<const float *>(from), row,
                    reinterpret_cast<uint16_t *>(to));
    else
      std::memcpy(to, from, row * size);
    from += stride * element_size(what.dtype);
  }
  return outgoing.get();
}

void Messages::begin() {
  MPI_Datatype type = message_type(what.communication_dtype);
  auto count = static_cast<int>(what.count);
  switch (what.kind) {
  case TINH_ALL_REDUCE:
  case TINH_REDUCE_SCATTER:
    return begin_reduction();
  case TINH_ALL_GATHER:
    return begin_gather();
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

void Messages::begin_gather() {
  MPI_Datatype type = message_type(what.communication_dtype);
  auto count = static_cast<int>(what.count);
  if (!is_strided())
    return check(MPI_Iallgather(what.input, count, type, what.output, count,
                                type, group.scatter, &request),
                 "MPI_Iallgather");
  MPI_Datatype elements = MPI_DATATYPE_NULL, part = MPI_DATATYPE_NULL;
  auto extent =
      static_cast<MPI_Aint>(stride * element_size(what.communication_dtype));
  check(MPI_Type_contiguous(count, type, &elements), "MPI_Type_contiguous");
  check(MPI_Type_create_resized(elements, 0, extent, &part),
        "MPI_Type_create_resized");
  check(MPI_Type_commit(&part), "MPI_Type_commit");
  check(MPI_Iallgather(what.input, count, type, what.output, 1, part,
                       group.scatter, &request),
        "MPI_Iallgather");
  // The message keeps what it needs of them.
  check(MPI_Type_free(&part), "MPI_Type_free");
  check(MPI_Type_free(&elements), "MPI_Type_free");
}

void Messages::begin_reduction() {
  MPI_Datatype type = message_type(what.communication_dtype);
  auto ranks = static_cast<size_t>(group.num_ranks);
  auto count = static_cast<size_t>(total());
  const void *input = sent();
  gathers = what.kind == TINH_ALL_REDUCE && !is_small(group.num_ranks);
  if (what.kind == TINH_ALL_REDUCE && !gathers) {
    incoming = allocate(count * ranks, what.communication_dtype);
    return check(MPI_Iallgather(input, total(), type, incoming.get(), total(),
                                type, group.scatter, &request),
                 "MPI_Iallgather");
  }
  auto own = static_cast<int>(piece_of(group.rank).count);
  incoming =
      allocate(ranks * static_cast<size_t>(own), what.communication_dtype);
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
  size_t size = count * element_size(what.communication_dtype);
  for (size_t rank = 0; rank < static_cast<size_t>(group.num_ranks); ++rank)
    parts.push_back(incoming.get() + rank * size);
  reduce(what.communication_dtype, what.reduction, parts, count, output);
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
    results = allocate(count, what.communication_dtype);
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
  MPI_Datatype type = message_type(what.communication_dtype);
  void *target = what.output;
  if (is_rounded()) {
    incoming = allocate(what.count, what.communication_dtype);
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
