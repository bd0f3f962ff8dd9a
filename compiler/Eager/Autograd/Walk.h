//===- Walk.h - From results back to what they depend on --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are taken from the youngest to the oldest, so that all gradients of a
// node's outputs have come together when it is its turn.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_AUTOGRAD_WALK_H
#define TINH_EAGER_AUTOGRAD_WALK_H

#include "compiler/Eager/Autograd/Tape.h"
#include "tinh/autograd.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <queue>
#include <span>

namespace tinh::eager {

class ViewGeometry;

class Walk {
public:
  Walk(const BackwardOptions &options, const Call &call)
      : options(options), call(call) {}

  /// Goes no further than it must for `targets`, whose gradients run() returns.
  void restrictTo(std::span<const Edge> outputs, std::span<const Edge> targets);
  /// Follows what was sent, and returns the gradients of the targets, undefined
  /// where nothing came.
  std::vector<Tensor> run();

  /// Says what (a part of) the gradient of an edge is.
  void send(const Edge &edge, Tensor gradient);
  /// The same for the elements of a view alone.
  void sendView(const Edge &edge, const ViewGeometry &geometry,
                Tensor gradient);
  /// Whether a gradient sent there is of use.
  bool wants(const Edge &edge) const {
    return edge && (!isRestricted || useful.contains(edge.node.get()));
  }
  /// Whether the gradients are to have gradients.
  bool isRecorded() const { return options.create_graph; }

  Tensor sum(const Tensor &a, const Tensor &b) const;
  void addInPlace(const Tensor &sum, const Tensor &gradient) const;
  /// `gradient`, contiguous, where nobody else holds it, else a copy.
  Tensor owned(Tensor gradient) const;
  Operand operand(const Tensor &tensor) const { return {tensor, call.at}; }

private:
  struct Arrived {
    Ref<Node> node;
    llvm::SmallVector<Tensor, 1> gradients; // By output.
  };
  struct IsOlder {
    bool operator()(const Node *a, const Node *b) const {
      return a->number < b->number;
    }
  };

  Tensor &slot(const Edge &edge);
  void visit(Arrived arrived);
  void callHooks(Arrived &arrived) const;

  const BackwardOptions options;
  const Call call;
  llvm::DenseMap<Node *, Arrived> waiting;
  std::priority_queue<Node *, std::vector<Node *>, IsOlder> queue;
  bool isRestricted = false;
  llvm::DenseSet<Node *> useful; // On a way to a target, or targets.
  std::span<const Edge> targets;
  std::vector<Tensor> results;
};

} // namespace tinh::eager

#endif // TINH_EAGER_AUTOGRAD_WALK_H
