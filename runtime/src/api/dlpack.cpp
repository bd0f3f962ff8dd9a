//===- dlpack.cpp - Exchange of tensors without copies ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The unversioned DLManagedTensor, which all consumers take.
//
//===----------------------------------------------------------------------===//
#include "tinh/dlpack.h"

#include "artifact/tensor.h"
#include "support/guarded.h"

#include <algorithm>
#include <dlpack/dlpack.h>
#include <memory>
#include <optional>
#include <vector>

using namespace tinh::runtime;

namespace {

/// Since versions 0.8 and 1.1 of the standard; not in the header of Debian 12.
constexpr uint8_t kDLBoolCode = 6, kDLFloat8E4M3FNCode = 10,
                  kDLFloat8E4M3FNUZCode = 11, kDLFloat8E5M2Code = 12,
                  kDLFloat8E5M2FNUZCode = 13, kDLFloat8E8M0FNUCode = 14;

struct TypePair {
  tinh_dtype_t dtype;
  uint8_t code;
  uint8_t bits;
};

constexpr TypePair kTypes[] = {
    {TINH_DTYPE_BOOL, kDLBoolCode, 8},
    {TINH_DTYPE_I8, kDLInt, 8},
    {TINH_DTYPE_U8, kDLUInt, 8},
    {TINH_DTYPE_I16, kDLInt, 16},
    {TINH_DTYPE_U16, kDLUInt, 16},
    {TINH_DTYPE_I32, kDLInt, 32},
    {TINH_DTYPE_U32, kDLUInt, 32},
    {TINH_DTYPE_I64, kDLInt, 64},
    {TINH_DTYPE_U64, kDLUInt, 64},
    {TINH_DTYPE_F16, kDLFloat, 16},
    {TINH_DTYPE_BF16, kDLBfloat, 16},
    {TINH_DTYPE_F32, kDLFloat, 32},
    {TINH_DTYPE_F64, kDLFloat, 64},
    {TINH_DTYPE_F8E4M3FN, kDLFloat8E4M3FNCode, 8},
    {TINH_DTYPE_F8E4M3FNUZ, kDLFloat8E4M3FNUZCode, 8},
    {TINH_DTYPE_F8E5M2, kDLFloat8E5M2Code, 8},
    {TINH_DTYPE_F8E5M2FNUZ, kDLFloat8E5M2FNUZCode, 8},
    {TINH_DTYPE_F8E8M0FNU, kDLFloat8E8M0FNUCode, 8},
    {TINH_DTYPE_F4E2M1FN, kDLUInt, 8}}; // DLPack's own are two to a byte.

struct FreeAligned {
  void operator()(void *memory) const {
    ::operator delete(memory, std::align_val_t(TINH_BUFFER_ALIGNMENT));
  }
};

/// A tensor that we export, with all that it points to.
struct Exported {
  DLManagedTensor managed = {};
  std::vector<int64_t> shape, strides;
  std::unique_ptr<void, FreeAligned> memory; ///< If it is our own.
  void (*release)(void *user) = nullptr;
  void *user = nullptr;
};

} // namespace

static std::optional<tinh_dtype_t> dtype_of(const DLDataType &type) {
  for (const TypePair &pair : kTypes)
    if (type.code == pair.code && type.bits == pair.bits && type.lanes == 1)
      return pair.dtype;
  return std::nullopt;
}

/// Whether elements of `type` are those of `dtype`.
static bool has_elements(const DLDataType &type, tinh_dtype_t dtype) {
  for (const TypePair &pair : kTypes)
    if (pair.dtype == dtype)
      return type.code == pair.code && type.bits == pair.bits &&
             type.lanes == 1;
  return false;
}

static std::string type_text(const DLDataType &type) {
  if (std::optional<tinh_dtype_t> dtype = dtype_of(type))
    return tinh_dtype_name(*dtype);
  return message_of({"type code ", type.code, " of ", type.bits, " bits, ",
                     type.lanes, " lanes"});
}

static std::string shape_text(const int64_t *dims, int64_t rank) {
  std::string text = "[";
  for (int64_t i = 0; i < rank; ++i)
    text.append(i ? ", " : "").append(std::to_string(dims[i]));
  return text + "]";
}

static bool is_row_major(const DLTensor &tensor) {
  if (!tensor.strides)
    return true;
  int64_t expected = 1;
  bool dense = true;
  for (int i = tensor.ndim; i-- > 0;) {
    if (tensor.shape[i] == 0)
      return true;
    dense &= tensor.shape[i] == 1 || tensor.strides[i] == expected;
    expected *= tensor.shape[i];
  }
  return dense;
}

static void check_dlpack(const tinh_tensor_info_t &wanted,
                         const DLTensor &tensor) {
  auto fail = [&](const std::string &what) {
    throw_error(TINH_INVALID_ARGUMENT,
                {"tensor '", wanted.name, "': the DLPack tensor ", what});
  };
  if (tensor.device.device_type != kDLCPU)
    fail(message_of({"is on device type ",
                     static_cast<int>(tensor.device.device_type),
                     ", not in CPU memory (1); copy it there first"}));
  if (!has_elements(tensor.dtype, wanted.dtype))
    fail(message_of({"has elements of ", type_text(tensor.dtype), ", where ",
                     tinh_dtype_name(wanted.dtype), " is expected"}));
  if (!std::equal(tensor.shape, tensor.shape + std::max(tensor.ndim, 0),
                  wanted.dims, wanted.dims + wanted.rank))
    fail(message_of({"has shape ", shape_text(tensor.shape, tensor.ndim),
                     ", where ", shape_text(wanted.dims, wanted.rank),
                     " is expected"}));
  if (!is_row_major(tensor))
    fail(message_of(
        {"has strides ", shape_text(tensor.strides, tensor.ndim),
         "; it must be dense and row-major, so make a contiguous copy first"}));
}

/// An export of `tensor` whose memory is still to be set.
static std::unique_ptr<Exported> describe(const tinh_tensor_info_t &tensor) {
  auto exported = std::make_unique<Exported>();
  exported->shape.assign(tensor.dims, tensor.dims + tensor.rank);
  exported->strides.resize(tensor.rank);
  int64_t stride = 1;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    exported->strides[i] = stride;
    stride *= tensor.dims[i];
  }
  DLTensor &out = exported->managed.dl_tensor;
  out.device = {kDLCPU, 0};
  out.ndim = static_cast<int>(tensor.rank);
  for (const TypePair &pair : kTypes)
    if (pair.dtype == tensor.dtype)
      out.dtype = {pair.code, pair.bits, 1};
  out.shape = exported->shape.data();
  out.strides = exported->strides.data();
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor *self) {
    std::unique_ptr<Exported> dead(static_cast<Exported *>(self->manager_ctx));
    if (dead->release)
      dead->release(dead->user);
  };
  return exported;
}

tinh_status_t tinh_buffer_from_dlpack(const tinh_tensor_info_t *tensor,
                                      const DLManagedTensor *dlpack,
                                      tinh_buffer_t *out_buffer) {
  return guarded(
      {{tensor, "tensor"}, {dlpack, "dlpack"}, {out_buffer, "out_buffer"}},
      [&] {
        const DLTensor &given = dlpack->dl_tensor;
        check_dlpack(*tensor, given);
        char *data = static_cast<char *>(given.data);
        tinh_buffer_t buffer = {data ? data + given.byte_offset : data,
                                tensor->size};
        check_buffer(*tensor, "tensor", buffer);
        *out_buffer = buffer;
      });
}

tinh_status_t tinh_dlpack_create(const tinh_tensor_info_t *tensor,
                                 DLManagedTensor **out_dlpack) {
  return guarded({{tensor, "tensor"}, {out_dlpack, "out_dlpack"}}, [&] {
    std::unique_ptr<Exported> exported = describe(*tensor);
    exported->memory.reset(
        ::operator new(tensor->size, std::align_val_t(TINH_BUFFER_ALIGNMENT)));
    exported->managed.dl_tensor.data = exported->memory.get();
    *out_dlpack = &exported.release()->managed;
  });
}

tinh_status_t tinh_dlpack_from_buffer(const tinh_tensor_info_t *tensor,
                                      const tinh_buffer_t *buffer,
                                      void (*release)(void *user), void *user,
                                      DLManagedTensor **out_dlpack) {
  return guarded(
      {{tensor, "tensor"}, {buffer, "buffer"}, {out_dlpack, "out_dlpack"}},
      [&] {
        check_buffer(*tensor, "tensor", *buffer);
        std::unique_ptr<Exported> exported = describe(*tensor);
        exported->managed.dl_tensor.data = buffer->data;
        exported->release = release;
        exported->user = user;
        *out_dlpack = &exported.release()->managed;
      });
}
