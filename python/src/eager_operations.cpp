//===- eager_operations.cpp - More operations for Python --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of tinh/operations.h what operations.cpp does not have: by index, joining and
// splitting, and those that wait.
//
//===----------------------------------------------------------------------===//
#include "eager_extras.h"
#include "tinh/autograd.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tinh::python {

namespace {

Padding padding_mode(const std::string &name) {
  if (name == "constant")
    return Padding::Constant;
  if (name == "edge")
    return Padding::Edge;
  if (name == "reflect")
    return Padding::Reflect;
  if (name == "wrap")
    return Padding::Wrap;
  throw nb::value_error(
      ("pad: mode: expected \"constant\", \"edge\", \"reflect\" or \"wrap\", "
       "found \"" +
       name + "\"")
          .c_str());
}

/// A number among the arguments, for what takes no tensors.
Number number_of(const Given &given, const char *place) {
  Operand operand = given;
  if (operand.tensor())
    throw nb::type_error(
        (std::string(place) + ": expected a number, found a tensor").c_str());
  return operand.number();
}

void bind_by_index(Both &both) {
  both.def(
      "take", [](const Given &x, const Given &index) { return take(x, index); },
      nb::arg("x"), nb::arg("index"), "Elements of flatten().");
  both.def(
      "take_along",
      [](const Given &x, const Given &index, int64_t axis) {
        return take_along(x, index, axis);
      },
      nb::arg("x"), nb::arg("index"), nb::arg("axis"),
      "As gather, where x and index broadcast in the other dimensions.");
  both.def(
      "scatter",
      [](const Given &x, int64_t axis, const Given &index,
         const Given &source) { return scatter(x, axis, index, source); },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"), nb::arg("source"),
      "x with source[i] written at the indices, as of gather.");
  both.def(
      "scatter_add",
      [](const Given &x, int64_t axis, const Given &index,
         const Given &source) { return scatter_add(x, axis, index, source); },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"), nb::arg("source"),
      "x with source[i] added at the indices, as of gather.");
  both.def(
      "index_add",
      [](const Given &x, int64_t axis, const Given &index,
         const Given &source) { return index_add(x, axis, index, source); },
      nb::arg("x"), nb::arg("axis"), nb::arg("index"), nb::arg("source"),
      "x with parts of source added to those at the indices, of rank 1.");
  both.def(
      "argsort",
      [](const Given &x, int64_t axis, bool descending) {
        return argsort(x, axis, descending);
      },
      nb::arg("x"), nb::arg("axis") = -1, nb::arg("descending") = false);
  both.def(
      "nonzero", [](const Given &x) { return nonzero(x); }, nb::arg("x"),
      "The indices [count, rank] of elements that are not 0. Waits.");
  both.def(
      "masked_select",
      [](const Given &x, const Given &mask) { return masked_select(x, mask); },
      nb::arg("x"), nb::arg("mask"),
      "Those elements where a mask of x's shape holds. Waits.");
  both.def(
      "unique", [](const Given &x) { return unique(x); }, nb::arg("x"),
      "The sorted distinct elements. Waits.");
}

void bind_joining(Both &both, nb::module_ &m) {
  both.def(
      "split_sizes",
      [](const Given &x, const IntArray &sizes, int64_t axis) {
        return split_sizes(x, sizes, axis);
      },
      nb::arg("x"), nb::arg("sizes"), nb::arg("axis") = 0,
      "Views of the parts, of these sizes.");
  both.def(
      "chunk",
      [](const Given &x, int64_t count, int64_t axis) {
        return chunk(x, count, axis);
      },
      nb::arg("x"), nb::arg("count"), nb::arg("axis") = 0,
      "Views of at most `count` parts of equal size.");
  both.def(
      "repeat_interleave",
      [](const Given &x, int64_t times, int64_t axis) {
        return repeat_interleave(x, times, axis);
      },
      nb::arg("x"), nb::arg("times"), nb::arg("axis"),
      "Each element repeated.");
  both.def(
      "pad",
      [](const Given &x, const IntArray &low, const IntArray &high,
         const std::string &mode, const Given &value) {
        return pad(x, low, high, padding_mode(mode),
                   number_of(value, "pad: value"));
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"),
      nb::arg("mode") = "constant", nb::arg("value") = 0,
      "low[d] elements before and high[d] after each dimension d; negative\n"
      "amounts cut. mode: \"constant\", \"edge\", \"reflect\" or \"wrap\".");
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

void bind_elements(Both &both) {
  both.def(
      "isclose",
      [](const Given &a, const Given &b, double rtol, double atol,
         bool equal_nan) { return isclose(a, b, rtol, atol, equal_nan); },
      nb::arg("a"), nb::arg("b"), nb::arg("rtol") = 1e-5,
      nb::arg("atol") = 1e-8, nb::arg("equal_nan") = false,
      "|a - b| <= atol + rtol * |b|, or equal infinities.");
  both.def(
      "muladd",
      [](const Given &a, const Given &b, const Given &c) {
        return muladd(a, b, c);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("c"), "a * b + c");
  both.def(
      "stop_gradient", [](const Given &x) { return stop_gradient(x); },
      nb::arg("x"),
      "The same elements as a constant of what is computed with them.");
}

void bind_creation(nb::module_ &m) {
  auto like = [&](const char *name, auto function) {
    m.def(
        name,
        [function](const Tensor &x, std::optional<DType> dtype) {
          At at = here();
          return without_gil([&] { return function(x, dtype, at); });
        },
        nb::arg("x"), nb::arg("dtype") = nb::none(),
        "Of x's shape, and its dtype if none is given, where x lies.");
  };
  like("zeros_like", &zeros_like);
  like("ones_like", &ones_like);
  like("empty_like", &empty_like);
  m.def(
      "full_like",
      [](const Tensor &x, const Given &value, std::optional<DType> dtype) {
        At at = here();
        Number number = number_of(value, "full_like: value");
        return without_gil([&] { return full_like(x, number, dtype, at); });
      },
      nb::arg("x"), nb::arg("value"), nb::arg("dtype") = nb::none(),
      "Of x's shape, and its dtype if none is given, where x lies.");
  m.def(
      "promote_types",
      [](DType a, DType b) { return promote_types(a, b, here()); },
      nb::arg("a"), nb::arg("b"),
      "What an operation on both dtypes computes in.");
  m.def(
      "bernoulli",
      [](double probability, const Shape &shape, const Generator &generator,
         DType dtype) {
        At at = here();
        return without_gil([&] {
          return bernoulli(probability, shape, generator, dtype, at);
        });
      },
      nb::arg("probability"), nb::arg("shape"), nb::arg("generator"),
      nb::arg("dtype") = "bool", "1 with the given probability, else 0.");
  m.def(
      "permutation",
      [](int64_t count, const Generator &generator) {
        At at = here();
        return without_gil([&] { return permutation(count, generator, at); });
      },
      nb::arg("count"), nb::arg("generator"),
      "The numbers from 0 to count - 1, i64, in random order.");
  m.def(
      "dropout",
      [](const Given &x, double probability, const Generator &generator) {
        return dropout(x, probability, generator);
      },
      nb::arg("x"), nb::arg("probability"), nb::arg("generator"), Queues(),
      "Zeroes elements with the given probability and scales the others so\n"
      "that the expected sum stays.");
}

} // namespace

void bind_more_operations(Both &both, nb::module_ &module) {
  bind_by_index(both);
  bind_joining(both, module);
  bind_elements(both);
  bind_creation(module);
}

} // namespace tinh::python
