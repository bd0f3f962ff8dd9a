//===- WinogradMatch.cpp - Winograd convolutions ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Winograd/Winograd.h"

#include "dialects/origin/Origin.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Finds what the left factor is before it is padded with zeros.
static void findImage(WindowedProduct &w) {
  w.image = w.left.value;
  w.low.assign(w.left.map.getNumResults(), 0);
  auto pad = w.image.getDefiningOp<tensor::PadOp>();
  if (!pad)
    return;
  Value padding = pad.getConstantPaddingValue();
  if (!padding || !matchPattern(padding, m_AnyZeroFloat()))
    return;
  w.image = pad.getSource();
  w.low.assign(pad.getStaticLow().begin(), pad.getStaticLow().end());
}

Match<WindowedProduct> matchWindowedProduct(linalg::GenericOp conv,
                                            unsigned right) {
  auto product = describeProduct(conv, right);
  if (!product)
    return NoMatch{product.whyNot()};
  WindowedProduct w;
  static_cast<Product &>(w) = *product;
  w.result = mergedResult(conv);
  bool isF32 = w.element().isF32();
  for (OpOperand *factor : conv.getDpsInputOperands())
    isF32 &= getElementTypeOrSelf(factor->get()).isF32();
  if (!isF32)
    return NoMatch{"has factors or sums that are no f32"};
  unsigned last = w.output.getDimPosition(w.output.getNumResults() - 1);
  if (!w.batch.empty() || w.right.loops.size() != 1 ||
      w.right.loops.front() != last || !w.right.map.isProjectedPermutation())
    return NoMatch{"is no convolution of whole images that has its channels "
                   "last"};
  SmallVector<std::pair<unsigned, unsigned>> slides;
  std::optional<unsigned> channel;
  for (auto [i, expr] : llvm::enumerate(w.left.map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (auto slide = matchSlide(expr, w.left.loops, w.depth))
      slides.push_back(*slide);
    else if (!dim)
      return NoMatch{"has windows at a distance, or with gaps"};
    else if (llvm::is_contained(w.depth, dim.getPosition()))
      channel = i + 1 == w.left.map.getNumResults()
                    ? std::optional(dim.getPosition())
                    : std::nullopt;
    else
      w.images.push_back(dim.getPosition());
  }
  if (slides.size() != 2 || !channel || w.depth.size() != 3)
    return NoMatch{"is no convolution of planes whose channels lie side by "
                   "side"};
  for (auto [i, slide] : llvm::enumerate(slides)) {
    (i == 0 ? w.y : w.x) = slide.first;
    w.taps[i] = slide.second;
    if (w.extents[slide.second] != WinogradTransform::kTaps)
      return NoMatch{"has no 3 x 3 filters"};
  }
  w.channel = *channel;
  findImage(w);
  return w;
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

static AffineMap matrixMap(MLIRContext *context, unsigned numDims,
                           ArrayRef<unsigned> dims) {
  SmallVector<AffineExpr> exprs;
  for (unsigned dim : dims)
    exprs.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(numDims, 0, exprs, context);
}

/// Of loops over two taps, a channel and a column, and then the two indices of
/// what is transformed.
static SmallVector<AffineMap> restoringMaps(MLIRContext *context,
                                            const FilterDims &dims) {
  unsigned order[4];
  order[dims.taps[0]] = 0;
  order[dims.taps[1]] = 1;
  order[dims.channel] = 2;
  order[dims.column] = 3;
  return {matrixMap(context, 6, {4, 5, 2, 3}), matrixMap(context, 6, {0, 4}),
          matrixMap(context, 6, {1, 5}), matrixMap(context, 6, order)};
}

static DenseElementsAttr restoringMatrix(MLIRContext *context,
                                         const WinogradTransform &t) {
  SmallVector<float> values(t.restoring.elements.begin(),
                            t.restoring.elements.end());
  auto type = RankedTensorType::get({t.restoring.rows, t.restoring.columns},
                                    Float32Type::get(context));
  return DenseElementsAttr::get(type, ArrayRef(values));
}

Value restoreFilters(OpBuilder &b, Location loc, Value transformed,
                     RankedTensorType type, const FilterDims &dims,
                     const WinogradTransform &t) {
  MLIRContext *context = b.getContext();
  Value matrix = arith::ConstantOp::create(b, loc, restoringMatrix(context, t));
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  Value initial = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  SmallVector<utils::IteratorType> iterators(4, utils::IteratorType::parallel);
  iterators.append(2, utils::IteratorType::reduction);
  auto restored = linalg::GenericOp::create(
      b, loc, type, ValueRange{transformed, matrix, matrix}, initial,
      restoringMaps(context, dims), iterators,
      [](OpBuilder &b, Location loc, ValueRange x) {
        Value product = arith::MulFOp::create(b, loc, x[0], x[1]);
        product = arith::MulFOp::create(b, loc, product, x[2]);
        Value sum = arith::AddFOp::create(b, loc, x[3], product);
        linalg::YieldOp::create(b, loc, sum);
      });
  restored->setAttr(origin::kOp, origin::FiltersAttr::get(context));
  return restored.getResult(0);
}

/// The op that says what the filters were; null if there is none.
static linalg::GenericOp findRestoring(func::FuncOp kernel) {
  for (auto op : kernel.getOps<linalg::GenericOp>())
    if (isa_and_nonnull<origin::FiltersAttr>(op->getAttr(origin::kOp)))
      return op;
  return {};
}

/// The transform that `op` takes back.
static const WinogradTransform *findTransform(linalg::GenericOp op,
                                              const FilterDims &dims) {
  MLIRContext *context = op.getContext();
  DenseElementsAttr first, second;
  if (op.getNumDpsInputs() != 3 ||
      !matchPattern(op.getDpsInputs()[1], m_Constant(&first)) ||
      !matchPattern(op.getDpsInputs()[2], m_Constant(&second)) ||
      op.getIndexingMapsArray() != restoringMaps(context, dims))
    return nullptr;
  for (const WinogradTransform &t : winogradTransforms()) {
    DenseElementsAttr matrix = restoringMatrix(context, t);
    if (first == matrix && second == matrix)
      return &t;
  }
  return nullptr;
}

/// Whether the body of `op` is that of `restoreFilters`.
static bool sumsUpProducts(linalg::GenericOp op) {
  auto sum = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  auto product =
      sum ? sum.getRhs().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  auto first = product ? product.getLhs().getDefiningOp<arith::MulFOp>()
                       : arith::MulFOp();
  auto arguments = op.getBody()->getArguments();
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return first && fill && sum.getLhs() == arguments[3] &&
         product.getRhs() == arguments[2] && first.getLhs() == arguments[0] &&
         first.getRhs() == arguments[1] &&
         matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
}

Match<Winograd> WinogradStrategy::match(func::FuncOp kernel) {
  linalg::GenericOp restoring = findRestoring(kernel);
  if (!restoring)
    return NoMatch{"has no filters that come transformed"};
  Value filters = restoring.getResult(0);
  auto conv = filters.hasOneUse()
                  ? dyn_cast<linalg::GenericOp>(*filters.user_begin())
                  : linalg::GenericOp();
  if (!conv || conv.getNumDpsInputs() != 2 || !isSumOfProducts(conv))
    return NoMatch{"does not multiply its filters once, as they are"};
  auto windowed = matchWindowedProduct(conv, conv.getDpsInputs()[1] == filters);
  if (!windowed)
    return NoMatch{windowed.whyNot()};
  if (!resultsFollowElementwise(kernel, windowed->result))
    return NoMatch{"has results that do not follow from the product element by "
                   "element"};
  Winograd w;
  static_cast<WindowedProduct &>(w) = *windowed;
  auto dimOf = [&](unsigned loop) -> int64_t {
    return *w.right.map.getResultPosition(
        getAffineDimExpr(loop, kernel.getContext()));
  };
  FilterDims dims{{dimOf(w.taps[0]), dimOf(w.taps[1])},
                  dimOf(w.channel),
                  dimOf(w.right.loops.back())};
  w.transform = findTransform(restoring, dims);
  if (!w.transform || !sumsUpProducts(restoring))
    return NoMatch{"has filters of another transform"};
  Value value = restoring.getDpsInputs()[0];
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() == 0)
      return NoMatch{"has filters that are no operand"};
    value = op->getOperand(0);
  }
  w.filters = cast<BlockArgument>(value).getArgNumber();
  auto layout = kernel.getArgAttrOfType<PanelsAttr>(w.filters, names::kLayout);
  int64_t shape[] = {w.transform->products(), w.channels(), w.columns()};
  if (!layout || layout.getOf().getShape() != ArrayRef(shape) ||
      layout.getShape() || layout.getBatch() != 0 || layout.getGroup() != 1 ||
      layout.getOrder().asArrayRef() != ArrayRef<int64_t>({0, 1, 2}) ||
      !layout.getPacked().getElementType().isF32())
    return NoMatch{"has transformed filters that do not lie in panels"};
  w.panelWidth = layout.getWidth();
  return w;
}

} // namespace tinh::cpu
