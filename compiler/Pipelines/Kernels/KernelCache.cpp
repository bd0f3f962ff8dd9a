//===- KernelCache.cpp - Compiled kernels on disk ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry is a file: the BLAKE3 hash of its name and code, then the code. It
// is written under another name and renamed, so others see it whole; the hash
// tells what a crash or a bad disk has left of it. All names start as
// llvm::pruneCache wants it, those of unfinished files too: it removes both.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Kernels/KernelCache.h"

#include "compiler/Pipelines/Kernels/BuildId.h"
#include "compiler/Support/Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <sys/stat.h>

using namespace llvm;

namespace tinh {

using Digest = BLAKE3Result<20>;

static Digest hashAll(ArrayRef<StringRef> parts) {
  BLAKE3 hasher;
  for (StringRef part : parts) {
    // With sizes, so that no two lists of parts are the same bytes.
    uint64_t size = part.size();
    hasher.update(StringRef(reinterpret_cast<char *>(&size), sizeof(size)));
    hasher.update(part);
  }
  return hasher.final<20>();
}

static StringRef bytesOf(const Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

KernelCache::KernelCache(std::string directory, uint64_t maximumSize)
    : directory(std::move(directory)), maximumSize(maximumSize) {
  auto id = compilerBuildId();
  if (id)
    buildId = *id;
  else
    warn(id.takeError());
}

void KernelCache::warn(Error error) {
  std::lock_guard lock(mutex);
  // One reason is enough: without more attempts, there are no more reasons.
  if (usable)
    warning = "compiled kernels are not kept: " + toString(std::move(error));
  else
    consumeError(std::move(error));
  usable = false;
}

std::optional<std::string> KernelCache::takeWarning() {
  std::lock_guard lock(mutex);
  return std::exchange(warning, std::nullopt);
}

std::string KernelCache::defaultDirectory() {
  SmallString<128> path;
  if (!sys::path::cache_directory(path))
    return "";
  sys::path::append(path, "tinh");
  return std::string(path);
}

std::string KernelCache::key(StringRef kernel,
                             const cpu::Target &target) const {
  Digest digest =
      hashAll({buildId, StringRef(target.name), target.features, kernel});
  return toHex(bytesOf(digest), /*LowerCase=*/true);
}

std::string KernelCache::path(StringRef key) const {
  SmallString<128> path(directory);
  sys::path::append(path, "llvmcache-" + key);
  return std::string(path);
}

std::optional<artifact::Object> KernelCache::load(StringRef key) const {
  if (buildId.empty())
    return std::nullopt;
  auto file = openRegularFile(path(key));
  if (!file) {
    consumeError(file.takeError());
    return std::nullopt;
  }
  auto buffer = MemoryBuffer::getOpenFile(*file, key, /*FileSize=*/-1,
                                          /*RequiresNullTerminator=*/false);
  // Recent access is what keeps an entry; systems seldom note it themselves.
  const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  ::futimens(*file, times);
  sys::fs::closeFile(*file);
  if (!buffer)
    return std::nullopt;
  StringRef bytes = (*buffer)->getBuffer();
  StringRef code = bytes.drop_front(std::min(bytes.size(), sizeof(Digest)));
  if (bytes.take_front(sizeof(Digest)) != bytesOf(hashAll({key, code})))
    return std::nullopt;
  return artifact::Object(code.begin(), code.end());
}

Error KernelCache::write(StringRef key, const artifact::Object &object) const {
  if (std::error_code error = sys::fs::create_directories(
          directory, /*IgnoreExisting=*/true, sys::fs::owner_all))
    return writeError(directory, error.message());
  auto file = PendingFile::create(path(key));
  if (!file)
    return file.takeError();
  StringRef code(object.data(), object.size());
  auto bytes = file->map(sizeof(Digest) + code.size());
  if (!bytes)
    return bytes.takeError();
  std::memcpy(bytes->data(), hashAll({key, code}).data(), sizeof(Digest));
  std::memcpy(bytes->data() + sizeof(Digest), code.data(), code.size());
  return file->keep(0666);
}

void KernelCache::store(StringRef key, const artifact::Object &object) {
  {
    std::lock_guard lock(mutex);
    if (!usable)
      return;
  }
  if (Error error = write(key, object))
    warn(std::move(error));
}

void KernelCache::prune(std::chrono::seconds interval) const {
  CachePruningPolicy policy;
  policy.Interval = interval;
  policy.Expiration = std::chrono::seconds(0); // The size is the only bound.
  policy.MaxSizeBytes = maximumSize;
  pruneCache(directory, policy);
}

} // namespace tinh
