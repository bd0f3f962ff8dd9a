//===- Link.cpp - From object files to a shared object ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLD reads and writes files; here they are in memory, so that no signal leaves
// anything behind. The kernels are one archive, whatever their number: file
// descriptors are few. The result comes through a pipe, the only kind of file
// in memory that LLD does not want to replace by another.
//
//===----------------------------------------------------------------------===//
#include "compiler/Artifact/Artifact.h"
#include "compiler/Support/Files.h"

#include "lld/Common/Driver.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/raw_ostream.h"

#include <fcntl.h>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>

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

namespace {

/// Collects what is written to a pipe.
class PipeReader {
public:
  ~PipeReader() {
    if (writeEnd >= 0)
      finish();
  }
  Error start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC))
      return createStringError("cannot make a pipe: " +
                               std::generic_category().message(errno));
    writeEnd = ends[1];
    reader = std::thread([this, end = ends[0]] {
      std::vector<char> buffer(1 << 16);
      auto next = [&] {
        return sys::RetryAfterSignal(-1, ::read, end, buffer.data(),
                                     buffer.size());
      };
      for (ssize_t size; (size = next()) > 0;)
        content.append(buffer.begin(), buffer.begin() + size);
      ::close(end);
    });
    return Error::success();
  }
  std::string name() const {
    return "/proc/self/fd/" + std::to_string(writeEnd);
  }
  /// What was written, when all others have closed it.
  Object finish() {
    ::close(std::exchange(writeEnd, -1));
    reader.join();
    return std::move(content);
  }

private:
  int writeEnd = -1;
  std::thread reader;
  Object content;
};

} // namespace

/// Makes what only the descriptor refers to local: other models in a program
/// have kernels of the same names.
static Expected<Object> hideKernels(const Object &object) {
  auto binary = object::createBinary(MemoryBufferRef(bytesOf(object), "model"));
  if (!binary)
    return binary.takeError();
  objcopy::ConfigManager config;
  config.ELF.LocalizeHidden = true;
  Object result;
  raw_svector_ostream stream(result);
  if (Error error = objcopy::executeObjcopyOnBinary(config, **binary, stream))
    return error;
  return result;
}

/// Runs LLD, which gets `-o` and a name for what it writes.
static Expected<Object> runLinker(ArrayRef<const char *> options) {
  PipeReader output;
  if (Error error = output.start())
    return error;
  std::string name = output.name(), messages;
  std::vector<const char *> arguments = {"ld.lld", "-o", name.c_str(),
                                         "--threads=1"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  static std::mutex mutex; // LLD's state is global.
  std::lock_guard lock(mutex);
  raw_string_ostream stream(messages);
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0)
    return output.finish();
  return createStringError("internal error: cannot link the kernels: " +
                           StringRef(messages).trim());
}

Expected<Object> link(ArrayRef<Object> kernels, const Object &descriptor,
                      Linkage linkage) {
  auto archive = makeArchive(kernels);
  if (!archive)
    return archive.takeError();
  auto single = MemoryFile::create(bytesOf(descriptor));
  if (!single)
    return single.takeError();
  std::string archiveName = archive->name(), singleName = single->name();
  std::vector<const char *> arguments = {singleName.c_str()};
  if (linkage == Linkage::Relocatable)
    arguments.push_back("--relocatable");
  else // Only the descriptor is exported: kernels, members of an archive, keep
       // local names for profilers. The runtime tells libraries that have been
       // loaded apart by their build IDs.
    arguments.insert(arguments.end(),
                     {"-shared", "--build-id=fast", "--hash-style=gnu", "-z",
                      "noexecstack", "-z", "now", "--exclude-libs=ALL"});
  arguments.insert(arguments.end(), {"--whole-archive", archiveName.c_str()});
  Expected<Object> result = runLinker(arguments);
  if (!result || linkage == Linkage::Shared)
    return result;
  return hideKernels(*result);
}

Expected<Object> linkLibrary(const Object &object) {
  auto file = MemoryFile::create(bytesOf(object));
  if (!file)
    return file.takeError();
  std::string name = file->name();
  return runLinker(
      {name.c_str(), "-shared", "--hash-style=gnu", "-z", "noexecstack"});
}

} // namespace tinh::artifact
