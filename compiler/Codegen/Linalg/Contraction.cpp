//===- Contraction.cpp - Matmuls and convolutions in linalg ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction is a fill of zeros and one generic over its indices that
// multiplies and adds in the accumulator's type:
//
//   matmul   batch…, m, n, k
//   conv     n, o1…, [g,] o, k1…, c     (o1… the result's spatial dimensions)
//   conv, one channel a group   n, o1…, c, k1…
//   conv_weight_gradient   [g,] o, c, k1…, n, o1…
//
// whatever the layout: only the maps of operands and result differ.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "compiler/Codegen/Linalg/Windows.h"
#include "dialects/origin/Origin.h"

using namespace mlir;

namespace tinh::codegen {
namespace {

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

/// The map of a matmul operand: its batch dimensions are the result's last
/// ones, its matrix (or vector) dimensions are `matrix`.
AffineMap matmulMap(Emitter &e, ArrayRef<int64_t> shape,
                    ArrayRef<AffineExpr> matrix, ArrayRef<int64_t> batch,
                    int64_t dims) {
  auto own = shape.drop_back(matrix.size());
  SmallVector<AffineExpr> results(e.broadcast(own, batch).getResults());
  llvm::append_range(results, matrix);
  return e.map(dims, results);
}

/// Factors [m, k] and [k, n] whose k is several dimensions, if the right one is
/// merged of such: what computes it then has these for loops.
std::optional<Value> multiplyUnmerged(Emitter &e, Value a, Value b,
                                      ArrayRef<int64_t> result,
                                      Type accumulator) {
  auto merged = b.getDefiningOp<tensor::CollapseShapeOp>();
  if (!merged || shapeOf(b).size() != 2 ||
      merged.getReassociationIndices().back().size() != 1)
    return std::nullopt;
  b = merged.getSrc();
  int64_t rows = shapeOf(a).size() - 1, depth = shapeOf(b).size() - 1;
  SmallVector<int64_t> split(shapeOf(a).drop_back());
  llvm::append_range(split, shapeOf(b).drop_back());
  SmallVector<AffineExpr> ofA, ofB;
  for (int64_t i = 0; i < rows; ++i)
    ofA.push_back(e.dim(i));
  for (int64_t i = 0; i < depth; ++i)
    ofB.push_back(e.dim(rows + 1 + i));
  llvm::append_range(ofA, ofB);
  ofB.push_back(e.dim(rows));
  int64_t loops = rows + 1 + depth;
  AffineMap maps[] = {e.map(loops, ofA), e.map(loops, ofB),
                      e.identity(loops).getSliceMap(0, rows + 1)};
  return e.multiplyAdd(result, accumulator, e.reshape(a, split), b, maps);
}

FailureOr<Value> lowerMatmul(graph::MatmulOp op, Emitter &e,
                             ValueRange operands) {
  Value a = operands[0], b = operands[1];
  auto result = cast<RankedTensorType>(op.getType());
  bool row = shapeOf(a).size() == 1, column = shapeOf(b).size() == 1;
  ArrayRef<int64_t> batch = result.getShape().drop_back(!row + !column);

  int64_t next = batch.size();
  AffineExpr m = row ? AffineExpr() : e.dim(next++);
  AffineExpr n = column ? AffineExpr() : e.dim(next++);
  AffineExpr k = e.dim(next++);
  SmallVector<AffineExpr> ofA, ofB;
  if (row)
    ofA = {k};
  else
    ofA = op.getTransposeA() ? SmallVector<AffineExpr>{k, m}
                             : SmallVector<AffineExpr>{m, k};
  if (column)
    ofB = {k};
  else
    ofB = op.getTransposeB() ? SmallVector<AffineExpr>{n, k}
                             : SmallVector<AffineExpr>{k, n};

  AffineMap maps[] = {matmulMap(e, shapeOf(a), ofA, batch, next),
                      matmulMap(e, shapeOf(b), ofB, batch, next),
                      e.identity(next).getSliceMap(0, next - 1)};
  Type accumulator = accumulatorType(result.getElementType());
  if (!row && !op.getTransposeA() && !op.getTransposeB())
    if (auto sum = multiplyUnmerged(e, a, b, result.getShape(), accumulator))
      return *sum;
  Value sum = e.multiplyAdd(result.getShape(), accumulator, a, b, maps,
                            {hasUnsignedElements(op.getA().getType()),
                             hasUnsignedElements(op.getB().getType())});
  return e.convert(sum, storageType(result.getElementType()));
}

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

/// What a convolution by groups runs over.
struct Convolution {
  ArrayRef<int64_t> strides, dilations;
  int64_t groups;
  graph::Layout layout;
  Emitter::Signs unsignedElements; // Of its input and its weights.
};

using origin::Role;

/// The sum of products over loops with these roles, where a position or a tap
/// stands for those of all spatial dimensions.
Value convolve(Emitter &e, ArrayRef<int64_t> shape, Type element, Value x,
               Value filter, ArrayRef<AffineMap> maps, ArrayRef<Role> roles,
               Emitter::Signs unsignedElements = {}) {
  size_t rank = (maps.front().getNumDims() - roles.size()) / 2 + 1;
  SmallVector<Role> loops;
  for (Role role : roles)
    loops.append(role == Role::Position || role == Role::Tap ? rank : 1, role);
  Value sum = e.multiplyAdd(shape, accumulatorType(element), x, filter, maps,
                            unsignedElements);
  return e.withOrigin(sum,
                      origin::ConvolutionAttr::get(e.b.getContext(), loops));
}

/// One output channel for each input channel; weights [C, 1, kernel…].
Value emitDepthwise(Emitter &e, Value x, Value weights, RankedTensorType result,
                    const Convolution &c) {
  int64_t rank = c.strides.size(), dims = 2 + 2 * rank;
  SmallVector<int64_t> shape(shapeOf(weights));
  shape.erase(shape.begin() + 1);
  weights = e.reshape(weights, shape);

  WindowMaps w(e, dims, c.layout, /*kernel=*/rank + 2, c.strides, c.dilations);
  AffineExpr channel = e.dim(rank + 1);
  SmallVector<AffineExpr> kernel{channel};
  llvm::append_range(kernel, w.kernel());
  AffineMap maps[] = {w.input({channel}), e.map(dims, kernel),
                      w.output({channel})};
  return convolve(e, result.getShape(), result.getElementType(), x, weights,
                  maps, {Role::Image, Role::Position, Role::Group, Role::Tap},
                  c.unsignedElements);
}

/// The spatial dimensions in which fewer elements meet taps than the dilated
/// window passes over.
SmallVector<bool> findSparse(ArrayRef<int64_t> result, ArrayRef<int64_t> kernel,
                             const Convolution &c) {
  SmallVector<bool> sparse;
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t outputs = result[spatialAxis(c.layout, i)];
    int64_t span =
        (outputs - 1) * c.strides[i] + (kernel[i] - 1) * c.dilations[i] + 1;
    sparse.push_back(outputs * kernel[i] < span);
  }
  return sparse;
}

/// The elements of x that meet taps: each sparse dimension becomes two, tap and
/// output. What is computed from x stays small, however far the taps lie apart.
Value gatherTaps(Emitter &e, Value x, ArrayRef<int64_t> result,
                 ArrayRef<int64_t> kernel, const Convolution &c,
                 ArrayRef<bool> sparse) {
  if (!llvm::is_contained(sparse, true))
    return x;
  int64_t rank = shapeOf(x).size();
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> from;
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t i = axis - spatialAxis(c.layout, 0);
    AffineExpr here = e.dim(shape.size()), next = e.dim(shape.size() + 1);
    if (i < 0 || i >= static_cast<int64_t>(sparse.size()) || !sparse[i]) {
      shape.push_back(shapeOf(x)[axis]);
      from.push_back(here);
      continue;
    }
    shape.append({kernel[i], result[axis]});
    from.push_back(here * c.dilations[i] + next * c.strides[i]);
  }
  return e.move(shape, x, e.map(shape.size(), from));
}

/// Output channels that each have all input channels of their group. A single
/// group has no loop.
Value emitDense(Emitter &e, Value x, Value weights, RankedTensorType result,
                const Convolution &c) {
  int64_t rank = c.strides.size(), grouped = c.groups > 1;
  ArrayRef<int64_t> window = shapeOf(weights).drop_front(2);
  SmallVector<bool> sparse = findSparse(result.getShape(), window, c);
  x = gatherTaps(e, x, result.getShape(), window, c, sparse);
  int64_t channels = rank + 1, dims = channels + grouped + 1 + rank + 1;
  WindowMaps w(e, dims, c.layout, /*kernel=*/channels + grouped + 1, c.strides,
               c.dilations, sparse);
  SmallVector<AffineExpr> outputs{e.dim(channels + grouped)},
      inputs{e.dim(dims - 1)};
  SmallVector<int64_t> shape(result.getShape());
  SmallVector<Role> roles{Role::Image, Role::Position, Role::Output, Role::Tap,
                          Role::Channel};
  if (grouped) {
    x = e.split(x, channelAxis(c.layout, shapeOf(x).size()), c.groups);
    weights = e.split(weights, 0, c.groups);
    shape = splitExtent(shape, channelAxis(c.layout, rank + 2), c.groups);
    inputs.insert(inputs.begin(), e.dim(channels));
    outputs.insert(outputs.begin(), e.dim(channels));
    roles.insert(roles.begin() + 2, Role::Group);
  }
  SmallVector<AffineExpr> kernel(outputs);
  kernel.push_back(inputs.back());
  llvm::append_range(kernel, w.kernel());
  AffineMap maps[] = {w.input(inputs), e.map(dims, kernel), w.output(outputs)};
  Value sum = convolve(e, shape, result.getElementType(), x, weights, maps,
                       roles, c.unsignedElements);
  return e.reshape(sum, result.getShape());
}

/// The convolution of x, padded already, with weights [O, C/groups, kernel…].
Value emitConvolution(Emitter &e, Value x, Value weights,
                      RankedTensorType result, const Convolution &c) {
  ArrayRef<int64_t> shape = shapeOf(weights);
  bool isDepthwise = c.groups > 1 && shape[1] == 1 && shape[0] == c.groups;
  Value sum = isDepthwise ? emitDepthwise(e, x, weights, result, c)
                          : emitDense(e, x, weights, result, c);
  return e.convert(sum, storageType(result.getElementType()));
}

FailureOr<Value> lowerConv(graph::ConvOp op, Emitter &e, ValueRange operands) {
  Value padding = e.scalars().constant(
      elementOf(operands[0]), static_cast<double>(op.getPaddingValue()));
  Value x =
      padSpatial(e, operands[0], op.getPadding(), op.getLayout(), padding);
  return emitConvolution(e, x, operands[1],
                         cast<RankedTensorType>(op.getType()),
                         {op.getStrides(),
                          op.getDilations(),
                          static_cast<int64_t>(op.getGroups()),
                          op.getLayout(),
                          {hasUnsignedElements(op.getX().getType()),
                           hasUnsignedElements(op.getWeights().getType())}});
}

//===----------------------------------------------------------------------===//
// conv_weight_gradient
//===----------------------------------------------------------------------===//

/// The elements of x that single taps meet, without those that strides pass
/// over; `strides` become steps in what remains.
Value leaveOutPassed(Emitter &e, Value x, graph::ConvWeightGradientOp op,
                     SmallVectorImpl<int64_t> &strides) {
  SmallVector<int64_t> sizes(shapeOf(x)), offsets(sizes.size(), 0),
      steps(sizes.size(), 1);
  ArrayRef<int64_t> windows = shapeOf(op.getDy());
  for (auto [i, stride] : llvm::enumerate(strides)) {
    int64_t axis = spatialAxis(op.getLayout(), static_cast<int64_t>(i));
    if (op.getKernel()[i] != 1 || stride == 1)
      continue;
    sizes[axis] = windows[axis];
    steps[axis] = std::exchange(stride, 1);
  }
  bool isAll = ArrayRef<int64_t>(sizes) == shapeOf(x);
  return isAll ? x : e.slice(x, offsets, sizes, steps);
}

FailureOr<Value> lowerConvWeightGradient(graph::ConvWeightGradientOp op,
                                         Emitter &e, ValueRange operands) {
  graph::Layout layout = op.getLayout();
  auto result = cast<RankedTensorType>(op.getType());
  int64_t rank = result.getRank() - 2, groups = op.getGroups();
  Value zero = e.scalars().constant(elementOf(operands[0]), 0);
  Value x = padSpatial(e, operands[0], op.getPadding(), layout, zero);
  Value dy = operands[1];
  SmallVector<int64_t> strides(op.getStrides());
  x = leaveOutPassed(e, x, op, strides);
  SmallVector<int64_t> shape(result.getShape());
  SmallVector<AffineExpr> ofX, ofDy;
  if (groups > 1) {
    int64_t axis = channelAxis(layout, rank + 2);
    x = e.split(x, axis, groups);
    dy = e.split(dy, axis, groups);
    shape = splitExtent(shape, 0, groups);
    ofX.push_back(e.dim(0));
    ofDy.push_back(e.dim(0));
  }
  int64_t next = static_cast<int64_t>(ofX.size());
  ofDy.push_back(e.dim(next++));
  ofX.push_back(e.dim(next++));
  int64_t kernel = next, batch = next + rank, dims = batch + 1 + rank;
  SmallVector<AffineExpr> tapped, plain;
  for (int64_t i = 0; i < rank; ++i) {
    AffineExpr output = e.dim(batch + 1 + i);
    plain.push_back(output);
    tapped.push_back(output * strides[i] +
                     e.dim(kernel + i) * op.getDilations()[i]);
  }
  AffineMap maps[] = {imageMap(e, dims, layout, e.dim(batch), ofX, tapped),
                      imageMap(e, dims, layout, e.dim(batch), ofDy, plain),
                      e.identity(dims).getSliceMap(0, batch)};
  // Channels are the images, and the batch is what is summed up with the taps.
  SmallVector<Role> roles{Role::Output, Role::Image, Role::Position,
                          Role::Channel, Role::Tap};
  if (groups > 1)
    roles.insert(roles.begin(), Role::Group);
  Value sum = convolve(e, shape, result.getElementType(), x, dy, maps, roles);
  return e.convert(e.reshape(sum, result.getShape()),
                   storageType(result.getElementType()));
}

} // namespace

void attachContractionLowerings(MLIRContext *context) {
  attachLowerings<lowerMatmul, lowerConv, lowerConvWeightGradient>(context);
}

} // namespace tinh::codegen
