//===- Optimizers.cpp - Updates of trained tensors --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of ai.onnx.preview.training: (rate, count of updates, then all tensors,
// all gradients, and all of each kind of state).
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// One tensor's update: the tensor, its gradient, then its states. What it is
/// next takes the place of each but the gradient.
using Update = llvm::function_ref<void(Value rate, Value isLater, Value count,
                                       MutableArrayRef<Value> operands)>;

/// Updates tensors that have so many states each.
Results updateAll(NodeBuilder &b, int states, Update update) {
  int kinds = 2 + states, given = b.numInputs() - 2;
  if (given < kinds || given % kinds)
    return {b.fail("expected a rate, a count and " + Twine(kinds) +
                   " inputs for each tensor, found " + Twine(b.numInputs()) +
                   " inputs")};
  int tensors = given / kinds;
  Value rate = b.reshape(b.input(0), {}), count = b.reshape(b.input(1), {});
  Value isLater = b.compare(Predicate::Greater, count, b.scalarLike(count, 0));
  Results results((1 + states) * tensors);
  for (int i = 0; i < tensors; ++i) {
    SmallVector<Value, 4> operands;
    for (int kind = 0; kind < kinds; ++kind)
      operands.push_back(b.input(2 + kind * tensors + i));
    if (b.failed())
      return {Value()};
    Type element = b.element(operands.front());
    // The gradient of a term that keeps tensors small.
    Value norm = b.scalar(element, b.floatAttribute("norm_coefficient", 0));
    operands[1] = b.add(b.mul(norm, operands[0]), operands[1]);
    update(b.cast(rate, element), isLater, b.cast(count, element), operands);
    results[i] = operands[0];
    for (int state = 0; state < states; ++state)
      results[(1 + state) * tensors + i] = operands[2 + state];
  }
  return results;
}

Results adagrad(NodeBuilder &b) {
  return updateAll(
      b, 1, [&](Value rate, Value, Value count, MutableArrayRef<Value> x) {
        auto number = [&](StringRef name, double otherwise) {
          return b.scalarLike(rate, b.floatAttribute(name, otherwise));
        };
        Value one = b.scalarLike(rate, 1);
        Value decayed =
            b.div(rate, b.add(one, b.mul(count, number("decay_factor", 0))));
        x[2] = b.add(x[2], b.mul(x[1], x[1]));
        Value root =
            b.add(b.create<graph::SqrtOp>({x[2]}), number("epsilon", 1e-6f));
        x[0] = b.sub(x[0], b.div(b.mul(decayed, x[1]), root));
      });
}

Results adam(NodeBuilder &b) {
  return updateAll(
      b, 2,
      [&](Value rate, Value isLater, Value count, MutableArrayRef<Value> x) {
        auto number = [&](StringRef name, double otherwise) {
          return b.scalarLike(rate, b.floatAttribute(name, otherwise));
        };
        Value one = b.scalarLike(rate, 1);
        Value alpha = number("alpha", 0.9f), beta = number("beta", 0.999f);
        auto moving = [&](Value state, Value factor, Value next) {
          return b.add(b.mul(factor, state), b.mul(b.sub(one, factor), next));
        };
        // 1 - factor^count
        auto bias = [&](Value factor) {
          return b.sub(one, b.create<graph::PowOp>({factor, count}));
        };
        x[2] = moving(x[2], alpha, x[1]);
        x[3] = moving(x[3], beta, b.mul(x[1], x[1]));
        Value corrected = b.div(
            b.mul(rate, b.create<graph::SqrtOp>({bias(beta)})), bias(alpha));
        Value root =
            b.add(b.create<graph::SqrtOp>({x[3]}), number("epsilon", 1e-6f));
        Value step =
            b.mul(b.where(isLater, corrected, rate), b.div(x[2], root));
        x[0] = b.mul(b.sub(one, number("norm_coefficient_post", 0)),
                     b.sub(x[0], step));
      });
}

Results momentum(NodeBuilder &b) {
  std::string mode = b.stringAttribute("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return {b.fail("attribute mode: expected standard or nesterov, found \"" +
                   mode + "\"")};
  return updateAll(
      b, 1, [&](Value rate, Value isLater, Value, MutableArrayRef<Value> x) {
        auto number = [&](StringRef name) {
          return b.scalarLike(rate, b.floatAttribute(name, 0));
        };
        Value alpha = number("alpha");
        // The first gradient counts whole.
        Value beta = b.where(isLater, number("beta"), b.scalarLike(rate, 1));
        x[2] = b.add(b.mul(alpha, x[2]), b.mul(beta, x[1]));
        Value step =
            mode == "standard" ? x[2] : b.add(x[1], b.mul(alpha, x[2]));
        x[0] = b.sub(x[0], b.mul(rate, step));
      });
}

} // namespace

OpFamily optimizerOps() {
  return {{"ai.onnx.preview.training.Adagrad", adagrad, {1, 5, -1}},
          {"ai.onnx.preview.training.Adam", adam, {1, 6, -1}},
          {"ai.onnx.preview.training.Momentum", momentum, {1, 5, -1}}};
}

} // namespace tinh::onnx
