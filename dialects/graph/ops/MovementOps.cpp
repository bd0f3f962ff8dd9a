//===- MovementOps.cpp - Shapes, checks and folds of movement ops ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tinh::graph;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  auto from = tensorType(getX()), to = tensorType(getY());
  if (from.getNumElements() == to.getNumElements())
    return success();
  return emitOpError() << "cannot make " << shapeToString(to) << " ("
                       << to.getNumElements() << " elements) of "
                       << shapeToString(from) << " (" << from.getNumElements()
                       << ")";
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getY().getType())
    return getX();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX()))
    return dense.reshape(tensorType(getY()));
  if (auto file = dyn_cast_or_null<ExternalAttr>(adaptor.getX()))
    return ExternalAttr::get(getContext(), getY().getType(), file.getFile(),
                             file.getOffset(), file.getSize());
  return {};
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(+[](ReshapeOp op, PatternRewriter &rewriter) -> LogicalResult {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getY().getType(),
                                           inner.getX());
    return success();
  });
}

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  auto from = tensorType(getX()), to = tensorType(getY());
  auto shape = broadcastShapes({from.getShape(), to.getShape()});
  if (shape && ArrayRef<int64_t>(*shape) == to.getShape())
    return success();
  return emitOpError() << shapeToString(from) << " does not broadcast to "
                       << shapeToString(to);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getY().getType())
    return getX();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getX()))
    return splat.resizeSplat(tensorType(getY()));
  return {};
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  if (!isPermutationVector(permutation) ||
      static_cast<int64_t>(permutation.size()) != x.getRank())
    return emitOptionalError(loc, getOperationName(), ": [", permutation,
                             "] does not permute the ", x.getRank(),
                             " dimensions of ", shapeToString(x));
  SmallVector<int64_t> shape;
  for (int64_t axis : permutation)
    shape.push_back(x.getDimSize(axis));
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPermutation(),
                  llvm::seq<int64_t>(0, getPermutation().size())))
    return getX();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getX()))
    return splat.resizeSplat(tensorType(getY()));
  return {};
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *) {
  patterns.add(+[](TransposeOp op, PatternRewriter &rewriter) -> LogicalResult {
    auto inner = op.getX().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> permutation;
    for (int64_t axis : op.getPermutation())
      permutation.push_back(inner.getPermutation()[axis]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getX(), permutation);
    return success();
  });
  // Moving only dimensions of extent 1 keeps the order of the elements.
  patterns.add(+[](TransposeOp op, PatternRewriter &rewriter) -> LogicalResult {
    auto x = tensorType(op.getX());
    int64_t last = -1;
    for (int64_t axis : op.getPermutation()) {
      if (x.getDimSize(axis) == 1)
        continue;
      if (axis < last)
        return failure();
      last = axis;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getY().getType(), op.getX());
    return success();
  });
}

//===----------------------------------------------------------------------===//
// concat, slice, pad
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(loc, getOperationName(), ": no inputs");
  auto first = tensorType(adaptor.getInputs()[0]);
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, getOperationName(), first, axis)))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (Value input : adaptor.getInputs()) {
    auto type = tensorType(input);
    bool fits = type.getRank() == first.getRank() &&
                type.getElementType() == first.getElementType();
    for (int64_t i = 0; fits && i < type.getRank(); ++i)
      fits = i == axis || type.getDimSize(i) == first.getDimSize(i);
    if (!fits)
      return emitOptionalError(loc, getOperationName(), ": ",
                               shapeToString(type), " does not fit beside ",
                               shapeToString(first), " along axis ", axis);
    shape[axis] += type.getDimSize(axis);
  }
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs()[0])
                                 : OpFoldResult();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX());
  ArrayRef<int64_t> starts = adaptor.getStarts(), sizes = adaptor.getSizes(),
                    steps = adaptor.getSteps();
  size_t rank = x.getRank();
  if (starts.size() != rank || sizes.size() != rank || steps.size() != rank)
    return emitOptionalError(loc, getOperationName(),
                             ": starts, sizes and steps need ", rank,
                             " entries for ", shapeToString(x));
  for (size_t i = 0; i < rank; ++i) {
    // A step beyond the dimension is none that two elements are apart.
    int64_t extent = x.getDimSize(i), last = starts[i];
    bool isOutside = sizes[i] < 0 || sizes[i] > extent || steps[i] == 0;
    if (!isOutside && sizes[i] > 1) {
      isOutside = steps[i] < -extent || steps[i] > extent;
      last += isOutside ? 0 : (sizes[i] - 1) * steps[i];
    }
    if (isOutside || (sizes[i] > 0 && (starts[i] < 0 || starts[i] >= extent ||
                                       last < 0 || last >= extent)))
      return emitOptionalError(
          loc, getOperationName(), ": ", sizes[i], " elements from ", starts[i],
          " by ", steps[i], " leave dimension ", i, " of ", shapeToString(x));
  }
  types.push_back(RankedTensorType::get(sizes, x.getElementType()));
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  bool whole = llvm::all_of(getSteps(), [](int64_t s) { return s == 1; });
  if (whole && getX().getType() == getY().getType())
    return getX();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getX()))
    return splat.resizeSplat(tensorType(getY()));
  return {};
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> loc,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX()), value = tensorType(adaptor.getValue());
  ArrayRef<int64_t> low = adaptor.getLow(), high = adaptor.getHigh();
  size_t rank = x.getRank();
  if (low.size() != rank || high.size() != rank)
    return emitOptionalError(loc, getOperationName(), ": low and high need ",
                             rank, " entries for ", shapeToString(x));
  if (value.getRank() != 0 || value.getElementType() != x.getElementType())
    return emitOptionalError(loc, getOperationName(),
                             ": expected a scalar of the input's type, found ",
                             shapeToString(value));
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = x.getDimSize(i);
    constexpr int64_t kMost = int64_t(1) << 44; // Elements of any tensor.
    if (std::max(low[i], high[i]) > kMost || std::min(low[i], high[i]) < -kMost)
      return emitOptionalError(loc, getOperationName(), ": padding dimension ",
                               i, " of ", shapeToString(x), " by ", low[i],
                               " and ", high[i], " is beyond any memory");
    shape.push_back(extent + low[i] + high[i]);
    bool inside = adaptor.getMode() == PadMode::Constant ||
                  std::max(low[i], high[i]) <=
                      (adaptor.getMode() == PadMode::Reflect ? extent - 1
                       : adaptor.getMode() == PadMode::Wrap  ? extent
                       : extent > 0                          ? INT64_MAX
                                                             : 0);
    if (shape.back() < 0 || !inside)
      return emitOptionalError(loc, getOperationName(), ": padding dimension ",
                               i, " of ", shapeToString(x), " by ", low[i],
                               " and ", high[i], " is not possible in mode ",
                               stringifyPadMode(adaptor.getMode()));
  }
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

namespace {

/// That `x` has elements along the `count` dimensions from `first` on, which
/// indices stand for, if the result has some.
LogicalResult checkNotEmpty(std::optional<Location> loc, StringRef op,
                            RankedTensorType x, int64_t first, int64_t count,
                            RankedTensorType result) {
  if (result.getNumElements() == 0 ||
      !llvm::is_contained(x.getShape().slice(first, count), 0))
    return success();
  return emitOptionalError(loc, op, ": ", shapeToString(x),
                           " has no elements to make ", shapeToString(result),
                           " of");
}

FailureOr<Type> gatheredType(std::optional<Location> loc, StringRef op,
                             RankedTensorType x, RankedTensorType indices,
                             int64_t axis) {
  if (failed(checkAxis(loc, op, x, axis)))
    return failure();
  SmallVector<int64_t> shape(x.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, x.getShape().drop_front(axis + 1));
  auto result = RankedTensorType::get(shape, x.getElementType());
  if (failed(checkNotEmpty(loc, op, x, axis, 1, result)))
    return failure();
  return Type(result);
}

FailureOr<Type> gatheredElementsType(std::optional<Location> loc, StringRef op,
                                     RankedTensorType x,
                                     RankedTensorType indices, int64_t axis) {
  if (failed(checkAxis(loc, op, x, axis)))
    return failure();
  bool fits = indices.getRank() == x.getRank();
  for (int64_t i = 0; fits && i < x.getRank(); ++i)
    fits = i == axis || indices.getDimSize(i) <= x.getDimSize(i);
  if (!fits)
    return emitOptionalError(loc, op, ": indices ", shapeToString(indices),
                             " do not fit into ", shapeToString(x),
                             " beside axis ", axis);
  auto result = RankedTensorType::get(indices.getShape(), x.getElementType());
  if (failed(checkNotEmpty(loc, op, x, axis, 1, result)))
    return failure();
  return Type(result);
}

FailureOr<Type> gatheredNdType(std::optional<Location> loc, StringRef op,
                               RankedTensorType x, RankedTensorType indices,
                               int64_t batch) {
  int64_t tuple = indices.getRank() ? indices.getShape().back() : 0;
  bool fits = batch >= 0 && indices.getRank() > batch && tuple >= 1 &&
              batch + tuple <= x.getRank();
  for (int64_t i = 0; fits && i < batch; ++i)
    fits = x.getDimSize(i) == indices.getDimSize(i);
  if (!fits)
    return emitOptionalError(loc, op, ": indices ", shapeToString(indices),
                             " do not index ", shapeToString(x), " after ",
                             batch, " batch dimensions");
  SmallVector<int64_t> shape(indices.getShape().drop_back());
  llvm::append_range(shape, x.getShape().drop_front(batch + tuple));
  auto result = RankedTensorType::get(shape, x.getElementType());
  if (failed(checkNotEmpty(loc, op, x, batch, tuple, result)))
    return failure();
  return Type(result);
}

LogicalResult infer(FailureOr<Type> type, SmallVectorImpl<Type> &types) {
  if (succeeded(type))
    types.push_back(*type);
  return type;
}

/// The updates of a scatter must have the type that gathering with the same
/// indices gives.
LogicalResult inferScatter(std::optional<Location> loc, StringRef op,
                           ScatterKind kind, Value x, FailureOr<Type> gathered,
                           Value updates, SmallVectorImpl<Type> &types) {
  if (failed(gathered))
    return failure();
  if (updates.getType() != *gathered)
    return emitOptionalError(loc, op, ": updates must be ",
                             shapeToString(*gathered), ", found ",
                             shapeToString(updates.getType()));
  if (kind != ScatterKind::Assign && isStorageFloat(getElementTypeOrSelf(x)))
    return emitOptionalError(
        loc, op, ": ", shapeToString(x.getType()),
        " is for storage and can only be assigned to; cast "
        "it before it is computed with");
  types.push_back(x.getType());
  return success();
}

} // namespace

LogicalResult GatherOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX()),
       indices = tensorType(adaptor.getIndices());
  return infer(
      gatheredType(loc, getOperationName(), x, indices, adaptor.getAxis()),
      types);
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *,
                                                 std::optional<Location> loc,
                                                 Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX()),
       indices = tensorType(adaptor.getIndices());
  return infer(gatheredElementsType(loc, getOperationName(), x, indices,
                                    adaptor.getAxis()),
               types);
}

LogicalResult GatherNdOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX()),
       indices = tensorType(adaptor.getIndices());
  return infer(gatheredNdType(loc, getOperationName(), x, indices,
                              adaptor.getBatchDims()),
               types);
}

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX()),
       indices = tensorType(adaptor.getIndices());
  return inferScatter(
      loc, getOperationName(), adaptor.getKind(), adaptor.getX(),
      gatheredType(loc, getOperationName(), x, indices, adaptor.getAxis()),
      adaptor.getUpdates(), types);
}

LogicalResult
ScatterElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                    Adaptor adaptor,
                                    SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX()),
       indices = tensorType(adaptor.getIndices());
  return inferScatter(loc, getOperationName(), adaptor.getKind(),
                      adaptor.getX(),
                      gatheredElementsType(loc, getOperationName(), x, indices,
                                           adaptor.getAxis()),
                      adaptor.getUpdates(), types);
}

LogicalResult ScatterNdOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX()),
       indices = tensorType(adaptor.getIndices());
  return inferScatter(loc, getOperationName(), adaptor.getKind(),
                      adaptor.getX(),
                      gatheredNdType(loc, getOperationName(), x, indices, 0),
                      adaptor.getUpdates(), types);
}
