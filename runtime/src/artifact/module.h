//===- module.h - A loaded artifact -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact in memory, from a file or linked into the program: its descriptor
// and its weights.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MODULE_H
#define TINH_RUNTIME_MODULE_H

#include "files/mapped_memory.h"
#include "tinh/artifact.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace tinh::runtime {

class DeviceModule;

/// What contexts share of a module on GPUs.
struct DeviceCopies {
  std::mutex mutex;
  std::map<uint32_t, std::weak_ptr<const DeviceModule>> by_device;
};

class Module {
public:
  /// Loads the artifact at `path`; throws an Error that says why it cannot.
  explicit Module(const std::string &path);
  /// The artifact in an object file that is linked into the program.
  /// `weights_path` is where its weights are, if they are external, or null.
  Module(const tinh_model_t &model, const char *weights_path);
  /// `other` with other weights: its parameters are those in the
  /// .safetensors file at `path`.
  Module(const std::shared_ptr<const Module> &other, const std::string &path);
  Module(const Module &) = delete;
  /// What `module` has for contexts without a GPU.
  static std::shared_ptr<const Module>
  without_gpu(const std::shared_ptr<const Module> &module);

  const tinh_artifact_t &artifact() const { return *descriptor; }
  const char *cpu() const { return note.cpu; }
  /// A digest of code, weights and all else that is in the artifact's file; of
  /// a model in the program, of what its note says.
  uint64_t identity() const { return digest; }
  /// The constant weights, or null if there are none.
  char *weights() const { return weights_data; }

  /// Throws INVALID_ARTIFACT unless the weights are those that the compiler has
  /// written, byte for byte. Reads all of them.
  void verify_weights() const;

  DeviceCopies &device_copies() const { return copies; }

  /// The function's description; throws INVALID_ARGUMENT if there is no such.
  const tinh_function_desc_t &function(uint32_t index) const;
  const tinh_variable_desc_t &variable(uint32_t index) const;

private:
  /// `other` as another description has it, which like `weights` is not its
  /// own.
  Module(const std::shared_ptr<const Module> &other,
         const tinh_artifact_t &description, char *weights);

  tinh_note_t note;
  uint64_t digest = 0;
  /// Whose library it uses, if it has none itself.
  std::shared_ptr<const Module> loaded_by;
  MappedMemory mapped_weights; // Empty if they are linked.
  std::string weights_place;   ///< Where they are, in messages.
  bool has_digest = true;      ///< False for weights from elsewhere.
  char *weights_data = nullptr;
  struct Close {
    void operator()(void *handle) const;
  };
  std::unique_ptr<void, Close> library;
  const tinh_artifact_t *descriptor = nullptr;
  mutable DeviceCopies copies;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_MODULE_H
