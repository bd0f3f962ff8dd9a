//===- npy_fuzzer.cpp - NumPy's array files ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "npy.h"

#include "tinh/runtime.h"

#include <cstdlib>

using namespace tinh::tools;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  NpyArray array;
  std::string message;
  std::string bytes(reinterpret_cast<const char *>(data), size);
  bool read = parse_npy(bytes, "fuzzed.npy", &array, &message);
  if (!read && message.empty())
    std::abort();
  uint64_t expected = tinh_dtype_size(array.dtype);
  for (int64_t dim : array.dims)
    expected *= static_cast<uint64_t>(dim);
  if (read && array.data.size() != expected)
    std::abort();
  return 0;
}
