//===- Ref.h - Shared ownership without a control block ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Objects that count their own references: a handle is one pointer.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_REF_H
#define TINH_EAGER_REF_H

#include <atomic>
#include <cstdint>
#include <utility>

namespace tinh::eager {

/// Derived::destroy(), a static function of one pointer, takes back an object
/// that nothing refers to any more. Thread-safe.
template <typename Derived> class RefCounted {
public:
  void retain() const { count.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (count.fetch_sub(1, std::memory_order_acq_rel) == 1)
      Derived::destroy(static_cast<Derived *>(const_cast<RefCounted *>(this)));
  }
  uint32_t references() const { return count.load(std::memory_order_acquire); }

private:
  mutable std::atomic<uint32_t> count{0};
};

template <typename T> class Ref {
public:
  Ref() = default;
  Ref(T *object) : object(object) {
    if (object)
      object->retain();
  }
  Ref(const Ref &other) : Ref(other.object) {}
  Ref(Ref &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Ref() {
    if (object)
      object->release();
  }

  T *get() const { return object; }
  T *operator->() const { return object; }
  T &operator*() const { return *object; }
  explicit operator bool() const { return object != nullptr; }

private:
  T *object = nullptr;
};

} // namespace tinh::eager

#endif // TINH_EAGER_REF_H
