//===- StateDict.cpp - Tensors by name, checked -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/StateDict.h"

#include <unordered_map>

using namespace tinh;
using namespace tinh::nn;

const Tensor *tinh::find(const StateDict &state, std::string_view name) {
  for (const NamedTensor &entry : state)
    if (entry.name == name)
      return &entry.tensor;
  return nullptr;
}

static bool fits(const Shape &found, const Shape &expected) {
  if (found.size() != expected.size())
    return false;
  for (size_t i = 0; i < found.size(); ++i)
    if (expected[i] >= 0 && found[i] != expected[i])
      return false;
  return true;
}

namespace {

/// Names of one kind of mistake: the first, and how many.
struct Mistakes {
  std::string first;
  size_t count = 0;

  void add(const std::string &what) {
    if (count++ == 0)
      first = what;
  }
  void tell(std::ostream &stream, const char *kind) const {
    if (count == 0)
      return;
    stream << "; " << kind << " " << first;
    if (count > 1)
      stream << " and " << count - 1 << " more";
  }
};

} // namespace

void nn::requireFits(const std::vector<ExpectedTensor> &expected,
                     const StateDict &state, bool strict,
                     const eager::Call &call) {
  std::unordered_map<std::string, Shape> found;
  for (const NamedTensor &entry : state)
    if (!found.emplace(entry.name, entry.tensor.shape(call.at)).second)
      eager::fail(call, "the state has \"", entry.name, "\" twice");
  Mistakes missing, unexpected, misshapen;
  for (const ExpectedTensor &wanted : expected) {
    auto given = found.extract(wanted.name);
    if (given.empty())
      missing.add('"' + wanted.name + '"');
    else if (!fits(given.mapped(), wanted.shape))
      misshapen.add('"' + wanted.name + "\", which is " +
                    to_string(given.mapped()) + " instead of " +
                    to_string(wanted.shape));
  }
  for (const NamedTensor &entry : state)
    if (found.contains(entry.name))
      unexpected.add('"' + entry.name + '"');
  if (!strict)
    missing = unexpected = {};
  if (missing.count + unexpected.count + misshapen.count == 0)
    return;
  std::ostringstream message;
  missing.tell(message, "missing:");
  unexpected.tell(message, "unexpected:");
  misshapen.tell(message, "of another shape:");
  eager::fail(call, "the state does not fit", message.str());
}
