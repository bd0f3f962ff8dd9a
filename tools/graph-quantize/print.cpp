//===- print.cpp - What quantisation says to the user -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "print.h"

#include "table.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace tinh::tools {

static std::string decibelText(double value) {
  if (std::isinf(value))
    return value > 0 ? "exact" : "-inf";
  return llvm::formatv("{0:F1}", value).str();
}

void printReport(const quantization::QuantizeReport &report) {
  using Align = Table::Align;
  Table table({{"layer", Align::left},
               {"op", Align::left},
               {"SQNR dB", Align::right},
               {"", Align::left}});
  size_t kept = 0;
  for (const quantization::LayerReport &layer : report.layers) {
    kept += !layer.kept.empty();
    table.add({layer.name, layer.op, decibelText(layer.sqnr),
               layer.kept.empty() ? "int8" : "f32, " + layer.kept});
  }
  llvm::outs() << table.text() << "\n"
               << report.layers.size() - kept << " of " << report.layers.size()
               << " layers in int8; " << report.equalized
               << " activations with equalised channels; outputs: "
               << decibelText(report.agreement.sqnr)
               << " dB, argmax differs in "
               << llvm::formatv("{0:P2}", report.agreement.changed)
               << " of rows\n";
}

} // namespace tinh::tools
