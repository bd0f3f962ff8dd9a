//===- OpNode.h - Primitives on the tape ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_AUTOGRAD_OPNODE_H
#define TINH_EAGER_AUTOGRAD_OPNODE_H

#include "compiler/Eager/Autograd/Tape.h"
#include "compiler/Eager/Autograd/VjpProgram.h"

namespace tinh::eager {

/// A primitive that was called; `inputs` are the edges of those of its inputs
/// that are wanted.
class OpNode final : public Node {
public:
  OpNode(const VjpProgram &program, const Call &call, uint32_t numOutputs)
      : Node(call, numOutputs), program(program) {}

  void differentiate(Walk &walk,
                     llvm::MutableArrayRef<Tensor> gradients) override;
  void freeSaved() override;

  /// An input or output, if it is needed.
  struct Kept {
    Saved tensor;
    Scalar scalar; // If that is what it is.
    bool isScalar = false;
    int32_t edge = -1; // Its index among `inputs`, if it has one.
  };
  llvm::SmallVector<Kept, 3> operands;
  llvm::SmallVector<Saved, 1> results;

private:
  Tensor load(const Kept &kept) const;

  const VjpProgram &program;
  bool isReleased = false;
};

/// Has the engine perform a primitive, and records it if it has to do with
/// gradients.
void performAndRecord(const Primitive &primitive);

} // namespace tinh::eager

#endif // TINH_EAGER_AUTOGRAD_OPNODE_H
