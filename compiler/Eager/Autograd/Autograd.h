//===- Autograd.h - What tinh/autograd.h asks of a backend ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Backend::autograd() gives the one of the thread's backend: that of the tape,
// or of the graph that is being traced. NoGrad and EnableGrad set
// eager::gradEnabled (GradMode.h) for both.
//
// All tensors are defined, of the dtypes and shapes that they must have, and
// each list is as long as it must be: tinh/autograd.h's functions
// (PublicFunctions.cpp) have checked that.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_AUTOGRAD_AUTOGRAD_H
#define TINH_EAGER_AUTOGRAD_AUTOGRAD_H

#include "compiler/Eager/Engine/Operation.h"
#include "tinh/autograd.h"

#include <functional>
#include <span>
#include <vector>

namespace tinh::eager {

class Autograd {
public:
  virtual ~Autograd() = default;

  /// Makes x a leaf, or a constant.
  virtual void requireGrad(const Tensor &x, bool required,
                           const Call &call) = 0;
  virtual bool isGradRequired(const Tensor &x, const Call &call) = 0;
  virtual bool isLeaf(const Tensor &x, const Call &call) = 0;

  /// Undefined: none.
  virtual Tensor gradOf(const Tensor &x, const Call &call) = 0;
  virtual void setGrad(const Tensor &x, const Tensor &gradient,
                       const Call &call) = 0;

  /// A constant in the same memory.
  virtual Tensor detach(const Tensor &x, const Call &call) = 0;

  /// Follows the way from the outputs back: to all leaves, if there are no
  /// inputs, and adds up their gradients in them; else to the inputs, whose
  /// gradients it returns, undefined where no output depends on one.
  virtual std::vector<Tensor> run(std::span<const Tensor> outputs,
                                  std::span<const Tensor> outputGradients,
                                  std::span<const Tensor> inputs,
                                  const BackwardOptions &options,
                                  const Call &call) = 0;

  virtual void registerHook(const Tensor &x,
                            std::function<Tensor(const Tensor &)> hook,
                            const Call &call) = 0;

  using Forward =
      std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;
  using Gradient = std::function<std::vector<Tensor>(
      std::span<const Tensor> inputs, std::span<const Tensor> outputs,
      std::span<const Tensor> outputGradients)>;
  virtual std::vector<Tensor> customGradient(const Forward &forward,
                                             const Gradient &gradient,
                                             std::span<const Tensor> inputs,
                                             const Call &call) = 0;
};

/// That of the tape.
Autograd &eagerAutograd();

} // namespace tinh::eager

#endif // TINH_EAGER_AUTOGRAD_AUTOGRAD_H
