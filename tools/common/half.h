//===- half.h - Conversion to half precision --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounds single precision to f16 and bf16, to nearest even.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_HALF_H
#define TINH_TOOLS_HALF_H

#include <cstdint>

namespace tinh::tools {

uint16_t to_f16(float value);
uint16_t to_bf16(float value);

} // namespace tinh::tools

#endif // TINH_TOOLS_HALF_H
