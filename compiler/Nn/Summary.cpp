//===- Summary.cpp - A module as a table ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/autograd.h"
#include "tinh/nn/module.h"

#include <iomanip>
#include <map>
#include <sstream>

namespace tinh::nn {

/// Where results are noted while this thread makes a summary.
static thread_local std::map<const Module *, Shape> *notes = nullptr;

void Module::note_result(const Tensor &result) const {
  if (notes)
    (*notes)[this] = result.shape();
}

/// Calls the module as eval() leaves it and notes the shapes of all results.
static std::map<const Module *, Shape> shapesOfResults(Module &module,
                                                       const Tensor &x) {
  std::vector<std::pair<Module *, bool>> modes;
  for (const Module::Named &named : module.modules())
    modes.emplace_back(named.module, named.module->is_training());
  std::map<const Module *, Shape> shapes;
  struct Restore {
    std::vector<std::pair<Module *, bool>> &modes;
    ~Restore() {
      notes = nullptr;
      // Parents first, so that each ends up as it was.
      for (auto [module, mode] : modes)
        module->train(mode);
    }
  } restore{modes};
  NoGrad guard;
  module.eval();
  notes = &shapes;
  module(x);
  return shapes;
}

static std::string withCommas(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t i = int64_t(text.size()) - 3; i > 0; i -= 3)
    text.insert(static_cast<size_t>(i), ",");
  return text;
}

using Row = std::array<std::string, 4>;

static std::string table(const std::vector<Row> &rows, bool hasShapes) {
  std::array<size_t, 4> widths = {};
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::ostringstream text;
  for (const Row &row : rows) {
    std::ostringstream line;
    line << std::left << std::setw(int(widths[0])) << row[0] << "  "
         << std::setw(int(widths[1])) << row[1] << "  ";
    if (hasShapes)
      line << std::setw(int(widths[2])) << row[2] << "  ";
    line << std::right << std::setw(int(widths[3])) << row[3];
    std::string all = line.str();
    text << all.substr(0, all.find_last_not_of(' ') + 1) << '\n';
  }
  return text.str();
}

std::string Module::summary(const Tensor &x, At at) {
  std::map<const Module *, Shape> shapes;
  if (x.defined())
    shapes = shapesOfResults(*this, x);
  std::vector<Row> rows = {{"module", "type", "result", "parameters"}};
  for (const Named &named : modules()) {
    int64_t own = 0;
    bool isKnown = true;
    for (const Entry &entry : named.module->entries)
      if (!entry.isBuffer && entry.place->defined())
        own += entry.place->numel();
      else if (!entry.isBuffer)
        isKnown = false;
    auto shape = shapes.find(named.module);
    rows.push_back({named.name.empty() ? "(all)" : named.name,
                    named.module->type_name(),
                    shape == shapes.end() ? "" : to_string(shape->second),
                    isKnown ? (own ? withCommas(own) : "") : "?"});
  }
  int64_t all = 0, trainable = 0;
  if (is_initialized())
    for (const Tensor &parameter : parameters(at)) {
      all += parameter.numel();
      trainable += requires_grad(parameter) ? parameter.numel() : 0;
    }
  std::ostringstream text;
  text << table(rows, x.defined());
  if (is_initialized())
    text << withCommas(all) << " parameters, " << withCommas(trainable)
         << " of them trainable\n";
  return text.str();
}

} // namespace tinh::nn
