//===- toy.h - A toy artifact on disk ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Completes the hand-made artifact in a folder of its own, as the compiler
// would.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_RUNTIME_TOY_H
#define TINH_TESTS_RUNTIME_TOY_H

#include "tinh/artifact.h"
#include "tinh/runtime.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

/// The artifact, removed with this object.
class Toy {
public:
  /// `change` may alter the note before it is written. `library` is what the
  /// linker has made of the artifact.
  explicit Toy(const std::function<void(tinh_note_t &)> &change = {},
               bool external_weights = false,
               const std::string &library = TOY_ARTIFACT);
  ~Toy();

  std::string path() const { return (folder / "toy.so").string(); }
  std::filesystem::path folder;
};

/// Of its weights, as the compiler's BLAKE3 has it.
extern const uint8_t kToyDigest[16];

/// What "main" computes.
std::vector<float> expected_of(const std::vector<float> &x);

#endif // TINH_TESTS_RUNTIME_TOY_H
