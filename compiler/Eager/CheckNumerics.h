//===- CheckNumerics.h - Which operation gave the first NaN -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With EngineOptions::check_numerics, another operation is queued behind each
// one that computes floating-point numbers: it looks through the result, and
// fails if there is a number that is not finite. So the result is poisoned as
// if the first one had failed.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CHECKNUMERICS_H
#define TINH_EAGER_CHECKNUMERICS_H

#include "compiler/Eager/Engine/Operation.h"
#include "compiler/Eager/Primitives/Attributes.h"

#include <optional>
#include <span>

namespace tinh::eager {

struct Primitive;

/// While it lives, what this thread queues is part of the gradient of `call`.
class GradientOf {
public:
  explicit GradientOf(const Call &call) : outer(current) { current = &call; }
  ~GradientOf() { current = outer; }
  GradientOf(const GradientOf &) = delete;

  /// The innermost one.
  static std::optional<Call> get() {
    return current ? std::optional(*current) : std::nullopt;
  }
  /// ", in the gradient of log (train.cpp:41)"; empty if there is none.
  static std::string text(const std::optional<Call> &call);

private:
  static thread_local const Call *current;
  const Call *outer;
};

/// Queues such an operation, if they are wanted: `out` has just been queued to
/// be computed from `inputs`.
void checkNumerics(std::span<const Input> inputs, const TensorImpl &out,
                   const Call &call);
/// The same for a primitive that has just been queued, if it computes: what
/// moves or chooses elements makes no number that was not there before.
void checkNumerics(const Primitive &primitive);

} // namespace tinh::eager

#endif // TINH_EAGER_CHECKNUMERICS_H
