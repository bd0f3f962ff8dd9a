//===- check_library.cpp - Whether a library's call makes sense -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library reads and writes what its call describes, whatever the kernel's own
// operands are: all of it must lie within these.
//
//===----------------------------------------------------------------------===//
#include "artifact/check_artifact.h"

#include "artifact/step_buffers.h"
#include "tinh/runtime.h"

#include <algorithm>

namespace tinh::runtime {
namespace {

/// More of anything is a mistake, and their products would not fit.
constexpr int64_t kMost = int64_t(1) << 40;
/// Libraries count the elements of a dimension in 32 bits.
constexpr int64_t kMostExtent = INT32_MAX;

bool is_none(const tinh_view_t &view) {
  return view.operand == TINH_NO_OPERAND && view.rank == 0;
}

/// Whether a view has these dimensions, lies within its operand, and is of type
/// `dtype`.
bool valid_view(const tinh_kernel_desc_t &kernel, const tinh_view_t &view,
                uint32_t rank, uint32_t dtype, bool written) {
  if (view.operand >= kernel.num_operands || view.rank != rank)
    return false;
  const tinh_operand_desc_t &operand = kernel.operands[view.operand];
  if (operand.dtype != dtype || operand.written != written)
    return false;
  uint64_t width = element_size(dtype);
  uint64_t elements = *operand_size(operand) / width, last = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    int64_t extent = view.dims[d], stride = view.strides[d];
    if (extent < 1 || extent > kMostExtent || stride < 0 || stride > kMost)
      return false;
    uint64_t way;
    if (__builtin_mul_overflow(static_cast<uint64_t>(extent - 1),
                               static_cast<uint64_t>(stride), &way) ||
        __builtin_add_overflow(last, way, &last))
      return false;
  }
  return last < elements;
}

bool same_dims(const tinh_view_t &a, const tinh_view_t &b) {
  return std::equal(a.dims, a.dims + a.rank, b.dims);
}

/// Whether one of the two dimensions has elements side by side, and the other
/// does not lead back into them.
bool is_matrix(const tinh_view_t &view, uint32_t line, uint32_t along) {
  return (view.strides[along] == 1 || view.dims[along] == 1) &&
         (view.strides[line] >= view.dims[along] || view.dims[line] == 1);
}

bool valid_product(const tinh_library_call_t &call) {
  const tinh_view_t &l = call.left, &r = call.right, &y = call.result;
  if (l.dims[0] != y.dims[0] || r.dims[0] != y.dims[0] ||
      l.dims[1] != y.dims[1] || r.dims[2] != y.dims[2] ||
      l.dims[2] != r.dims[1])
    return false;
  for (const tinh_view_t *factor : {&l, &r})
    if (!is_matrix(*factor, 1, 2) && !is_matrix(*factor, 2, 1))
      return false;
  return is_matrix(y, 1, 2) &&
         (is_none(call.residual) || is_matrix(call.residual, 1, 2)) &&
         (is_none(call.bias) ||
          (call.bias.strides[0] == 0 && call.bias.strides[1] == 0 &&
           call.bias.strides[2] == 1)) &&
         (y.dims[0] == 1 || y.strides[0] >= 1);
}

/// Whether the filter comes to the result's positions in dimension `d`.
bool valid_window(const tinh_library_call_t &call, uint32_t d) {
  int64_t low = call.low[d], high = call.high[d], stride = call.strides[d],
          dilation = call.dilations[d];
  for (int64_t value : {low, high, stride, dilation})
    if (value < 0 || value > kMostExtent)
      return false;
  if (stride == 0 || dilation == 0)
    return false;
  int64_t reach;
  if (__builtin_mul_overflow(call.right.dims[d + 2] - 1, dilation, &reach))
    return false;
  int64_t room = call.left.dims[d + 2] + low + high - reach - 1;
  return room >= 0 && room / stride + 1 == call.result.dims[d + 2];
}

bool valid_convolution(const tinh_library_call_t &call) {
  const tinh_view_t &x = call.left, &w = call.right, &y = call.result;
  if (x.dims[0] != y.dims[0] || w.dims[0] != y.dims[1] ||
      x.dims[1] % w.dims[1] != 0 || w.dims[0] % (x.dims[1] / w.dims[1]) != 0)
    return false;
  for (uint32_t d = 0; d + 2 < x.rank; ++d)
    if (!valid_window(call, d))
      return false;
  if (is_none(call.bias))
    return true;
  for (uint32_t d = 0; d < call.bias.rank; ++d)
    if (call.bias.strides[d] != (d == 1 ? 1 : 0))
      return false;
  return true;
}

} // namespace

bool valid_library_call(const tinh_kernel_desc_t &kernel) {
  const tinh_library_call_t &call = *kernel.library;
  bool is_product = call.kind == TINH_LIBRARY_MATMUL;
  if ((!is_product && call.kind != TINH_LIBRARY_CONVOLUTION) ||
      call.activation > TINH_ACTIVATION_GELU_TANH || call.allow_tf32 > 1 ||
      call.left.operand >= kernel.num_operands ||
      call.result.operand >= kernel.num_operands)
    return false;
  uint32_t rank = is_product ? 3 : call.left.rank;
  uint32_t factor = kernel.operands[call.left.operand].dtype,
           result = kernel.operands[call.result.operand].dtype;
  bool known = factor == TINH_DTYPE_F32 || factor == TINH_DTYPE_F16 ||
               factor == TINH_DTYPE_BF16;
  if (!known || (result != factor && result != TINH_DTYPE_F32) ||
      (!is_product && rank != 4 && rank != 5) ||
      !valid_view(kernel, call.left, rank, factor, false) ||
      !valid_view(kernel, call.right, rank, factor, false) ||
      !valid_view(kernel, call.result, rank, result, true))
    return false;
  for (const tinh_view_t *added : {&call.bias, &call.residual})
    if (!is_none(*added) && (!valid_view(kernel, *added, rank, result, false) ||
                             !same_dims(*added, call.result)))
      return false;
  // Nothing else is written, and the library writes no more than is.
  uint32_t num_written = 0;
  for (uint32_t i = 0; i < kernel.num_operands; ++i)
    num_written += kernel.operands[i].written;
  return num_written == 1 &&
         (is_product ? valid_product(call) : valid_convolution(call));
}

} // namespace tinh::runtime
