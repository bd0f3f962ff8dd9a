//===- image.h - Code of kernels that is loaded -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_IMAGE_H
#define TINH_TESTS_CUDA_DRIVER_IMAGE_H

#include "compiler/Codegen/CUDA/Emulate/EmulatorAbi.h"

#include <string>
#include <string_view>

namespace tinh::fake {

/// An x86 shared object, loaded while this object exists.
class LoadedImage {
public:
  /// From the bytes of an ELF file, whose headers say how many they are. Empty
  /// if it is none for this machine, or cannot be loaded.
  explicit LoadedImage(const void *bytes);
  ~LoadedImage();
  LoadedImage(const LoadedImage &) = delete;

  const emulator::Image *image() const { return found; }
  /// The kernel of this name, or null.
  const emulator::Kernel *kernel(std::string_view name) const;
  const std::string &problem() const { return message; }

private:
  int file = -1;
  void *library = nullptr;
  const emulator::Image *found = nullptr;
  std::string message;
};

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_IMAGE_H
