//===- elementwise.cpp - Operations by element for Python -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operations.h"
#include "tinh/autograd.h"

namespace tinh::python {

void bind_elementwise(Operations &ops) {
  ops.binary<&floor_divide>("floor_divide").binary<&pow>("pow");
  ops.binary<&eq>("eq").binary<&ne>("ne").binary<&lt>("lt").binary<&le>("le");
  ops.binary<&gt>("gt").binary<&ge>("ge");
  ops.binary<&logical_and>("logical_and").binary<&logical_or>("logical_or");
  ops.binary<&logical_xor>("logical_xor").unary<&logical_not>("logical_not");
  ops.unary<&bitwise_not>("bitwise_not");
  // Those that are an op of the graph dialect; tinh.aten has the names of those
  // of one operand, too.
  nb::list names;
#define BINARY_FUNCTION(NAME, FUNCTION, DTYPE) ops.binary<&FUNCTION>(#FUNCTION);
#define UNARY_FUNCTION(NAME, MNEMONIC, DTYPE)                                  \
  ops.unary<&MNEMONIC>(#MNEMONIC);                                             \
  names.append(#MNEMONIC);
#include "dialects/graph/ElementwiseOps.inc"
  ops.function().attr("_unary_functions") = names;
  ops.unary<&isfinite>("isfinite").unary<&square>("square");
  ops.unary<&trunc>("trunc").unary<&exp2>("exp2").unary<&expm1>("expm1");
  ops.unary<&log2>("log2").unary<&log10>("log10").unary<&log1p>("log1p");
  ops.unary<&silu>("silu");
  ops.def(
      "gelu",
      [](const Given &x, bool approximate) { return gelu(x, approximate); },
      nb::arg("x"), nb::arg("tanh_approximation") = false);
  ops.def(
      "leaky_relu",
      [](const Given &x, double slope) { return leaky_relu(x, slope); },
      nb::arg("x"), nb::arg("slope") = 0.01);
  ops.def(
      "elu", [](const Given &x, double alpha) { return elu(x, alpha); },
      nb::arg("x"), nb::arg("alpha") = 1.0);
  ops.def(
      "where",
      [](const Given &condition, const Given &a, const Given &b) {
        return where(condition, a, b);
      },
      nb::arg("condition"), nb::arg("a"), nb::arg("b"));
  ops.def(
      "clamp",
      [](const Given &x, const Given &low, const Given &high) {
        return clamp(x, low, high);
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"));
  ops.def(
      "masked_fill",
      [](const Given &x, const Given &mask, const Given &value) {
        return masked_fill(x, mask, value);
      },
      nb::arg("x"), nb::arg("mask"), nb::arg("value"));
  ops.def(
      "lerp",
      [](const Given &a, const Given &b, const Given &weight) {
        return lerp(a, b, weight);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("weight"));
  ops.def(
      "allclose",
      [](const Given &a, const Given &b, double rtol, double atol,
         bool equal_nan) { return allclose(a, b, rtol, atol, equal_nan); },
      nb::arg("a"), nb::arg("b"), nb::arg("rtol") = 1e-5,
      nb::arg("atol") = 1e-8, nb::arg("equal_nan") = false);
  ops.def(
      "equal", [](const Given &a, const Given &b) { return equal(a, b); },
      nb::arg("a"), nb::arg("b"));
  ops.def(
      "isclose",
      [](const Given &a, const Given &b, double rtol, double atol,
         bool equal_nan) { return isclose(a, b, rtol, atol, equal_nan); },
      nb::arg("a"), nb::arg("b"), nb::arg("rtol") = 1e-5,
      nb::arg("atol") = 1e-8, nb::arg("equal_nan") = false,
      "|a - b| <= atol + rtol * |b|, or equal infinities.");
  ops.def(
      "muladd",
      [](const Given &a, const Given &b, const Given &c) {
        return muladd(a, b, c);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("c"), "a * b + c");
  ops.def(
      "stop_gradient", [](const Given &x) { return stop_gradient(x); },
      nb::arg("x"),
      "The same elements as a constant of what is computed with them.");
}

} // namespace tinh::python
