//===- half.h - Conversion to half and lower precision ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounds single precision to f16, bf16 and floats of 8 and 4 bits, to nearest
// even.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_HALF_H
#define TINH_TOOLS_HALF_H

#include <cstdint>

namespace tinh::tools {

uint16_t to_f16(float value);
uint16_t to_bf16(float value);

/// A finite number, in the range of the format: so many bits of a fraction
/// after an exponent with this bias. There is no -0.
uint8_t to_f8(float value, int fraction_bits, int bias);

/// The nearest of the 15 numbers of f4e2m1fn.
uint8_t to_f4(float value);

} // namespace tinh::tools

#endif // TINH_TOOLS_HALF_H
