//===- blake3.h - The digest of weights -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_BLAKE3_H
#define TINH_RUNTIME_BLAKE3_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace tinh::runtime {

/// The first bytes of the BLAKE3 hash of `size` bytes.
std::array<uint8_t, 16> blake3(const void *data, size_t size);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_BLAKE3_H
