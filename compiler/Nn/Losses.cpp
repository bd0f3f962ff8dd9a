//===- Losses.cpp - How far predictions are from targets --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas with PyTorch's gradients also where they have a kink, and without
// overflow: log(1 + e^x) is softplus.
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/Losses.h"

#include "compiler/Nn/OptionReader.h"
#include "tinh/autograd.h"

using namespace tinh;
using namespace tinh::eager;
using nn::OptionReader;
using nn::reduced;

Tensor nn::reduced(const Tensor &losses, Reduction reduction,
                   const Call &call) {
  switch (reduction) {
  case Reduction::None:
    return losses;
  case Reduction::Mean:
    return mean(sameCall(losses, call));
  case Reduction::Sum:
    return sum(sameCall(losses, call));
  }
  fail(call, "there is no such reduction");
}

static void requireSameShape(const Tensor &x, const Tensor &target,
                             const Call &call) {
  if (x.shape(call.at) != target.shape(call.at))
    fail(call, "shapes ", x.shape(), " and ", target.shape(),
         " differ; a loss does not broadcast");
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

static Tensor difference(const Operand &x, const Operand &target,
                         const Call &call) {
  Tensor a = toTensor(x, call), b = toTensor(target, call);
  requireSameShape(a, b, call);
  return sub(sameCall(a, call), sameCall(b, call));
}

static Tensor distance(const Operand &x, const Operand &target,
                       const Call &call) {
  Tensor signedDistance = difference(x, target, call);
  return abs(sameCall(signedDistance, call));
}

Tensor tinh::mse_loss(Operand x, Operand target, Reduction reduction) {
  Call call{"mse_loss", x.at};
  Tensor apart = difference(x, target, call);
  return reduced(square(sameCall(apart, call)), reduction, call);
}

Tensor tinh::l1_loss(Operand x, Operand target, Reduction reduction) {
  Call call{"l1_loss", x.at};
  return reduced(distance(x, target, call), reduction, call);
}

/// c · (d - c / 2), where c is d up to delta.
static Tensor huber(const Operand &x, const Operand &target, double delta,
                    const Call &call) {
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor apart = distance(x, target, call);
  Tensor cut = minimum(op(apart), delta);
  return mul(op(muladd(op(cut), -0.5, op(apart))), op(cut));
}

Tensor tinh::huber_loss(Operand x, Operand target, double delta,
                        Reduction reduction) {
  Call call{"huber_loss", x.at};
  if (!(delta > 0))
    fail(call, "delta is ", delta, "; it must be above 0");
  return reduced(huber(x, target, delta, call), reduction, call);
}

Tensor tinh::smooth_l1_loss(Operand x, Operand target, double beta,
                            Reduction reduction) {
  Call call{"smooth_l1_loss", x.at};
  if (!(beta >= 0))
    fail(call, "beta is ", beta, "; it must not be negative");
  if (beta == 0)
    return reduced(distance(x, target, call), reduction, call);
  Tensor losses = huber(x, target, beta, call);
  losses = div(sameCall(losses, call), beta);
  return reduced(losses, reduction, call);
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

// (1 - t) · x + log(1 + e^-x), the second by what positive targets weigh.
Tensor tinh::binary_cross_entropy_with_logits(
    Operand logits, Operand target, const BinaryCrossEntropyOptions &options) {
  Call call{"binary_cross_entropy_with_logits", logits.at};
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor x = toTensor(logits, call), t = toTensor(target, call);
  requireSameShape(x, t, call);
  Tensor tail = softplus(op(neg(op(x))));
  if (options.pos_weight.defined()) {
    Tensor extra = sub(op(options.pos_weight), 1);
    tail = mul(op(tail), op(muladd(op(extra), op(t), 1)));
  }
  Tensor losses = muladd(op(sub(Operand(1, call.at), op(t))), op(x), op(tail));
  if (options.weight.defined())
    losses = mul(op(losses), op(options.weight));
  return reduced(losses, options.reduction, call);
}

Tensor tinh::kl_div(Operand x, Operand target, bool logTarget,
                    Reduction reduction) {
  Call call{"kl_div", x.at};
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor given = toTensor(x, call), t = toTensor(target, call);
  requireSameShape(given, t, call);
  if (logTarget) {
    Tensor apart = sub(op(t), op(given));
    return reduced(mul(op(exp(op(t))), op(apart)), reduction, call);
  }
  // A probability of 0 adds nothing, whatever its logarithm is.
  Tensor isPositive = gt(op(t), 0);
  Tensor logarithms = log(op(where(op(isPositive), op(t), 1)));
  Tensor losses = mul(op(t), op(sub(op(logarithms), op(given))));
  return reduced(losses, reduction, call);
}

/// T² Σ p_teacher · (log p_teacher - log p_student), for each example.
Tensor tinh::distillation_loss(Operand student, Operand teacher,
                               const DistillationOptions &options) {
  Call call{"distillation_loss", student.at};
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor x = toTensor(student, call), t = toTensor(teacher, call);
  if (is_grad_enabled()) // Where nothing is recorded, there is nothing to stop.
    t = stop_gradient(op(t));
  requireSameShape(x, t, call);
  if (!(options.temperature > 0))
    fail(call, "temperature is ", options.temperature, "; it must be above 0");
  if (x.dim(call.at) == 0)
    fail(call, "there are no classes in shape []");
  int64_t axis = x.dim(call.at) == 1 ? 0 : 1;
  auto logarithms = [&](const Tensor &logits) {
    Tensor softened = div(op(logits), options.temperature);
    return log_softmax(op(softened), axis);
  };
  Tensor losses = kl_div(op(logarithms(x)), op(logarithms(t)),
                         /*log_target=*/true, Reduction::None);
  losses = sum(op(losses), axis);
  losses = mul(op(losses), options.temperature * options.temperature);
  return reduced(losses, options.reduction, call);
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

static Reduction reductionOf(OptionReader &options) {
  constexpr Reduction kinds[] = {Reduction::Mean, Reduction::Sum,
                                 Reduction::None};
  return kinds[options.choice("reduction", {"mean", "sum", "none"})];
}

static Loss::Target classTarget(const Shape &prediction, DType) {
  Shape shape;
  for (size_t i = 0; i < prediction.size(); ++i)
    if (i != (prediction.size() == 1 ? 0 : 1))
      shape.push_back(prediction[i]);
  return {int64, shape};
}

/// Errors of the loss are told with the place `at` where it was made.
using Maker = Loss (*)(std::string name, OptionReader &options, At at);

/// One that takes no option but how it is reduced.
template <Tensor (*loss)(Operand, Operand, Reduction)>
static Loss plainLoss(std::string name, OptionReader &options, At at) {
  return Loss(name, [at, how = reductionOf(options)](auto &x, auto &t) {
    return loss({x, at}, {t, at}, how);
  });
}

/// One that is quadratic up to what the option `limit` says, 1 by default.
template <Tensor (*loss)(Operand, Operand, double, Reduction)>
static Loss lossWithin(const std::string &name, const char *limit,
                       OptionReader &options, At at) {
  return Loss(name, [at, most = options.number(limit, 1),
                     how = reductionOf(options)](auto &x, auto &t) {
    return loss({x, at}, {t, at}, most, how);
  });
}

static const std::vector<std::pair<std::string, Maker>> kLosses = {
    {"mse", plainLoss<mse_loss>},
    {"l1", plainLoss<l1_loss>},
    {"huber",
     [](std::string name, OptionReader &options, At at) {
       return lossWithin<huber_loss>(name, "delta", options, at);
     }},
    {"smooth_l1",
     [](std::string name, OptionReader &options, At at) {
       return lossWithin<smooth_l1_loss>(name, "beta", options, at);
     }},
    {"cross_entropy",
     [](std::string name, OptionReader &options, At at) {
       CrossEntropyOptions all;
       all.label_smoothing = options.number("label_smoothing", 0);
       all.ignore_index = options.integer("ignore_index", -100);
       bool areProbabilities = options.flag("probabilities", false);
       all.reduction = reductionOf(options);
       return Loss(
           name,
           [at, all](auto &x, auto &t) {
             return cross_entropy({x, at}, {t, at}, all);
           },
           areProbabilities ? nullptr : classTarget);
     }},
    {"bce_with_logits",
     [](std::string name, OptionReader &options, At at) {
       BinaryCrossEntropyOptions all;
       all.reduction = reductionOf(options);
       return Loss(name, [at, all](auto &x, auto &t) {
         return binary_cross_entropy_with_logits({x, at}, {t, at}, all);
       });
     }},
    {"nll",
     [](std::string name, OptionReader &options, At at) {
       CrossEntropyOptions all;
       all.ignore_index = options.integer("ignore_index", -100);
       all.reduction = reductionOf(options);
       return Loss(
           name,
           [at, all](auto &x, auto &t) {
             return nll_loss({x, at}, {t, at}, all);
           },
           classTarget);
     }},
    {"kl_div",
     [](std::string name, OptionReader &options, At at) {
       bool logTarget = options.flag("log_target", false);
       return Loss(
           name, [at, logTarget, how = reductionOf(options)](auto &x, auto &t) {
             return kl_div({x, at}, {t, at}, logTarget, how);
           });
     }},
    {"distillation",
     [](std::string name, OptionReader &options, At at) {
       DistillationOptions all;
       all.temperature = options.number("temperature", all.temperature);
       all.reduction = reductionOf(options);
       return Loss(name, [at, all](auto &x, auto &t) {
         return distillation_loss({x, at}, {t, at}, all);
       });
     }},
};

Loss losses::make(std::string_view name, const Options &options, At at) {
  Call call{"losses::make", at};
  Maker maker = nn::entryOf(kLosses, name, "loss", call);
  OptionReader reader(name, options, call);
  Loss loss = maker(std::string(name), reader, at);
  reader.finish();
  return loss;
}

std::vector<std::string> losses::names() { return nn::namesOf(kLosses); }
