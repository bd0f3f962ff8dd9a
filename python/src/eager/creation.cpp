//===- creation.cpp - Making tensors for Python -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "operations.h"

namespace tinh::python {

static void bind_random(nb::module_ &m) {
  nb::class_<Generator>(m, "Generator",
                        "Which random numbers come next: by one thread at a "
                        "time.")
      .def(nb::init<uint64_t, uint64_t>(), nb::arg("seed"),
           nb::arg("counter") = 0)
      .def_prop_ro("seed", &Generator::seed)
      .def_prop_ro("counter", &Generator::counter);
  m.def(
      "normal",
      [](const Shape &shape, const Generator &generator, double mean,
         double deviation, DType dtype) {
        return normal(shape, generator, mean, deviation, dtype, here());
      },
      nb::arg("shape"), nb::arg("generator"), nb::arg("mean") = 0.0,
      nb::arg("deviation") = 1.0, nb::arg("dtype") = "f32");
  m.def(
      "uniform",
      [](const Shape &shape, const Generator &generator, double low,
         double high, DType dtype) {
        return uniform(shape, generator, low, high, dtype, here());
      },
      nb::arg("shape"), nb::arg("generator"), nb::arg("low") = 0.0,
      nb::arg("high") = 1.0, nb::arg("dtype") = "f32");
  m.def(
      "randint",
      [](int64_t low, int64_t high, const Shape &shape,
         const Generator &generator, DType dtype) {
        return randint(low, high, shape, generator, dtype, here());
      },
      nb::arg("low"), nb::arg("high"), nb::arg("shape"), nb::arg("generator"),
      nb::arg("dtype") = "i64");
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

void bind_creation(nb::module_ &m) {
  for (auto [name, function] :
       {std::pair("zeros",
                  static_cast<Tensor (*)(const Shape &, DType, At)>(&zeros)),
        {"ones", static_cast<Tensor (*)(const Shape &, DType, At)>(&ones)},
        {"empty", static_cast<Tensor (*)(const Shape &, DType, At)>(&empty)}})
    m.def(
        name,
        [function](const Shape &shape, DType dtype) {
          At at = here();
          return without_gil([&] { return function(shape, dtype, at); });
        },
        nb::arg("shape"), nb::arg("dtype") = "f32");
  m.def(
      "full",
      [](const Shape &shape, const Given &value, std::optional<DType> dtype) {
        At at = here();
        Number number = number_of(value, "full: value");
        return without_gil([&] { return full(shape, number, dtype, at); });
      },
      nb::arg("shape"), nb::arg("value"), nb::arg("dtype") = nb::none());
  m.def(
      "arange",
      [](const Given &start, std::optional<Given> stop, const Given &step,
         std::optional<DType> dtype) {
        At at = here();
        Number first = stop ? number_of(start, "arange: start") : Number(0);
        Number last = number_of(stop ? *stop : start, "arange: stop");
        Number by = number_of(step, "arange: step");
        return without_gil([&] { return arange(first, last, by, dtype, at); });
      },
      nb::arg("start"), nb::arg("stop") = nb::none(), nb::arg("step") = 1,
      nb::arg("dtype") = nb::none());
  m.def(
      "linspace",
      [](double start, double stop, int64_t count, DType dtype) {
        At at = here();
        return without_gil(
            [&] { return linspace(start, stop, count, dtype, at); });
      },
      nb::arg("start"), nb::arg("stop"), nb::arg("count"),
      nb::arg("dtype") = "f32");
  m.def(
      "eye",
      [](int64_t rows, std::optional<int64_t> columns, DType dtype) {
        At at = here();
        return without_gil([&] { return eye(rows, columns, dtype, at); });
      },
      nb::arg("rows"), nb::arg("columns") = nb::none(),
      nb::arg("dtype") = "f32");
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
  bind_random(m);
}

} // namespace tinh::python
