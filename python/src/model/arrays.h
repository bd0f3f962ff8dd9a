//===- arrays.h - The memory of Python's arrays -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays of NumPy (by the buffer protocol), of PyTorch and of all others that
// have __dlpack__, as the memory that a run reads and writes in place. All of
// it wants the GIL.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_ARRAYS_H
#define TINH_PYTHON_ARRAYS_H

#include "tinh/runtime.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

struct DLManagedTensor;

namespace tinh::python {

namespace nb = nanobind;

/// Whose arrays the results of a call are: the library of its first array.
enum class Library { NumPy, Torch };

/// An input or output of a function, with what Python's side of it needs.
class Argument {
public:
  Argument(const tinh_tensor_info_t &info, std::string function);

  const tinh_tensor_info_t &info() const { return type; }
  const char *name() const { return type.name; }
  /// As signatures have it: x: f32[2, 3].
  std::string signature() const;
  /// The function's name.
  const std::string &of() const { return function; }
  /// `argument "x" of "main"`, as messages begin.
  std::string place() const;

  /// An array of `library` of this type, whose elements are undefined.
  nb::object allocate(Library library) const;

private:
  tinh_tensor_info_t type;
  std::string function;
  mutable nb::object shape, dtype; ///< For NumPy; made when first needed.
};

/// The memory of an array, lent by Python until this is destroyed.
class Borrowed {
public:
  Borrowed() = default;
  Borrowed(Borrowed &&other) noexcept;
  Borrowed &operator=(Borrowed &&) = delete;
  ~Borrowed();

  /// Lends the memory of `array`, an input: copied if it is not dense.
  /// TypeError or ValueError, with the argument, what was expected and what was
  /// found, unless it has the argument's dtype and shape.
  void read(nb::handle array, const Argument &argument);
  /// The same of an array to write to, which must be dense.
  void write(nb::handle array, const Argument &argument);

  bool isBound() const { return memory.data || kept || view.obj || dlpack; }
  const tinh_buffer_t &buffer() const { return memory; }
  Library library() const { return owner; }

private:
  void take(nb::handle array, const Argument &argument, bool written);
  void takeBuffer(nb::handle array, const Argument &argument, bool written);
  void takeDlpack(nb::object capsule, nb::handle array,
                  const Argument &argument, bool written);
  bool takeStorageOnly(nb::handle array, const Argument &argument,
                       bool written);
  void takeCopy(nb::object copy, const Argument &argument, bool written);

  tinh_buffer_t memory = {};
  Library owner = Library::NumPy;
  Py_buffer view = {};               ///< Unless its obj is null,
  DLManagedTensor *dlpack = nullptr; ///< or this,
  nb::object kept;                   ///< or a copy or view of the array.
};

/// The name of an object's type.
std::string name_of_type(nb::handle object);

/// What NumPy and PyTorch call a dtype of ours: "float32".
const char *array_name(tinh_dtype_t dtype);

/// A dtype of ours as a NumPy dtype; those of ml_dtypes are imported.
nb::object numpy_dtype(tinh_dtype_t dtype);

/// A C shape as a tuple.
nb::tuple shape_tuple(const tinh_tensor_info_t &info);

/// An array of NumPy's of its own with such a type.
nb::object numpy_empty(const tinh_tensor_info_t &info);

} // namespace tinh::python

#endif // TINH_PYTHON_ARRAYS_H
