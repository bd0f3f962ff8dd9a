//===- print.cpp - What pruning says to the user -------------- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "print.h"

#include "table.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace tinh::tools {

using Align = Table::Align;

static std::string changeText(int64_t before, int64_t after) {
  std::string text = std::to_string(before);
  return before == after ? text : text + " → " + std::to_string(after);
}

static std::string numberText(double value) {
  return llvm::formatv("{0:N}", static_cast<uint64_t>(value)).str();
}

static std::string shareText(double part, double all) {
  return all > 0 ? llvm::formatv("{0:P1}", part / all).str() : "";
}

static std::string costsTable(const pruning::ModelCosts &before,
                              const pruning::ModelCosts &after) {
  Table table({{"", Align::left},
               {"before", Align::right},
               {"after", Align::right},
               {"", Align::right}});
  auto add = [&](const char *what, double all, double left) {
    table.add({what, numberText(all), numberText(left), shareText(left, all)});
  };
  add("multiplications", before.macs, after.macs);
  add("estimated cycles", before.cycles, after.cycles);
  add("weights, bytes", before.bytes, after.bytes);
  return table.text();
}

void printReport(const pruning::PruneReport &report) {
  Table table({{"layer", Align::left},
               {"op", Align::left},
               {"inputs", Align::right},
               {"outputs", Align::right},
               {"why outputs stay", Align::left}});
  for (const pruning::LayerReport &layer : report.layers)
    table.add({layer.name, layer.op, changeText(layer.inputs, layer.inputsLeft),
               changeText(layer.outputs, layer.outputsLeft), layer.kept});
  llvm::outs() << table.text() << "\n"
               << costsTable(report.before, report.after);
}

void printReport(const std::vector<pruning::SparsityReport> &report) {
  Table table({{"layer", Align::left},
               {"op", Align::left},
               {"energy kept", Align::right},
               {"bytes", Align::right},
               {"as 2:4", Align::right}});
  double bytes = 0, sparse = 0;
  for (const pruning::SparsityReport &layer : report) {
    table.add({layer.name, layer.op,
               llvm::formatv("{0:P1}", layer.energy).str(),
               numberText(layer.bytes), numberText(layer.sparseBytes)});
    bytes += layer.bytes;
    sparse += layer.sparseBytes;
  }
  table.add({"all", "", "", numberText(bytes), numberText(sparse)});
  llvm::outs() << table.text();
}

} // namespace tinh::tools
