//===- operation.cpp - A collective, message by message -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operation.h"

#include "elements.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace tinh::mpi {

namespace {

/// Up to how many bytes of all inputs together are sent to all ranks: what a
/// second message costs (its latency, by this many ranks' bandwidth).
constexpr uint64_t kSmall = 32 << 10;

const char *name(tinh_dtype_t dtype) {
  static constexpr const char *kNames[] = {
      "bool",   "i8",         "u8",        "i16",      "u16",
      "i32",    "u32",        "i64",       "u64",      "f16",
      "bf16",   "f32",        "f64",       "f8e4m3fn", "f8e4m3fnuz",
      "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu", "f4e2m1fn"};
  return static_cast<size_t>(dtype) < std::size(kNames) ? kNames[dtype]
                                                        : "an unknown type";
}

const char *name(tinh_collective_kind_t kind) {
  switch (kind) {
  case TINH_ALL_REDUCE:
    return "all-reduce";
  case TINH_ALL_GATHER:
    return "all-gather";
  case TINH_REDUCE_SCATTER:
    return "reduce-scatter";
  case TINH_BROADCAST:
    return "broadcast";
  }
  return "collective of an unknown kind";
}

std::string describe_collective(const tinh_collective_t &what) {
  return std::string(name(what.kind)) + " of " + std::to_string(what.count) +
         " elements of " + name(what.dtype);
}

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

std::string find_mistake(const tinh_collective_t &what, int num_ranks) {
  auto refuse = [&](const std::string &why) {
    return describe_collective(what) + ": " + why;
  };
  bool reduces =
      what.kind == TINH_ALL_REDUCE || what.kind == TINH_REDUCE_SCATTER;
  if (what.kind > TINH_BROADCAST || element_size(what.dtype) == 0)
    return refuse("there is no such one");
  if (reduces && (what.reduction > TINH_REDUCE_MAX ||
                  !is_reducible(what.dtype, what.reduction)))
    return refuse("elements of this type are not reduced so");
  if (what.wire != what.dtype && !(what.dtype == TINH_DTYPE_F32 &&
                                   what.wire == TINH_DTYPE_BF16 && reduces))
    return refuse(std::string("it cannot be sent as ") + name(what.wire) +
                  ": reductions of f32 may be, as bf16");
  if (what.kind == TINH_BROADCAST &&
      what.root >= static_cast<uint32_t>(num_ranks))
    return refuse("its root is rank " + std::to_string(what.root) + " of " +
                  std::to_string(num_ranks));
  uint64_t parts =
      what.kind == TINH_ALL_GATHER || what.kind == TINH_REDUCE_SCATTER
          ? static_cast<uint64_t>(num_ranks)
          : 1;
  if (what.count > INT_MAX / parts)
    return refuse("MPI counts up to 2147483647 elements of all ranks");
  return "";
}

std::string Operation::describe() const { return describe_collective(what); }

int Operation::total() const {
  auto count = static_cast<int>(what.count);
  return what.kind == TINH_REDUCE_SCATTER ? count * group.num_ranks : count;
}

Operation::Piece Operation::piece(int rank) const {
  int rest = total() % group.num_ranks, each = total() / group.num_ranks;
  return {each * rank + std::min(rank, rest), each + (rank < rest ? 1 : 0)};
}

const void *Operation::sent() {
  if (!is_rounded())
    return what.input;
  auto count = static_cast<size_t>(total());
  outgoing = allocate(count, what.wire);
  round_to_bf16(static_cast<const float *>(what.input), count,
                reinterpret_cast<uint16_t *>(outgoing.get()));
  return outgoing.get();
}

void Operation::begin() {
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

void Operation::begin_reduction() {
  MPI_Datatype type = message_type(what.wire);
  auto ranks = static_cast<size_t>(group.num_ranks);
  auto count = static_cast<size_t>(total());
  const void *input = sent();
  gathers = what.kind == TINH_ALL_REDUCE &&
            count * ranks * element_size(what.wire) > kSmall;
  if (what.kind == TINH_ALL_REDUCE && !gathers) {
    incoming = allocate(count * ranks, what.wire);
    return check(MPI_Iallgather(input, total(), type, incoming.get(), total(),
                                type, group.scatter, &request),
                 "MPI_Iallgather");
  }
  int own = piece(group.rank).count;
  incoming = allocate(ranks * static_cast<size_t>(own), what.wire);
  for (int rank = 0; rank < group.num_ranks; ++rank) {
    counts.push_back(piece(rank).count);
    offsets.push_back(piece(rank).offset);
    own_counts.push_back(own);
    own_offsets.push_back(own * rank);
  }
  check(MPI_Ialltoallv(input, counts.data(), offsets.data(), type,
                       incoming.get(), own_counts.data(), own_offsets.data(),
                       type, group.scatter, &request),
        "MPI_Ialltoallv");
}

bool Operation::has_arrived() {
  int is_complete = 0;
  check(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE), "MPI_Test");
  return is_complete;
}

void Operation::advance(bool may_gather) {
  if (stage == Stage::scattering && has_arrived())
    end_first_message();
  if (stage == Stage::reduced && may_gather)
    begin_gathering();
  if (stage == Stage::gathering && has_arrived())
    end_gathering();
}

void Operation::end_first_message() {
  stage = gathers ? Stage::reduced : Stage::done;
  if (!is_reduction())
    return;
  outgoing.reset();
  auto count = static_cast<size_t>(gathers || what.kind == TINH_REDUCE_SCATTER
                                       ? piece(group.rank).count
                                       : total());
  // Pieces are sent as they are, so that all ranks round them alike.
  bool is_final = !gathers && !is_rounded();
  void *target = what.output;
  if (!is_final) {
    results = allocate(count, what.wire);
    target = results.get();
  }
  reduce(what.wire, what.reduction, incoming.get(), count,
         static_cast<uint32_t>(group.num_ranks), count, target);
  incoming.reset();
  if (!gathers && is_rounded())
    extend_bf16(reinterpret_cast<const uint16_t *>(results.get()), count,
                static_cast<float *>(what.output));
}

void Operation::begin_gathering() {
  stage = Stage::gathering;
  MPI_Datatype type = message_type(what.wire);
  void *target = what.output;
  if (is_rounded()) {
    incoming = allocate(what.count, what.wire);
    target = incoming.get();
  }
  check(MPI_Iallgatherv(results.get(), piece(group.rank).count, type, target,
                        counts.data(), offsets.data(), type, group.gather,
                        &request),
        "MPI_Iallgatherv");
}

void Operation::end_gathering() {
  stage = Stage::done;
  if (is_rounded())
    extend_bf16(reinterpret_cast<const uint16_t *>(incoming.get()), what.count,
                static_cast<float *>(what.output));
  incoming.reset();
  results.reset();
}

} // namespace tinh::mpi
