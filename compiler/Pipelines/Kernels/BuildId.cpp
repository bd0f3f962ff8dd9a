//===- BuildId.cpp - Which compiler this is ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Kernels/BuildId.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>
#include <link.h>

using namespace llvm;

namespace tinh {

namespace {

/// The loaded object that holds an address.
struct LoadedObject {
  uintptr_t address = 0;
  bool found = false;
  std::string file, buildId;
};

/// The build id among the notes of a PT_NOTE segment; empty if it has none.
StringRef findBuildId(StringRef notes, uint64_t alignment) {
  auto align = [&](uint64_t value) {
    uint64_t unit = alignment == 8 ? 8 : 4;
    return (value + unit - 1) / unit * unit;
  };
  ElfW(Nhdr) header;
  while (notes.size() >= sizeof(header)) {
    std::memcpy(&header, notes.data(), sizeof(header));
    uint64_t content = align(sizeof(header) + uint64_t(header.n_namesz));
    StringRef name = notes.substr(sizeof(header), header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && name == StringRef("GNU\0", 4))
      return notes.substr(content, header.n_descsz);
    notes = notes.drop_front(
        std::min<uint64_t>(notes.size(), content + align(header.n_descsz)));
  }
  return {};
}

/// Called by dl_iterate_phdr for each loaded object; not 0 ends the search.
int inspectObject(dl_phdr_info *info, size_t, void *data) {
  auto &object = *static_cast<LoadedObject *>(data);
  ArrayRef<ElfW(Phdr)> headers(info->dlpi_phdr, info->dlpi_phnum);
  object.found = any_of(headers, [&](const ElfW(Phdr) & header) {
    return header.p_type == PT_LOAD &&
           object.address - info->dlpi_addr - header.p_vaddr < header.p_memsz;
  });
  if (!object.found)
    return 0;
  object.file = info->dlpi_name;
  for (const ElfW(Phdr) &header : headers) {
    if (header.p_type != PT_NOTE || !object.buildId.empty())
      continue;
    auto *notes =
        reinterpret_cast<const char *>(info->dlpi_addr + header.p_vaddr);
    object.buildId =
        findBuildId(StringRef(notes, header.p_memsz), header.p_align).str();
  }
  return 1;
}

Expected<std::string> buildIdAt(const void *address) {
  LoadedObject object;
  object.address = reinterpret_cast<uintptr_t>(address);
  dl_iterate_phdr(inspectObject, &object);
  if (!object.buildId.empty())
    return object.buildId;
  return createStringError("'" + object.file +
                           "' was linked without --build-id");
}

} // namespace

Expected<std::string> compilerBuildId() {
  // A function of each library in which code generation happens.
  const void *const functions[] = {
      reinterpret_cast<const void *>(&compilerBuildId),
      reinterpret_cast<const void *>(&mlir::verify),
      reinterpret_cast<const void *>(&LLVMInitializeX86Target)};
  std::string all;
  for (const void *function : functions) {
    auto id = buildIdAt(function);
    if (!id)
      return id.takeError();
    all += *id;
  }
  return all;
}

} // namespace tinh
