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
//   %y = graph.dispatch @conv_0(%x, %w)
//       : (…, tensor<64x64x3x3xf32>) -> …
//
// of constant filters becomes
//
//   %o = graph.dispatch @conv_0_order(%w)       // tensor<9x4096xf32>
//   %g = graph.constant dense<…> : tensor<36x9xf64>  // G ⊗ G
//   %t = graph.dispatch @conv_0_transform(%o, %g)    // tensor<36x4096xf32>
//   %p = graph.dispatch @conv_0_pack(%t)        // tensor<2x36x64x32xf32>
//   %y = graph.dispatch @conv_0(%x, %p)
//
// and @conv_0 says what the filters were, in linalg: a sum that nobody
// computes.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/TransformFilters.h"
#include "compiler/Codegen/CPU/Blocks.h"

#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Codegen/CPU/Winograd/Winograd.h"
#include "compiler/Codegen/Kernel/Rewrites.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace tinh::cpu {

/// The convolution that `kernel` is, with its filters as an operand.
static std::optional<WindowedProduct> findWindowed(func::FuncOp kernel) {
  auto op = matchSumOfProducts(kernel);
  for (unsigned right : {1u, 0u}) {
    auto windowed = op ? matchWindowedProduct(*op, right)
                       : Match<WindowedProduct>(NoMatch{op.whyNot()});
    if (windowed && packableArgument(windowed->right.value))
      return *windowed;
  }
  return std::nullopt;
}

static int64_t dimOf(const WindowedProduct &w, unsigned loop) {
  AffineExpr dim = getAffineDimExpr(loop, w.right.map.getContext());
  return *w.right.map.getResultPosition(dim);
}

/// How transformed filters lie.
static PanelsAttr panelsOf(const WindowedProduct &w, const WinogradTransform &t,
                           const Target &target) {
  MLIRContext *context = w.right.map.getContext();
  int64_t vectors =
      std::min(kTileVectors, divideUp(w.columns(), target.lanes()));
  auto type = RankedTensorType::get({t.products(), w.channels(), w.columns()},
                                    w.element());
  return PanelsAttr::get(context, type, {},
                         DenseI64ArrayAttr::get(context, {0, 1, 2}),
                         /*batch=*/0, vectors * target.lanes(), Type(),
                         /*group=*/1);
}

/// Lets the convolution in `kernel` read transformed filters.
static void readTransformed(OpBuilder &b, func::FuncOp kernel,
                            const WindowedProduct &w,
                            const WinogradTransform &t, PanelsAttr panels) {
  Location loc = kernel.getLoc();
  unsigned argument = reshapedArgument(w.right.value).getArgNumber();
  FilterDims dims{{dimOf(w, w.taps[0]), dimOf(w, w.taps[1])},
                  dimOf(w, w.channel),
                  dimOf(w, w.right.loops.back())};
  auto type = cast<RankedTensorType>(w.right.value.getType());
  changeArgument(b, w.right.value, panels.getPacked(), [&](Value packed) {
    Value plain = unpackPanels(b, loc, packed, panels);
    plain = divideDimension(b, loc, plain, /*dim=*/0, t.side());
    return restoreFilters(b, loc, plain, type, dims, t);
  });
  kernel.setArgAttr(argument, names::kLayout, panels);
}

std::optional<FilterTransform> chooseFilterTransform(WeightsReader &reader,
                                                     double cost,
                                                     AllowedTransforms allowed,
                                                     const Target &target) {
  std::optional<FilterTransform> best;
  if (allowed == AllowedTransforms::None || !isOfConstants(reader.weights()) ||
      !findWindowed(reader.kernel))
    return best;
  for (const WinogradTransform &t : winogradTransforms()) {
    if (!t.isAccurate && allowed != AllowedTransforms::Fast)
      continue;
    OpBuilder b(reader.kernel.getContext());
    OwningOpRef<func::FuncOp> trial = reader.kernel.clone();
    WindowedProduct w = *findWindowed(*trial);
    readTransformed(b, *trial, w, t, panelsOf(w, t, target));
    if (!WinogradStrategy::match(*trial))
      continue;
    double cycles = strategies().cheapest(*trial, target)->cost();
    if (cycles < cost)
      best = FilterTransform{&t, cost = cycles};
  }
  return best;
}

/// G ⊗ G: what each product is of the taps of a filter.
static DenseElementsAttr filterMatrix(OpBuilder &b,
                                      const WinogradTransform &t) {
  const Matrix &g = t.filter;
  SmallVector<double> values;
  for (int64_t i = 0; i < t.products(); ++i)
    for (int64_t tap = 0; tap < t.kTaps * t.kTaps; ++tap)
      values.push_back(g.at(i / t.side(), tap / t.kTaps) *
                       g.at(i % t.side(), tap % t.kTaps));
  auto type =
      RankedTensorType::get({t.products(), t.kTaps * t.kTaps}, b.getF64Type());
  return DenseElementsAttr::get(type, ArrayRef(values));
}

/// A matrix, of f64, times `filters`, of f32: summed up in f64.
static Value multiplyFilters(OpBuilder &b, Location loc, Value matrix,
                             Value filters) {
  Type f32 = b.getF32Type(), f64 = b.getF64Type();
  auto shape = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  Value wide = convertElements(b, loc, filters, f64);
  int64_t result[] = {shape(matrix)[0], shape(filters)[1]};
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(f64));
  Value empty = tensor::EmptyOp::create(b, loc, result, f64);
  Value initial = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  AffineExpr i, k, j;
  bindDims(b.getContext(), i, j, k); // Products, filters, taps.
  auto map = [&](AffineExpr row, AffineExpr column) {
    return AffineMap::get(3, 0, {row, column}, b.getContext());
  };
  AffineMap maps[] = {map(i, k), map(k, j), map(i, j)};
  utils::IteratorType iterators[] = {utils::IteratorType::parallel,
                                     utils::IteratorType::parallel,
                                     utils::IteratorType::reduction};
  auto product = linalg::GenericOp::create(
      b, loc, initial.getType(), ValueRange{matrix, wide}, initial, maps,
      iterators, [](OpBuilder &b, Location loc, ValueRange x) {
        Value each = arith::MulFOp::create(b, loc, x[0], x[1]);
        Value sum = arith::AddFOp::create(b, loc, x[2], each);
        linalg::YieldOp::create(b, loc, sum);
      });
  return convertElements(b, loc, product.getResult(0), f32);
}

void transformFilters(SymbolTable &symbols, WeightsReader &reader,
                      const WinogradTransform &t, const Target &target) {
  OpBuilder b(reader.dispatch);
  Location loc = reader.dispatch.getLoc();
  WindowedProduct w = *findWindowed(reader.kernel);
  Value source = reader.weights();
  int64_t order[] = {dimOf(w, w.taps[0]), dimOf(w, w.taps[1]),
                     dimOf(w, w.channel), dimOf(w, w.right.loops.back())};
  func::FuncOp orderKernel = createConversion(
      b, symbols, reader.kernel, "_order", source.getType(), [&](Value x) {
        x = permute(b, loc, reshapeLike(b, w.right.value, x), order);
        SmallVector<ReassociationIndices> groups{{0, 1}, {2, 3}};
        return tensor::CollapseShapeOp::create(b, loc, x, groups);
      });
  Value ordered = dispatchTo(b, loc, orderKernel, source);
  Value matrix = graph::ConstantOp::create(b, loc, filterMatrix(b, t));
  func::FuncOp transformKernel = createConversion(
      b, symbols, reader.kernel, "_transform", ordered.getType(), [&](Value x) {
        Value argument = cast<BlockArgument>(x).getOwner()->addArgument(
            matrix.getType(), loc);
        return multiplyFilters(b, loc, argument, x);
      });
  Value transformed =
      graph::DispatchOp::create(b, loc, transformKernel.getResultTypes(),
                                transformKernel.getName(),
                                ValueRange{ordered, matrix})
          .getResult(0);
  PanelsAttr panels = panelsOf(w, t, target);
  convertOperand(b, {symbols, reader.kernel, reader.dispatch}, reader.operand,
                 transformed, transformed.getType(), [&](Value x) {
                   x = divideDimension(b, loc, x, /*dim=*/1, w.channels());
                   return packPanels(b, loc, x, panels);
                 });
  readTransformed(b, reader.kernel, w, t, panels);
}

} // namespace tinh::cpu
