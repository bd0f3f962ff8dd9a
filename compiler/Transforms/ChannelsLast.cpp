//===- ChannelsLast.cpp - Image-like ops take channels last -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.conv %x, %v … channels_first
//   %1 = graph.relu %0
//   %2 = graph.conv %1, %w … channels_first
// becomes
//   %a = graph.transpose %x [0, 2, 3, 1]
//   %0 = graph.conv %a, %v … channels_last
//   %1 = graph.relu %0
//   %2 = graph.conv %1, %w … channels_last
//   %b = graph.transpose %2 [0, 3, 1, 2]
//
// Every op is converted between two transposes. Those after an op then sink
// through what follows until they meet the next op's and cancel.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_CHANNELSLAST
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

using Permutation = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

Value transposed(OpBuilder &builder, Location location, Value value,
                 ArrayRef<int64_t> permutation) {
  return TransposeOp::create(builder, location, value, permutation).getY();
}

/// How many operands of an op are images; the others have no layout.
template <typename OpTy> unsigned countImages() {
  bool two = std::is_same_v<OpTy, ConvWeightGradientOp> ||
             std::is_same_v<OpTy, MaxPoolGradientOp>;
  return two ? 2 : 1;
}

/// Converts an op with a layout, whose first operands are images.
template <typename OpTy> bool convert(OpTy op) {
  int64_t rank = tensorType(op.getX()).getRank();
  if (op.getLayout() != Layout::ChannelsFirst || rank < 3)
    return false;
  Permutation toLast = {0}, toFirst = {0, rank - 1};
  for (int64_t i = 2; i < rank; ++i) {
    toLast.push_back(i);
    toFirst.push_back(i - 1);
  }
  toLast.push_back(1);

  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto copy = cast<OpTy>(builder.clone(*op));
  builder.setInsertionPoint(copy);
  for (unsigned i = 0; i < countImages<OpTy>(); ++i)
    copy->setOperand(i, transposed(builder, loc, op->getOperand(i), toLast));
  copy.setLayout(Layout::ChannelsLast);
  Value from = op->getResult(0), to = copy->getResult(0);
  if (!std::is_same_v<OpTy, ConvWeightGradientOp>) {
    auto type = tensorType(from);
    to.setType(RankedTensorType::get(applyPermutation(type.getShape(), toLast),
                                     type.getElementType()));
    builder.setInsertionPointAfter(copy);
    to = transposed(builder, loc, to, toFirst);
  }
  from.replaceAllUsesWith(to);
  op.erase();
  return true;
}

bool convertOp(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case<ConvOp, ConvTransposeOp, ConvWeightGradientOp, MaxPoolOp,
            MaxPoolGradientOp, AvgPoolOp, LrnOp, BatchNormOp>(
          [](auto typed) { return convert(typed); })
      .Default([](Operation *) { return false; });
}

//===----------------------------------------------------------------------===//
// Sinking
//===----------------------------------------------------------------------===//

/// The position in a transpose's operand of each dimension of its result.
ArrayRef<int64_t> permutationOf(Value value) {
  if (auto transpose = value.getDefiningOp<TransposeOp>())
    return transpose.getPermutation();
  return {};
}

/// Whether transposing `value` costs nothing at run time.
bool isFreeToTranspose(Value value) {
  int64_t large = llvm::count_if(tensorType(value).getShape(),
                                 [](int64_t extent) { return extent != 1; });
  return large <= 1 || isConstantExpression(value);
}

/// Whether `value` is made in the block of `op`. What a region reads from above
/// or hands on keeps its layout: a loop would repeat the transpose.
bool isBeside(Value value, Operation *op) {
  return value.getParentBlock() == op->getBlock();
}

/// `value` as an operand of an op that works on untransposed dimensions.
Value untransposed(PatternRewriter &rewriter, Location location, Value value,
                   ArrayRef<int64_t> permutation) {
  if (permutationOf(value) == permutation)
    return value.getDefiningOp<TransposeOp>().getX();
  SmallVector<int64_t> shape(tensorType(value).getShape());
  if (shape.empty())
    return value;
  shape.insert(shape.begin(), permutation.size() - shape.size(), 1);
  Value full = reshapeTo(rewriter, location, value, shape);
  return transposed(rewriter, location, full,
                    invertPermutationVector(permutation));
}

/// Replaces `op` by a copy on `operands` whose result is then transposed.
Operation *sink(PatternRewriter &rewriter, Operation *op, ValueRange operands,
                ArrayRef<int64_t> permutation) {
  Operation *copy = rewriter.clone(*op);
  copy->setOperands(operands);
  auto type = tensorType(op->getResult(0));
  copy->getResult(0).setType(RankedTensorType::get(
      applyPermutation(type.getShape(), invertPermutationVector(permutation)),
      type.getElementType()));
  rewriter.replaceOpWithNewOp<TransposeOp>(op, copy->getResult(0), permutation);
  return copy;
}

/// Whether the channels of images return to the front, unless the other way
/// round it is the same.
bool movesChannelsFirst(ArrayRef<int64_t> permutation) {
  int64_t rank = static_cast<int64_t>(permutation.size());
  if (rank < 4 || permutation[0] != 0 || permutation[1] != rank - 1)
    return false;
  return llvm::all_of(llvm::seq<int64_t>(2, rank),
                      [&](int64_t i) { return permutation[i] == i - 1; });
}

/// Whether element-wise ops on the result of `op` lead to an op that has its
/// images with channels last.
bool leadsToChannelsLast(Operation *op) {
  constexpr size_t kMostOps = 64;
  SetVector<Operation *> reached;
  reached.insert(op);
  for (size_t i = 0; i < reached.size() && i < kMostOps; ++i)
    for (Operation *user : reached[i]->getUsers()) {
      auto transpose = dyn_cast<TransposeOp>(user);
      if (transpose && movesChannelsFirst(
                           invertPermutationVector(transpose.getPermutation())))
        return true;
      if (user->hasTrait<ElementwiseOpTrait>())
        reached.insert(user);
    }
  return false;
}

/// Sinks a transpose through element-wise ops and concatenation: all operands
/// are transposed alike, or free to transpose. The transpose must cost
/// something: between two free operands it would go to and fro for ever. Where
/// half of the operands are images with channels last, on the way to another
/// such image, the others follow.
struct SinkThroughElementwise : RewritePattern {
  SinkThroughElementwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    auto concat = dyn_cast<ConcatOp>(op);
    if (!op->hasTrait<ElementwiseOpTrait>() && !concat)
      return failure();
    int64_t rank = tensorType(op->getResult(0)).getRank();
    ArrayRef<int64_t> found;
    for (Value operand : op->getOperands())
      if (found.empty() && tensorType(operand).getRank() == rank &&
          isBeside(operand, op) && !isFreeToTranspose(operand))
        found = permutationOf(operand);
    Permutation permutation(found);
    if (permutation.empty())
      return failure();
    int64_t alike = 0, others = 0;
    for (Value operand : op->getOperands())
      if (!isFreeToTranspose(operand))
        ++(ArrayRef<int64_t>(permutation) == permutationOf(operand) ? alike
                                                                    : others);
    if (others > 0 &&
        (concat || others > alike || !movesChannelsFirst(permutation) ||
         !leadsToChannelsLast(op)))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          untransposed(rewriter, op->getLoc(), operand, permutation));
    Operation *copy = sink(rewriter, op, operands, permutation);
    if (concat)
      cast<ConcatOp>(copy).setAxis(permutation[concat.getAxis()]);
    return success();
  }
};

/// The transpose that gives the first operand of `op`, if there is one.
struct Transposed {
  explicit Transposed(Operation *op) {
    Value x = op->getOperand(0);
    permutation.assign(permutationOf(x).begin(), permutationOf(x).end());
    if (!permutation.empty() && isBeside(x, op) && !isFreeToTranspose(x))
      source = x.getDefiningOp<TransposeOp>().getX();
  }

  Value source; ///< Null if there is none.
  Permutation permutation;
};

struct SinkThroughAxis : OpInterfaceRewritePattern<AlongAxisOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AlongAxisOpInterface op,
                                PatternRewriter &rewriter) const override {
    auto [source, permutation] = Transposed(op);
    if (!source)
      return failure();
    int64_t axis = permutation[op.getAxis()];
    Operation *copy = sink(rewriter, op, source, permutation);
    cast<AlongAxisOpInterface>(copy).setAxis(axis);
    return success();
  }
};

/// A reduction or a variance.
template <typename OpTy>
LogicalResult sinkThroughReduce(OpTy op, PatternRewriter &rewriter) {
  auto [source, permutation] = Transposed(op);
  if (!source)
    return failure();
  SmallVector<int64_t> axes;
  for (int64_t axis : op.getAxes())
    axes.push_back(permutation[axis]);
  llvm::sort(axes);
  if (op.getKeepdims()) {
    Operation *copy = sink(rewriter, op, source, permutation);
    cast<OpTy>(copy).setAxes(axes);
    return success();
  }
  // The dimensions that remain, in the order of the result and of the source.
  Permutation kept;
  for (auto [i, from] : llvm::enumerate(permutation))
    if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(i)))
      kept.push_back(from);
  Permutation ordered(kept), remaining;
  llvm::sort(ordered);
  for (int64_t from : kept)
    remaining.push_back(llvm::find(ordered, from) - ordered.begin());
  Operation *copy = sink(rewriter, op, source, remaining);
  cast<OpTy>(copy).setAxes(axes);
  return success();
}

/// `values` of the result's dimensions in the order of the source's.
SmallVector<int64_t> toSource(ArrayRef<int64_t> values,
                              ArrayRef<int64_t> permutation) {
  return applyPermutation(values, invertPermutationVector(permutation));
}

LogicalResult sinkThroughPad(PadOp op, PatternRewriter &rewriter) {
  auto [source, permutation] = Transposed(op);
  if (!source)
    return failure();
  SmallVector<int64_t> low = toSource(op.getLow(), permutation),
                       high = toSource(op.getHigh(), permutation);
  auto copy =
      cast<PadOp>(sink(rewriter, op, {source, op.getValue()}, permutation));
  copy.setLow(low);
  copy.setHigh(high);
  return success();
}

LogicalResult sinkThroughSlice(SliceOp op, PatternRewriter &rewriter) {
  auto [source, permutation] = Transposed(op);
  if (!source)
    return failure();
  SmallVector<int64_t> starts = toSource(op.getStarts(), permutation),
                       sizes = toSource(op.getSizes(), permutation),
                       steps = toSource(op.getSteps(), permutation);
  auto copy = cast<SliceOp>(sink(rewriter, op, source, permutation));
  copy.setStarts(starts);
  copy.setSizes(sizes);
  copy.setSteps(steps);
  return success();
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Dimensions of a reshape's operand and result with the same elements.
struct DimensionGroup {
  SmallVector<int64_t> from, to;
};

/// The finest groups that a reshape keeps apart; empty if an extent is 0.
SmallVector<DimensionGroup> groupDimensions(ArrayRef<int64_t> from,
                                            ArrayRef<int64_t> to) {
  if (llvm::is_contained(from, 0))
    return {};
  SmallVector<DimensionGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    DimensionGroup group{{static_cast<int64_t>(i)}, {static_cast<int64_t>(j)}};
    int64_t a = from[i++], b = to[j++];
    while (a != b) {
      if (a < b) {
        group.from.push_back(i);
        a *= from[i++];
      } else {
        group.to.push_back(j);
        b *= to[j++];
      }
    }
    groups.push_back(group);
  }
  if (groups.empty())
    return {};
  for (; i < from.size(); ++i)
    groups.back().from.push_back(i);
  for (; j < to.size(); ++j)
    groups.back().to.push_back(j);
  return groups;
}

/// reshape(transpose(x, P)) -> transpose(reshape(transpose(x, Q)), R) where Q
/// moves dimensions within groups that lie together in x only, so that R, which
/// moves whole groups, can sink further. Channel shuffles come out of this as
/// a permutation of the channels.
LogicalResult sinkThroughReshape(ReshapeOp op, PatternRewriter &rewriter) {
  auto [source, permutation] = Transposed(op);
  if (!source)
    return failure();
  SmallVector<DimensionGroup> groups = groupDimensions(
      tensorType(op.getX()).getShape(), tensorType(op.getY()).getShape());
  if (groups.empty())
    return failure();

  // Each group's dimensions must lie together in x.
  SmallVector<std::pair<int64_t, int64_t>> order; // First in x, group.
  for (auto [index, group] : llvm::enumerate(groups)) {
    SmallVector<int64_t> positions;
    for (int64_t dimension : group.from)
      positions.push_back(permutation[dimension]);
    llvm::sort(positions);
    if (positions.back() - positions.front() + 1 !=
        static_cast<int64_t>(positions.size()))
      return failure();
    order.emplace_back(positions.front(), index);
  }
  llvm::sort(order);
  if (llvm::is_sorted(order, llvm::less_second()))
    return failure(); // R would do nothing.

  Permutation inner;
  SmallVector<int64_t> shape, placed(tensorType(op.getY()).getRank());
  for (auto [first, index] : order) {
    for (int64_t dimension : groups[index].from)
      inner.push_back(permutation[dimension]);
    for (int64_t dimension : groups[index].to) {
      placed[dimension] = shape.size();
      shape.push_back(tensorType(op.getY()).getDimSize(dimension));
    }
  }
  Value ordered = isIdentityPermutation(inner)
                      ? source
                      : transposed(rewriter, op.getLoc(), source, inner);
  Value view = reshapeTo(rewriter, op.getLoc(), ordered, shape);
  rewriter.replaceOpWithNewOp<TransposeOp>(op, view, placed);
  return success();
}

struct ChannelsLastPass : impl::ChannelsLastBase<ChannelsLastPass> {
  void runOnOperation() override {
    FailureOr<LayoutCounts> counts = convertToChannelsLast(getOperation());
    if (failed(counts))
      return signalPassFailure();
    numConverted += counts->converted;
    numTransposes += counts->transposes;
  }
};

LogicalResult sinkTransposes(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  TransposeOp::getCanonicalizationPatterns(patterns, context);
  ReshapeOp::getCanonicalizationPatterns(patterns, context);
  patterns.add<SinkThroughElementwise, SinkThroughAxis>(context);
  patterns.add(+sinkThroughReduce<ReduceOp>);
  patterns.add(+sinkThroughReduce<VarianceOp>);
  patterns.add(+sinkThroughPad);
  patterns.add(+sinkThroughSlice);
  patterns.add(+sinkThroughReshape);
  return applyPatternsGreedily(function, std::move(patterns));
}

} // namespace

FailureOr<LayoutCounts> convertToChannelsLast(func::FuncOp function) {
  LayoutCounts counts;
  function.walk([&](Operation *op) { counts.converted += convertOp(op); });
  // Other transposes are where the model wants them.
  if (counts.converted && failed(sinkTransposes(function)))
    return failure();
  function.walk([&](TransposeOp op) {
    counts.transposes += !isConstantExpression(op.getX());
  });
  return counts;
}

} // namespace tinh::transforms
