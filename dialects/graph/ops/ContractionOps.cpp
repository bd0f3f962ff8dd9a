//===- ContractionOps.cpp - Shapes of products, convolutions and pools ----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tinh::graph;

/// Bytes of either sign.
static bool isByte(Type element) { return element.isInteger(8); }

static bool isHalf(Type element) { return element.isBF16() || element.isF16(); }

Type tinh::graph::productElement(Type a, Type b) {
  if (isByte(a) && isByte(b))
    return IntegerType::get(a.getContext(), 32);
  if (isHalf(a) && b.isF32())
    return b;
  return a == b || (a.isF32() && isHalf(b)) ? a : Type();
}

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto a = cast<RankedTensorType>(adaptor.getA().getType());
  auto b = cast<RankedTensorType>(adaptor.getB().getType());
  auto fail = [&](const Twine &what) {
    return emitOptionalError(loc, "graph.matmul: ", what, ": a is ",
                             shapeToString(a), ", b is ", shapeToString(b));
  };
  Type element = productElement(a.getElementType(), b.getElementType());
  if (!element)
    return fail("element types differ");
  if (a.getRank() == 0 || b.getRank() == 0)
    return fail("an operand is a scalar");
  if ((adaptor.getTransposeA() && a.getRank() < 2) ||
      (adaptor.getTransposeB() && b.getRank() < 2))
    return fail("a vector cannot be transposed");

  SmallVector<int64_t> as(a.getShape()), bs(b.getShape());
  if (adaptor.getTransposeA())
    std::swap(as[as.size() - 1], as[as.size() - 2]);
  if (adaptor.getTransposeB())
    std::swap(bs[bs.size() - 1], bs[bs.size() - 2]);
  bool row = as.size() == 1, column = bs.size() == 1;
  if (row)
    as.insert(as.begin(), 1);
  if (column)
    bs.push_back(1);
  if (as.back() != bs[bs.size() - 2])
    return fail("inner dimensions " + Twine(as.back()) + " and " +
                Twine(bs[bs.size() - 2]) + " differ");
  auto shape = broadcastShapes(
      {ArrayRef<int64_t>(as).drop_back(2), ArrayRef<int64_t>(bs).drop_back(2)});
  if (!shape)
    return fail("leading dimensions do not broadcast");
  if (!row)
    shape->push_back(as[as.size() - 2]);
  if (!column)
    shape->push_back(bs.back());
  types.push_back(RankedTensorType::get(*shape, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Sliding windows
//===----------------------------------------------------------------------===//

namespace {

/// No extent, stride or the like is larger, so that no product of two
/// overflows.
constexpr int64_t kLargestNumber = int64_t(1) << 31;

/// What convolution and pooling have in common.
struct Windows {
  StringRef op;
  RankedTensorType x;
  ArrayRef<int64_t> kernel, strides, padding, dilations;
  Layout layout;

  int64_t spatialRank() const { return x.getRank() - 2; }
  int64_t channelAxis() const {
    return layout == Layout::ChannelsFirst ? 1 : x.getRank() - 1;
  }
  int64_t spatialAxis(int64_t i) const {
    return layout == Layout::ChannelsFirst ? i + 2 : i + 1;
  }
  /// A type like x with these channels and spatial extents.
  RankedTensorType result(int64_t channels, ArrayRef<int64_t> spatial) const {
    SmallVector<int64_t> shape(x.getRank());
    shape[0] = x.getDimSize(0);
    shape[channelAxis()] = channels;
    for (auto [i, extent] : llvm::enumerate(spatial))
      shape[spatialAxis(i)] = extent;
    return RankedTensorType::get(shape, x.getElementType());
  }
};

LogicalResult checkWindows(std::optional<Location> loc, const Windows &w) {
  if (w.x.getRank() < 3)
    return emitOptionalError(loc, w.op,
                             ": expected an input of rank 3 or more "
                             "(batch, channels, spatial…), found ",
                             shapeToString(w.x));
  size_t rank = w.spatialRank();
  for (auto [name, list] :
       {std::pair("the kernel", w.kernel), std::pair("strides", w.strides),
        std::pair("dilations", w.dilations)})
    if (list.size() != rank)
      return emitOptionalError(loc, w.op, ": input ", shapeToString(w.x),
                               " has ", rank, " spatial dimensions, and ", name,
                               " must have as many, found ", list.size());
  if (w.padding.size() != 2 * rank)
    return emitOptionalError(
        loc, w.op, ": input ", shapeToString(w.x), " has ", rank,
        " spatial dimensions, and padding must have ", 2 * rank,
        " entries, first those before each and then those behind, found ",
        w.padding.size());
  auto positive = [](int64_t v) { return v > 0; };
  if (!llvm::all_of(w.kernel, positive) || !llvm::all_of(w.strides, positive) ||
      !llvm::all_of(w.dilations, positive))
    return emitOptionalError(
        loc, w.op, ": kernel, strides and dilations must be positive");
  if (llvm::any_of(w.padding, [](int64_t v) { return v < 0; }))
    return emitOptionalError(loc, w.op, ": padding must not be negative");
  SmallVector<int64_t> extents;
  for (size_t i = 0; i < rank; ++i)
    extents.push_back(w.x.getDimSize(w.spatialAxis(i)));
  for (ArrayRef<int64_t> numbers :
       {ArrayRef(extents), w.kernel, w.strides, w.dilations, w.padding})
    for (int64_t number : numbers)
      if (number > kLargestNumber)
        return emitOptionalError(loc, w.op, ": extents, kernel, strides, ",
                                 "dilations and padding must be at most ",
                                 kLargestNumber, ", found ", number);
  return success();
}

LogicalResult windowExtents(std::optional<Location> loc, const Windows &w,
                            SmallVectorImpl<int64_t> &extents) {
  if (failed(checkWindows(loc, w)))
    return failure();
  int64_t rank = w.spatialRank();
  for (int64_t i = 0; i < rank; ++i) {
    int64_t padded =
        w.x.getDimSize(w.spatialAxis(i)) + w.padding[i] + w.padding[rank + i];
    int64_t window = (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (padded < window)
      return emitOptionalError(loc, w.op, ": a window of ", window,
                               " does not fit into the padded extent ", padded,
                               " of spatial dimension ", i, " of ",
                               shapeToString(w.x));
    extents.push_back((padded - window) / w.strides[i] + 1);
  }
  return success();
}

/// Those of a convolution, whose kernel is as large as its weights.
template <typename Adaptor>
Windows weightWindows(StringRef op, Adaptor adaptor, RankedTensorType weights) {
  return {op,
          cast<RankedTensorType>(adaptor.getX().getType()),
          weights.getShape().drop_front(std::min<size_t>(2, weights.getRank())),
          adaptor.getStrides(),
          adaptor.getPadding(),
          adaptor.getDilations(),
          adaptor.getLayout()};
}

LogicalResult checkWeights(std::optional<Location> loc, const Windows &w,
                           RankedTensorType weights, int64_t groups) {
  if (weights.getRank() != w.x.getRank())
    return emitOptionalError(loc, w.op, ": weights ", shapeToString(weights),
                             " and input ", shapeToString(w.x),
                             " must have the same rank");
  if (!productElement(w.x.getElementType(), weights.getElementType()))
    return emitOptionalError(loc, w.op, ": element types of input ",
                             shapeToString(w.x), " and weights ",
                             shapeToString(weights), " differ");
  // The weights' first dimension is a multiple of the groups.
  int64_t most = std::max<int64_t>(weights.getDimSize(0), 1);
  if (groups < 1 || groups > most)
    return emitOptionalError(loc, w.op, ": groups must be from 1 to ", most,
                             ", the first extent of the weights ",
                             shapeToString(weights), ", found ", groups);
  return success();
}

} // namespace

LogicalResult ConvOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> loc,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto weights = cast<RankedTensorType>(adaptor.getWeights().getType());
  Windows w = weightWindows(getOperationName(), adaptor, weights);
  int64_t groups = adaptor.getGroups();
  SmallVector<int64_t> extents;
  if (failed(checkWeights(loc, w, weights, groups)) ||
      failed(windowExtents(loc, w, extents)))
    return failure();
  int64_t channels = w.x.getDimSize(w.channelAxis());
  if (channels != weights.getDimSize(1) * groups ||
      weights.getDimSize(0) % groups)
    return emitOptionalError(loc, w.op, ": input ", shapeToString(w.x), " has ",
                             channels, " channels, but weights ",
                             shapeToString(weights), " in ", groups,
                             " groups need ", weights.getDimSize(1) * groups,
                             " and output channels divisible by the groups");
  Type element = productElement(w.x.getElementType(), weights.getElementType());
  if (adaptor.getPaddingValue() != 0 && !isByte(w.x.getElementType()))
    return emitOptionalError(
        loc, w.op,
        ": only integers of 8 bits are padded with another "
        "value than 0, found ",
        shapeToString(w.x), " and padding_value ", adaptor.getPaddingValue());
  types.push_back(w.result(weights.getDimSize(0), extents).clone(element));
  return success();
}

LogicalResult ConvTransposeOp::inferReturnTypes(MLIRContext *,
                                                std::optional<Location> loc,
                                                Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  auto weights = cast<RankedTensorType>(adaptor.getWeights().getType());
  Windows w = weightWindows(getOperationName(), adaptor, weights);
  int64_t groups = adaptor.getGroups();
  if (failed(checkWeights(loc, w, weights, groups)) ||
      failed(checkWindows(loc, w)))
    return failure();
  int64_t channels = w.x.getDimSize(w.channelAxis());
  if (channels != weights.getDimSize(0) || channels % groups)
    return emitOptionalError(loc, w.op, ": input ", shapeToString(w.x), " has ",
                             channels, " channels, but weights ",
                             shapeToString(weights), " in ", groups,
                             " groups need ", weights.getDimSize(0));
  int64_t rank = w.spatialRank();
  ArrayRef<int64_t> extra = adaptor.getOutputPadding();
  if (static_cast<int64_t>(extra.size()) != rank)
    return emitOptionalError(loc, w.op, ": output_padding must have ", rank,
                             " entries, found ", extra.size());
  SmallVector<int64_t> extents;
  for (int64_t i = 0; i < rank; ++i) {
    if (extra[i] < 0 || extra[i] > kLargestNumber)
      return emitOptionalError(loc, w.op, ": output_padding must be from 0 to ",
                               kLargestNumber, ", found ", extra[i]);
    // As a convolution, it is padded with its window.
    int64_t window = (w.kernel[i] - 1) * w.dilations[i] + 1 + extra[i];
    int64_t extent = (w.x.getDimSize(w.spatialAxis(i)) - 1) * w.strides[i] +
                     window - w.padding[i] - w.padding[rank + i];
    if (extent < 1 || std::max(extent, window) >= kLargestNumber)
      return emitOptionalError(loc, w.op, ": spatial dimension ", i,
                               " would have the extent ", extent);
    extents.push_back(extent);
  }
  Type element = productElement(w.x.getElementType(), weights.getElementType());
  types.push_back(
      w.result(weights.getDimSize(1) * groups, extents).clone(element));
  return success();
}

template <typename Adaptor>
static LogicalResult inferPool(StringRef op, std::optional<Location> loc,
                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Windows w{op,
            cast<RankedTensorType>(adaptor.getX().getType()),
            adaptor.getKernel(),
            adaptor.getStrides(),
            adaptor.getPadding(),
            adaptor.getDilations(),
            adaptor.getLayout()};
  SmallVector<int64_t> extents;
  if (failed(windowExtents(loc, w, extents)))
    return failure();
  types.push_back(w.result(w.x.getDimSize(w.channelAxis()), extents));
  return success();
}

LogicalResult MaxPoolOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferPool(getOperationName(), loc, adaptor, types);
}

LogicalResult AvgPoolOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferPool(getOperationName(), loc, adaptor, types);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// `dy` must have the type that the op whose gradient is asked for gives.
static LogicalResult checkGradient(std::optional<Location> loc,
                                   const Windows &w, int64_t channels,
                                   ArrayRef<int64_t> extents, Value dy) {
  if (w.result(channels, extents) == dy.getType())
    return success();
  return emitOptionalError(loc, w.op, ": the gradient dy must be ",
                           shapeToString(w.result(channels, extents)),
                           ", found ", shapeToString(dy.getType()));
}

LogicalResult ConvWeightGradientOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  Windows w{
      getOperationName(),   cast<RankedTensorType>(adaptor.getX().getType()),
      adaptor.getKernel(),  adaptor.getStrides(),
      adaptor.getPadding(), adaptor.getDilations(),
      adaptor.getLayout()};
  auto dy = cast<RankedTensorType>(adaptor.getDy().getType());
  SmallVector<int64_t> extents;
  if (failed(windowExtents(loc, w, extents)))
    return failure();
  if (dy.getRank() != w.x.getRank())
    return emitOptionalError(loc, w.op, ": input ", shapeToString(w.x),
                             " and gradient ", shapeToString(dy),
                             " must have the same rank");
  int64_t outputs = dy.getDimSize(w.channelAxis());
  int64_t channels = w.x.getDimSize(w.channelAxis());
  int64_t groups = adaptor.getGroups();
  if (groups < 1 || channels % groups || outputs % groups)
    return emitOptionalError(loc, w.op, ": ", channels, " input and ", outputs,
                             " output channels cannot be divided into ", groups,
                             " groups");
  if (failed(checkGradient(loc, w, outputs, extents, adaptor.getDy())))
    return failure();
  SmallVector<int64_t> shape{outputs, channels / groups};
  llvm::append_range(shape, w.kernel);
  types.push_back(RankedTensorType::get(shape, w.x.getElementType()));
  return success();
}

LogicalResult
MaxPoolGradientOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                    Adaptor adaptor,
                                    SmallVectorImpl<Type> &types) {
  Windows w{
      getOperationName(),   cast<RankedTensorType>(adaptor.getX().getType()),
      adaptor.getKernel(),  adaptor.getStrides(),
      adaptor.getPadding(), adaptor.getDilations(),
      adaptor.getLayout()};
  SmallVector<int64_t> extents;
  if (failed(windowExtents(loc, w, extents)) ||
      failed(checkGradient(loc, w, w.x.getDimSize(w.channelAxis()), extents,
                           adaptor.getDy())))
    return failure();
  types.push_back(w.x);
  return success();
}
