//===- reductions.cpp - Reductions, scans and orders for Python -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operations.h"

namespace tinh::python {

void bind_reductions(Operations &ops) {
  ops.reduction<&sum>("sum").reduction<&prod>("prod").reduction<&mean>("mean");
  ops.reduction<&max>("max").reduction<&min>("min").reduction<&any>("any");
  ops.reduction<&all>("all").reduction<&count_nonzero>("count_nonzero");
  ops.reduction<&logsumexp>("logsumexp");
  using Extreme = Tensor (*)(Operand, std::optional<int64_t>, bool);
  for (auto [name, function] :
       {std::pair<const char *, Extreme>("argmax", &argmax),
        {"argmin", &argmin}})
    ops.def(
        name,
        [function](const Given &x, std::optional<int64_t> axis, bool keepdims) {
          return function(x, axis, keepdims);
        },
        nb::arg("x"), nb::arg("axis") = nb::none(),
        nb::arg("keepdims") = false);
  ops.def(
      "var",
      [](const Given &x, const Axes &axis, bool keepdims, double correction) {
        return var(x, axis, keepdims, correction);
      },
      nb::arg("x"), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
      nb::arg("correction") = 1.0, "Of count - correction: 0 is NumPy's.");
  ops.def(
      "std",
      [](const Given &x, const Axes &axis, bool keepdims, double correction) {
        return tinh::std(x, axis, keepdims, correction);
      },
      nb::arg("x"), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
      nb::arg("correction") = 1.0);
  ops.def(
      "norm",
      [](const Given &x, double p, const Axes &axis, bool keepdims) {
        return norm(x, p, axis, keepdims);
      },
      nb::arg("x"), nb::arg("p") = 2.0, nb::arg("axis") = nb::none(),
      nb::arg("keepdims") = false);
  // Those that are an op of the graph dialect; tinh.aten has them, too.
  nb::list names;
#define CUMULATIVE_OP(NAME, MNEMONIC)                                          \
  ops.along_axis<&MNEMONIC>(#MNEMONIC);                                        \
  names.append(#MNEMONIC);
#include "dialects/graph/ReductionOps.inc"
  ops.function().attr("_cumulative_functions") = names;
  ops.along_axis<&softmax>("softmax").along_axis<&log_softmax>("log_softmax");
  ops.def(
      "sort",
      [](const Given &x, int64_t axis, bool descending) {
        ValuesAndIndices sorted = sort(x, axis, descending);
        return std::pair(sorted.values, sorted.indices);
      },
      nb::arg("x"), nb::arg("axis") = -1, nb::arg("descending") = false,
      "The values in order, and where they were.");
  ops.def(
      "topk",
      [](const Given &x, int64_t count, int64_t axis, bool largest) {
        ValuesAndIndices top = topk(x, count, axis, largest);
        return std::pair(top.values, top.indices);
      },
      nb::arg("x"), nb::arg("count"), nb::arg("axis") = -1,
      nb::arg("largest") = true);
}

} // namespace tinh::python
