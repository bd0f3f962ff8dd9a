//===- indexing.cpp - Operations by index for Python ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operations.h"

namespace tinh::python {

void bind_indexing(Operations &ops) {
  ops.def(
      "take", [](const Given &x, const Given &index) { return take(x, index); },
      nb::arg("x"), nb::arg("index"), "Elements of flatten().");
  ops.def(
      "take_along",
      [](const Given &x, const Given &index, int64_t axis) {
        return take_along(x, index, axis);
      },
      nb::arg("x"), nb::arg("index"), nb::arg("axis"),
      "As gather, where x and index broadcast in the other dimensions.");
  ops.def(
      "scatter",
      [](const Given &x, int64_t axis, const Given &index,
         const Given &source) { return scatter(x, axis, index, source); },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"), nb::arg("source"),
      "x with source[i] written at the indices, as of gather.");
  ops.def(
      "scatter_add",
      [](const Given &x, int64_t axis, const Given &index,
         const Given &source) { return scatter_add(x, axis, index, source); },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"), nb::arg("source"),
      "x with source[i] added at the indices, as of gather.");
  ops.def(
      "index_add",
      [](const Given &x, int64_t axis, const Given &index,
         const Given &source) { return index_add(x, axis, index, source); },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"), nb::arg("source"),
      "x with parts of source added to those at the indices, of rank 1.");
  ops.def(
      "argsort",
      [](const Given &x, int64_t axis, bool descending) {
        return argsort(x, axis, descending);
      },
      nb::arg("x"), nb::arg("axis") = -1, nb::arg("descending") = false);
  ops.def(
      "nonzero", [](const Given &x) { return nonzero(x); }, nb::arg("x"),
      "The indices [count, rank] of elements that are not 0. Waits.");
  ops.def(
      "masked_select",
      [](const Given &x, const Given &mask) { return masked_select(x, mask); },
      nb::arg("x"), nb::arg("mask"),
      "Those elements where a mask of x's shape holds. Waits.");
  ops.def(
      "unique", [](const Given &x) { return unique(x); }, nb::arg("x"),
      "The sorted distinct elements. Waits.");
  ops.def(
      "gather",
      [](const Given &x, int64_t axis, const Given &index) {
        return gather(x, axis, index);
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"));
  ops.def(
      "index_select",
      [](const Given &x, int64_t axis, const Given &index) {
        return index_select(x, axis, index);
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"));
  ops.def(
      "one_hot",
      [](const Given &x, int64_t classes) { return one_hot(x, classes); },
      nb::arg("x"), nb::arg("classes"));
  ops.method().def(
      "index_put_",
      [](nb::object self, nb::tuple key, const Given &value, bool accumulate) {
        const Tensor &x = nb::cast<const Tensor &>(self);
        std::vector<Index> indices = to_indices(key);
        without_gil([&] {
          x.index_put_(std::span<const Index>(indices), value, accumulate);
        });
        return self;
      },
      nb::arg("indices"), nb::arg("value"), nb::arg("accumulate") = false,
      "self[indices] = value, a tuple of indices; with `accumulate`, all\n"
      "values that meet an element are added to it.");
}

} // namespace tinh::python
