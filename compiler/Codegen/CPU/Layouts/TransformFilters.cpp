//===- TransformFilters.cpp - Filters as Winograd's algorithms want them --===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where that is estimated to cost less than the convolution as it is,
//
//   %y = graph.dispatch @conv_0(%x, %p)      // tensor<2x3x3x64x32xf32>
//
// of filters in panels becomes
//
//   %m = graph.constant dense<…> : tensor<36x9xf64>  // G ⊗ G
//   %t = graph.dispatch @conv_0_transform(%p, %m)    // tensor<2x36x64x32xf32>
//   %y = graph.dispatch @conv_0(%x, %t)
//
// and @conv_0 says what the filters were, in linalg: a sum that nobody
// computes. Constants are transformed once, in f64; what a function computes,
// or updates, in each run and in f32.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/TransformFilters.h"

#include "compiler/Codegen/CPU/Layouts/Weights.h"
#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Codegen/CPU/Winograd/FilterTransform.h"
#include "compiler/Codegen/CPU/Winograd/Winograd.h"
#include "compiler/Codegen/Kernel/Rewrites.h"

#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;

namespace tinh::cpu {

namespace {

/// A convolution whose filters lie in panels, taps first.
struct PackedConvolution : WindowedProduct {
  unsigned operand;
  PanelsAttr panels;
  FilterDims dims; // Of the filters as they were.
};

/// A transform, and what the convolution costs with it; to transform filters is
/// part of that unless they are constants.
struct Choice {
  const WinogradTransform *transform;
  double cycles;
};

} // namespace

//===----------------------------------------------------------------------===//
// What filters are
//===----------------------------------------------------------------------===//

static int64_t dimOf(const WindowedProduct &w, unsigned loop) {
  AffineExpr dim = getAffineDimExpr(loop, w.right.map.getContext());
  return *w.right.map.getResultPosition(dim);
}

static std::optional<PackedConvolution> findPacked(func::FuncOp kernel) {
  auto c = ContractionStrategy::match(kernel);
  if (!c || !c->packed)
    return std::nullopt;
  auto conv = cast<linalg::GenericOp>(c->op);
  for (unsigned right : {1u, 0u}) {
    auto windowed = matchWindowedProduct(conv, right);
    if (!windowed || windowed->right.value != c->right.value)
      continue;
    PackedConvolution p{*windowed, *c->packed, {}, {}};
    p.panels = kernel.getArgAttrOfType<PanelsAttr>(p.operand, names::kLayout);
    p.dims = {{dimOf(p, p.taps[0]), dimOf(p, p.taps[1])},
              dimOf(p, p.channel),
              dimOf(p, p.right.loops.back())};
    int64_t order[] = {p.dims.taps[0], p.dims.taps[1], p.dims.channel,
                       p.dims.column};
    if (p.panels.getPlain() == p.right.value.getType() &&
        p.panels.getOrder().asArrayRef() == ArrayRef(order) &&
        p.panels.getPacked().getElementType().isF32() &&
        p.right.value.hasOneUse())
      return p;
  }
  return std::nullopt;
}

/// How transformed filters lie.
static PanelsAttr panelsOf(const PackedConvolution &p,
                           const WinogradTransform &t) {
  MLIRContext *context = p.panels.getContext();
  auto type = RankedTensorType::get({t.products(), p.channels(), p.columns()},
                                    p.element());
  return PanelsAttr::get(context, type, {},
                         DenseI64ArrayAttr::get(context, {0, 1, 2}),
                         /*batch=*/0, p.panels.getWidth(), Type(),
                         /*group=*/1);
}

/// Lets the convolution in `kernel` read transformed filters.
static void readTransformed(OpBuilder &b, func::FuncOp kernel,
                            const PackedConvolution &p,
                            const WinogradTransform &t) {
  OpBuilder::InsertionGuard guard(b);
  Location loc = kernel.getLoc();
  PanelsAttr panels = panelsOf(p, t);
  BlockArgument argument = kernel.getArgument(p.operand);
  Value before = p.right.value;
  b.setInsertionPointToStart(argument.getOwner());
  auto type = cast<RankedTensorType>(before.getType());
  argument.setType(panels.getPacked());
  Value plain = unpackPanels(b, loc, argument, panels);
  plain = divideDimension(b, loc, plain, /*dim=*/0, t.side());
  before.replaceAllUsesWith(restoreFilters(b, loc, plain, type, p.dims, t));
  while (Operation *op = before.getDefiningOp()) {
    before = op->getOperand(0);
    op->erase();
  }
  updateType(kernel);
  kernel.setArgAttr(p.operand, names::kLayout, panels);
}

/// A kernel that transforms the filters in panels, named after their reader.
static OwningOpRef<func::FuncOp> createTransform(OpBuilder &b,
                                                 func::FuncOp reader,
                                                 const PackedConvolution &p,
                                                 const WinogradTransform &t) {
  OpBuilder::InsertionGuard guard(b);
  Type from = p.panels.getPacked(), to = panelsOf(p, t).getPacked();
  OwningOpRef<func::FuncOp> kernel = func::FuncOp::create(
      reader.getLoc(), (reader.getName() + "_transform").str(),
      b.getFunctionType(from, to));
  kernel->setPrivate();
  b.setInsertionPointToStart(kernel->addEntryBlock());
  Value made = transformPanels(b, kernel->getLoc(), kernel->getArgument(0), t);
  func::ReturnOp::create(b, kernel->getLoc(), made);
  return kernel;
}

//===----------------------------------------------------------------------===//
// Whether that pays
//===----------------------------------------------------------------------===//

/// What filters may lose. Gradients of deep networks amplify rounding, where
/// activations near 0 change sides: filters that change are to be no less exact
/// than in direct sums.
static double mostError(AllowedTransforms allowed, bool areConstants) {
  constexpr double kConstants = 2.1, kOthers = 1;
  if (allowed == AllowedTransforms::Fast)
    return std::numeric_limits<double>::infinity();
  return areConstants ? kConstants : kOthers;
}

/// That with which the convolution costs least, if that is less than `cost`.
static std::optional<Choice> chooseTransform(func::FuncOp kernel,
                                             const PackedConvolution &p,
                                             bool areConstants, double cost,
                                             AllowedTransforms allowed,
                                             const Target &target) {
  double most = mostError(allowed, areConstants);
  std::optional<Choice> best;
  for (const WinogradTransform &t : winogradTransforms()) {
    if (t.error > most)
      continue;
    OpBuilder b(kernel.getContext());
    OwningOpRef<func::FuncOp> trial = kernel.clone();
    readTransformed(b, *trial, *findPacked(*trial), t);
    if (!WinogradStrategy::match(*trial))
      continue;
    double cycles = strategies().cheapest(*trial, target)->cost();
    if (!areConstants)
      cycles += strategies()
                    .cheapest(*createTransform(b, kernel, p, t), target)
                    ->cost();
    if (cycles < cost)
      best = Choice{&t, cost = cycles};
  }
  return best;
}

static void transform(DispatchedKernel dispatched, const PackedConvolution &p,
                      const WinogradTransform &t) {
  auto [symbols, kernel, dispatch] = dispatched;
  OpBuilder b(dispatch);
  func::FuncOp transforms = createTransform(b, kernel, p, t).release();
  symbols.insert(transforms, Block::iterator(kernel));
  OpOperand &filters = dispatch.getInputsMutable()[p.operand];
  filters.set(dispatchTo(b, dispatch.getLoc(), transforms, filters.get()));
  readTransformed(b, kernel, p, t);
}

void transformFilters(DispatchedKernel dispatched, AllowedTransforms allowed,
                      const Target &target, bool remarks) {
  auto [symbols, kernel, dispatch] = dispatched;
  if (allowed == AllowedTransforms::None)
    return;
  auto p = findPacked(kernel);
  if (!p)
    return;
  bool areConstants = isOfConstants(dispatch.getInputs()[p->operand]);
  double direct = strategies().cheapest(kernel, target)->cost();
  auto best =
      chooseTransform(kernel, *p, areConstants, direct, allowed, target);
  if (!best)
    return;
  if (remarks)
    dispatch.emitRemark() << llvm::formatv(
        "kernel '{0}' gets transformed filters, F({1}, 3): {2:f0} cycles, "
        "{3:f0} with filters as they are",
        kernel.getName(), best->transform->outputs, best->cycles, direct);
  transform(dispatched, *p, *best->transform);
}

} // namespace tinh::cpu
