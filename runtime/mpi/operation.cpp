//===- operation.cpp - A collective on its way ----------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operation.h"

#include "elements.h"

#include <algorithm>

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
  static constexpr const char *kNames[] = {"all-reduce", "all-gather",
                                           "reduce-scatter", "broadcast"};
  return static_cast<size_t>(kind) < std::size(kNames)
             ? kNames[kind]
             : "collective of an unknown kind";
}

const char *name(tinh_reduction_t reduction) {
  static constexpr const char *kNames[] = {"sum", "mean", "maximum"};
  return static_cast<size_t>(reduction) < std::size(kNames)
             ? kNames[reduction]
             : "unknown reduction";
}

bool reduces(const tinh_collective_t &what) {
  return what.kind == TINH_ALL_REDUCE || what.kind == TINH_REDUCE_SCATTER;
}

std::string describe_collective(const tinh_collective_t &what) {
  return std::string(name(what.kind)) + " of " + std::to_string(what.count) +
         " elements of " + name(what.dtype);
}

} // namespace

std::string find_mistake(const tinh_collective_t &what, int num_ranks) {
  auto refuse = [&](const std::string &why) {
    return describe_collective(what) + ": " + why;
  };
  if (what.kind > TINH_BROADCAST || element_size(what.dtype) == 0)
    return refuse("there is no such one");
  if (reduces(what) && (what.reduction > TINH_REDUCE_MAX ||
                        !is_reducible(what.dtype, what.reduction)))
    return refuse("elements of this type are not reduced so");
  if (what.communication_dtype != what.dtype &&
      !(what.dtype == TINH_DTYPE_F32 &&
        what.communication_dtype == TINH_DTYPE_BF16 && reduces(what)))
    return refuse(std::string("it cannot be sent as ") +
                  name(what.communication_dtype) +
                  ": reductions of f32 may be, as bf16");
  if (what.kind == TINH_BROADCAST &&
      what.root >= static_cast<uint32_t>(num_ranks))
    return refuse("its root is rank " + std::to_string(what.root) + " of " +
                  std::to_string(num_ranks));
  return "";
}

bool are_alike(const tinh_collective_t &a, const tinh_collective_t &b) {
  return a.kind == b.kind && a.dtype == b.dtype &&
         a.communication_dtype == b.communication_dtype && a.count == b.count &&
         (!reduces(a) || a.reduction == b.reduction) &&
         (a.kind != TINH_BROADCAST || a.root == b.root);
}

std::string describe_in_full(const tinh_collective_t &what) {
  std::string text = describe_collective(what);
  if (what.kind == TINH_BROADCAST)
    text += " (of rank " + std::to_string(what.root) + ")";
  if (!reduces(what))
    return text;
  text += std::string(" (") + name(what.reduction);
  if (what.communication_dtype != what.dtype)
    text += std::string(", sent as ") + name(what.communication_dtype);
  return text + ")";
}

std::string Operation::describe() const { return describe_collective(what); }

Operation::Piece Operation::piece(size_t total, int rank, int num_ranks) {
  auto ranks = static_cast<size_t>(num_ranks),
       index = static_cast<size_t>(rank);
  size_t rest = total % ranks, each = total / ranks;
  return {each * index + std::min(rest, index), each + (index < rest ? 1 : 0)};
}

bool Operation::is_small(int num_ranks) const {
  return what.kind == TINH_ALL_REDUCE &&
         what.count * element_size(what.communication_dtype) *
                 static_cast<uint64_t>(num_ranks) <=
             kSmall;
}

} // namespace tinh::mpi
