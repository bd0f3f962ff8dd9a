//===- state.h - The variables of a context ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory in which a module's variables live from run to run. It gets their
// initial values when it is first asked for: a program that gives memory of its
// own to all runs pays nothing for it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_STATE_H
#define TINH_RUNTIME_STATE_H

#include "artifact/module.h"
#include "device/device.h"
#include "files/tensor_file.h"

#include <mutex>

namespace tinh::runtime {

/// Runs the kernel that makes `to` of `from`, or copies `size` bytes if there
/// is none.
void convert(const tinh_artifact_t &artifact,
             const tinh_conversion_t &conversion, uint64_t size,
             const void *from, void *to);

class State {
public:
  /// `gpu` has the module if it needs a GPU; else it is null. `is_given`: runs
  /// are given all variables, and there is no state.
  State(const Module &module, DeviceModulePtr gpu, bool is_given);

  /// Where variable `index` lies, as it is stored. Any thread may ask.
  char *variable(uint32_t index);
  /// The same, whatever it holds.
  char *address(uint32_t index) const;

  /// Copies variable `index`, in its own type, to `data`, and back.
  void read(uint32_t index, void *data);
  void write(uint32_t index, const void *data);

  /// Gives all variables their initial values.
  void reset();

  /// Writes all variables, and `metadata`, to a .safetensors file.
  void save(const std::string &path, MetadataToWrite metadata);
  /// Reads them from one; changes nothing unless the file has just them.
  void load(const std::string &path);

private:
  bool on_device(const tinh_variable_desc_t &variable) const;

  const Module &module;
  const bool is_given;
  MappedMemory memory; ///< Of a module without a GPU.
  DeviceModulePtr device;
  DeviceMemory pinned;        ///< Of one with a GPU, which copies from here,
  DeviceMemory device_memory; ///< and what lies there.
  std::once_flag initialised;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_STATE_H
