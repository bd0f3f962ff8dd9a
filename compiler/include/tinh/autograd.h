//===- tinh/autograd.h - Gradients of what was computed ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on tensors that require gradients are recorded on a tape, which
// backward() follows from a result to its leaves:
//
//   Tensor w = tinh::requires_grad_(tinh::normal({1000, 10}, generator));
//   Tensor loss = tinh::mean(tinh::square(tinh::matmul(x, w) - y));
//   tinh::backward(loss);            // Adds to tinh::grad_of(w).
//   {
//     tinh::NoGrad guard;
//     w -= 0.01 * tinh::grad_of(w);
//   }
//   tinh::zero_grad(w);
//
// The same calls in a function that is traced add the gradients to its graph,
// so that a training step can be compiled as a whole. The rules are those of
// compiler/Gradients in both cases; docs/gradients.md has what they mean.
//
// A tape may be followed once: backward frees what was kept for it, unless it
// is told to keep it. Tensors of one tape are to be used by one thread at a
// time.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_AUTOGRAD_H
#define TINH_AUTOGRAD_H

#include "tinh/tensor.h"

#include <functional>
#include <span>
#include <vector>

namespace tinh {

//===----------------------------------------------------------------------===//
// Tensors that require gradients
//===----------------------------------------------------------------------===//

/// Makes `x`, floating-point and not computed from tensors that require
/// gradients, a leaf: what is computed from it is recorded. Returns x.
Tensor requires_grad_(const Tensor &x, bool required = true,
                      At at = At::current());
/// Whether gradients of x, or through it, are recorded.
[[nodiscard]] bool requires_grad(const Tensor &x, At at = At::current());
/// Whether x is no result of a recorded operation.
bool is_leaf(const Tensor &x, At at = At::current());

/// The gradient that backward has added up in the leaf x; an undefined Tensor
/// if there is none yet.
Tensor grad_of(const Tensor &x, At at = At::current());
/// Puts a gradient, of x's shape and dtype, or none, in the place of x's.
void set_grad(const Tensor &x, const Tensor &gradient, At at = At::current());
/// Forgets the gradients: those of the next backward are not added to them.
void zero_grad(std::span<const Tensor> leaves, At at = At::current());
void zero_grad(const Tensor &leaf, At at = At::current());

/// The same elements, in the same memory, as a constant.
Tensor detach(const Tensor &x, At at = At::current());
/// The same elements as a constant of what is computed with them, in traced
/// functions too.
Tensor stop_gradient(Operand x);

/// While it lives, nothing that this thread does is recorded.
class NoGrad : Scoped {
public:
  NoGrad();
  ~NoGrad();

private:
  bool before;
};

/// While it lives, this thread records again, in a NoGrad too.
class EnableGrad : Scoped {
public:
  EnableGrad();
  ~EnableGrad();

private:
  bool before;
};

bool is_grad_enabled();

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

struct BackwardOptions {
  /// Keep what the tape needs, so that it can be followed again.
  bool retain_graph = false;
  /// Record the computation of the gradients, for gradients of gradients;
  /// implies retain_graph.
  bool create_graph = false;
};

/// Computes the gradient of `output` with respect to each leaf that it was
/// computed from, and adds it to the leaf's grad. `gradient`, of output's
/// shape, is the gradient with respect to `output` itself; it may be left out
/// where output has one element: 1.
void backward(const Tensor &output, const Tensor &gradient = {},
              BackwardOptions options = {}, At at = At::current());

struct GradOptions : BackwardOptions {
  /// An input on which no output depends: zeros, instead of an error.
  bool allow_unused = false;
};

/// The gradients of Σ outputs · output_gradients with respect to `inputs`,
/// which need not be leaves; they are returned, and added up nowhere. No
/// output_gradients: ones for outputs of one element each.
std::vector<Tensor> grad(std::span<const Tensor> outputs,
                         std::span<const Tensor> inputs,
                         std::span<const Tensor> output_gradients = {},
                         GradOptions options = {}, At at = At::current());
std::vector<Tensor> grad(const Tensor &output,
                         std::initializer_list<Tensor> inputs,
                         GradOptions options = {}, At at = At::current());
Tensor grad(const Tensor &output, const Tensor &input, GradOptions options = {},
            At at = At::current());

/// Calls `hook` with the gradient of x when backward has it, before it goes on:
/// what the hook returns, if that is defined, takes its place.
void register_hook(const Tensor &x, std::function<Tensor(const Tensor &)> hook,
                   At at = At::current());

/// forward(inputs), whose gradients are those that
/// gradient(inputs, outputs, gradients of the outputs) returns, one for each
/// input (undefined: none).
std::vector<Tensor> custom_gradient(
    const std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>
        &forward,
    const std::function<std::vector<Tensor>(
        std::span<const Tensor> inputs, std::span<const Tensor> outputs,
        std::span<const Tensor> output_gradients)> &gradient,
    std::span<const Tensor> inputs, At at = At::current());

} // namespace tinh

#endif // TINH_AUTOGRAD_H
