//===- collective.cpp - What NCCL computes ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "collective.h"

#include "tinh/runtime.h"

namespace tinh::nccl {

int nccl_type(tinh_dtype_t dtype) {
  switch (dtype) {
  case TINH_DTYPE_I32:
    return kInt32;
  case TINH_DTYPE_I64:
    return kInt64;
  case TINH_DTYPE_F16:
    return kFloat16;
  case TINH_DTYPE_BF16:
    return kBfloat16;
  case TINH_DTYPE_F32:
    return kFloat32;
  case TINH_DTYPE_F64:
    return kFloat64;
  default:
    return -1;
  }
}

static bool is_integer(tinh_dtype_t dtype) {
  return dtype == TINH_DTYPE_I32 || dtype == TINH_DTYPE_I64;
}

static bool reduces(const tinh_collective_t &collective) {
  return collective.kind == TINH_ALL_REDUCE ||
         collective.kind == TINH_REDUCE_SCATTER;
}

std::string describe(const tinh_collective_t &collective, uint64_t number) {
  static constexpr const char *kKinds[] = {"all-reduce", "all-gather",
                                           "reduce-scatter", "broadcast"};
  return std::string(kKinds[collective.kind]) + " " + std::to_string(number) +
         " (" + std::to_string(collective.count) + " elements)";
}

static const char *problem(const tinh_collective_t &c, uint32_t num_ranks) {
  if (c.kind > TINH_BROADCAST || c.reduction > TINH_REDUCE_MAX ||
      tinh_dtype_size(c.dtype) == 0)
    return "there is no such collective";
  if (c.kind == TINH_BROADCAST && c.root >= num_ranks)
    return "the root of a broadcast is no rank";
  if (c.count != 0 && (!c.input || !c.output))
    return "a collective has no memory";
  if (!reduces(c))
    return nullptr;
  if (c.communication_dtype != c.dtype)
    return "NCCL sends elements as they are: compile without "
           "--communication-dtype";
  if (nccl_type(c.dtype) < 0)
    return "NCCL reduces f16, bf16, f32, f64, i32 and i64 here";
  if (c.reduction == TINH_REDUCE_MEAN && is_integer(c.dtype))
    return "a mean is one of floats";
  if (c.reduction == TINH_REDUCE_MAX && !is_integer(c.dtype))
    return "NCCL's maximum of floats loses NaN: reduce it on the CPU";
  return nullptr;
}

void require_possible(const tinh_collective_t &collective, uint32_t num_ranks) {
  if (const char *wrong = problem(collective, num_ranks))
    throw Refusal(wrong);
}

Result call(const Functions &nccl, Comm comm, const tinh_collective_t &c,
            CUstream stream) {
  int operation = c.reduction == TINH_REDUCE_MAX    ? kMax
                  : c.reduction == TINH_REDUCE_MEAN ? kAvg
                                                    : kSum;
  size_t bytes = c.count * tinh_dtype_size(c.dtype);
  switch (c.kind) {
  case TINH_ALL_REDUCE:
    return nccl.ncclAllReduce(c.input, c.output, c.count, nccl_type(c.dtype),
                              operation, comm, stream);
  case TINH_REDUCE_SCATTER:
    return nccl.ncclReduceScatter(c.input, c.output, c.count,
                                  nccl_type(c.dtype), operation, comm, stream);
  case TINH_ALL_GATHER:
    return nccl.ncclAllGather(c.input, c.output, bytes, kUint8, comm, stream);
  case TINH_BROADCAST:
    return nccl.ncclBroadcast(c.input, c.output, bytes, kUint8,
                              static_cast<int>(c.root), comm, stream);
  }
  return kInvalidArgument;
}

} // namespace tinh::nccl
