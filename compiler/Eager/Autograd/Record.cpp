//===- Record.cpp - Functions on the tape by their gradients --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/Record.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/Walk.h"
#include "compiler/Eager/Tensor/Support.h"

#include "llvm/ADT/STLExtras.h"

namespace tinh::eager {

namespace {

class FunctionNode final : public Node {
public:
  FunctionNode(const Call &call, uint32_t numOutputs, GradientFunction gradient)
      : Node(call, numOutputs), gradient(std::move(gradient)) {}

  void differentiate(Walk &walk,
                     llvm::MutableArrayRef<Tensor> gradients) override;
  void freeSaved() override {
    isReleased = true;
    kept.clear();
    gradient = {};
  }

  /// A saved tensor, which may be an input or an output.
  struct Kept {
    Saved tensor;
    int32_t input = -1, output = -1;
  };
  std::vector<Kept> kept;
  std::vector<Ref<TensorImpl>> inputGeometry;

private:
  void requireFit(const Tensor &given, const TensorImpl &input,
                  size_t index) const;

  GradientFunction gradient;
  bool isReleased = false;
};

void FunctionNode::differentiate(Walk &walk,
                                 llvm::MutableArrayRef<Tensor> gradients) {
  if (isReleased)
    failReleased(call);
  std::vector<Tensor> saved;
  for (const Kept &one : kept) {
    Edge from;
    if (one.input >= 0)
      from = inputs[one.input];
    else if (one.output >= 0)
      from = {this, static_cast<uint32_t>(one.output)};
    saved.push_back(one.tensor.get(from, call));
  }
  std::vector<Tensor> given =
      gradient(saved, {gradients.data(), gradients.size()});
  if (given.size() != inputs.size())
    fail(call, "its gradient function gave ", given.size(), " gradients for ",
         inputs.size(), " inputs");
  for (auto [i, one] : llvm::enumerate(given)) {
    if (one.defined())
      requireFit(one, *inputGeometry[i], i);
    walk.send(inputs[i], std::move(one));
  }
}

void FunctionNode::requireFit(const Tensor &given, const TensorImpl &input,
                              size_t index) const {
  const TensorImpl &gradient = use(given, call);
  if (gradient.sizes != input.sizes || gradient.dtype != input.dtype)
    fail(call, "its gradient function gave a gradient of shape ",
         gradient.sizes, " and ", DType(gradient.dtype), " for input ", index,
         ", of shape ", input.sizes, " and ", DType(input.dtype),
         "; they must be the same");
}

} // namespace

bool isRecorded(const TensorImpl &x) {
  return gradEnabled && mayHaveHistory(x) && edgeOf(x);
}

static int32_t indexOf(const Tensor &tensor, std::span<const Tensor> among) {
  for (auto [i, other] : llvm::enumerate(among))
    if (tensor.is_same(other))
      return static_cast<int32_t>(i);
  return -1;
}

void recordFunction(const Call &call, std::span<const Tensor> inputs,
                    std::span<const Tensor> outputs,
                    std::span<const Tensor> saved, GradientFunction gradient) {
  if (llvm::none_of(inputs, [](const Tensor &input) {
        return isRecorded(*TensorAccess::get(input));
      }))
    return;
  auto *node = new FunctionNode(call, static_cast<uint32_t>(outputs.size()),
                                std::move(gradient));
  Ref<Node> owner(node);
  for (const Tensor &input : inputs) {
    const TensorImpl &x = *TensorAccess::get(input);
    node->inputs.push_back(edgeOf(x));
    node->inputGeometry.push_back(geometryOf(x));
  }
  for (const Tensor &tensor : saved)
    node->kept.push_back({Saved(*TensorAccess::get(tensor)),
                          indexOf(tensor, inputs), indexOf(tensor, outputs)});
  for (auto [i, output] : llvm::enumerate(outputs))
    if (output.dtype().is_floating_point())
      setHistory(*TensorAccess::get(output), {owner, static_cast<uint32_t>(i)},
                 call);
}

void noteChange(const TensorImpl &x, const Call &call) {
  x.storage->noteWrite(call.name, call.at);
  if (gradEnabled && mayHaveHistory(x))
    setHistory(const_cast<TensorImpl &>(x), {}, call);
}

} // namespace tinh::eager
