//===- same_abi.h - Whether two declarations are of one function ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_RUNTIME_SAME_ABI_H
#define TINH_TESTS_RUNTIME_SAME_ABI_H

#include <type_traits>

/// A function takes each parameter in the same register or place on the stack
/// if it is as large and of the same kind.
template <typename A, typename B>
constexpr bool same_kind =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
    (std::is_integral_v<A> || std::is_enum_v<A>) ==
        (std::is_integral_v<B> || std::is_enum_v<B>);

template <typename A, typename B> constexpr bool same = false;
template <typename R, typename... As, typename S, typename... Bs>
constexpr bool same<R (*)(As...), S (*)(Bs...)> = [] {
  if constexpr (sizeof...(As) == sizeof...(Bs))
    return same_kind<R, S> && (same_kind<As, Bs> && ...);
  return false;
}();

#endif // TINH_TESTS_RUNTIME_SAME_ABI_H
