//===- Host.cpp - Elements where the program can use them -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waiting, copies to the program's memory, and exchange by DLPack.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Host.h"

#include "compiler/Eager/Tensor/Device.h"

#include <cstring>
#include <dlpack/dlpack.h>
#include <memory>

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Copies runs along the last dimension.
static void copyRows(const char *from, char *to, size_t elementSize,
                     const TensorImpl &x, uint32_t axis) {
  int64_t count = x.sizes[axis];
  int64_t stride = x.strides[axis] * static_cast<int64_t>(elementSize);
  int64_t outStride = static_cast<int64_t>(elementSize);
  for (uint32_t i = axis + 1; i < x.rank(); ++i)
    outStride *= x.sizes[i];
  for (int64_t i = 0; i < count; ++i, from += stride, to += outStride)
    if (axis + 1 == x.rank())
      std::memcpy(to, from, elementSize);
    else
      copyRows(from, to, elementSize, x, axis + 1);
}

void eager::copyToHost(const TensorImpl &given, void *data, const Call &call) {
  Tensor here = onCpu(given, call);
  const TensorImpl &x = *TensorAccess::get(here);
  size_t elementSize = DType(x.dtype).size();
  auto *base =
      static_cast<const char *>(Backend::current().waitToRead(x, call));
  int64_t count = x.numElements();
  if (count == 0)
    return;
  const char *from = base + x.offset * static_cast<int64_t>(elementSize);
  if (isContiguous(x))
    std::memcpy(data, from, static_cast<size_t>(count) * elementSize);
  else
    copyRows(from, static_cast<char *>(data), elementSize, x, 0);
}

void Tensor::wait_to_read(At at) const {
  Call call{"wait_to_read", at};
  Backend::current().waitToRead(use(*this, call), call);
}

void Tensor::copy_to(void *data, At at) const {
  Call call{"copy_to", at};
  eager::copyToHost(use(*this, call), data, call);
}

void Tensor::copyToHost(void *data, DType dtype, const char *operation,
                        At at) const {
  Call call{operation, at};
  const TensorImpl &x = use(*this, call);
  bool isItem = std::strcmp(operation, "item") == 0;
  if (isItem && x.numElements() != 1)
    fail(call, "shape ", x.sizes, " has ", x.numElements(),
         " elements, where one is expected; index it, or use to_vector()");
  Tensor same = converted(x, dtype, call);
  eager::copyToHost(use(same, call), data, call);
}

//===----------------------------------------------------------------------===//
// DLPack
//===----------------------------------------------------------------------===//

namespace {

/// Since version 0.8 of the standard; not in the header of Debian 12.
constexpr uint8_t kDLBoolCode = 6;

DLDataType toDLPack(DType dtype) {
  auto bits = static_cast<uint8_t>(dtype.size() * 8);
  uint8_t code = dtype == boolean            ? kDLBoolCode
                 : dtype == bfloat16         ? uint8_t(kDLBfloat)
                 : dtype.is_floating_point() ? uint8_t(kDLFloat)
                 : dtype.is_unsigned()       ? uint8_t(kDLUInt)
                                             : uint8_t(kDLInt);
  return {code, bits, 1};
}

std::optional<DType> fromDLPack(const DLDataType &type) {
  for (int i = 0; i <= TINH_DTYPE_F64; ++i) {
    DType dtype = static_cast<tinh_dtype_t>(i);
    DLDataType own = toDLPack(dtype);
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1)
      return dtype;
  }
  return std::nullopt;
}

/// A tensor that another library holds.
struct Exported {
  DLManagedTensor managed = {};
  Tensor tensor;
  Shape shape;
  IntArray strides;
};

} // namespace

/// The given strides, or those of a dense tensor.
static Dims importedStrides(const DLTensor &given, const Dims &sizes,
                            const Call &call) {
  if (!given.strides)
    return contiguousStrides(sizes);
  Dims strides{std::span<const int64_t>(given.strides, sizes.size())};
  for (int64_t stride : strides)
    if (stride < 0)
      fail(call, "the DLPack tensor has strides ", strides,
           "; they must not be negative, so make a contiguous copy first");
  return strides;
}

Tensor tinh::from_dlpack(DLManagedTensor *dlpack, At at) {
  Call call{"from_dlpack", at};
  if (!dlpack)
    fail(call, "there is no DLPack tensor: the pointer is null");
  const DLTensor &given = dlpack->dl_tensor;
  if (given.device.device_type != kDLCPU)
    fail(call, "the DLPack tensor is on device type ",
         int(given.device.device_type),
         ", not in CPU memory (1); copy it there first");
  std::optional<DType> dtype = fromDLPack(given.dtype);
  if (!dtype)
    fail(call, "the DLPack tensor has elements of type code ",
         int(given.dtype.code), " of ", int(given.dtype.bits), " bits and ",
         int(given.dtype.lanes), " lanes, for which there is no dtype");
  if (given.ndim < 0 || given.ndim > TINH_MAX_RANK)
    fail(call, "the DLPack tensor has ", given.ndim,
         " dimensions; tensors have at most ", TINH_MAX_RANK);
  Dims sizes = checkedSizes(
      std::span<const int64_t>(given.shape, size_t(given.ndim)), *dtype, call);
  Dims strides = importedStrides(given, sizes, call);
  auto address = reinterpret_cast<uintptr_t>(given.data) + given.byte_offset;
  if (sizes.product() != 0 && (!given.data || address % dtype->size() != 0))
    fail(call, "the DLPack tensor's memory is null or not aligned to its "
               "elements; make a copy first");

  int64_t extent = sizes.product() != 0;
  for (uint32_t i = 0; extent != 0 && i < sizes.size(); ++i)
    extent += (sizes[i] - 1) * strides[i];
  TensorImpl *impl = TensorImpl::create();
  impl->retain();
  Tensor tensor = TensorAccess::make(impl);
  impl->dtype = *dtype;
  impl->sizes = sizes;
  impl->strides = strides;
  auto release = [](void *user) {
    auto *managed = static_cast<DLManagedTensor *>(user);
    if (managed->deleter)
      managed->deleter(managed);
  };
  impl->storage =
      Storage::wrap(reinterpret_cast<void *>(address),
                    uint64_t(extent) * dtype->size(), release, dlpack);
  return tensor;
}

DLManagedTensor *tinh::to_dlpack(const Tensor &x, At at) {
  Call call{"to_dlpack", at};
  const TensorImpl &impl = use(x, call);
  requireCpu(impl, "DLPack", call);
  auto exported = std::make_unique<Exported>();
  exported->tensor = x;
  exported->shape = x.shape(at);
  exported->strides = x.strides(at);
  DLTensor &out = exported->managed.dl_tensor;
  out.data = Backend::current().waitToWrite(impl, call);
  out.byte_offset = static_cast<uint64_t>(impl.offset) * x.dtype(at).size();
  out.device = {kDLCPU, 0};
  out.ndim = static_cast<int>(impl.rank());
  out.dtype = toDLPack(impl.dtype);
  out.shape = &exported->shape[0];
  out.strides = &exported->strides[0];
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor *self) {
    delete static_cast<Exported *>(self->manager_ctx);
  };
  return &exported.release()->managed;
}
