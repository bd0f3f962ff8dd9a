//===- OpNode.cpp - Primitives on the tape --------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/OpNode.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/Walk.h"
#include "compiler/Eager/Primitives/Dispatch.h"
#include "compiler/Eager/Primitives/Signature.h"
#include "compiler/Eager/Tensor/Support.h"

#include "llvm/ADT/STLExtras.h"

namespace tinh::eager {

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

Tensor OpNode::load(const Kept &kept) const {
  if (kept.isScalar)
    return filled({}, kept.scalar, call);
  if (!kept.tensor)
    return {};
  return kept.tensor.get(kept.edge >= 0 ? inputs[kept.edge] : Edge(), call);
}

void OpNode::differentiate(Walk &walk,
                           llvm::MutableArrayRef<Tensor> gradients) {
  program.requireGradient(call);
  if (isReleased)
    failReleased(call);
  llvm::SmallVector<Tensor, 3> in, out;
  for (const Kept &kept : operands)
    in.push_back(load(kept));
  for (auto [i, saved] : llvm::enumerate(results))
    out.push_back(saved ? saved.get({this, uint32_t(i)}, call) : Tensor());
  llvm::SmallVector<Tensor, 2> given = program.run(in, out, gradients);
  for (auto [edge, gradient] : llvm::zip_equal(inputs, given))
    walk.send(edge, std::move(gradient));
}

void OpNode::freeSaved() {
  for (Kept &kept : operands) {
    isReleased |= !!kept.tensor;
    kept.tensor.reset();
  }
  for (Saved &saved : results) {
    isReleased |= !!saved;
    saved.reset();
  }
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Whether a primitive has to do with gradients.
static bool mustRecord(const Primitive &primitive) {
  auto matters = [](const Input &input) {
    return input.tensor && mayHaveHistory(*input.tensor);
  };
  auto has = [](const TensorImpl *output) { return mayHaveHistory(*output); };
  if (llvm::none_of(primitive.inputs, matters) &&
      llvm::none_of(primitive.outputs, has)) [[likely]]
    return false;
  return gradEnabled;
}

static void performAndNote(const Primitive &primitive) {
  performOnEngine(primitive);
  for (const TensorImpl *output : primitive.outputs)
    output->storage->noteWrite(primitive.call.name, primitive.call.at);
}

static void addTensorTo(Signature &signature, const TensorImpl &x,
                        uint64_t kind) {
  signature.add(kind << 16 | uint64_t(x.dtype) << 8 | x.rank());
  signature.words.append(x.sizes.begin(), x.sizes.end());
}

/// Whether the primitive writes what it reads as this input.
static bool isOverwritten(const TensorImpl &x, const Primitive &primitive) {
  return llvm::any_of(primitive.outputs, [&](const TensorImpl *output) {
    return output->storage.get() == x.storage.get() &&
           output->offset == x.offset && output->sizes == x.sizes &&
           output->strides == x.strides;
  });
}

namespace {

/// A call while it is recorded.
class Recording {
public:
  explicit Recording(const Primitive &primitive)
      : primitive(primitive), signature(signatureOf(primitive.attributes)) {}

  void run();

private:
  bool findEdges();
  Ref<Node> makeNode();

  const Primitive &primitive;
  Signature signature;
  llvm::SmallVector<Edge, 3> edges; // By input.
  llvm::SmallVector<bool, 3> wanted;
  llvm::SmallVector<Tensor, 1> copies; // Of what is overwritten.
};

/// Whether there are any, and an output has a gradient.
bool Recording::findEdges() {
  bool isAny = false;
  for (const Input &input : primitive.inputs) {
    edges.push_back(input.tensor ? edgeOf(*input.tensor) : Edge());
    wanted.push_back(!!edges.back());
    isAny |= wanted.back();
    if (input.tensor)
      addTensorTo(signature, *input.tensor, 2 + wanted.back());
    else
      signature.add(1 << 16 | uint64_t(input.scalar.dtype) << 8);
  }
  bool hasResult = false;
  for (const TensorImpl *output : primitive.outputs) {
    addTensorTo(signature, *output, 4);
    hasResult |= DType(output->dtype).is_floating_point();
  }
  return isAny && hasResult;
}

void Recording::run() {
  for (const TensorImpl *output : primitive.outputs)
    requireNoLeaf(*output, primitive.call);
  if (!findEdges()) {
    performAndNote(primitive);
    for (TensorImpl *output : primitive.outputs)
      setHistory(*output, {}, primitive.call);
    return;
  }
  Ref<Node> node = makeNode();
  for (auto [i, output] : llvm::enumerate(primitive.outputs))
    setHistory(*output,
               DType(output->dtype).is_floating_point()
                   ? Edge{node, static_cast<uint32_t>(i)}
                   : Edge(),
               primitive.call);
}

/// Calls the primitive, too: inputs that it overwrites are copied before, and
/// outputs kept after it.
Ref<Node> Recording::makeNode() {
  const VjpProgram &program =
      VjpProgram::get(signature.words, primitive, wanted);
  auto *node = new OpNode(program, primitive.call,
                          static_cast<uint32_t>(primitive.outputs.size()));
  Ref<Node> owner(node);
  for (auto [i, input] : llvm::enumerate(primitive.inputs)) {
    copies.emplace_back();
    if (program.needsInput(i) && input.tensor &&
        isOverwritten(*input.tensor, primitive)) {
      GradModeScope constant(false);
      copies.back() =
          copied(*input.tensor, input.tensor->dtype, primitive.call);
    }
  }
  performAndNote(primitive);
  for (auto [i, input] : llvm::enumerate(primitive.inputs)) {
    OpNode::Kept &kept = node->operands.emplace_back();
    if (edges[i]) {
      kept.edge = static_cast<int32_t>(node->inputs.size());
      node->inputs.push_back(std::move(edges[i]));
    }
    if (!program.needsInput(i))
      continue;
    kept.isScalar = !input.tensor;
    if (kept.isScalar)
      kept.scalar = input.scalar;
    else
      kept.tensor = Saved(copies[i].defined() ? *TensorAccess::get(copies[i])
                                              : *input.tensor);
  }
  for (auto [i, output] : llvm::enumerate(primitive.outputs))
    node->results.push_back(program.needsOutput(i) ? Saved(*output) : Saved());
  return owner;
}

} // namespace

void performAndRecord(const Primitive &primitive) {
  if (mustRecord(primitive))
    Recording(primitive).run();
  else
    performAndNote(primitive);
}

} // namespace tinh::eager
