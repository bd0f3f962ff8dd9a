//===- KernelCache.h - Compiled kernels on disk -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of a kernel is determined by its text, its target and the compiler.
// The hash of these names a file that holds the code, so a kernel is compiled
// once for all models and processes that need it, and never found after any of
// them has changed.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_KERNELS_KERNELCACHE_H
#define TINH_PIPELINES_KERNELS_KERNELCACHE_H

#include "compiler/Artifact/Artifact.h"
#include "compiler/Codegen/CPU/Target.h"

#include "llvm/Support/Error.h"

#include <mutex>
#include <optional>
#include <string>

namespace tinh {

/// A folder of compiled kernels, which processes and threads may share. Nothing
/// that goes wrong in it keeps a kernel from being compiled.
class KernelCache {
public:
  /// `directory` is made when it is first written to; beyond `maximumSize`
  /// bytes, the entries that were not read for the longest time are removed.
  explicit KernelCache(std::string directory,
                       uint64_t maximumSize = kDefaultSize);

  /// $XDG_CACHE_HOME/tinh or ~/.cache/tinh; empty if neither is known.
  static std::string defaultDirectory();

  /// The name of the entry for the code of `kernel`, the text of a module.
  std::string key(llvm::StringRef kernel, const cpu::Target &target) const;

  /// Nothing if there is no entry, or it is damaged.
  std::optional<artifact::Object> load(llvm::StringRef key) const;
  void store(llvm::StringRef key, const artifact::Object &object);

  /// Keeps the size; at most every `interval` for all processes together.
  void prune(std::chrono::seconds interval = std::chrono::minutes(20)) const;

  /// The first reason, since the last call, why something was not stored.
  std::optional<std::string> takeWarning();

  static constexpr uint64_t kDefaultSize = uint64_t(1) << 30;

private:
  llvm::Error write(llvm::StringRef key, const artifact::Object &object) const;
  std::string path(llvm::StringRef key) const;
  void warn(llvm::Error error);

  std::string directory, buildId;
  uint64_t maximumSize;
  std::mutex mutex; // Guards what follows.
  bool usable = true;
  std::optional<std::string> warning;
};

} // namespace tinh

#endif // TINH_PIPELINES_KERNELS_KERNELCACHE_H
