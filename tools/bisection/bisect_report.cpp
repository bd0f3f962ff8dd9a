//===- bisect_report.cpp - What a bisection says to the user --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bisect_report.h"

#include "dialects/graph/Graph.h"
#include "table.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tinh::bisection;

namespace tinh::tools {

using Align = Table::Align;

static std::string number(double value) {
  return llvm::formatv("{0:E2}", value);
}

static std::string error(const ValueReport &value) {
  return number(value.error()) + (value.mismatches() ? " mismatch" : "");
}

/// Of results that match, the first ones alone.
static void printResults(const BisectReport &report, llvm::raw_ostream &out) {
  constexpr size_t kShown = 16;
  const auto &compiled = report.compiled.results, &eager = report.eager.results;
  Table table({{"result", Align::left},
               {"compiled", Align::left},
               {"op by op", Align::left},
               {"tolerance", Align::right}});
  size_t hidden = 0;
  for (size_t i = 0; i < compiled.size(); ++i) {
    bool mismatch =
        compiled[i].mismatches() || (!eager.empty() && eager[i].mismatches());
    if (i >= kShown && !mismatch && ++hidden)
      continue;
    table.add({compiled[i].name, error(compiled[i]),
               eager.empty() ? "" : error(eager[i]),
               number(compiled[i].tolerance.limit)});
  }
  out << "largest errors against the reference, relative to its largest "
         "element\n\n"
      << table.text();
  if (hidden)
    out << "and " << hidden << " more, all of which match\n";
  size_t nans = llvm::count_if(
      compiled, [](const ValueReport &value) { return value.hasNaNs; });
  if (nans)
    out << nans
        << " of them have NaNs in the reference, which hide errors: "
           "--inputs gives other inputs\n";
  if (!report.eager.failure.empty())
    out << "op by op it cannot be run: " << report.eager.failure << "\n";
}

static void line(llvm::raw_ostream &out, llvm::StringRef what,
                 const llvm::Twine &text) {
  out << llvm::formatv("  {0,-12}", what) << text << "\n";
}

static std::string places(const ValueReport &value) {
  const reference::Difference &difference = value.difference;
  std::string text = llvm::formatv(
      "{0:E2} at {1}: {2:F6} where {3:F6} is expected; ", difference.absolute,
      indexText(difference.index, value.type.getShape()), difference.found,
      difference.expected);
  if (!value.tolerance.isAbsolute)
    text += number(value.error()) + " of the largest element, ";
  return text + number(value.tolerance.limit) + " is allowed";
}

static void printCulprit(const BisectReport &report, const Culprit &culprit,
                         llvm::raw_ostream &out) {
  const ValueReport &value =
      culprit.alone.mismatches() ? culprit.alone : culprit.value;
  out << llvm::formatv(
      "\n{0} diverges first at node {1} of {2}, found by {3} functions:\n",
      culprit.isEager ? "op by op" : "compiled", culprit.position, report.nodes,
      report.runs);
  line(out, "node", value.name);
  line(out, "op", value.op + ", " + graph::shapeToString(value.type));
  if (!culprit.kernels.empty())
    line(out, "kernel", llvm::join(culprit.kernels, ", "));
  line(out, "error", places(value));
  if (!culprit.alone.mismatches())
    line(out, "alone",
         "right where the model ends at it: " + number(culprit.alone.error()));
  if (culprit.other)
    line(out, culprit.isEager ? "compiled" : "op by op",
         llvm::Twine(culprit.other->mismatches() ? "wrong, too: " : "right: ") +
             number(culprit.other->error()));
  for (const ValueReport &read : culprit.feeding)
    line(out, &read == &culprit.feeding.front() ? "reads" : "",
         read.name + " (" + read.op + "): " + error(read));
}

void printBisection(const BisectReport &report, llvm::raw_ostream &out) {
  printResults(report, out);
  bool mismatch = report.compiled.mismatches() || report.eager.mismatches();
  if (!mismatch)
    out << "\nall results match the reference\n";
  else if (!report.culprit)
    out << "\nno function that ends earlier diverges: it shows in the "
           "whole artifact alone\n";
  else
    printCulprit(report, *report.culprit, out);
}

} // namespace tinh::tools
