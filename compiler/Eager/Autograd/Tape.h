//===- Tape.h - What tensors were computed from -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tape is a graph of nodes, one for each operation that was recorded.
// A tensor's History names the node that gives its gradient a place to go: that
// of what computed it, or its own if it is a leaf.
//
// A tensor and its views share one history, for they share memory: it belongs
// to the tensor that has no base. What a view shows is a ViewNode on the
// history that its base has when the view is read. To write through a view
// gives the base a new history, a SpliceNode: the old one with the elements of
// the view replaced.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_AUTOGRAD_TAPE_H
#define TINH_EAGER_AUTOGRAD_TAPE_H

#include "compiler/Eager/Autograd/Record.h"
#include "compiler/Eager/Engine/Operation.h"
#include "compiler/Eager/Tensor/TensorImpl.h"
#include "tinh/tensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <memory>
#include <mutex>

namespace tinh::eager {

class Node;
class Walk;

/// One of the values that a node gives; none if the node is null.
struct Edge {
  Ref<Node> node;
  uint32_t output = 0;

  explicit operator bool() const { return !!node; }
};

using Hook = std::function<Tensor(const Tensor &)>;

/// What was done. Gradients of its outputs become those of its inputs.
class Node : public RefCounted<Node> {
public:
  explicit Node(const Call &call, uint32_t numOutputs = 1);
  virtual ~Node();
  /// However long the chain of nodes is that only this one kept: without
  /// recursion.
  static void destroy(Node *node);

  /// Sends gradients to `inputs`. Those of the outputs are undefined where
  /// there is none, not all of them; they may be moved from.
  virtual void differentiate(Walk &walk,
                             llvm::MutableArrayRef<Tensor> gradients) = 0;
  /// Gives up what differentiate needs: it will not be called again, or
  /// throws.
  virtual void freeSaved() {}
  virtual bool isLeaf() const { return false; }

  /// Where gradients go. Empty ones need none.
  llvm::SmallVector<Edge, 2> inputs;
  const Call call;
  /// Larger than those of all nodes that this one depends on.
  const uint64_t number;
  const uint32_t numOutputs;
  /// What is called with the gradient of an output.
  std::unique_ptr<std::vector<std::pair<uint32_t, Hook>>> hooks;

  static void *operator new(size_t size);
  static void operator delete(void *memory, size_t size);

private:
  Node *nextDead = nullptr;
};

/// A leaf; the gradients that it is sent are added up.
class LeafNode final : public Node {
public:
  explicit LeafNode(const Call &call) : Node(call) {}
  bool isLeaf() const override { return true; }
  void differentiate(Walk &walk,
                     llvm::MutableArrayRef<Tensor> gradients) override;

  Tensor gradient();
  void setGradient(const Tensor &gradient);

private:
  std::mutex mutex; // Several threads may share parameters.
  Tensor sum;
};

/// Of a tensor without a base, where it comes from; of one with a base, its
/// ViewNode.
struct History final : TapeData {
  Edge from;
  /// How often a base's `from` has changed; of a view, how often it had when
  /// `from` was made.
  uint32_t changes = 0;

  static void *operator new(size_t size);
  static void operator delete(void *memory, size_t size);
};

/// Whether there can be a history, which is quick to tell.
inline bool mayHaveHistory(const TensorImpl &x) {
  return x.tape || (x.base && x.base->tape);
}
/// Where the gradient of x goes now; empty for a constant.
Edge edgeOf(const TensorImpl &x);
/// From here on `out` was computed by `from`, or is a constant.
void setHistory(TensorImpl &out, Edge from, const Call &call);

/// Makes x a leaf that is no view, or a constant.
void makeLeaf(TensorImpl &x, const Call &call);
/// That of x; null if x is none.
LeafNode *leafOf(const TensorImpl &x);

/// The shape, strides and offset of x without its memory.
Ref<TensorImpl> geometryOf(const TensorImpl &x);

/// A tensor whose elements the tape keeps, as they are now.
class Saved {
public:
  Saved() = default;
  explicit Saved(const TensorImpl &x);

  explicit operator bool() const { return !!tensor; }
  /// With the history `from`, for gradients of gradients; `user` was recorded.
  /// Throws if the memory was written since.
  Tensor get(const Edge &from, const Call &user) const;
  void reset() { tensor = {}; }

private:
  Ref<TensorImpl> tensor;
  uint32_t version = 0;
};

[[noreturn]] void failReleased(const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_AUTOGRAD_TAPE_H
