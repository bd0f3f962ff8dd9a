//===- LibraryConvolution.cpp - Products that are convolutions --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product that was lowered from a convolution says so, and which role each of
// its loops has (dialects/origin). How far positions and taps step along the
// image, and what lies around it, is in the maps, which must fit the roles: so
// images may lie as they like, and filters too.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Library/LibraryDescriber.h"

#include "dialects/origin/Origin.h"

using namespace mlir;

namespace tinh::cuda {

using origin::Role;

namespace {

/// A dimension of the image along which the filter moves: position · step + tap
/// · dilation - low.
struct Spatial {
  Loops position, tap;
  int64_t step = 1, dilation = 1, low = 0, high = 0;
  int64_t extent = 0, stride = 0; ///< Of the image in memory.
};

/// The loops with each role; those that take one step alone have none.
struct Convolution {
  Convolution(const Product &p, ArrayRef<Role> roles);

  /// Whether a convolution indexes its image so.
  bool place(const MemoryAccess &image);

  /// Channels of all groups, as one dimension.
  Loops inGroups(const Loops &own) const {
    return llvm::to_vector(llvm::concat<const unsigned>(groups, own));
  }
  /// Those of a view: two, then the spatial ones.
  SmallVector<Loops> dimensions(Loops first, const Loops &second,
                                Loops Spatial::*ofSpatial) const;
  /// `view`, of images and channels, with the image's spatial dimensions.
  graph::ViewAttr addSpatial(graph::ViewAttr view) const;
  graph::WindowAttr window() const {
    return graph::WindowAttr::get(context(), list(&Spatial::low),
                                  list(&Spatial::high), list(&Spatial::step),
                                  list(&Spatial::dilation));
  }

  const Product &p;
  Loops images, channels, groups, outputs;
  SmallVector<Spatial> spatial;

private:
  bool placeDimension(const MemoryAccess &image, unsigned dim);
  Spatial *findSpatial(unsigned loop);
  MLIRContext *context() const { return p.result.getContext(); }
  /// These numbers, then one of each spatial dimension.
  DenseI64ArrayAttr list(int64_t Spatial::*number,
                         ArrayRef<int64_t> first = {}) const;
};

} // namespace

Convolution::Convolution(const Product &p, ArrayRef<Role> roles)
    : p(p), spatial(llvm::count(roles, Role::Tap)) {
  size_t positions = 0, taps = 0;
  for (auto [loop, role] : llvm::enumerate(roles)) {
    Loops &loops = role == Role::Image      ? images
                   : role == Role::Channel  ? channels
                   : role == Role::Group    ? groups
                   : role == Role::Output   ? outputs
                   : role == Role::Position ? spatial[positions++].position
                                            : spatial[taps++].tap;
    if (p.extents[loop] > 1)
      loops.push_back(loop);
  }
}

Spatial *Convolution::findSpatial(unsigned loop) {
  return llvm::find_if(spatial, [&](const Spatial &dim) {
    return llvm::is_contained(dim.position, loop) ||
           llvm::is_contained(dim.tap, loop);
  });
}

/// Positions and taps of one spatial dimension step along a dimension of the
/// image alone, with zeros around it; all other loops stay inside.
bool Convolution::placeDimension(const MemoryAccess &image, unsigned dim) {
  int64_t first = image.constant(dim), last = first;
  std::optional<Spatial *> along;
  for (unsigned loop = 0; loop < p.extents.size(); ++loop) {
    int64_t size = p.extents[loop] > 1 ? image.coefficient(dim, loop) : 0;
    if (size == 0)
      continue;
    Spatial *here = findSpatial(loop);
    if (size < 0 || along.value_or(here) != here)
      return false;
    along = here;
    last += size * (p.extents[loop] - 1);
    if (here != spatial.end())
      (here->tap == Loops{loop} ? here->dilation : here->step) = size;
  }
  if (!along || *along == spatial.end())
    return first == 0 && last < image.shape[dim];
  Spatial &found = **along;
  found.low = -first;
  found.stride = image.strides[dim];
  // What lies behind is left out if a filter would come to more positions.
  int64_t extent = image.shape[dim];
  if (extent - 1 - last >= found.step)
    extent = last + 1;
  found.high = std::max<int64_t>(last + 1 - extent, 0);
  return first <= 0 && extent >= 1 && std::exchange(found.extent, extent) == 0;
}

bool Convolution::place(const MemoryAccess &image) {
  for (unsigned dim = 0; dim < image.shape.size(); ++dim)
    if (!placeDimension(image, dim))
      return false;
  if (spatial.size() == 1) // Libraries know no less than two.
    spatial.insert(spatial.begin(), Spatial());
  for (Spatial &dim : spatial) // One element alone is read of others.
    dim.extent = std::max<int64_t>(dim.extent, 1);
  return spatial.size() <= 3;
}

SmallVector<Loops> Convolution::dimensions(Loops first, const Loops &second,
                                           Loops Spatial::*ofSpatial) const {
  SmallVector<Loops> all{first, second};
  for (const Spatial &dim : spatial)
    all.push_back(dim.*ofSpatial);
  return all;
}

DenseI64ArrayAttr Convolution::list(int64_t Spatial::*number,
                                    ArrayRef<int64_t> first) const {
  SmallVector<int64_t> values(first);
  for (const Spatial &dim : spatial)
    values.push_back(dim.*number);
  return DenseI64ArrayAttr::get(context(), values);
}

graph::ViewAttr Convolution::addSpatial(graph::ViewAttr view) const {
  return view ? graph::ViewAttr::get(
                    context(), view.getOperand(),
                    list(&Spatial::extent, view.getShape().asArrayRef()),
                    list(&Spatial::stride, view.getStrides().asArrayRef()))
              : view;
}

/// Whether each step of a factor's loops leads on in memory.
static bool leadsOn(const Product &p, const Factor &factor) {
  return llvm::all_of(
      llvm::concat<const unsigned>(p.depth, factor.loops),
      [&](unsigned loop) { return factor.access->steps[loop] > 0; });
}

/// Whether this is one number for each channel.
static bool isOfChannels(graph::ViewAttr view) {
  ArrayRef<int64_t> strides = view.getStrides();
  return strides[1] == 1 &&
         llvm::count(strides, 0) + 1 == static_cast<int64_t>(strides.size());
}

graph::LibraryAttr LibraryDescriber::convolution() {
  // Without tensor cores cuDNN takes longer than the kernel's own code: for
  // convolutional networks in exact f32 on an H200, 1.7 to 2.6 times as long
  // (docs/benchmarks/gpu.md).
  if (!p.takesTensorCores(target))
    return {};
  auto origin = p.op->getAttrOfType<origin::ConvolutionAttr>(origin::kOp);
  if (!origin || epilogue.activation == graph::Activation::GeluTanh)
    return {};
  Convolution c(p, origin.getLoops());
  bool isTurned = p.right.loops != c.outputs;
  const MemoryAccess &image = *(isTurned ? p.right : p.left).access,
                     &filter = *(isTurned ? p.left : p.right).access;
  if ((isTurned && p.left.loops != c.outputs) || p.batch != c.groups ||
      !leadsOn(p, p.left) || !leadsOn(p, p.right) || !c.place(image) ||
      !filter.staysInside(p.extents))
    return {};
  Loops outputs = c.inGroups(c.outputs);
  auto ofFilter = c.dimensions(outputs, c.channels, &Spatial::tap),
       ofResult = c.dimensions(c.images, outputs, &Spatial::position);
  auto viewOf = [&](unsigned operand, ArrayRef<int64_t> steps) {
    return view(operand, ofResult, steps);
  };
  auto left =
      c.addSpatial(view(image.argument.getArgNumber(),
                        {c.images, c.inGroups(c.channels)}, image.steps));
  auto right = view(filter.argument.getArgNumber(), ofFilter, filter.steps),
       result = resultView(viewOf);
  if (!left || !right || !result)
    return {};
  auto added = addends(viewOf, isOfChannels, [&](graph::ViewAttr view) {
    return view.getStrides() == result.getStrides();
  });
  return added ? makeCall(graph::LibraryKind::Convolution, left, right, result,
                          *added, c.window())
               : graph::LibraryAttr();
}

} // namespace tinh::cuda
