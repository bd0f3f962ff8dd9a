//===- FoldBatchNorm.cpp - Constant affine maps go into weights -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.conv %x, %w …
//   %1 = graph.batch_norm %0, %scale, %bias, %mean, %variance …
// becomes
//   %s = %scale / sqrt(%variance + epsilon), %b = %bias - %mean · %s
//   %v = graph.mul %w, reshape(%s)        // on constants
//   %0 = graph.conv %x, %v …
//   %1 = graph.add %0, reshape(%b)
//
// in small steps: a batch norm is a multiplication and an addition;
// multiplications move before additions of constants; a multiplication after a
// contraction scales its weights; neighbours of one kind combine.
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/EvaluateConstants.h"
#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_FOLDBATCHNORM
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

/// `x op constant` with a float constant that does not enlarge x.
template <typename OpTy>
bool matchConstantOperand(OpTy op, Value &x, Value &constant) {
  if (!isa<FloatType>(tensorType(op.getY()).getElementType()))
    return false;
  for (auto [a, b] : {std::pair<Value, Value>(op.getA(), op.getB()),
                      std::pair<Value, Value>(op.getB(), op.getA())})
    if (a.getType() == op.getY().getType() && isConstantExpression(b) &&
        !isConstantExpression(a)) {
      x = a;
      constant = b;
      return true;
    }
  return false;
}

int64_t elements(Value value) { return tensorType(value).getNumElements(); }

/// The elements of a small constant; null of others.
DenseElementsAttr smallConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && elements(value) <= kMaxFoldedElements
             ? dyn_cast<DenseElementsAttr>(constant.getValue())
             : nullptr;
}

/// a op b unless the result is larger than both. Small constants are folded at
/// once: in a long chain expressions of them would grow with each op.
template <typename OpTy>
Value combine(PatternRewriter &rewriter, Location location, Value a, Value b) {
  auto shape =
      broadcastShapes({tensorType(a).getShape(), tensorType(b).getShape()});
  if (!shape || computeProduct(*shape) > std::max(elements(a), elements(b)))
    return nullptr;
  auto op = OpTy::create(rewriter, location, a, b);
  DenseElementsAttr x = smallConstant(a), y = smallConstant(b);
  auto folded = x && y ? evaluateConstant(op, {x, y})
                       : std::optional<DenseElementsAttr>();
  if (!folded)
    return op.getY();
  rewriter.eraseOp(op);
  return ConstantOp::create(rewriter, location, folded->getType(), *folded);
}

//===----------------------------------------------------------------------===//
// batch_norm -> mul, add
//===----------------------------------------------------------------------===//

struct DecomposeBatchNorm : OpRewritePattern<BatchNormOp> {
  DecomposeBatchNorm(MLIRContext *context, BatchNormCounts &counts)
      : OpRewritePattern(context), counts(counts) {}

  LogicalResult matchAndRewrite(BatchNormOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto channels = tensorType(op.getVariance());
    auto scalar = RankedTensorType::get({}, channels.getElementType());
    Value epsilon =
        createSplat(rewriter, loc, scalar, op.getEpsilon().convertToDouble());
    Value variance =
        AddOp::create(rewriter, loc, op.getVariance(), epsilon).getY();
    Value deviation = SqrtOp::create(rewriter, loc, variance).getY();
    Value scale = DivOp::create(rewriter, loc, op.getScale(), deviation).getY();
    Value shift = MulOp::create(rewriter, loc, op.getMean(), scale).getY();
    Value bias = SubOp::create(rewriter, loc, op.getBias(), shift).getY();
    SmallVector<int64_t> shape = {channels.getDimSize(0)};
    if (op.getLayout() == Layout::ChannelsFirst)
      shape.append(tensorType(op.getX()).getRank() - 2, 1);
    auto scaled = MulOp::create(rewriter, loc, op.getX(),
                                reshapeTo(rewriter, loc, scale, shape));
    rewriter.replaceOpWithNewOp<AddOp>(op, scaled.getY(),
                                       reshapeTo(rewriter, loc, bias, shape));
    ++counts.norms;
    return success();
  }

  BatchNormCounts &counts;
};

//===----------------------------------------------------------------------===//
// contraction · constant -> contraction with scaled weights
//===----------------------------------------------------------------------===//

/// The constant's elements along result dimension `axis`, 1 where it has no
/// such extent; nothing if it varies along another dimension.
std::optional<int64_t> extentAlong(Value constant, int64_t rank, int64_t axis) {
  ArrayRef<int64_t> shape = tensorType(constant).getShape();
  int64_t lead = rank - static_cast<int64_t>(shape.size()), found = 1;
  for (auto [i, extent] : llvm::enumerate(shape)) {
    if (extent == 1)
      continue;
    if (lead + static_cast<int64_t>(i) != axis)
      return std::nullopt;
    found = extent;
  }
  return found;
}

/// What a contraction's weights are, and where its outputs are in them and in
/// its result.
struct Weights {
  OpOperand *operand;
  int64_t weightsAxis, resultAxis;
};

std::optional<Weights> weightsOf(Operation *op) {
  int64_t rank = op ? tensorType(op->getResult(0)).getRank() : 0;
  auto channelAxis = [&](Layout layout) {
    return layout == Layout::ChannelsFirst ? 1 : rank - 1;
  };
  if (auto conv = dyn_cast_or_null<ConvOp>(op))
    return Weights{&conv.getWeightsMutable(), 0, channelAxis(conv.getLayout())};
  if (auto conv = dyn_cast_or_null<ConvTransposeOp>(op);
      conv && conv.getGroups() == 1)
    return Weights{&conv.getWeightsMutable(), 1, channelAxis(conv.getLayout())};
  if (auto matmul = dyn_cast_or_null<MatmulOp>(op)) {
    int64_t b = tensorType(matmul.getB()).getRank();
    if (b == 2)
      return Weights{&matmul.getBMutable(), matmul.getTransposeB() ? 0 : 1,
                     rank - 1};
  }
  return std::nullopt;
}

struct ScaleWeights : OpRewritePattern<MulOp> {
  ScaleWeights(MLIRContext *context, BatchNormCounts &counts)
      : OpRewritePattern(context), counts(counts) {}

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    Value x, scale;
    if (!matchConstantOperand(op, x, scale) || !x.hasOneUse())
      return failure();
    Operation *contraction = x.getDefiningOp();
    std::optional<Weights> weights = weightsOf(contraction);
    // It moves to the multiplication, which a loop may repeat.
    if (!weights || contraction->getBlock() != op->getBlock() ||
        !isConstantExpression(weights->operand->get()))
      return failure();
    auto extent = extentAlong(scale, tensorType(op.getY()).getRank(),
                              weights->resultAxis);
    if (!extent)
      return failure();

    Location loc = op.getLoc();
    SmallVector<int64_t> shape(tensorType(weights->operand->get()).getRank(),
                               1);
    shape[weights->weightsAxis] = *extent;
    rewriter.setInsertionPoint(contraction);
    // The constant may be defined after the contraction.
    rewriter.moveOpAfter(contraction, op);
    rewriter.setInsertionPoint(contraction);
    Value factor = reshapeTo(rewriter, loc, scale, shape);
    Value scaled = MulOp::create(rewriter, contraction->getLoc(),
                                 weights->operand->get(), factor)
                       .getY();
    rewriter.modifyOpInPlace(contraction,
                             [&] { weights->operand->set(scaled); });
    rewriter.replaceOp(op, x);
    ++counts.scaled;
    return success();
  }

  BatchNormCounts &counts;
};

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// (x + a) · b -> x · b + a · b
LogicalResult distribute(MulOp op, PatternRewriter &rewriter) {
  Value sum, factor, x, term;
  if (!matchConstantOperand(op, sum, factor) || !sum.hasOneUse())
    return failure();
  auto add = sum.getDefiningOp<AddOp>();
  if (!add || !matchConstantOperand(add, x, term))
    return failure();
  Value product = combine<MulOp>(rewriter, op.getLoc(), term, factor);
  if (!product)
    return failure();
  Value scaled = MulOp::create(rewriter, op.getLoc(), x, factor).getY();
  rewriter.replaceOpWithNewOp<AddOp>(op, scaled, product);
  return success();
}

/// (x op a) op b -> x op (a op b)
template <typename OpTy>
LogicalResult associate(OpTy op, PatternRewriter &rewriter) {
  Value inner, b, x, a;
  if (!matchConstantOperand(op, inner, b) || !inner.hasOneUse())
    return failure();
  auto first = inner.getDefiningOp<OpTy>();
  if (!first || !matchConstantOperand(first, x, a))
    return failure();
  Value both = combine<OpTy>(rewriter, op.getLoc(), a, b);
  if (!both)
    return failure();
  rewriter.replaceOpWithNewOp<OpTy>(op, x, both);
  return success();
}

struct FoldBatchNormPass : impl::FoldBatchNormBase<FoldBatchNormPass> {
  void runOnOperation() override {
    FailureOr<BatchNormCounts> counts = foldBatchNorm(getOperation());
    if (failed(counts))
      return signalPassFailure();
    numNorms += counts->norms;
    numScaled += counts->scaled;
  }
};

} // namespace

FailureOr<BatchNormCounts> foldBatchNorm(func::FuncOp function) {
  BatchNormCounts counts;
  RewritePatternSet patterns(function.getContext());
  patterns.add<DecomposeBatchNorm, ScaleWeights>(function.getContext(), counts);
  patterns.add(+distribute);
  patterns.add(+associate<MulOp>);
  patterns.add(+associate<AddOp>);
  // From the last op on, each multiplication would move through all of a chain
  // before the others combine.
  auto config = GreedyRewriteConfig().setUseTopDownTraversal(true);
  if (failed(applyPatternsGreedily(function, std::move(patterns), config)))
    return failure();
  return counts;
}

} // namespace tinh::transforms
