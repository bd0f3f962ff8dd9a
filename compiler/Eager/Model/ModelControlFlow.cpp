//===- ModelControlFlow.cpp - Branches and loops ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host waits for each condition.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Model/ModelOps.h"

using namespace mlir;

namespace tinh::eager {

static void give(Frame &frame, const std::vector<size_t> &to,
                 const std::vector<size_t> &from, size_t firstTo = 0,
                 size_t firstFrom = 0) {
  // All at once, for one may be read where another one is written.
  std::vector<Tensor> values;
  for (size_t i = firstFrom; i < from.size(); ++i)
    values.push_back(frame[from[i]]);
  for (size_t i = 0; i < values.size() && firstTo + i < to.size(); ++i)
    frame[to[firstTo + i]] = values[i];
}

Action ModelOps::ifAction(const Op &op) {
  auto branch = cast<graph::IfOp>(op.op);
  return [condition = op.in[0], out = op.out,
          then = sequence(branch.getThenBranch().front()),
          otherwise = sequence(branch.getElseBranch().front())](Frame &frame) {
    const Sequence &taken = frame[condition].item<bool>() ? then : otherwise;
    taken.run(frame);
    give(frame, out, taken.results);
  };
}

Action ModelOps::whileAction(const Op &op) {
  auto loop = cast<graph::WhileOp>(op.op);
  return [in = op.in, out = op.out,
          condition = sequence(loop.getCondition().front()),
          body = sequence(loop.getBody().front())](Frame &frame) {
    give(frame, out, in); // The results hold the carried values.
    while (true) {
      give(frame, condition.arguments, out);
      condition.run(frame);
      if (!frame[condition.results[0]].item<bool>())
        return;
      give(frame, body.arguments, out);
      body.run(frame);
      give(frame, out, body.results);
    }
  };
}

Action ModelOps::scanAction(const Op &op) {
  auto scan = cast<graph::ScanOp>(op.op);
  auto numbersOf = [&](ValueRange values) {
    std::vector<size_t> result;
    for (Value value : values)
      result.push_back(number(value));
    return result;
  };
  auto optionalNumber = [&](Value value) {
    return value ? std::optional(number(value)) : std::nullopt;
  };
  Sequence body = sequence(scan.getBody().front());
  size_t numCarried = scan.getInitial().size();
  std::vector<size_t> out = op.out, initial = numbersOf(scan.getInitial());
  std::vector<size_t> xs = numbersOf(scan.getXs());
  auto types = op.types;
  return [=, length = int64_t(scan.getLength()),
          tripCount = optionalNumber(scan.getTripCount()),
          condition = optionalNumber(scan.getCondition())](Frame &frame) {
    give(frame, out, initial);
    for (size_t i = numCarried; i < out.size(); ++i)
      frame[out[i]] = zeros(toArray(types[i].second), DType(types[i].first));
    int64_t count = length;
    if (tripCount)
      count = std::min(count, frame[*tripCount].item<int64_t>());
    bool goesOn = !condition || frame[*condition].item<bool>();
    for (int64_t i = 0; i < count && goesOn; ++i) {
      frame[body.arguments[0]] = tensor(i);
      for (size_t c = 0; c < numCarried; ++c)
        frame[body.arguments[1 + c]] = frame[out[c]];
      for (size_t x = 0; x < xs.size(); ++x)
        frame[body.arguments[1 + numCarried + x]] = frame[xs[x]].select(0, i);
      body.run(frame);
      size_t first = condition ? 1 : 0;
      if (condition)
        goesOn = frame[body.results[0]].item<bool>();
      for (size_t s = numCarried; s < out.size(); ++s)
        frame[out[s]].select(0, i).copy_(frame[body.results[first + s]]);
      std::vector<size_t> carried(out.begin(), out.begin() + numCarried);
      give(frame, carried, body.results, 0, first);
    }
  };
}

Action ModelOps::customAction(const Op &op) {
  auto custom = cast<graph::CustomGradientOp>(op.op);
  return [in = op.in, out = op.out,
          forward = sequence(custom.getForward().front())](Frame &frame) {
    give(frame, forward.arguments, in);
    forward.run(frame);
    give(frame, out, forward.results);
  };
}

Action ModelOps::controlFlow(const Op &op) {
  if (isa<graph::CustomGradientOp>(op.op))
    return customAction(op);
  if (isa<graph::StopGradientOp, graph::DropoutOp>(op.op))
    return [in = op.in, out = op.out](Frame &frame) { give(frame, out, in); };
  if (isa<graph::IfOp>(op.op))
    return ifAction(op);
  if (isa<graph::WhileOp>(op.op))
    return whileAction(op);
  if (isa<graph::ScanOp>(op.op))
    return scanAction(op);
  return {};
}

} // namespace tinh::eager
