//===- Safetensors.cpp - The header of a .safetensors file ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/Safetensors.h"

#include "compiler/Import/GraphBuilder.h"
#include "compiler/Import/json/JsonValues.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace tinh::json {

namespace {

/// Headers are small; one beyond this is no header.
constexpr uint64_t kMaxHeader = 100'000'000;

/// The format calls F32 what the JSON format calls f32.
Type parseSafetensorsDtype(StringRef dtype, MLIRContext *context) {
  return dtype.upper() == dtype ? parseDtype(dtype.lower(), context) : Type();
}

/// One entry: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}.
TypedAttr readEntry(const Json &entry, const DataFile &file, uint64_t start,
                    MLIRContext *context, std::string &error) {
  std::string dtype;
  SmallVector<int64_t> shape, offsets;
  if (!entry.is_object() || !getString(entry, "dtype", dtype) ||
      !getInts(entry, "shape", shape) ||
      !getInts(entry, "data_offsets", offsets) || offsets.size() != 2) {
    error = "expected dtype, shape and data_offsets";
    return {};
  }
  Type element = parseSafetensorsDtype(dtype, context);
  if (!element) {
    error = "dtype " + dtype + " is not supported";
    return {};
  }
  if (!countElements(shape)) {
    error =
        "the shape " + formatShape(shape) + " is negative or beyond any memory";
    return {};
  }
  if (offsets[0] < 0 || offsets[1] < offsets[0] ||
      static_cast<uint64_t>(offsets[1]) > file.size - start) {
    error = "data_offsets " + formatShape(offsets) + " lie outside the " +
            std::to_string(file.size - start) + " bytes of data";
    return {};
  }
  return referToBytes(RankedTensorType::get(shape, element), file,
                      start + offsets[0], offsets[1] - offsets[0], error);
}

} // namespace

bool readSafetensors(const DataFile &file, MLIRContext *context,
                     Safetensors &tensors, std::string &error) {
  auto fail = [&](const Twine &what) {
    error = (file.path + ": " + what).str();
    return false;
  };
  uint64_t length = 0;
  if (file.size < 8)
    return fail("not a safetensors file: it has " + Twine(file.size) +
                " bytes");
  if (auto bytes = llvm::MemoryBuffer::getFileSlice(file.path, 8, 0);
      bytes && (*bytes)->getBufferSize() == 8)
    length = llvm::support::endian::read64le((*bytes)->getBufferStart());
  if (length == 0 || length > file.size - 8 || length > kMaxHeader)
    return fail("not a safetensors file, or truncated: its header would have " +
                Twine(length) + " bytes, the file has " + Twine(file.size));
  auto header = llvm::MemoryBuffer::getFileSlice(file.path, length, 8);
  if (!header || (*header)->getBufferSize() != length)
    return fail("cannot read its header");
  ParseError problem;
  Json json = parseJson((*header)->getBuffer(), problem);
  if (!problem.message.empty())
    return fail("malformed header at byte " + Twine(8 + problem.position) +
                ": " + problem.message);
  if (!json.is_object())
    return fail("malformed header: expected an object");
  for (const auto &[name, entry] : json.items()) {
    if (name == "__metadata__")
      continue;
    std::string reason;
    TypedAttr value = readEntry(entry, file, 8 + length, context, reason);
    if (!value)
      return fail("tensor \"" + name + "\": " + reason);
    tensors[name] = value;
  }
  return true;
}

std::string writeSafetensorsHeader(ArrayRef<SafetensorsEntry> tensors) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const SafetensorsEntry &tensor : tensors)
    json[tensor.name] = {
        {"dtype", formatDtype(tensor.type.getElementType()).upper()},
        {"shape", std::vector<int64_t>(tensor.type.getShape())},
        {"data_offsets",
         {tensor.offset, tensor.offset + graph::tensorSize(tensor.type)}}};
  std::string text = json.dump();
  text.resize(llvm::alignTo(text.size(), 8), ' ');
  std::string length(8, '\0');
  llvm::support::endian::write64le(length.data(), text.size());
  return length + text;
}

} // namespace tinh::json
