//===- TensorImpl.h - What a tensor handle refers to ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shape, strides and storage. Metadata never changes once a tensor is made;
// what its storage holds does.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_TENSORIMPL_H
#define TINH_EAGER_TENSOR_TENSORIMPL_H

#include "compiler/Eager/Engine/Storage.h"
#include "tinh/types.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace tinh::eager {

/// Extents or strides: in place, for they are made with each operation.
class Dims {
public:
  Dims() {}
  Dims(std::span<const int64_t> from)
      : count(static_cast<uint32_t>(from.size())) {
    assert(from.size() <= TINH_MAX_RANK);
    std::copy(from.begin(), from.end(), values);
  }
  Dims(const Dims &other) : Dims(std::span<const int64_t>(other)) {}
  Dims &operator=(const Dims &other) {
    count = other.count;
    std::copy_n(other.values, count, values);
    return *this;
  }
  static Dims filled(uint32_t count, int64_t value) {
    Dims dims;
    dims.count = count;
    std::fill_n(dims.values, count, value);
    return dims;
  }

  uint32_t size() const { return count; }
  bool empty() const { return count == 0; }
  int64_t operator[](size_t i) const { return values[i]; }
  int64_t &operator[](size_t i) { return values[i]; }
  int64_t back() const { return values[count - 1]; }
  int64_t &back() { return values[count - 1]; }
  const int64_t *data() const { return values; }
  const int64_t *begin() const { return values; }
  const int64_t *end() const { return values + count; }
  operator std::span<const int64_t>() const { return {values, count}; }
  void push_back(int64_t value) {
    assert(count < TINH_MAX_RANK);
    values[count++] = value;
  }
  void erase(size_t at) {
    std::copy(values + at + 1, values + count, values + at);
    --count;
  }
  void insert(size_t at, int64_t value) {
    assert(count < TINH_MAX_RANK);
    std::copy_backward(values + at, values + count, values + count + 1);
    values[at] = value;
    ++count;
  }
  bool operator==(const Dims &other) const {
    return count == other.count && std::equal(begin(), end(), other.begin());
  }
  int64_t product() const {
    int64_t result = 1;
    for (int64_t value : *this)
      result *= value;
    return result;
  }

private:
  int64_t values[TINH_MAX_RANK]; // Only the first `count` are set.
  uint32_t count = 0;
};

/// What a tensor is in the graph that is being traced (Function/Trace.h).
class TraceData : public RefCounted<TraceData> {
public:
  virtual ~TraceData() = default;
  static void destroy(TraceData *data) { delete data; }
  /// The same for all tensors that share memory.
  virtual const void *identity() const = 0;
};

/// What a tensor was computed from (Autograd/Tape.h).
class TapeData : public RefCounted<TapeData> {
public:
  virtual ~TapeData() = default;
  static void destroy(TapeData *data) { data->free(); }

protected:
  virtual void free() { delete this; }
};

struct TensorImpl : RefCounted<TensorImpl> {
  tinh_dtype_t dtype;
  Dims sizes;
  Dims strides;       // In elements; 0 where an element is repeated.
  int64_t offset = 0; // Of the first element in the storage, in elements.
  Ref<Storage> storage;
  /// Set while a function is being traced: what it is in the graph.
  Ref<TraceData> traced;
  /// Of a view whose gradient is that of a part of another tensor: that one,
  /// which is no such view itself. Null: none.
  Ref<TensorImpl> base;
  /// Set where gradients of the tensor, or through it, are recorded.
  Ref<TapeData> tape;
  /// What indexing had to copy: assigning to it would be lost.
  bool isIndexedCopy = false;

  uint32_t rank() const { return sizes.size(); }
  int64_t numElements() const { return sizes.product(); }
  /// The same for all tensors that share memory.
  const void *identity() const {
    return storage ? storage.get() : traced ? traced->identity() : nullptr;
  }

  static TensorImpl *create();
  static void destroy(TensorImpl *tensor);
};

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_TENSORIMPL_H
