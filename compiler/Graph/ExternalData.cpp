//===- ExternalData.cpp - Constants in files --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/ExternalData.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Support/Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh {

namespace {

constexpr llvm::StringLiteral kMemory = "memory:";

/// The program's memory, kept with the dialect whose attributes refer to it.
struct MemoryBlocks : DialectInterface::Base<MemoryBlocks> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MemoryBlocks)
  explicit MemoryBlocks(Dialect *dialect) : Base(dialect) {}

  llvm::StringMap<ArrayRef<char>> blocks;
};

/// Whether a relative name stays in the folder that it is relative to.
bool staysInside(StringRef location) {
  if (location.empty() || llvm::sys::path::is_absolute(location) ||
      location.contains('\\') || location.contains('\0'))
    return false;
  for (StringRef part : llvm::split(location, '/'))
    if (part == "..")
      return false;
  return true;
}

/// Whether `path`, with symbolic links followed, lies in `directory`.
bool reallyInside(StringRef path, StringRef directory) {
  SmallString<256> realPath, realDirectory;
  if (llvm::sys::fs::real_path(path, realPath) ||
      llvm::sys::fs::real_path(directory, realDirectory))
    return false;
  if (realDirectory != "/")
    realDirectory += '/';
  return StringRef(realPath).starts_with(realDirectory);
}

} // namespace

void addMemory(MLIRContext &context, StringRef name, ArrayRef<char> bytes) {
  auto *dialect = context.getOrLoadDialect<graph::GraphDialect>();
  if (!dialect->getRegisteredInterface<MemoryBlocks>())
    dialect->addInterfaces<MemoryBlocks>();
  auto *memory = dialect->getRegisteredInterface<MemoryBlocks>();
  const_cast<MemoryBlocks *>(memory)->blocks[name] = bytes;
}

static std::optional<ArrayRef<char>> findBlock(Dialect &dialect,
                                               StringRef name) {
  auto *memory = dialect.getRegisteredInterface<MemoryBlocks>();
  if (!memory)
    return std::nullopt;
  auto found = memory->blocks.find(name);
  if (found == memory->blocks.end())
    return std::nullopt;
  return found->second;
}

bool findMemory(MLIRContext &context, StringRef name, DataFile &file,
                std::string &error) {
  auto *dialect = context.getLoadedDialect<graph::GraphDialect>();
  auto bytes = findBlock(*dialect, name);
  if (!bytes) {
    error = "there is no memory \"" + name.str() +
            "\": only a program that compiles the model can give it some";
    return false;
  }
  file.name = file.path = (kMemory + name).str();
  file.size = bytes->size();
  return true;
}

std::optional<ArrayRef<char>> readMemory(graph::ExternalAttr constant) {
  StringRef name = constant.getFile();
  auto bytes = name.consume_front(kMemory)
                   ? findBlock(constant.getDialect(), name)
                   : std::nullopt;
  if (!bytes || constant.getOffset() > bytes->size() ||
      constant.getSize() > bytes->size() - constant.getOffset())
    return std::nullopt;
  return bytes->slice(constant.getOffset(), constant.getSize());
}

bool findDataFile(StringRef directory, StringRef location, DataFile &file,
                  std::string &error) {
  auto fail = [&](const Twine &what) {
    error = what.str();
    return false;
  };
  if (!staysInside(location))
    return fail("external data \"" + location +
                "\" is outside the model's directory; only relative paths "
                "without .. are read");
  SmallString<256> path(directory);
  llvm::sys::path::append(path, location);
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status) ||
      status.type() != llvm::sys::fs::file_type::regular_file)
    return fail("external data file " + path + " does not exist");
  if (!reallyInside(path, directory))
    return fail("external data \"" + location +
                "\" leads outside the model's directory by a symbolic link");
  file.name = location.str();
  file.path = std::string(path);
  file.size = status.getSize();
  return true;
}

TypedAttr referToBytes(RankedTensorType type, const DataFile &file,
                       uint64_t offset, uint64_t size, std::string &error) {
  auto fail = [&](const Twine &what) {
    error = what.str();
    return TypedAttr();
  };
  uint64_t expected = graph::tensorSize(type);
  if (size != expected)
    return fail("expected " + Twine(expected) + " bytes for " +
                graph::shapeToString(type) + ", found " + Twine(size));
  if (offset > file.size || size > file.size - offset)
    return fail("its " + Twine(size) + " bytes at " + Twine(offset) +
                " go beyond the end of " + file.path + " (" + Twine(file.size) +
                " bytes)");
  if (size > kMaxInlineBytes)
    return graph::ExternalAttr::get(type.getContext(), type, file.name, offset,
                                    size);
  if (auto memory = readMemory(graph::ExternalAttr::get(
          type.getContext(), type, file.name, offset, size)))
    return denseFromBytes(type, *memory);
  auto bytes = llvm::MemoryBuffer::getFileSlice(file.path, size, offset);
  if (!bytes || (*bytes)->getBufferSize() != size)
    return fail("cannot read " + file.path);
  return denseFromBytes(type, ArrayRef<char>((*bytes)->getBufferStart(), size));
}

std::string MappedFiles::pathOf(graph::ExternalAttr constant) const {
  SmallString<128> path(constant.getFile());
  if (!llvm::sys::path::is_absolute(path)) {
    path = directory;
    llvm::sys::path::append(path, constant.getFile());
  }
  return std::string(path);
}

llvm::Expected<ArrayRef<char>> MappedFiles::read(graph::ExternalAttr constant) {
  if (auto memory = readMemory(constant))
    return *memory;
  std::string path = pathOf(constant);
  std::unique_ptr<llvm::MemoryBuffer> &file = files[path];
  if (!file) {
    auto opened = readRegularFile(path);
    if (!opened)
      return llvm::createStringError(
          "cannot read weights from '" + path +
          "': " + llvm::toString(opened.takeError()));
    file = std::move(*opened);
  }
  uint64_t size = file->getBufferSize(), offset = constant.getOffset();
  if (offset > size || constant.getSize() > size - offset)
    return llvm::createStringError(
        "'" + path + "' ends before the weights at offset " +
        llvm::Twine(offset) + ": it has " + llvm::Twine(size) +
        " bytes; was it changed or cut?");
  return ArrayRef<char>(file->getBufferStart() + offset, constant.getSize());
}

} // namespace tinh
