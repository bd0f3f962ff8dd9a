//===- ViewNodes.h - Views on the tape --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view is its strides and offset in the memory of its base, however it was
// made: its gradient belongs to those elements of the base's.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_AUTOGRAD_VIEWNODES_H
#define TINH_EAGER_AUTOGRAD_VIEWNODES_H

#include "compiler/Eager/Autograd/Tape.h"

namespace tinh::eager {

/// How the elements of a view are those of its base. Gradients of the base are
/// laid out as the base is: in a tensor of its shape if it is contiguous, else
/// in one of rank 1.
class ViewGeometry {
public:
  ViewGeometry(const TensorImpl &base, const TensorImpl &view);

  bool isBaseContiguous() const { return contiguousBase; }
  /// The gradient of the view's elements, summed up where it shows one twice.
  Tensor withoutRepetition(Tensor gradient, const Call &call) const;
  /// What withoutRepetition gave, as the base's gradient, if the view shows all
  /// of it; else undefined.
  Tensor asWhole(const Tensor &gradient, const Call &call) const;

  /// Memory laid out as the base's.
  Tensor zeros(const Call &call) const;
  /// A gradient of the base in memory so laid out, its own if it fits.
  Tensor laidOut(const Tensor &gradient, const Call &call) const;
  /// The base, and the view, each element once, in such memory.
  Tensor baseOf(const Tensor &memory) const;
  Tensor viewOf(const Tensor &memory) const;

private:
  Dims once() const;

  Ref<TensorImpl> base, view;
  bool contiguousBase;
};

class ViewNode final : public Node {
public:
  ViewNode(const Edge &of, const TensorImpl &base, const TensorImpl &view);
  void differentiate(Walk &walk,
                     llvm::MutableArrayRef<Tensor> gradients) override;

private:
  ViewGeometry geometry;
};

/// A base after one of its views was written.
class SpliceNode final : public Node {
public:
  /// `written` is what the view shows, `rest` what the base was before.
  SpliceNode(const Call &call, Edge written, Edge rest, const TensorImpl &base,
             const TensorImpl &view);
  void differentiate(Walk &walk,
                     llvm::MutableArrayRef<Tensor> gradients) override;

private:
  ViewGeometry geometry;
};

} // namespace tinh::eager

#endif // TINH_EAGER_AUTOGRAD_VIEWNODES_H
