//===- module.h - A loaded artifact -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact in memory: its descriptor and its weights.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MODULE_H
#define TINH_RUNTIME_MODULE_H

#include "mapped_memory.h"
#include "tinh/artifact.h"

#include <string>

namespace tinh::runtime {

class Module {
public:
  /// Loads the artifact at `path`; throws an Error that says why it cannot.
  explicit Module(const std::string &path);
  Module(const Module &) = delete;
  ~Module();

  const tinh_artifact_t &artifact() const { return *descriptor; }
  const char *cpu() const { return note.cpu; }
  /// The constant weights, or null if there are none.
  char *weights() const { return mapped_weights.data(); }

  /// The function's description; throws INVALID_ARGUMENT if there is no such.
  const tinh_function_desc_t &function(uint32_t index) const;

private:
  tinh_note_t note;
  MappedMemory mapped_weights;
  void *library = nullptr;
  const tinh_artifact_t *descriptor = nullptr;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_MODULE_H
