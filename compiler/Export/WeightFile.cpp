//===- WeightFile.cpp - Weights beside a model ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/WeightFile.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;

namespace tinh {

static constexpr unsigned kPermissions = 0666;

bool isLarge(TypedAttr value) {
  return static_cast<uint64_t>(graph::tensorSize(value.getType())) >
         kMaxInlineBytes;
}

void writeElements(DenseElementsAttr value, MutableArrayRef<char> out) {
  char *at = out.data();
  if (value.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      *at++ = static_cast<char>(element);
    return;
  }
  ArrayRef<char> bytes = value.getRawData();
  for (int64_t i = value.isSplat() ? value.getNumElements() : 1;
       i-- > 0 && !bytes.empty(); at += bytes.size())
    std::memcpy(at, bytes.data(), bytes.size());
}

static llvm::Error copyElements(TypedAttr value, MappedFiles &sources,
                                MutableArrayRef<char> out) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    writeElements(dense, out);
    return llvm::Error::success();
  }
  auto bytes = sources.read(cast<graph::ExternalAttr>(value));
  if (!bytes)
    return bytes.takeError();
  std::memcpy(out.data(), bytes->data(), out.size());
  return llvm::Error::success();
}

llvm::Expected<std::string> smallElements(TypedAttr value,
                                          MappedFiles &sources) {
  std::string bytes(graph::tensorSize(value.getType()), '\0');
  MutableArrayRef<char> out(bytes.data(), bytes.size());
  if (llvm::Error error = copyElements(value, sources, out))
    return std::move(error);
  return bytes;
}

uint64_t WeightFile::add(TypedAttr value) {
  uint64_t offset = llvm::alignTo(size, alignment);
  weights.push_back({value, offset});
  size = offset + graph::tensorSize(value.getType());
  return offset;
}

llvm::Error WeightFile::fill(MutableArrayRef<char> memory,
                             MappedFiles &sources) const {
  for (const Weight &weight : weights)
    if (llvm::Error error = copyElements(
            weight.value, sources,
            memory.slice(weight.offset,
                         graph::tensorSize(weight.value.getType()))))
      return error;
  return llvm::Error::success();
}

llvm::Error writeModel(StringRef path, StringRef content, StringRef weightsPath,
                       StringRef header, const WeightFile &weights,
                       MappedFiles &sources) {
  for (const WeightFile::Weight &weight : weights.weights)
    if (auto external = dyn_cast<graph::ExternalAttr>(weight.value))
      if (llvm::sys::fs::equivalent(sources.pathOf(external), weightsPath))
        return writeError(weightsPath, "weights of the model lie in it; choose "
                                       "another name for the output");
  auto file = PendingFile::create(path);
  if (!file)
    return file.takeError();
  auto memory = file->map(content.size());
  if (!memory)
    return memory.takeError();
  std::memcpy(memory->data(), content.data(), content.size());
  if (weights.empty())
    return file->keep(kPermissions);
  auto beside = PendingFile::create(weightsPath);
  if (!beside)
    return beside.takeError();
  auto space = beside->map(header.size() + weights.size);
  if (!space)
    return space.takeError();
  std::memcpy(space->data(), header.data(), header.size());
  if (llvm::Error error =
          weights.fill(space->drop_front(header.size()), sources))
    return error;
  if (llvm::Error error = beside->keep(kPermissions))
    return error;
  return file->keep(kPermissions);
}

} // namespace tinh
