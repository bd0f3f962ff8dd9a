//===- NaiveArray.cpp - Elements by their indices ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "NaiveArray.h"

#include "compiler/Eager/Tensor/Half.h"
#include "tinh/tensor_types.h"

#include <cstring>

using namespace tinh;
using namespace tinh::eager;

template <typename T> static T load(const void *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

Element eager::loadElement(const void *at, tinh_dtype_t dtype) {
  switch (dtype) {
  case TINH_DTYPE_BOOL:
    return {0, load<uint8_t>(at) != 0};
  case TINH_DTYPE_I8:
    return {0, load<int8_t>(at)};
  case TINH_DTYPE_U8:
    return {0, load<uint8_t>(at)};
  case TINH_DTYPE_I16:
    return {0, load<int16_t>(at)};
  case TINH_DTYPE_U16:
    return {0, load<uint16_t>(at)};
  case TINH_DTYPE_I32:
    return {0, load<int32_t>(at)};
  case TINH_DTYPE_U32:
    return {0, load<uint32_t>(at)};
  case TINH_DTYPE_I64:
    return {0, load<int64_t>(at)};
  case TINH_DTYPE_U64:
    return {0, load<uint64_t>(at)};
  case TINH_DTYPE_F16:
    return {halfToFloat(load<uint16_t>(at)), 0};
  case TINH_DTYPE_BF16:
    return {bfloat16ToFloat(load<uint16_t>(at)), 0};
  case TINH_DTYPE_F32:
    return {load<float>(at), 0};
  case TINH_DTYPE_F64:
    return {load<double>(at), 0};
  default: // Tensors have no others.
    __builtin_unreachable();
  }
}

void eager::storeElement(void *address, tinh_dtype_t dtype,
                         const Element &element) {
  if (dtype == TINH_DTYPE_F64) {
    std::memcpy(address, &element.real, sizeof element.real);
  } else if (dtype == TINH_DTYPE_F32) {
    auto value = static_cast<float>(element.real);
    std::memcpy(address, &value, sizeof value);
  } else if (isFloating(dtype)) {
    // By way of f32, as is defined.
    auto value = static_cast<float>(element.real);
    uint16_t bits =
        dtype == TINH_DTYPE_F16 ? floatToHalf(value) : floatToBfloat16(value);
    std::memcpy(address, &bits, sizeof bits);
  } else if (dtype == TINH_DTYPE_BOOL) {
    *static_cast<uint8_t *>(address) = element.integer != 0;
  } else { // Little-endian: the low bytes.
    std::memcpy(address, &element.integer, DType(dtype).size());
  }
}

Element eager::elementOf(const Scalar &scalar) {
  if (isFloating(scalar.dtype))
    return {scalar.real, 0};
  if (scalar.dtype == TINH_DTYPE_U64)
    return {0, static_cast<uint64_t>(scalar.integer)};
  // As an element of the dtype would read.
  int64_t bits = scalar.integer;
  return loadElement(&bits, scalar.dtype);
}

char *Array::addressOf(const Place &place) const {
  int64_t offset = tensor.offset;
  for (size_t i = 0; i < place.size(); ++i)
    offset += place[i] * tensor.strides[i];
  return static_cast<char *>(tensor.storage->data()) +
         offset * static_cast<int64_t>(DType(tensor.dtype).size());
}

Element Array::broadcast(const Place &place) const {
  Place own;
  size_t lead = place.size() - tensor.rank();
  for (size_t i = 0; i < tensor.rank(); ++i)
    own.push_back(tensor.sizes[i] == 1 ? 0 : place[lead + i]);
  return (*this)[own];
}

void eager::forEach(const Dims &sizes,
                    const std::function<void(const Place &)> &body) {
  Place place(sizes.size(), 0);
  if (sizes.product() == 0)
    return;
  for (;;) {
    body(place);
    size_t axis = sizes.size();
    while (axis > 0 && ++place[axis - 1] == sizes[axis - 1])
      place[--axis] = 0;
    if (axis == 0)
      return;
  }
}
