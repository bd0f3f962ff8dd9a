//===- tensors.h - Eager tensors for Python ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How Python's values become arguments of the functions of tinh/tensor.h, which
// are bound as they are: operands, lists of sizes, dtypes, devices, and the
// place in the Python program, which errors name.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_TENSORS_H
#define TINH_PYTHON_TENSORS_H

#include "tinh/state_dict.h"

#include "model/gil.h"

#include <nanobind/nanobind.h>

#include <optional>
#include <span>
#include <vector>

namespace tinh::python {

namespace nb = nanobind;

/// The file and line of the Python program that is being executed: not those of
/// this package's own functions.
At here();

/// What may stand for a tensor: one, a number, an array or nested lists. An
/// array is copied.
class Given {
public:
  Given() : number(0) {}
  explicit Given(nb::handle object);

  /// Whether an object is a tensor, a number, an array or a list.
  static bool is_possible(nb::handle object);

  /// Where it was given.
  At place() const { return at; }
  /// The tensor; a TypeError if it is a number.
  const Tensor &as_tensor() const {
    if (!tensor.defined())
      throw nb::type_error("expected a tensor, found a number");
    return tensor;
  }
  /// Of this, while it lives.
  operator Operand() const {
    return tensor.defined() ? Operand(tensor, at) : Operand(number, at);
  }

private:
  Tensor tensor;
  Number number;
  At at = here();
};

/// A tensor of the elements of an array, nested lists or a number, copied.
Tensor make_tensor(nb::handle object, std::optional<DType> dtype);

/// What is handed to functions of Python's, as a list.
inline std::vector<Tensor> to_list(std::span<const Tensor> tensors) {
  return {tensors.begin(), tensors.end()};
}

/// Values by name: tensors, or what make_tensor takes.
StateDict to_state_dict(const nb::dict &dict);
nb::dict from_state_dict(const StateDict &state);

DType to_dtype(nb::handle object);
IntArray to_ints(nb::handle object);
Device to_device(nb::handle object);
/// Whether that is the name of a device, and not of a dtype.
bool is_device(nb::handle object);

/// What an operation is called without: it may wait for memory, and compile.
using Queues = nb::call_guard<WithoutGil>;

} // namespace tinh::python

namespace nanobind::detail {

/// A caster of what a function makes of any object, or throws.
#define TINH_CASTER(Type, name, function)                                      \
  template <> struct type_caster<Type> {                                       \
    NB_TYPE_CASTER(Type, const_name(name))                                     \
    bool from_python(handle object, uint8_t, cleanup_list *) {                 \
      value = function(object);                                                \
      return true;                                                             \
    }                                                                          \
    static handle from_cpp(const Type &, rv_policy, cleanup_list *) {          \
      return {};                                                               \
    }                                                                          \
  };

/// Others than those that may be operands are left to Python: to the operators
/// of their own types, or to a TypeError that names the function.
template <> struct type_caster<tinh::python::Given> {
  NB_TYPE_CASTER(tinh::python::Given, const_name("Tensor | float | ArrayLike"))
  bool from_python(handle object, uint8_t, cleanup_list *) {
    if (!tinh::python::Given::is_possible(object))
      return false;
    value = tinh::python::Given(object);
    return true;
  }
  static handle from_cpp(const tinh::python::Given &, rv_policy,
                         cleanup_list *) {
    return {};
  }
};

TINH_CASTER(tinh::IntArray, "int | collections.abc.Sequence[int]",
            tinh::python::to_ints)

template <> struct type_caster<tinh::Device> {
  NB_TYPE_CASTER(tinh::Device, const_name("str"))
  bool from_python(handle object, uint8_t, cleanup_list *) {
    value = tinh::python::to_device(object);
    return true;
  }
  static handle from_cpp(const tinh::Device &device, rv_policy,
                         cleanup_list *) {
    return nanobind::str(tinh::to_string(device).c_str()).release();
  }
};

template <> struct type_caster<tinh::DType> {
  NB_TYPE_CASTER(tinh::DType, const_name("str"))
  type_caster() : value(tinh::float32) {}
  bool from_python(handle object, uint8_t, cleanup_list *) {
    value = tinh::python::to_dtype(object);
    return true;
  }
  static handle from_cpp(const tinh::DType &dtype, rv_policy, cleanup_list *) {
    return nanobind::str(dtype.name()).release();
  }
};

} // namespace nanobind::detail

#endif // TINH_PYTHON_TENSORS_H
