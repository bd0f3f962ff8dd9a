//===- operations.h - Binding operations on tensors -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Those of tinh/operations.h and its like, under their names: as functions of
// the module, methods and operators. The headers say what they do.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_OPERATIONS_H
#define TINH_PYTHON_OPERATIONS_H

#include "tensors.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <string>
#include <vector>

namespace tinh::python {

/// A tensor that may be left out, where C++ has one that may be undefined.
using OptionalTensor = std::optional<Tensor>;

inline Tensor or_none(const OptionalTensor &tensor) {
  return tensor.value_or(Tensor());
}

/// A number among the arguments, for what takes no tensors.
inline Number number_of(const Given &given, const char *place) {
  Operand operand = given;
  if (operand.tensor())
    throw nb::type_error(
        (std::string(place) + ": expected a number, found a tensor").c_str());
  return operand.number();
}

using Unary = Tensor (*)(Operand);
using Binary = Tensor (*)(Operand, Operand);
using Reducer = Tensor (*)(Operand, const Axes &, bool);
using AlongAxis = Tensor (*)(Operand, int64_t);

template <Unary F> Tensor unary(const Given &x) { return F(x); }
template <Binary F> Tensor binary(const Given &a, const Given &b) {
  return F(a, b);
}
template <Binary F> Tensor reflected(const Given &a, const Given &b) {
  return F(b, a);
}
template <Reducer F>
Tensor reduction(const Given &x, const Axes &axis, bool keepdims) {
  return F(x, axis, keepdims);
}
template <AlongAxis F> Tensor along_axis(const Given &x, int64_t axis) {
  return F(x, axis);
}
/// Functions of a module, which are methods of Tensor as well.
class Operations {
public:
  Operations(nb::module_ &module, nb::class_<Tensor> &tensor)
      : module(module), tensor(tensor) {}

  /// `self` is the name of the first argument, which is a method's own tensor.
  template <typename F, typename... Extra>
  Operations &def(const char *name, F function, nb::arg self,
                  const Extra &...extra) {
    module.def(name, function, self, extra..., Queues());
    tensor.def(name, function, extra..., Queues());
    return *this;
  }
  template <Unary F> Operations &unary(const char *name) {
    return def(name, &python::unary<F>, nb::arg("x"));
  }
  template <Binary F> Operations &binary(const char *name) {
    return def(name, &python::binary<F>, nb::arg("a"), nb::arg("b"));
  }
  template <Reducer F> Operations &reduction(const char *name) {
    return def(name, &python::reduction<F>, nb::arg("x"),
               nb::arg("axis") = nb::none(), nb::arg("keepdims") = false);
  }
  template <AlongAxis F> Operations &along_axis(const char *name) {
    return def(name, &python::along_axis<F>, nb::arg("x"), nb::arg("axis"));
  }
  template <Binary F>
  Operations &op(const char *name, const char *reflectedName = nullptr) {
    tensor.def(name, &python::binary<F>, nb::is_operator(), nb::arg("b"),
               Queues());
    if (reflectedName)
      tensor.def(reflectedName, &reflected<F>, nb::is_operator(), nb::arg("b"),
                 Queues());
    return *this;
  }
  template <Unary F> Operations &op(const char *name) {
    tensor.def(name, &python::unary<F>, Queues());
    return *this;
  }
  template <auto F> Operations &inPlace(const char *name) {
    tensor.def(
        name,
        [](nb::object self, const Given &value) {
          const Tensor &x = nb::cast<const Tensor &>(self);
          without_gil([&] { (x.*F)(value); });
          return self;
        },
        nb::arg("value"));
    return *this;
  }

  /// One that takes two operands.
  template <auto F>
  Operations &inPlace(const char *name, nb::arg first, nb::arg second) {
    tensor.def(
        name,
        [](nb::object self, const Given &a, const Given &b) {
          const Tensor &x = nb::cast<const Tensor &>(self);
          without_gil([&] { (x.*F)(a, b); });
          return self;
        },
        first, second);
    return *this;
  }
  /// One that takes none.
  template <auto F> Operations &inPlaceUnary(const char *name) {
    tensor.def(name, [](nb::object self) {
      At at = here();
      const Tensor &x = nb::cast<const Tensor &>(self);
      without_gil([&] { (x.*F)(at); });
      return self;
    });
    return *this;
  }
  /// One that takes an axis, an index and a source.
  template <auto F> Operations &inPlaceAt(const char *name) {
    tensor.def(
        name,
        [](nb::object self, int64_t axis, const Given &index,
           const Given &source) {
          const Tensor &x = nb::cast<const Tensor &>(self);
          without_gil([&] { (x.*F)(axis, index, source); });
          return self;
        },
        nb::arg("axis"), nb::arg("index"), nb::arg("source"));
    return *this;
  }

  nb::class_<Tensor> &method() { return tensor; }
  nb::module_ &function() { return module; }

private:
  nb::module_ &module;
  nb::class_<Tensor> &tensor;
};

// By file.
void bind_elementwise(Operations &ops);
void bind_operators(Operations &ops);
void bind_reductions(Operations &ops);
void bind_movement(Operations &ops);
void bind_indexing(Operations &ops);
void bind_products(Operations &ops);
void bind_windows(nb::module_ &module);
void bind_losses(nb::module_ &module);
void bind_creation(nb::module_ &module);
void bind_engine(nb::module_ &module);

/// The indices of a key in brackets.
std::vector<Index> to_indices(nb::handle key);

} // namespace tinh::python

#endif // TINH_PYTHON_OPERATIONS_H
