//===- tinh/losses.h - How far predictions are from targets -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's losses, as functions of a prediction and a target, and as objects
// that are made by name:
//
//   Tensor loss = tinh::cross_entropy(logits, labels);
//   tinh::Loss criterion = tinh::losses::make("cross_entropy",
//                                             {{"label_smoothing", 0.1}});
//   Tensor same = criterion(logits, labels);
//
// They are made of operations on tensors, so that they run eagerly, traced and
// compiled alike. A loss does not broadcast: what does not fit is an error.
//
// Class indices out of range are an error of the loss of eager tensors,
// thrown where the loss is waited for. In compiled code, where kernels do
// not fail, such an example's loss is NaN, and so is what depends on it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_LOSSES_H
#define TINH_LOSSES_H

#include "tinh/options.h"
#include "tinh/tensor.h"

#include <functional>

namespace tinh {

/// What becomes of the losses of single elements or examples.
enum class Reduction { None, Mean, Sum };

/// (x - target)²
Tensor mse_loss(Operand x, Operand target,
                Reduction reduction = Reduction::Mean);
/// |x - target|
Tensor l1_loss(Operand x, Operand target,
               Reduction reduction = Reduction::Mean);
/// (x - target)² / 2 where |x - target| ≤ delta, else
/// delta · (|x - target| - delta / 2).
Tensor huber_loss(Operand x, Operand target, double delta = 1,
                  Reduction reduction = Reduction::Mean);
/// huber_loss with delta = beta, divided by beta; l1_loss if that is 0.
Tensor smooth_l1_loss(Operand x, Operand target, double beta = 1,
                      Reduction reduction = Reduction::Mean);

struct CrossEntropyOptions {
  /// By class; undefined: all are 1. With Reduction::Mean, the sum is divided
  /// by the sum of the weights of the target classes.
  Tensor weight = {};
  /// Examples of this class count for nothing.
  int64_t ignore_index = -100;
  /// How much of a target's probability is spread evenly over all classes.
  double label_smoothing = 0;
  Reduction reduction = Reduction::Mean;
};
/// Of logits [N, C, …] and, as target, class indices [N, …] or probabilities of
/// the logits' shape; both without N for one example.
Tensor cross_entropy(Operand logits, Operand target,
                     const CrossEntropyOptions &options = {});
/// Of logarithms of probabilities [N, C, …] and class indices [N, …].
Tensor nll_loss(Operand log_probabilities, Operand target,
                const CrossEntropyOptions &options = {});

struct BinaryCrossEntropyOptions {
  /// Of the elements, and of the positive ones alone; they broadcast.
  Tensor weight = {}, pos_weight = {};
  Reduction reduction = Reduction::Mean;
};
/// Of logits and probabilities of the same shape.
Tensor
binary_cross_entropy_with_logits(Operand logits, Operand target,
                                 const BinaryCrossEntropyOptions &options = {});

/// target · (log target - x), where x, and with `log_target` the target, too,
/// are logarithms of probabilities. Mean is over elements, as in PyTorch;
/// "batchmean" of PyTorch is sum / N.
Tensor kl_div(Operand x, Operand target, bool log_target = false,
              Reduction reduction = Reduction::Mean);

struct DistillationOptions {
  /// Above 1, what is less probable counts more.
  double temperature = 4;
  Reduction reduction = Reduction::Mean;
};
/// How far the student's probabilities are from the teacher's: the divergence
/// temperature² · KL(softmax(teacher / temperature) ‖ softmax(student /
/// temperature)) of logits [N, C, …], or [C]; the teacher gets no gradient.
/// Mean is over examples, not elements.
Tensor distillation_loss(Operand student, Operand teacher,
                         const DistillationOptions &options = {});

/// A loss with its options.
class Loss {
public:
  using Function =
      std::function<Tensor(const Tensor &prediction, const Tensor &target)>;
  /// The targets that fit a prediction.
  struct Target {
    DType dtype;
    Shape shape;
  };
  using TargetRule =
      std::function<Target(const Shape &prediction, DType dtype)>;

  /// `target` may be left out where targets are like predictions.
  Loss(std::string name, Function function, TargetRule target = {})
      : given(std::move(name)), function(std::move(function)),
        rule(std::move(target)) {}

  const std::string &name() const { return given; }
  Tensor operator()(const Tensor &prediction, const Tensor &target) const {
    return function(prediction, target);
  }
  /// What a target is like for predictions of this shape and dtype: of the
  /// classes' dtype, int64, where it may be of others, too.
  Target target(const Shape &prediction, DType dtype) const {
    return rule ? rule(prediction, dtype) : Target{dtype, prediction};
  }

private:
  std::string given;
  Function function;
  TargetRule rule;
};

namespace losses {

/// "mse", "l1", "huber" (delta), "smooth_l1" (beta), "cross_entropy"
/// (label_smoothing, ignore_index, probabilities: what targets are),
/// "bce_with_logits", "nll" (ignore_index) "kl_div" (log_target) or
/// "distillation" (temperature); all with `reduction`: "mean", "sum" or "none".
Loss make(std::string_view name, const Options &options = {},
          At at = At::current());

/// The names of all.
std::vector<std::string> names();

} // namespace losses
} // namespace tinh

#endif // TINH_LOSSES_H
