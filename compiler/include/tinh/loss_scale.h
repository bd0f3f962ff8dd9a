//===- tinh/loss_scale.h - Losses scaled for gradients in f16 ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients in float16 vanish below 6e-8. Those of a loss that is multiplied by
// a number are larger by as much, and are divided by it before parameters,
// which are float32, change (Micikevicius et al., arXiv:1710.03740). Which
// number that is follows from the gradients: if one of them is infinite or NaN,
// the step is skipped and the scale is halved; it is doubled when that has not
// happened for long. All of them are powers of two, so that scaling is exact.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_LOSS_SCALE_H
#define TINH_LOSS_SCALE_H

#include "tinh/options.h"
#include "tinh/tensor.h"

#include <span>

namespace tinh::optim {

/// With the names and defaults of PyTorch's GradScaler.
struct LossScaleOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  /// The steps in a row whose gradients are finite after which it grows.
  int64_t growth_interval = 2000;
};

/// What losses are multiplied by, and how that changes: functions over tensors,
/// which run eagerly, in traced functions and in compiled training steps.
class LossScale {
public:
  /// One that changes.
  explicit LossScale(const LossScaleOptions &options = {},
                     At at = At::current());
  /// One that stays as it is.
  explicit LossScale(double scale, At at = At::current());
  /// "dynamic", with options by the names of the fields above, or a number:
  /// make("1024").
  static LossScale make(std::string_view name, const Options &options = {},
                        At at = At::current());

  double initial() const { return options.init_scale; }
  bool is_dynamic() const { return isDynamic; }

  /// Changes the scale, float32, and the number of steps since it changed or a
  /// gradient was not finite, int32, in place, by whether those of this step
  /// are. All have rank 0. Does nothing if the scale is not dynamic.
  void update(const Tensor &scale, const Tensor &growth_tracker,
              const Tensor &finite) const;

private:
  LossScaleOptions options;
  bool isDynamic;
};

/// Whether no element of any gradient is infinite or NaN: boolean, of rank 0.
Tensor all_finite(std::span<const Tensor> gradients);

} // namespace tinh::optim

#endif // TINH_LOSS_SCALE_H
