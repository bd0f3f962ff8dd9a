//===- SimplifyGraph.cpp - What computes nothing goes -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.mul %x, dense<1.0>        becomes  %x
//   %1 = graph.broadcast %b              becomes  graph.add %x, %b
//   %2 = graph.add %x, %1
//   %3 = graph.transpose %k [0, 2, 1]    becomes  graph.matmul %q, %k
//   transpose_b %4 = graph.matmul %q, %3
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/SimplifyGraph.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_SIMPLIFYGRAPH
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Replaces `op` by `value`, broadcast if need be.
LogicalResult replaceBy(PatternRewriter &rewriter, Operation *op, Value value) {
  Type type = op->getResult(0).getType();
  if (value.getType() == type)
    rewriter.replaceOp(op, value);
  else
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, type, value);
  return success();
}

/// x op neutral -> x, and neutral op x -> x if the op is commutative.
template <typename OpTy, int neutral, bool commutative>
LogicalResult dropNeutral(OpTy op, PatternRewriter &rewriter) {
  if (isSplatOf(op.getB(), neutral))
    return replaceBy(rewriter, op, op.getA());
  if (commutative && isSplatOf(op.getA(), neutral))
    return replaceBy(rewriter, op, op.getB());
  return failure();
}

LogicalResult simplifyPow(PowOp op, PatternRewriter &rewriter) {
  std::optional<double> exponent = splatValue(op.getB());
  Value x = op.getA();
  if (!exponent || x.getType() != op.getY().getType())
    return failure();
  bool isFloat = isa<FloatType>(tensorType(x).getElementType());
  if (*exponent == 1)
    rewriter.replaceOp(op, x);
  else if (*exponent == 2)
    rewriter.replaceOpWithNewOp<MulOp>(op, x, x);
  else if (*exponent == 0.5 && isFloat)
    rewriter.replaceOpWithNewOp<SqrtOp>(op, x);
  else if (*exponent == -1 && isFloat)
    rewriter.replaceOpWithNewOp<ReciprocalOp>(op, x);
  else
    return failure();
  return success();
}

/// -x + y and y + -x -> y - x; x - -y -> x + y
LogicalResult foldNegation(AddOp op, PatternRewriter &rewriter) {
  for (auto [a, b] : {std::pair<Value, Value>(op.getA(), op.getB()),
                      std::pair<Value, Value>(op.getB(), op.getA())})
    if (auto neg = b.getDefiningOp<NegOp>()) {
      rewriter.replaceOpWithNewOp<SubOp>(op, a, neg.getX());
      return success();
    }
  return failure();
}

LogicalResult simplifyWhere(WhereOp op, PatternRewriter &rewriter) {
  if (std::optional<double> condition = splatValue(op.getCondition()))
    return replaceBy(rewriter, op, *condition != 0 ? op.getA() : op.getB());
  if (op.getA() == op.getB())
    return replaceBy(rewriter, op, op.getA());
  if (auto negated = op.getCondition().getDefiningOp<NotOp>()) {
    rewriter.replaceOpWithNewOp<WhereOp>(op, negated.getX(), op.getB(),
                                         op.getA());
    return success();
  }
  return failure();
}

/// x and true, x or false
template <typename OpTy, int neutral>
LogicalResult simplifyLogic(OpTy op, PatternRewriter &rewriter) {
  if (!tensorType(op.getY()).getElementType().isInteger(1))
    return failure();
  return dropNeutral<OpTy, neutral, true>(op, rewriter);
}

LogicalResult dropCast(CastOp op, PatternRewriter &rewriter) {
  if (op.getX().getType() != op.getY().getType())
    return failure();
  rewriter.replaceOp(op, op.getX());
  return success();
}

/// A float cast to a wider one and back. If that limits what is infinite, it
/// is not the same.
LogicalResult dropCastAndBack(CastOp op, PatternRewriter &rewriter) {
  auto wide = op.getX().getDefiningOp<CastOp>();
  if (!wide || !isWidening(wide) || op.getSaturate() ||
      wide.getX().getType() != op.getType())
    return failure();
  rewriter.replaceOp(op, wide.getX());
  return success();
}

/// Bits as the type that they have, and bits of bits.
LogicalResult simplifyBitcast(BitcastOp op, PatternRewriter &rewriter) {
  Value x = op.getX();
  if (x.getType() == op.getType()) {
    rewriter.replaceOp(op, x);
    return success();
  }
  auto inner = x.getDefiningOp<BitcastOp>();
  if (!inner)
    return failure();
  rewriter.replaceOpWithNewOp<BitcastOp>(op, op.getType(), inner.getX());
  return success();
}

LogicalResult dropDoubleNot(NotOp op, PatternRewriter &rewriter) {
  auto inner = op.getX().getDefiningOp<NotOp>();
  if (!inner)
    return failure();
  rewriter.replaceOp(op, inner.getX());
  return success();
}

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

/// Element-wise ops read the source of an explicit broadcast, and one value
/// of a constant that is the same everywhere, where the other operands
/// determine the shape.
struct NarrowOperands : RewritePattern {
  NarrowOperands(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!op->hasTrait<ElementwiseOpTrait>() || op->getNumOperands() < 2)
      return failure();
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isImplied(op, operand))
        continue;
      if (Value narrow = narrowed(operand.get(), rewriter)) {
        rewriter.modifyOpInPlace(op, [&] { operand.set(narrow); });
        return success();
      }
    }
    return failure();
  }

  /// Whether the result has its shape without this operand.
  static bool isImplied(Operation *op, OpOperand &operand) {
    SmallVector<ArrayRef<int64_t>> shapes;
    for (OpOperand &other : op->getOpOperands())
      if (other.getOperandNumber() != operand.getOperandNumber())
        shapes.push_back(tensorType(other.get()).getShape());
    auto shape = broadcastShapes(shapes);
    return shape &&
           ArrayRef<int64_t>(*shape) == tensorType(op->getResult(0)).getShape();
  }

  static Value narrowed(Value value, PatternRewriter &rewriter) {
    Operation *source = value.getDefiningOp();
    if (auto broadcast = dyn_cast_or_null<BroadcastOp>(source))
      return broadcast.getX();
    auto constant = dyn_cast_or_null<ConstantOp>(source);
    auto type = tensorType(value);
    if (!constant || type.getRank() == 0)
      return nullptr;
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return nullptr;
    auto scalar = RankedTensorType::get({}, type.getElementType());
    return ConstantOp::create(rewriter, constant.getLoc(), scalar,
                              splat.resizeSplat(scalar));
  }
};

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

bool swapsLastTwo(ArrayRef<int64_t> permutation) {
  int64_t rank = permutation.size();
  if (rank < 2 || permutation[rank - 1] != rank - 2 ||
      permutation[rank - 2] != rank - 1)
    return false;
  for (int64_t i = 0; i < rank - 2; ++i)
    if (permutation[i] != i)
      return false;
  return true;
}

LogicalResult foldTransposeIntoMatmul(MatmulOp op, PatternRewriter &rewriter) {
  for (OpOperand *factor : {&op.getAMutable(), &op.getBMutable()}) {
    auto transpose = factor->get().getDefiningOp<TransposeOp>();
    if (!transpose || !swapsLastTwo(transpose.getPermutation()))
      continue;
    rewriter.modifyOpInPlace(op, [&] {
      factor->set(transpose.getX());
      if (factor == &op.getAMutable())
        op.setTransposeA(!op.getTransposeA());
      else
        op.setTransposeB(!op.getTransposeB());
    });
    return success();
  }
  return failure();
}

/// A reshape that splits the last dimension of a slice along it becomes a view
/// of the whole, with the slice after it: heads of a fused query-key-value
/// product are found without a copy.
LogicalResult hoistReshape(ReshapeOp op, PatternRewriter &rewriter) {
  auto slice = op.getX().getDefiningOp<SliceOp>();
  if (!slice)
    return failure();
  RankedTensorType whole = tensorType(slice.getX());
  ArrayRef<int64_t> from = tensorType(op.getX()).getShape(),
                    to = tensorType(op.getY()).getShape();
  int64_t last = from.size() - 1;
  if (last < 0 || static_cast<int64_t>(to.size()) != last + 2 ||
      from.drop_back() != to.drop_back(2))
    return failure();
  for (int64_t i = 0; i < last; ++i)
    if (from[i] != whole.getDimSize(i) || slice.getSteps()[i] != 1)
      return failure();
  int64_t width = to.back(), start = slice.getStarts()[last];
  if (width == 0 || slice.getSteps()[last] != 1 || start % width ||
      whole.getDimSize(last) % width)
    return failure();
  SmallVector<int64_t> shape(to);
  shape[last] = whole.getDimSize(last) / width;
  Value view = reshapeTo(rewriter, op.getLoc(), slice.getX(), shape);
  SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  starts[last] = start / width;
  rewriter.replaceOpWithNewOp<SliceOp>(op, view, starts, to, steps);
  return success();
}

bool isNotUnit(int64_t extent) { return extent != 1; }

/// reshape(transpose(reshape(x))) -> transpose(x) where the reshapes only add
/// and drop dimensions of extent 1, as batched products are written.
LogicalResult liftTranspose(ReshapeOp op, PatternRewriter &rewriter) {
  auto transpose = op.getX().getDefiningOp<TransposeOp>();
  auto inner =
      transpose ? transpose.getX().getDefiningOp<ReshapeOp>() : nullptr;
  if (!inner)
    return failure();
  ArrayRef<int64_t> from = tensorType(inner.getX()).getShape(),
                    middle = tensorType(inner.getY()).getShape(),
                    to = tensorType(op.getY()).getShape();
  auto large = [](ArrayRef<int64_t> shape) {
    return llvm::to_vector(llvm::make_filter_range(shape, isNotUnit));
  };
  if (from.size() != to.size() || large(from) != large(middle) ||
      large(tensorType(transpose.getY()).getShape()) != large(to))
    return failure();
  // Dimensions of x that are not 1, by their dimension of `middle`; others.
  SmallVector<int64_t> source(middle.size(), -1), units, order;
  size_t next = 0;
  for (auto [i, extent] : llvm::enumerate(from)) {
    if (extent == 1) {
      units.push_back(i);
      continue;
    }
    while (middle[next] == 1)
      ++next;
    source[next++] = i;
  }
  for (int64_t axis : transpose.getPermutation())
    if (source[axis] >= 0)
      order.push_back(source[axis]);
  SmallVector<int64_t> permutation;
  size_t unit = 0, ordered = 0;
  for (int64_t extent : to)
    permutation.push_back(extent == 1 ? units[unit++] : order[ordered++]);
  rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getX(), permutation);
  return success();
}

//===----------------------------------------------------------------------===//
// Reshapes after, not before: between a product and what follows it they would
// keep these apart.
//===----------------------------------------------------------------------===//

/// A reshape that keeps the last dimension.
ReshapeOp matchRowReshape(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return nullptr;
  RankedTensorType from = tensorType(reshape.getX()), to = tensorType(value);
  return from.getRank() && to.getRank() &&
                 from.getShape().back() == to.getShape().back()
             ? reshape
             : nullptr;
}

/// matmul(reshape(x), w) -> reshape(matmul(x, w)) for rows in three dimensions.
LogicalResult sinkThroughMatmul(MatmulOp op, PatternRewriter &rewriter) {
  ReshapeOp reshape = matchRowReshape(op.getA());
  if (!reshape || op.getTransposeA() ||
      tensorType(reshape.getX()).getRank() != 3 ||
      tensorType(op.getA()).getRank() != 2 ||
      tensorType(op.getB()).getRank() != 2)
    return failure();
  auto product = MatmulOp::create(rewriter, op.getLoc(), reshape.getX(),
                                  op.getB(), false, op.getTransposeB());
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getY().getType(),
                                         product.getY());
  return success();
}

bool isViewOf(Value operand, ArrayRef<int64_t> viewed,
              ArrayRef<int64_t> shape) {
  auto view = operand.getDefiningOp<ReshapeOp>();
  return view && tensorType(operand).getShape() == viewed &&
         tensorType(view.getX()).getShape() == shape;
}

/// Whether `operand` of an element-wise op on a view of a tensor of `shape` can
/// be one of the same op on that tensor without a cost.
bool canUnview(Value operand, ArrayRef<int64_t> viewed,
               ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> extents = tensorType(operand).getShape();
  if (extents.size() <= 1 || isViewOf(operand, viewed, shape))
    return true;
  if (extents != viewed)
    return llvm::none_of(extents.drop_back(), isNotUnit);
  // A view of what lies in memory anyway. Towards lower ranks only, or two such
  // views would chase each other.
  return !operand.hasOneUse() && shape.size() < viewed.size();
}

/// That operand.
Value unviewed(PatternRewriter &rewriter, Value operand,
               ArrayRef<int64_t> viewed, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> extents = tensorType(operand).getShape();
  if (isViewOf(operand, viewed, shape))
    return operand.getDefiningOp<ReshapeOp>().getX();
  if (extents.size() <= 1)
    return operand;
  return reshapeTo(rewriter, operand.getLoc(), operand,
                   extents == viewed ? shape : extents.take_back());
}

/// The same for element-wise ops whose other operands are one value, a vector
/// along the last dimension, reshaped alike, or read elsewhere too.
struct SinkThroughElementwise : RewritePattern {
  SinkThroughElementwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!op->hasTrait<ElementwiseOpTrait>())
      return failure();
    auto result = tensorType(op->getResult(0));
    ReshapeOp reshape;
    for (Value operand : op->getOperands())
      if (ReshapeOp found = reshape ? nullptr : matchRowReshape(operand);
          found && tensorType(operand).getShape() == result.getShape() &&
          !isConstantExpression(operand))
        reshape = found;
    if (!reshape)
      return failure();
    ArrayRef<int64_t> shape = tensorType(reshape.getX()).getShape();
    // Nothing may have been made where this does not match.
    for (Value operand : op->getOperands())
      if (!canUnview(operand, result.getShape(), shape))
        return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(unviewed(rewriter, operand, result.getShape(), shape));
    Operation *copy = rewriter.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(
        RankedTensorType::get(shape, result.getElementType()));
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, result, copy->getResult(0));
    return success();
  }
};

/// reduce(reshape(x)) -> reshape(reduce(x)) where all elements become one, and
/// an element-wise op may be computed where they are read.
LogicalResult sinkThroughReduce(ReduceOp op, PatternRewriter &rewriter) {
  ReshapeOp reshape = matchRowReshape(op.getX());
  Operation *source = reshape ? reshape.getX().getDefiningOp() : nullptr;
  if (!source || !source->hasTrait<ElementwiseOpTrait>() ||
      tensorType(op.getX()).getRank() !=
          static_cast<int64_t>(op.getAxes().size()))
    return failure();
  auto axes =
      llvm::to_vector(llvm::seq<int64_t>(tensorType(reshape.getX()).getRank()));
  auto reduced = ReduceOp::create(rewriter, op.getLoc(), op.getKind(),
                                  reshape.getX(), axes, /*keepdims=*/false);
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getY().getType(),
                                         reduced.getY());
  return success();
}

struct SimplifyGraphPass : impl::SimplifyGraphBase<SimplifyGraphPass> {
  void runOnOperation() override {
    if (failed(simplifyGraph(getOperation())))
      signalPassFailure();
  }
};

} // namespace

static void populatePatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.getDialectNamespace() == GraphDialect::getDialectNamespace())
      op.getCanonicalizationPatterns(patterns, context);
  patterns.add(+dropNeutral<MulOp, 1, true>);
  patterns.add(+dropNeutral<DivOp, 1, false>);
  patterns.add(+dropNeutral<AddOp, 0, true>);
  patterns.add(+dropNeutral<SubOp, 0, false>);
  patterns.add(+simplifyLogic<AndOp, 1>);
  patterns.add(+simplifyLogic<OrOp, 0>);
  patterns.add(+simplifyPow);
  patterns.add(+foldNegation);
  patterns.add(+simplifyWhere);
  patterns.add(+dropCast);
  patterns.add(+dropCastAndBack);
  patterns.add(+simplifyBitcast);
  patterns.add(+dropDoubleNot);
  patterns.add<NarrowOperands>(context);
  populateConvPatterns(patterns);
  populateScatterPatterns(patterns);
  patterns.add(+foldTransposeIntoMatmul);
  patterns.add(+hoistReshape);
  patterns.add(+liftTranspose);
}

LogicalResult simplifyGraph(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  populatePatterns(patterns);
  if (failed(applyPatternsGreedily(function, std::move(patterns))))
    return failure();
  // Reshapes move once those that only lead to a transpose are gone.
  RewritePatternSet sinking(function.getContext());
  populatePatterns(sinking);
  sinking.add(+sinkThroughMatmul);
  sinking.add(+sinkThroughReduce);
  sinking.add<SinkThroughElementwise>(function.getContext());
  return applyPatternsGreedily(function, std::move(sinking));
}

} // namespace tinh::transforms
