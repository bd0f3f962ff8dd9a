//===- safetensors_fuzzer.cpp - Files of named tensors ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mutation.h"
#include "temporary_file.h"

#include "error.h"
#include "tensor_file.h"

#include <numeric>

using namespace tinh;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::TemporaryFile file(data, size);
  try {
    runtime::TensorFile tensors(file.path());
    for (const auto &tensor : tensors.tensors()) {
      const char *bytes = tensors.data(tensor);
      [[maybe_unused]] volatile int sum =
          std::accumulate(bytes, bytes + (tensor.end - tensor.begin), 0);
      if (!tensors.find(tensor.name))
        std::abort();
    }
  } catch (const runtime::Error &) {
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t max_size, unsigned seed) {
  return fuzz::mutate_safetensors(data, size, max_size, seed);
}
