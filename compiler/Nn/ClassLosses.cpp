//===- ClassLosses.cpp - Cross-entropy and negative likelihood --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/Losses.h"
#include "tinh/engine.h"

#include <limits>

using namespace tinh;
using namespace tinh::eager;
using nn::reduced;

/// Copies labels when they are there, with 0 for those that are ignored; one
/// that is no class is the error of the copy.
static Tensor checkedLabels(const Tensor &given, int64_t classes,
                            int64_t ignored, const Call &call) {
  Tensor labels = given.to(Device::cpu(), call.at);
  DeviceScope scope(Device::cpu());
  Tensor places = empty(labels.shape(), int64, call.at);
  auto copy = [=, count = labels.numel()](std::span<const HostArray> reads,
                                          std::span<const HostArray> writes) {
    const int64_t *from = reads[0].as<int64_t>();
    int64_t *to = writes[0].as<int64_t>();
    for (int64_t i = 0; i < count; ++i) {
      to[i] = from[i] == ignored ? 0 : from[i];
      if (to[i] < 0 || to[i] >= classes)
        throw Error(TINH_INVALID_ARGUMENT,
                    "label " + std::to_string(from[i]) + " of example " +
                        std::to_string(i) + " is no class; there are " +
                        std::to_string(classes) + ", from 0 on, and " +
                        std::to_string(ignored) + " is ignored");
    }
  };
  if (labels.numel() != 0)
    tinh::call(call.name, copy, {labels}, {places}, call.at);
  return places.to(given.device(), call.at);
}

namespace {

/// The loss of class indices, from the logarithms of probabilities.
class ClassLoss {
public:
  ClassLoss(const Tensor &logarithms, const Tensor &target,
            const CrossEntropyOptions &options, const Call &call)
      : logarithms(logarithms), target(target), options(options), call(call),
        axis(logarithms.dim() == 1 ? 0 : 1), classes(logarithms.size(axis)) {
    checkTarget();
    this->target = target.to(int64, call.at);
    ignored = eq(op(this->target), options.ignore_index);
    places = findPlaces();
    findWeights();
  }

  Tensor result() const {
    Tensor picked =
        gather(op(logarithms), axis, op(places.unsqueeze(axis, call.at)));
    picked = picked.squeeze(axis, call.at);
    double certain = 1 - options.label_smoothing;
    Tensor losses = mul(op(picked), -certain);
    if (weights.defined())
      losses = mul(op(losses), op(weights));
    if (options.label_smoothing != 0)
      losses = sub(op(losses), op(smoothed()));
    losses = where(op(ignored), 0, op(losses));
    if (options.reduction != Reduction::Mean)
      return reduced(losses, options.reduction, call);
    Tensor counted = weights.defined() ? where(op(ignored), 0, op(weights))
                                       : where(op(ignored), 0, 1);
    return div(op(sum(op(losses))), op(sum(op(counted))));
  }

private:
  Operand op(const Tensor &tensor) const { return sameCall(tensor, call); }

  void checkTarget() const {
    Shape expected;
    for (int64_t i = 0; i < logarithms.dim(); ++i)
      if (i != axis)
        expected.push_back(logarithms.size(i));
    if (target.shape() != expected || !target.dtype().is_integer())
      fail(call, "class indices of shape ", target.shape(), " and ",
           target.dtype(), " must be integers of shape ", expected,
           " for logits of shape ", logarithms.shape());
  }

  /// The labels, with 0 in place of those that are ignored. In a graph, where
  /// no kernel fails, one that is out of range is the number of classes: it
  /// does not count from the end.
  Tensor findPlaces() const {
    if (!Backend::current().isTracing())
      return checkedLabels(target.contiguous(call.at), classes,
                           options.ignore_index, call);
    Tensor isWrong = logical_or(op(lt(op(target), 0)), op(target >= classes));
    Tensor labels = where(op(isWrong), classes, op(target));
    return where(op(ignored), 0, op(labels));
  }

  /// By example: those of the classes, if these have any. In a graph, where
  /// an index out of range is no error, NaN for such an example.
  void findWeights() {
    if (options.weight.defined()) {
      if (options.weight.shape(call.at) != Shape(classes))
        fail(call, "weight of shape ", options.weight.shape(), " must be [",
             classes, "]: one number for each class");
      weights = take(op(options.weight), op(places));
    }
    if (Backend::current().isTracing()) {
      constexpr double nan = std::numeric_limits<double>::quiet_NaN();
      Tensor isWrong = ge(op(places), classes);
      weights = weights.defined() ? where(op(isWrong), nan, op(weights))
                                  : where(op(isWrong), nan, 1.0);
    }
    if (weights.defined())
      weights = weights.to(logarithms.dtype(), call.at);
  }

  /// What the even part of the probabilities takes off.
  Tensor smoothed() const {
    Tensor terms = logarithms;
    if (options.weight.defined()) {
      Shape along(std::vector<int64_t>(logarithms.dim(), 1));
      along[axis] = classes;
      terms = mul(op(terms), op(options.weight.reshape(along, call.at)));
    }
    return mul(op(sum(op(terms), axis)),
               options.label_smoothing / double(classes));
  }

  Tensor logarithms, target;
  const CrossEntropyOptions &options;
  Call call;
  int64_t axis, classes;
  Tensor ignored, places, weights;
};

} // namespace

static void requireLogits(const Tensor &x, const CrossEntropyOptions &options,
                          const Call &call) {
  if (!x.dtype(call.at).is_floating_point())
    fail(call, "is not defined for ", x.dtype(),
         "; convert the operand with to(float32)");
  if (x.dim() == 0)
    fail(call, "logits of shape [] must be [N, classes, …] or [classes]");
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    fail(call, "label_smoothing is ", options.label_smoothing,
         "; it must be from 0 to 1");
}

static Tensor softCrossEntropy(const Tensor &logarithms, const Tensor &target,
                               const CrossEntropyOptions &options,
                               const Call &call) {
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  if (target.shape() != logarithms.shape())
    fail(call, "probabilities of shape ", target.shape(),
         " must have the logits' shape ", logarithms.shape());
  int64_t axis = logarithms.dim() == 1 ? 0 : 1;
  int64_t classes = logarithms.size(axis);
  Tensor probabilities = target;
  if (options.label_smoothing != 0)
    probabilities = muladd(op(target), 1 - options.label_smoothing,
                           options.label_smoothing / double(classes));
  Tensor products = mul(op(logarithms), op(probabilities));
  if (options.weight.defined()) {
    Shape along(std::vector<int64_t>(logarithms.dim(), 1));
    along[axis] = classes;
    products = mul(op(products), op(options.weight.reshape(along, call.at)));
  }
  Tensor losses = neg(op(sum(op(products), axis)));
  return reduced(losses, options.reduction, call);
}

Tensor tinh::cross_entropy(Operand logits, Operand target,
                           const CrossEntropyOptions &options) {
  Call call{"cross_entropy", logits.at};
  Tensor x = toTensor(logits, call), expected = toTensor(target, call);
  requireLogits(x, options, call);
  Tensor logarithms = log_softmax(sameCall(x, call), x.dim() == 1 ? 0 : 1);
  if (expected.dtype(call.at).is_floating_point())
    return softCrossEntropy(logarithms, expected, options, call);
  return ClassLoss(logarithms, expected, options, call).result();
}

Tensor tinh::nll_loss(Operand logProbabilities, Operand target,
                      const CrossEntropyOptions &options) {
  Call call{"nll_loss", logProbabilities.at};
  Tensor x = toTensor(logProbabilities, call);
  requireLogits(x, options, call);
  if (options.label_smoothing != 0)
    fail(call, "has no label smoothing; use cross_entropy, of logits");
  return ClassLoss(x, toTensor(target, call), options, call).result();
}
