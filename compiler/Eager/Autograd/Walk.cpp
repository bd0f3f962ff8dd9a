//===- Walk.cpp - From results back to what they depend on ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/Walk.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/ViewNodes.h"
#include "compiler/Eager/CheckNumerics.h"
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Support.h"
#include "tinh/autocast.h"

#include "llvm/ADT/STLExtras.h"

namespace tinh::eager {

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Whether to write it changes nothing that anybody else sees.
static bool isOwned(const Tensor &tensor) {
  const TensorImpl &x = *TensorAccess::get(tensor);
  return x.references() == 1 && x.storage->isHeldOnce() && isContiguous(x);
}

/// The matrices of `tensor` transposed, if it is contiguous only so.
static Tensor contiguousTransposed(const Tensor &tensor, const Call &call) {
  const TensorImpl &x = *TensorAccess::get(tensor);
  if (x.rank() < 2 || isContiguous(x))
    return {};
  Tensor transposed = tensor.transpose(-2, -1, call.at);
  return isContiguous(*TensorAccess::get(transposed)) ? transposed : Tensor();
}

/// Such is the gradient of weights whose transposes are multiplied with; the
/// sum of two is one, too, and is computed as they lie.
Tensor Walk::sum(const Tensor &a, const Tensor &b) const {
  if (Tensor x = contiguousTransposed(a, call); x.defined())
    if (Tensor y = contiguousTransposed(b, call); y.defined())
      return (operand(x) + operand(y)).transpose(-2, -1, call.at);
  return operand(a) + operand(b);
}

void Walk::addInPlace(const Tensor &sum, const Tensor &gradient) const {
  sum.add_(operand(gradient));
}

Tensor Walk::owned(Tensor gradient) const {
  return isOwned(gradient) ? std::move(gradient) : gradient.clone(call.at);
}

//===----------------------------------------------------------------------===//
// What arrives
//===----------------------------------------------------------------------===//

Tensor &Walk::slot(const Edge &edge) {
  Node *node = edge.node.get();
  auto [at, isNew] = waiting.try_emplace(node);
  Arrived &arrived = at->second;
  if (isNew) {
    arrived.node = edge.node;
    arrived.gradients.resize(node->numOutputs);
    queue.push(node);
  }
  return arrived.gradients[edge.output];
}

void Walk::send(const Edge &edge, Tensor gradient) {
  if (!gradient.defined() || !wants(edge))
    return;
  Tensor &arrived = slot(edge);
  if (!arrived.defined())
    arrived = std::move(gradient);
  else if (isOwned(arrived))
    addInPlace(arrived, gradient);
  else
    arrived = sum(arrived, gradient);
}

void Walk::sendView(const Edge &edge, const ViewGeometry &geometry,
                    Tensor gradient) {
  if (!wants(edge))
    return;
  LikeScope scope(*TensorAccess::get(gradient));
  gradient = geometry.withoutRepetition(std::move(gradient), call);
  if (Tensor whole = geometry.asWhole(gradient, call); whole.defined())
    return send(edge, std::move(whole));
  if (!geometry.isBaseContiguous()) {
    Tensor memory = geometry.zeros(call);
    geometry.viewOf(memory).copy_(operand(gradient));
    return send(edge, geometry.baseOf(memory));
  }
  Tensor &arrived = slot(edge);
  bool isFirst = !arrived.defined();
  arrived = isFirst ? geometry.zeros(call) : owned(std::move(arrived));
  Tensor part = geometry.viewOf(arrived);
  if (isFirst)
    part.copy_(operand(gradient));
  else
    part.add_(operand(gradient));
}

//===----------------------------------------------------------------------===//
// The way
//===----------------------------------------------------------------------===//

void Walk::restrictTo(std::span<const Edge> outputs,
                      std::span<const Edge> wanted) {
  isRestricted = true;
  targets = wanted;
  results.resize(wanted.size());
  std::vector<Node *> reached;
  llvm::DenseSet<Node *> seen;
  auto reach = [&](const Edge &edge) {
    if (edge && seen.insert(edge.node.get()).second)
      reached.push_back(edge.node.get());
  };
  for (const Edge &output : outputs)
    reach(output);
  for (size_t i = 0; i < reached.size(); ++i)
    for (const Edge &input : reached[i]->inputs)
      reach(input);
  for (const Edge &target : wanted)
    useful.insert(target.node.get());
  llvm::sort(reached, [](const Node *a, const Node *b) {
    return a->number < b->number;
  });
  for (Node *node : reached)
    if (llvm::any_of(node->inputs,
                     [&](const Edge &input) { return wants(input); }))
      useful.insert(node);
}

void Walk::callHooks(Arrived &arrived) const {
  if (!arrived.node->hooks)
    return;
  // A hook may register others.
  auto hooks = *arrived.node->hooks;
  for (auto &[output, hook] : hooks) {
    Tensor &gradient = arrived.gradients[output];
    if (!gradient.defined())
      continue;
    Tensor replacement = hook(gradient);
    if (!replacement.defined())
      continue;
    const TensorImpl &before = *TensorAccess::get(gradient);
    const TensorImpl &after = *TensorAccess::get(replacement);
    if (after.sizes != before.sizes || after.dtype != before.dtype)
      fail(arrived.node->call, "a hook gave a gradient of shape ", after.sizes,
           " and ", DType(after.dtype), " in place of one of shape ",
           before.sizes, " and ", DType(before.dtype));
    gradient = replacement;
  }
}

void Walk::visit(Arrived arrived) {
  callHooks(arrived);
  Node &node = *arrived.node;
  for (auto [target, result] : llvm::zip(targets, results))
    if (target.node.get() == &node)
      result = arrived.gradients[target.output];
  if (isRestricted && llvm::none_of(node.inputs, [&](const Edge &input) {
        return wants(input);
      }))
    return;
  GradientOf scope(node.call);
  node.differentiate(*this, arrived.gradients);
  if (!options.retain_graph && !options.create_graph)
    node.freeSaved();
}

std::vector<Tensor> Walk::run() {
  GradModeScope mode(isRecorded());
  Autocast exact(float32); // Gradients have the dtypes of what they are of.
  while (!queue.empty()) {
    Node *node = queue.top();
    queue.pop();
    auto at = waiting.find(node);
    Arrived arrived = std::move(at->second);
    waiting.erase(at);
    visit(std::move(arrived));
  }
  return std::move(results);
}

} // namespace tinh::eager
