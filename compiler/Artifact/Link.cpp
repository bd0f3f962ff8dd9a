//===- Link.cpp - From object files to a shared object ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLD reads files: the objects are one archive, in memory, so that no number of
// kernels runs out of file descriptors and no folder is left behind.
//
//===----------------------------------------------------------------------===//
#include "compiler/Artifact/Artifact.h"
#include "compiler/Artifact/Files.h"

#include "lld/Common/Driver.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace tinh::artifact {

static StringRef bytesOf(const Object &object) {
  return {object.data(), object.size()};
}

static Expected<MemoryFile> makeArchive(ArrayRef<Object> objects) {
  std::vector<std::string> names;
  for (size_t i = 0; i < objects.size(); ++i)
    names.push_back(std::to_string(i) + ".o");
  std::vector<NewArchiveMember> members;
  for (auto [name, object] : zip_equal(names, objects))
    members.emplace_back(MemoryBufferRef(bytesOf(object), name));
  auto archive = writeArchiveToBuffer(members, SymtabWritingMode::NoSymtab,
                                      object::Archive::K_GNU,
                                      /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  return MemoryFile::create((*archive)->getBuffer());
}

Error link(ArrayRef<Object> kernels, const Object &descriptor,
           const TemporaryFile &output) {
  auto archive = makeArchive(kernels);
  if (!archive)
    return archive.takeError();
  auto single = MemoryFile::create(bytesOf(descriptor));
  if (!single)
    return single.takeError();
  std::string archiveName = archive->name(), singleName = single->name();
  const char *arguments[] = {
      "ld.lld", "-shared", "--build-id=none", "--hash-style=gnu", "-z",
      "noexecstack", "-z", "now", "--threads=1", "-o", output.name().c_str(),
      singleName.c_str(),
      // Only the descriptor is exported; kernels keep local names for
      // profilers.
      "--exclude-libs=ALL", "--whole-archive", archiveName.c_str()};
  static std::mutex mutex; // LLD's state is global.
  std::lock_guard lock(mutex);
  std::string messages;
  raw_string_ostream stream(messages);
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0)
    return Error::success();
  return createStringError("cannot link '" + output.target() +
                           "': " + StringRef(messages).trim());
}

} // namespace tinh::artifact
