//===- Record.h - Functions on the tape by their gradients ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is more than a primitive, and has a gradient that is a C++ function: a
// compiled function, a custom gradient.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_AUTOGRAD_RECORD_H
#define TINH_EAGER_AUTOGRAD_RECORD_H

#include "compiler/Eager/Tensor/TensorImpl.h"
#include "tinh/tensor.h"

#include <functional>
#include <span>
#include <vector>

namespace tinh::eager {

struct Call;

/// Whether what is computed from x is to be recorded now: the thread records,
/// and x requires a gradient.
bool isRecorded(const TensorImpl &x);

/// The gradients of a function's inputs, undefined where there is none, from
/// those of its outputs, which are undefined where there is none, and what was
/// saved. If `gradEnabled`, what it does is recorded for gradients of
/// gradients.
using GradientFunction = std::function<std::vector<Tensor>(
    std::span<const Tensor> saved, std::span<const Tensor> outputGradients)>;

/// Puts a function on the tape: `outputs`, which are new and were computed
/// without being recorded (GradModeScope), depend on `inputs` from here on.
/// Those that are not floating-point stay constants. `saved` are tensors that
/// the gradient needs, inputs and outputs among them: they belong in this list,
/// not in the function, so that they are freed with the tape, and may not be
/// changed before the gradient is taken. Does nothing if no input isRecorded.
void recordFunction(const Call &call, std::span<const Tensor> inputs,
                    std::span<const Tensor> outputs,
                    std::span<const Tensor> saved, GradientFunction gradient);

/// Throws if `call`, which is to change `out`, may not: the thread records, and
/// `out` is a leaf or a view of one.
void requireNoLeaf(const TensorImpl &out, const Call &call);
/// To be called after something else than a primitive has queued what changes
/// the memory of x: what was saved of it is not valid any more, and if the
/// thread records, x is a constant.
void noteChange(const TensorImpl &x, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_AUTOGRAD_RECORD_H
