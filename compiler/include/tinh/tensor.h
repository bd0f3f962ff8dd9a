//===- tinh/tensor.h - Eager tensors ----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors with the semantics of NumPy and PyTorch:
//
//   tinh::Tensor x = tinh::tensor({{1.0, 2.0}, {3.0, 4.0}});
//   tinh::Tensor y = tinh::softmax(x.matmul(x.t()) + 1, -1);
//   y[0] += 0.5;
//   std::cout << y << '\n';
//
// An operation is queued and returns before it has run; what reads elements
// (item, to_vector, printing, wait_to_read) waits for them. A Tensor is a
// handle: a copy refers to the same elements, as views do, and clone() copies
// these. Handles may be used from several threads at a time as long as none is
// assigned to; operations of one thread happen in its order.
//
// What is wrong with the operands is thrown as a tinh::Error of status
// TINH_INVALID_ARGUMENT that names the caller's file and line, the operation,
// the shapes or dtypes and what to do. For this, functions take Operands, which
// remember where they were written, or an At (a source location) as their last
// argument, which nobody passes. What goes wrong while an operation runs (no
// memory, an index out of bounds) is thrown where its result is waited for.
//
// This file has the tensor itself, its creation and access to its elements;
// tinh/operations.h, which it includes, has the operations, and tinh/random.h
// random numbers. docs/tensor-api.md is a tour.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TENSOR_H
#define TINH_TENSOR_H

#include "tinh/device.h"
#include "tinh/tensor_types.h"

#include <utility>

struct DLManagedTensor;

namespace tinh {

class Index;
namespace eager {
struct TensorImpl;
struct TensorAccess;
} // namespace eager

//===----------------------------------------------------------------------===//
// Tensor
//===----------------------------------------------------------------------===//

class Tensor {
public:
  /// No tensor: an argument that is not given. Its use as one is an error, as
  /// is that of a handle that was moved from.
  Tensor() noexcept = default;
  Tensor(const Tensor &other) noexcept;
  Tensor(Tensor &&other) noexcept : impl(std::exchange(other.impl, nullptr)) {}
  ~Tensor();
  /// Makes this handle refer to other's elements.
  Tensor &operator=(const Tensor &other) & noexcept;
  Tensor &operator=(Tensor &&other) & noexcept;
  /// Writes elements: x[0] = 1; x.slice(1, 0, 2) = y. The value broadcasts.
  void operator=(Operand value) &&;

  bool defined() const { return impl != nullptr; }
  /// Whether both handles refer to the same tensor (not: equal elements).
  bool is_same(const Tensor &other) const { return impl == other.impl; }
  /// Whether both lie in the same memory, as a view and its base do.
  bool shares_memory_with(const Tensor &other) const;

  //===--------------------------------------------------------------------===//
  // Metadata: known at once
  //===--------------------------------------------------------------------===//

  Shape shape(At at = At::current()) const;
  /// The extent of one dimension.
  int64_t size(int64_t axis, At at = At::current()) const;
  /// In elements; 0 where one is repeated.
  IntArray strides(At at = At::current()) const;
  DType dtype(At at = At::current()) const;
  int64_t dim(At at = At::current()) const;
  int64_t numel(At at = At::current()) const;
  /// Bytes of its elements.
  uint64_t nbytes(At at = At::current()) const;
  /// Dense and in row-major order.
  bool is_contiguous(At at = At::current()) const;
  Device device(At at = At::current()) const;

  //===--------------------------------------------------------------------===//
  // Elements: these wait
  //===--------------------------------------------------------------------===//

  /// Returns when the elements are there; throws what kept them from it.
  void wait_to_read(At at = At::current()) const;
  /// The only element, converted as `to` does.
  template <Arithmetic T> T item(At at = At::current()) const {
    T value;
    copyToHost(&value, dtype_of<T>(), "item", at);
    return value;
  }
  /// All elements in row-major order, converted as `to` does.
  template <Arithmetic T>
  std::vector<T> to_vector(At at = At::current()) const {
    if constexpr (std::same_as<T, bool>) {
      std::vector<uint8_t> bytes(static_cast<size_t>(numel(at)));
      copyToHost(bytes.data(), boolean, "to_vector", at);
      return std::vector<bool>(bytes.begin(), bytes.end());
    } else {
      std::vector<T> values(static_cast<size_t>(numel(at)));
      copyToHost(values.data(), dtype_of<T>(), "to_vector", at);
      return values;
    }
  }
  /// Copies all elements in row-major order to nbytes() bytes at `data`.
  void copy_to(void *data, At at = At::current()) const;

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  /// The same elements in memory of their own, contiguous.
  Tensor clone(At at = At::current()) const;
  /// This tensor if it is contiguous, else a clone.
  Tensor contiguous(At at = At::current()) const;
  /// Converted as C does: floating-point to integer truncates, anything to
  /// boolean is `!= 0`. This tensor if it has that dtype.
  Tensor to(DType dtype, At at = At::current()) const;
  /// Copied to another device. This tensor if it lies there. Throws NO_DEVICE,
  /// with one sentence on what is missing.
  Tensor to(Device device, At at = At::current()) const;

  //===--------------------------------------------------------------------===//
  // Views: they share the elements
  //===--------------------------------------------------------------------===//

  /// The index-th part along the first dimension.
  Tensor operator[](Operand index) const;
  /// Indices and slices dimension by dimension, as x[…] in NumPy. A view,
  /// unless there is an index tensor, a mask or a slice backwards: then a copy.
  Tensor index(std::initializer_list<Index> indices,
               At at = At::current()) const;
  Tensor index(std::span<const Index> indices, At at = At::current()) const;
  /// Writes what index() gives. With index tensors that meet an element more
  /// than once, the last value stays, or with `accumulate` all are added.
  void index_put_(std::initializer_list<Index> indices, Operand value,
                  bool accumulate = false) const;
  void index_put_(std::span<const Index> indices, Operand value,
                  bool accumulate = false) const;
  Tensor slice(int64_t axis, Slice::Bound start = None,
               Slice::Bound stop = None, int64_t step = 1,
               At at = At::current()) const;
  Tensor select(int64_t axis, int64_t index, At at = At::current()) const;
  Tensor narrow(int64_t axis, int64_t start, int64_t length,
                At at = At::current()) const;
  Tensor transpose(int64_t a, int64_t b, At at = At::current()) const;
  Tensor permute(const Axes &order, At at = At::current()) const;
  /// The transpose of a matrix; a vector or a number stays as it is.
  Tensor t(At at = At::current()) const;
  /// The last two dimensions swapped.
  Tensor mT(At at = At::current()) const;
  /// One extent may be -1, to be found. A view if the strides allow it, else a
  /// copy.
  Tensor reshape(const Shape &shape, At at = At::current()) const;
  /// As reshape, but an error where that would copy.
  Tensor view(const Shape &shape, At at = At::current()) const;
  Tensor flatten(int64_t first = 0, int64_t last = -1,
                 At at = At::current()) const;
  /// Without the axes given that have an extent of 1, or without all such.
  Tensor squeeze(const Axes &axes = {}, At at = At::current()) const;
  Tensor unsqueeze(int64_t axis, At at = At::current()) const;
  /// Repeated along dimensions of 1 and new leading ones; -1 keeps an extent.
  Tensor expand(const Shape &shape, At at = At::current()) const;

  //===--------------------------------------------------------------------===//
  // In place: they write this tensor's elements, also through views. The result
  // must broadcast to its shape, and its category (boolean, integers,
  // floating-point) may not be above the dtype's.
  //===--------------------------------------------------------------------===//

  const Tensor &copy_(Operand value) const;
  const Tensor &fill_(Operand value) const;
  const Tensor &zero_(At at = At::current()) const;
  const Tensor &add_(Operand value) const;
  const Tensor &sub_(Operand value) const;
  const Tensor &mul_(Operand value) const;
  const Tensor &div_(Operand value) const;
  const Tensor &pow_(Operand value) const;
  const Tensor &remainder_(Operand value) const;
  const Tensor &minimum_(Operand value) const;
  const Tensor &maximum_(Operand value) const;
  const Tensor &logical_and_(Operand value) const;
  const Tensor &logical_or_(Operand value) const;
  /// Adds factor · value.
  const Tensor &addmul_(Operand value, Operand factor) const;
  const Tensor &neg_(At at = At::current()) const;
  const Tensor &abs_(At at = At::current()) const;
  const Tensor &exp_(At at = At::current()) const;
  const Tensor &log_(At at = At::current()) const;
  const Tensor &sqrt_(At at = At::current()) const;
  const Tensor &relu_(At at = At::current()) const;
  const Tensor &sigmoid_(At at = At::current()) const;
  const Tensor &tanh_(At at = At::current()) const;
  const Tensor &clamp_(Operand low, Operand high) const;
  const Tensor &masked_fill_(Operand mask, Operand value) const;
  /// As scatter and scatter_add of tinh/operations.h.
  const Tensor &scatter_(int64_t axis, Operand index, Operand source) const;
  const Tensor &scatter_add_(int64_t axis, Operand index, Operand source) const;
  const Tensor &index_add_(int64_t axis, Operand index, Operand source) const;

  const Tensor &operator+=(Operand value) const { return add_(value); }
  const Tensor &operator-=(Operand value) const { return sub_(value); }
  const Tensor &operator*=(Operand value) const { return mul_(value); }
  const Tensor &operator/=(Operand value) const { return div_(value); }

  //===--------------------------------------------------------------------===//
  // The most common functions of tinh/operations.h, which says what they do
  //===--------------------------------------------------------------------===//

  Tensor sum(const Axes &axes = {}, bool keepdims = false,
             At at = At::current()) const;
  Tensor mean(const Axes &axes = {}, bool keepdims = false,
              At at = At::current()) const;
  Tensor prod(const Axes &axes = {}, bool keepdims = false,
              At at = At::current()) const;
  Tensor max(const Axes &axes = {}, bool keepdims = false,
             At at = At::current()) const;
  Tensor min(const Axes &axes = {}, bool keepdims = false,
             At at = At::current()) const;
  Tensor any(const Axes &axes = {}, bool keepdims = false,
             At at = At::current()) const;
  Tensor all(const Axes &axes = {}, bool keepdims = false,
             At at = At::current()) const;
  Tensor argmax(std::optional<int64_t> axis = {}, bool keepdims = false,
                At at = At::current()) const;
  Tensor argmin(std::optional<int64_t> axis = {}, bool keepdims = false,
                At at = At::current()) const;
  Tensor abs(At at = At::current()) const;
  Tensor exp(At at = At::current()) const;
  Tensor log(At at = At::current()) const;
  Tensor sqrt(At at = At::current()) const;
  Tensor tanh(At at = At::current()) const;
  Tensor sigmoid(At at = At::current()) const;
  Tensor relu(At at = At::current()) const;
  Tensor softmax(int64_t axis, At at = At::current()) const;
  Tensor log_softmax(int64_t axis, At at = At::current()) const;
  Tensor pow(Operand exponent) const;
  Tensor clamp(Operand low, Operand high) const;
  Tensor matmul(Operand other) const;
  Tensor masked_fill(Operand mask, Operand value) const;

private:
  friend struct eager::TensorAccess;
  explicit Tensor(eager::TensorImpl *impl) noexcept : impl(impl) {}

  /// Waits and writes all elements, as `dtype`, to `data`; "item" has one.
  void copyToHost(void *data, DType dtype, const char *operation, At at) const;

  eager::TensorImpl *impl = nullptr; ///< A counted reference.
};

/// One of the indices of Tensor::index: an integer, a Slice, None, Ellipsis, a
/// tensor of integers or a boolean mask.
class Index {
public:
  enum class Kind { Integer, Slice, None, Ellipsis, Tensor };

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Index(T value) : kind(Kind::Integer), integer(static_cast<int64_t>(value)) {}
  Index(tinh::Slice slice) : kind(Kind::Slice), slice(slice) {}
  Index(NoneType) : kind(Kind::None) {}
  Index(EllipsisType) : kind(Kind::Ellipsis) {}
  Index(const tinh::Tensor &tensor) : kind(Kind::Tensor), tensor(tensor) {}

  Kind kind;
  int64_t integer = 0;
  tinh::Slice slice;
  tinh::Tensor tensor;
};

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

// Tensors are created on the CPU or, in a DeviceScope, on its device; `…_like`
// where the tensor given lies.

/// Its elements are undefined until they are written.
Tensor empty(const Shape &shape, DType dtype = float32, At at = At::current());
Tensor zeros(const Shape &shape, DType dtype = float32, At at = At::current());
Tensor ones(const Shape &shape, DType dtype = float32, At at = At::current());
/// Of the number's default dtype, or of `dtype`.
Tensor full(const Shape &shape, Number value, std::optional<DType> dtype = {},
            At at = At::current());
/// The same on `device`.
Tensor empty(const Shape &shape, DType dtype, Device device,
             At at = At::current());
Tensor zeros(const Shape &shape, DType dtype, Device device,
             At at = At::current());
Tensor ones(const Shape &shape, DType dtype, Device device,
            At at = At::current());
Tensor full(const Shape &shape, Number value, std::optional<DType> dtype,
            Device device, At at = At::current());
Tensor empty_like(const Tensor &x, std::optional<DType> dtype = {},
                  At at = At::current());
Tensor zeros_like(const Tensor &x, std::optional<DType> dtype = {},
                  At at = At::current());
Tensor ones_like(const Tensor &x, std::optional<DType> dtype = {},
                 At at = At::current());
Tensor full_like(const Tensor &x, Number value, std::optional<DType> dtype = {},
                 At at = At::current());
/// From start up to, not including, stop; int64 if all numbers are integers.
Tensor arange(Number start, Number stop, Number step = 1,
              std::optional<DType> dtype = {}, At at = At::current());
Tensor arange(Number stop, At at = At::current());
/// `count` numbers from start to stop, both included.
Tensor linspace(double start, double stop, int64_t count, DType dtype = float32,
                At at = At::current());
/// Ones on the diagonal; `columns` are `rows` if not given.
Tensor eye(int64_t rows, std::optional<int64_t> columns = {},
           DType dtype = float32, At at = At::current());

/// A copy of the bytes at `data`, which are in row-major order.
Tensor from_bytes(const void *data, const Shape &shape, DType dtype,
                  At at = At::current());

/// Throws unless `count` elements fill the shape.
void requireElements(size_t count, const Shape &shape, At at);
inline Shape shapeOf(size_t planes, size_t rows, size_t columns) {
  return {int64_t(planes), int64_t(rows), int64_t(columns)};
}

/// A copy of `values` in their own dtype (int is int32), as a vector or in a
/// shape.
template <Arithmetic T>
Tensor from_data(std::span<const T> values, std::optional<Shape> shape = {},
                 At at = At::current()) {
  Shape used = shape.value_or(Shape(values.size()));
  requireElements(values.size(), used, at);
  return from_bytes(values.data(), used, dtype_of<T>(), at);
}
template <Arithmetic T>
  requires(!std::same_as<T, bool>)
Tensor from_data(const std::vector<T> &values,
                 std::optional<Shape> shape = std::nullopt,
                 At at = At::current()) {
  return from_data(std::span<const T>(values), shape, at);
}

template <typename T> using List = std::initializer_list<T>;

/// A tensor of rank 0, or of nested lists: tensor({{1, 2}, {3, 4}}). As in
/// PyTorch, integers are int64 and floating-point numbers float32 if no dtype
/// is given.
template <Arithmetic T>
Tensor tensor(T value, DType dtype = default_dtype_of<T>(),
              At at = At::current()) {
  return from_bytes(&value, {}, dtype_of<T>(), at).to(dtype, at);
}
template <Arithmetic T>
Tensor tensor(List<T> values, DType dtype = default_dtype_of<T>(),
              At at = At::current()) {
  return from_bytes(std::data(values), values.size(), dtype_of<T>(), at)
      .to(dtype, at);
}
template <Arithmetic T>
Tensor tensor(List<List<T>> rows, DType dtype = default_dtype_of<T>(),
              At at = At::current()) {
  return tensor(List<List<List<T>>>{rows}, dtype, at).squeeze(0, at);
}
template <Arithmetic T>
Tensor tensor(List<List<List<T>>> planes, DType dtype = default_dtype_of<T>(),
              At at = At::current()) {
  size_t rows = planes.size() ? planes.begin()->size() : 0;
  size_t columns = rows ? planes.begin()->begin()->size() : 0;
  std::vector<std::conditional_t<std::same_as<T, bool>, uint8_t, T>> values;
  for (List<List<T>> plane : planes) {
    requireElements(plane.size(), rows, at);
    for (List<T> row : plane) {
      requireElements(row.size(), columns, at);
      values.insert(values.end(), row.begin(), row.end());
    }
  }
  return from_bytes(values.data(), shapeOf(planes.size(), rows, columns),
                    dtype_of<T>(), at)
      .to(dtype, at);
}

//===----------------------------------------------------------------------===//
// DLPack: exchange without copies (https://dmlc.github.io/dlpack)
//===----------------------------------------------------------------------===//

/// A tensor on the memory of `dlpack`, which is taken over: its deleter is
/// called when nothing refers to the memory any more, on any thread. CPU memory
/// of any strides but negative ones. If it throws, `dlpack` stays the caller's.
Tensor from_dlpack(DLManagedTensor *dlpack, At at = At::current());
/// The memory of `x`, which lives until the deleter is called. Waits for all
/// operations on it; those queued later are not ordered with what the other
/// side does.
DLManagedTensor *to_dlpack(const Tensor &x, At at = At::current());

//===----------------------------------------------------------------------===//
// Printing: these wait
//===----------------------------------------------------------------------===//

/// As NumPy prints arrays: 8 digits, aligned, with "..." for more than 1,000
/// elements.
std::string to_string(const Tensor &x, At at = At::current());
/// What operator<< takes: a tensor, and where it was written.
struct Printed {
  Printed(const Tensor &tensor, At at = At::current())
      : tensor(tensor), at(at) {}
  const Tensor &tensor;
  At at;
};
std::ostream &operator<<(std::ostream &stream, Printed x);
void print(const Tensor &x, At at = At::current());

} // namespace tinh

#include "tinh/operations.h"
#include "tinh/random.h"

#endif // TINH_TENSOR_H
