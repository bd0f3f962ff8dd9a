//===- VjpProgram.h - The gradient of a primitive, made once ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of gradients are those of graphs (compiler/Gradients). A primitive
// is performed in a graph, the graph is differentiated and simplified, and its
// ops become operations on tensors (Model/). All calls of one signature share
// what comes out: it is a matter of the operation, its attributes, dtypes and
// shapes, and of which inputs require gradients.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_AUTOGRAD_VJPPROGRAM_H
#define TINH_EAGER_AUTOGRAD_VJPPROGRAM_H

#include "compiler/Eager/Primitives/Primitive.h"
#include "tinh/tensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <string>

namespace tinh::eager {

/// Immutable; used by any number of threads at a time.
class VjpProgram {
public:
  /// That of the primitives with this signature, which stands for attributes,
  /// inputs and outputs. `wanted` says, by input, whether its gradient is asked
  /// for. Never destroyed.
  static const VjpProgram &get(llvm::ArrayRef<uint64_t> signature,
                               const Primitive &primitive,
                               llvm::ArrayRef<bool> wanted);

  /// Throws, naming `call`, unless there is a gradient.
  void requireGradient(const Call &call) const;
  bool needsInput(size_t i) const { return neededInputs[i]; }
  bool needsOutput(size_t i) const { return neededOutputs[i]; }

  /// The gradients of the inputs that are wanted, in order, undefined where
  /// there is none. `inputs` and `outputs` are undefined where they are not
  /// needed.
  llvm::SmallVector<Tensor, 2>
  run(llvm::MutableArrayRef<Tensor> inputs,
      llvm::MutableArrayRef<Tensor> outputs,
      llvm::MutableArrayRef<Tensor> gradients) const;

private:
  struct Actions;

  VjpProgram(const Primitive &primitive, llvm::ArrayRef<bool> wanted);
  void build(const Primitive &primitive, llvm::ArrayRef<bool> wanted);

  /// The same operations, as few of them as can be and as those of which each
  /// can be recorded.
  std::unique_ptr<Actions> fused, recorded;
  std::string failure; // Why there is none.
  llvm::SmallVector<bool> neededInputs, neededOutputs;
  struct Result {
    bool isGiven;
    size_t index;
  };
  llvm::SmallVector<Result> results;
  llvm::SmallVector<std::pair<tinh_dtype_t, Dims>> outputTypes;
};

} // namespace tinh::eager

#endif // TINH_EAGER_AUTOGRAD_VJPPROGRAM_H
