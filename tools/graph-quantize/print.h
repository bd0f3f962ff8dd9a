//===- print.h - What quantisation says to the user -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_QUANTIZE_PRINT_H
#define TINH_GRAPH_QUANTIZE_PRINT_H

#include "compiler/Quantization/Quantization.h"

namespace tinh::tools {

/// A line for each layer, and how near the outputs are.
void printReport(const quantization::QuantizeReport &report);

} // namespace tinh::tools

#endif // TINH_GRAPH_QUANTIZE_PRINT_H
