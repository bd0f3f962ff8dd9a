//===- losses.cpp - Losses for Python ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tinh/losses.h. A reduction is a name: "mean", "sum" or "none".
//
//===----------------------------------------------------------------------===//
#include "tinh/losses.h"
#include "names.h"
#include "operations.h"

namespace tinh::python {

namespace {

Reduction reduction_of(const std::string &name) {
  return by_name<Reduction>("reduction", name,
                            {{"mean", Reduction::Mean},
                             {"sum", Reduction::Sum},
                             {"none", Reduction::None}});
}

/// One of x and a target of its shape, with a number.
template <auto F>
void define(nb::module_ &m, const char *name, const char *option, double value,
            const char *text) {
  m.def(
      name,
      [](const Given &x, const Given &target, double option,
         const std::string &reduction) {
        AtScope scope(x.place());
        return F(x, target, option, reduction_of(reduction));
      },
      nb::arg("x"), nb::arg("target"), nb::arg(option) = value,
      nb::arg("reduction") = "mean", Queues(), text);
}

} // namespace

void bind_losses(nb::module_ &m) {
  m.def(
      "mse_loss",
      [](const Given &x, const Given &target, const std::string &reduction) {
        AtScope scope(x.place());
        return mse_loss(x, target, reduction_of(reduction));
      },
      nb::arg("x"), nb::arg("target"), nb::arg("reduction") = "mean", Queues(),
      "(x - target)^2");
  m.def(
      "cross_entropy",
      [](const Given &logits, const Given &target, double label_smoothing,
         const OptionalTensor &weight, int64_t ignore_index,
         const std::string &reduction) {
        AtScope scope(logits.place());
        CrossEntropyOptions options;
        options.weight = or_none(weight);
        options.ignore_index = ignore_index;
        options.label_smoothing = label_smoothing;
        options.reduction = reduction_of(reduction);
        return cross_entropy(logits, target, options);
      },
      nb::arg("logits"), nb::arg("target"), nb::arg("label_smoothing") = 0.0,
      nb::arg("weight") = nb::none(), nb::arg("ignore_index") = -100,
      nb::arg("reduction") = "mean", Queues(),
      "Of logits [N, C, ...] and class indices [N, ...] or probabilities.");
  m.def(
      "l1_loss",
      [](const Given &x, const Given &target, const std::string &reduction) {
        AtScope scope(x.place());
        return l1_loss(x, target, reduction_of(reduction));
      },
      nb::arg("x"), nb::arg("target"), nb::arg("reduction") = "mean", Queues(),
      "|x - target|");
  define<&huber_loss>(m, "huber_loss", "delta", 1,
                      "(x - target)^2 / 2 where |x - target| <= delta, else\n"
                      "delta * (|x - target| - delta / 2).");
  define<&smooth_l1_loss>(m, "smooth_l1_loss", "beta", 1,
                          "huber_loss with delta = beta, divided by beta.");
  m.def(
      "nll_loss",
      [](const Given &x, const Given &target, const OptionalTensor &weight,
         int64_t ignore_index, const std::string &reduction) {
        AtScope scope(x.place());
        CrossEntropyOptions options;
        options.weight = or_none(weight);
        options.ignore_index = ignore_index;
        options.reduction = reduction_of(reduction);
        return nll_loss(x, target, options);
      },
      nb::arg("log_probabilities"), nb::arg("target"),
      nb::arg("weight") = nb::none(), nb::arg("ignore_index") = -100,
      nb::arg("reduction") = "mean", Queues(),
      "Of logarithms of probabilities [N, C, ...] and class indices [N, ...].");
  m.def(
      "binary_cross_entropy_with_logits",
      [](const Given &logits, const Given &target, const OptionalTensor &weight,
         const OptionalTensor &pos_weight, const std::string &reduction) {
        AtScope scope(logits.place());
        BinaryCrossEntropyOptions options;
        options.weight = or_none(weight);
        options.pos_weight = or_none(pos_weight);
        options.reduction = reduction_of(reduction);
        return binary_cross_entropy_with_logits(logits, target, options);
      },
      nb::arg("logits"), nb::arg("target"), nb::arg("weight") = nb::none(),
      nb::arg("pos_weight") = nb::none(), nb::arg("reduction") = "mean",
      Queues(), "Of logits and probabilities of the same shape.");
  m.def(
      "kl_div",
      [](const Given &x, const Given &target, bool log_target,
         const std::string &reduction) {
        AtScope scope(x.place());
        return kl_div(x, target, log_target, reduction_of(reduction));
      },
      nb::arg("x"), nb::arg("target"), nb::arg("log_target") = false,
      nb::arg("reduction") = "mean", Queues(),
      "target * (log target - x), where x are logarithms of probabilities, as\n"
      "is target with `log_target`. Mean is over elements.");
  m.def(
      "distillation_loss",
      [](const Given &student, const Given &teacher, double temperature,
         const std::string &reduction) {
        AtScope scope(student.place());
        DistillationOptions options;
        options.temperature = temperature;
        options.reduction = reduction_of(reduction);
        return distillation_loss(student, teacher, options);
      },
      nb::arg("student"), nb::arg("teacher"), nb::arg("temperature") = 4.0,
      nb::arg("reduction") = "mean", Queues(),
      "How far the student's probabilities are from the teacher's, both as\n"
      "logits [N, C, ...]; the teacher gets no gradient.");
}

} // namespace tinh::python
