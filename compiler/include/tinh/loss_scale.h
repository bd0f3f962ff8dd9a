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
// A loop of training has a GradScaler for that, beside the optimizer:
//
//   tinh::optim::GradScaler scaler;
//   {
//     tinh::Autocast scope(tinh::float16);
//     loss = tinh::cross_entropy(model(x), labels);
//   }
//   tinh::backward(scaler.scale(loss));
//   scaler.step(optimizer);
//   scaler.update();
//
// graph-compile --train --precision=f16 has the same in a compiled step.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_LOSS_SCALE_H
#define TINH_LOSS_SCALE_H

#include "tinh/optim.h"

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

/// Scales losses, and skips the steps that they spoil. The host waits for
/// nothing, and a step may be traced as any function over tensors.
class GradScaler {
public:
  explicit GradScaler(LossScale rule = LossScale(), At at = At::current());

  /// The loss times the scale: what backward() begins with.
  Tensor scale(const Tensor &loss, At at = At::current()) const;
  /// Divides the gradients of the optimizer's parameters by the scale, before
  /// they are clipped. step() does so if that was not done.
  void unscale_(const Optimizer &optimizer, At at = At::current());
  /// The optimizer's step, if all of its gradients are finite; otherwise
  /// nothing of it changes.
  void step(Optimizer &optimizer, At at = At::current());
  /// Changes the scale, after the steps of all optimizers.
  void update(At at = At::current());

  /// Of rank 0, float32.
  const Tensor &current_scale() const { return factor; }

  /// "scale" and "growth_tracker".
  StateDict state_dict() const;
  /// Copies the values; the keys must be those of state_dict().
  void load_state_dict(const StateDict &state, At at = At::current());

private:
  /// An optimizer whose gradients were divided since the last update.
  struct Unscaled {
    const Optimizer *optimizer;
    Tensor finite;
    bool isDone = false;
  };
  Unscaled *find(const Optimizer &optimizer);

  LossScale rule;
  Tensor factor, growthTracker;
  std::vector<Unscaled> unscaled;
};

} // namespace tinh::optim

#endif // TINH_LOSS_SCALE_H
