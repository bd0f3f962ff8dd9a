//===- products.cpp - Products and attention for Python ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operations.h"

namespace tinh::python {

void bind_products(Operations &ops) {
  ops.binary<&matmul>("matmul").binary<&bmm>("bmm").binary<&dot>("dot");
  ops.binary<&outer>("outer").binary<&embedding>("embedding");
  nb::module_ &m = ops.function();
  m.def(
      "linear",
      [](const Given &x, const Given &weights, const OptionalTensor &bias) {
        return linear(x, weights, or_none(bias));
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(), Queues(),
      "x · weightᵀ + bias; the weight is [out, in].");
  m.def(
      "scaled_dot_product_attention",
      [](const Given &query, const Given &key, const Given &value,
         const OptionalTensor &mask, bool causal, std::optional<double> scale) {
        return scaled_dot_product_attention(query, key, value, or_none(mask),
                                            causal, scale);
      },
      nb::arg("query"), nb::arg("key"), nb::arg("value"),
      nb::arg("mask") = nb::none(), nb::arg("causal") = false,
      nb::arg("scale") = nb::none(), Queues());
  m.def(
      "einsum",
      [](const std::string &equation, nb::args inputs) {
        At at = here();
        std::vector<Given> given;
        given.reserve(nb::len(inputs));
        for (nb::handle input : inputs)
          given.emplace_back(input);
        std::vector<Operand> operands(given.begin(), given.end());
        return without_gil([&] { return einsum(equation, operands, at); });
      },
      nb::arg("equation"), nb::arg("inputs"),
      "Sums of products by Einstein's convention:\n"
      "einsum(\"bik,bkj->bij\", a, b).");
}

} // namespace tinh::python
