//===- Safetensors.cpp - Tensors of a .safetensors file ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/Safetensors.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Import/json/JsonValues.h"
#include "tinh/safetensors.h"

#include <memory>
#include <vector>

using namespace mlir;

namespace tinh::json {

/// A tensor's type; null with the reason in `error` if there is no such.
static RankedTensorType typeOf(const tinh_tensor_info_t &tensor,
                               MLIRContext *context, std::string &error) {
  ArrayRef<int64_t> shape(tensor.dims, tensor.rank);
  if (countElements(shape))
    return RankedTensorType::get(
        shape, parseDtype(tinh_dtype_name(tensor.dtype), context));
  error = "the shape " + formatShape(shape) + " is beyond any memory";
  return {};
}

bool readSafetensors(const DataFile &file, MLIRContext *context,
                     Safetensors &tensors, std::string &error) {
  tinh_safetensors_t *opened = nullptr;
  if (tinh_safetensors_open(file.path.c_str(), &opened) != TINH_OK) {
    error = tinh_last_error();
    return false;
  }
  std::unique_ptr<tinh_safetensors_t, decltype(&tinh_safetensors_release)>
      owner(opened, tinh_safetensors_release);
  tinh_safetensors_tensor_t tensor;
  for (uint32_t i = 0; tinh_safetensors_tensor(opened, i, &tensor) == TINH_OK;
       ++i) {
    std::string reason;
    TypedAttr value;
    if (RankedTensorType type = typeOf(tensor.type, context, reason))
      value = referToBytes(type, file, tensor.offset, tensor.type.size, reason);
    if (!value) {
      error = file.path + ": tensor \"" + tensor.type.name + "\": " + reason;
      return false;
    }
    tensors[tensor.type.name] = value;
  }
  return true;
}

/// The runtime's number for an element type of the dialect.
static tinh_dtype_t dtypeOf(Type element) {
  int dtype = TINH_DTYPE_BOOL;
  while (formatDtype(element) !=
         tinh_dtype_name(static_cast<tinh_dtype_t>(dtype)))
    ++dtype;
  return static_cast<tinh_dtype_t>(dtype);
}

llvm::Expected<std::string>
writeSafetensorsHeader(ArrayRef<SafetensorsEntry> entries) {
  std::vector<tinh_safetensors_tensor_t> tensors;
  for (const SafetensorsEntry &entry : entries) {
    ArrayRef<int64_t> shape = entry.type.getShape();
    tensors.push_back(
        {{entry.name.c_str(), dtypeOf(entry.type.getElementType()),
          static_cast<uint32_t>(shape.size()), shape.data(),
          static_cast<uint64_t>(graph::tensorSize(entry.type)), nullptr},
         nullptr,
         0});
  }
  constexpr uint64_t kAlignment = 8;
  std::string header;
  auto make = [&](size_t &size) {
    return tinh_safetensors_header(tensors.data(), tensors.size(), nullptr, 0,
                                   kAlignment, header.data(), header.size(),
                                   &size) == TINH_OK;
  };
  size_t size = 0;
  if (!make(size))
    return llvm::createStringError(tinh_last_error());
  header.resize(size);
  make(size);
  return header;
}

} // namespace tinh::json
