//===- tinh/tensor_types.h - Dtypes, shapes, operands -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tensors are described and indexed with; see tinh/tensor.h.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TENSOR_TYPES_H
#define TINH_TENSOR_TYPES_H

#include "tinh/runtime.hpp"
#include "tinh/types.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace tinh {

class Tensor;

/// Where a function was called; always At::current(), of the caller.
using At = std::source_location;

/// What holds while an object of it lives, which is not copied.
class Scoped {
protected:
  Scoped() = default;
  Scoped(const Scoped &) = delete;
  Scoped &operator=(const Scoped &) = delete;
};

/// While it lives, errors and graphs say that operations of this thread were
/// called at `at`, also those that layers and losses are made of: for
/// interpreters, whose programs have other lines than C++. What `at` refers to
/// must stay as long as what is queued and traced.
class AtScope : Scoped {
public:
  explicit AtScope(At at);
  ~AtScope();

private:
  At previous;
};

/// While it lives, graphs that are traced on this thread name operations
/// NAME/operation, within another scope OUTER/NAME/operation, as by
/// TensorFlow's name_scope. Modules open one with the name that they are
/// registered by. "" changes nothing.
class NameScope : Scoped {
public:
  explicit NameScope(const std::string &name);
  ~NameScope();
};

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

class DType {
public:
  constexpr DType(tinh_dtype_t value) : value(value) {}
  constexpr operator tinh_dtype_t() const { return value; }

  const char *name() const { return tinh_dtype_name(value); }
  /// In bytes, as tinh_dtype_size says, known when compiled.
  constexpr size_t size() const {
    constexpr uint8_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2,
                                 2, 4, 8, 1, 1, 1, 1, 1, 1};
    static_assert(sizeof sizes == TINH_DTYPE_F4E2M1FN + 1);
    return sizes[value];
  }
  constexpr bool is_floating_point() const { return value >= TINH_DTYPE_F16; }
  constexpr bool is_integer() const {
    return value != TINH_DTYPE_BOOL && !is_floating_point();
  }
  constexpr bool is_unsigned() const {
    return value == TINH_DTYPE_U8 || value == TINH_DTYPE_U16 ||
           value == TINH_DTYPE_U32 || value == TINH_DTYPE_U64;
  }

private:
  tinh_dtype_t value;
};

inline constexpr DType boolean = TINH_DTYPE_BOOL, int8 = TINH_DTYPE_I8,
                       uint8 = TINH_DTYPE_U8, int16 = TINH_DTYPE_I16,
                       uint16 = TINH_DTYPE_U16, int32 = TINH_DTYPE_I32,
                       uint32 = TINH_DTYPE_U32, int64 = TINH_DTYPE_I64,
                       uint64 = TINH_DTYPE_U64, float16 = TINH_DTYPE_F16,
                       bfloat16 = TINH_DTYPE_BF16, float32 = TINH_DTYPE_F32,
                       float64 = TINH_DTYPE_F64;

template <typename T>
concept Arithmetic =
    std::integral<T> || std::same_as<T, float> || std::same_as<T, double>;

/// The dtype of a C++ type.
template <Arithmetic T> constexpr DType dtype_of() {
  if constexpr (std::same_as<T, bool>)
    return boolean;
  else if constexpr (std::floating_point<T>)
    return sizeof(T) == 4 ? float32 : float64;
  else {
    constexpr int log = sizeof(T) == 1   ? 0
                        : sizeof(T) == 2 ? 1
                        : sizeof(T) == 4 ? 2
                                         : 3;
    constexpr DType types[2][4] = {{int8, int16, int32, int64},
                                   {uint8, uint16, uint32, uint64}};
    return types[std::is_unsigned_v<T>][log];
  }
}

/// The dtype of a number that was given none: float32, int64 or boolean.
template <Arithmetic T> constexpr DType default_dtype_of() {
  return std::same_as<T, bool>    ? boolean
         : std::floating_point<T> ? float32
                                  : int64;
}

/// What an operation on both dtypes computes in, as in PyTorch: the category
/// (boolean < integers < floating-point) decides first. Unsigned and signed
/// integers give the smallest signed dtype that holds both; there is none for
/// uint64. Numbers, and tensors of rank 0, count by their category alone if
/// there are tensors of higher rank.
DType promote_types(DType a, DType b, At at = At::current());

//===----------------------------------------------------------------------===//
// Shapes and other small lists of integers
//===----------------------------------------------------------------------===//

/// Up to TINH_MAX_RANK integers, twice as many for paddings.
class IntArray {
public:
  constexpr IntArray() = default;
  /// A single number: zeros(3), sum(x, -1).
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  constexpr IntArray(T value) : values{static_cast<int64_t>(value)}, count(1) {}
  constexpr IntArray(std::initializer_list<int64_t> values)
      : IntArray(std::span(values.begin(), values.size())) {}
  IntArray(const std::vector<int64_t> &values)
      : IntArray(std::span<const int64_t>(values)) {}
  constexpr IntArray(std::span<const int64_t> from) {
    for (int64_t value : from)
      push_back(value);
  }

  constexpr size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr int64_t operator[](size_t i) const { return values[i]; }
  constexpr int64_t &operator[](size_t i) { return values[i]; }
  constexpr const int64_t *begin() const { return values.data(); }
  constexpr const int64_t *end() const { return values.data() + count; }
  constexpr operator std::span<const int64_t>() const {
    return {values.data(), count};
  }
  constexpr void push_back(int64_t value) {
    if (count == values.size())
      throw Error(TINH_INVALID_ARGUMENT,
                  "a list of sizes or axes has more than 16 entries; tensors "
                  "have at most 8 dimensions");
    values[count++] = value;
  }
  /// The product of all: of a shape, the number of elements.
  constexpr int64_t numel() const {
    int64_t product = 1;
    for (int64_t value : *this)
      product *= value;
    return product;
  }
  friend bool operator==(const IntArray &a, const IntArray &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

private:
  std::array<int64_t, 2 * TINH_MAX_RANK> values = {};
  size_t count = 0;
};

using Shape = IntArray;
/// Dimensions to reduce, move or drop; negative ones count from the last.
using Axes = IntArray;

/// As "[2, 3]".
std::string to_string(const IntArray &values);
std::ostream &operator<<(std::ostream &stream, const IntArray &values);
std::ostream &operator<<(std::ostream &stream, DType dtype);

//===----------------------------------------------------------------------===//
// Operands and indices
//===----------------------------------------------------------------------===//

/// A number in place of a tensor; its dtype gives way to that of tensors.
struct Number {
  DType dtype; ///< float32, int64, uint64 or boolean.
  union {
    double real;
    int64_t integer;
  };

  template <Arithmetic T> constexpr Number(T value) : dtype(dtypeOf<T>()) {
    if constexpr (std::floating_point<T>)
      real = value;
    else
      integer = static_cast<int64_t>(value);
  }

private:
  template <typename T> static constexpr DType dtypeOf() {
    return std::same_as<T, uint64_t> ? uint64 : default_dtype_of<T>();
  }
};

/// An argument of an operation: a tensor or a number, and where it was written.
/// It refers to the tensor and is not meant to be kept.
class Operand {
public:
  Operand(const Tensor &tensor, At at = At::current())
      : at(at), given(&tensor), value(0) {}
  template <Arithmetic T>
  Operand(T number, At at = At::current()) : at(at), value(number) {}
  Operand(Number number, At at = At::current()) : at(at), value(number) {}

  const Tensor *tensor() const { return given; }
  const Number &number() const { return value; }

  At at;

private:
  const Tensor *given = nullptr;
  Number value;
};

/// Of index(): a new dimension of 1; of a Slice: no bound.
struct NoneType {
} inline constexpr None;
/// Of index(): all dimensions that nothing else is said about.
struct EllipsisType {
} inline constexpr Ellipsis;

/// Elements from `start` up to, not including, `stop` in steps; as in Python,
/// negative bounds count from the end and bounds beyond it are cut.
struct Slice {
  class Bound {
  public:
    constexpr Bound(NoneType) {}
    template <std::integral T>
    constexpr Bound(T value) : value(static_cast<int64_t>(value)) {}
    std::optional<int64_t> value;
  };

  constexpr Slice(Bound start = None, Bound stop = None, int64_t step = 1)
      : start(start.value), stop(stop.value), step(step) {}

  std::optional<int64_t> start, stop;
  int64_t step;
};

} // namespace tinh

#endif // TINH_TENSOR_TYPES_H
