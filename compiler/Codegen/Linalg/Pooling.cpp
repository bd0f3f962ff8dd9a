//===- Pooling.cpp - Pools as linalg.generic --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pool is a generic over n, o1…, c, k1… of the padded input and of a tensor
// that is there for its shape alone, the window's.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/Models.h"
#include "compiler/Codegen/Linalg/Windows.h"

using namespace mlir;

namespace tinh::codegen {
namespace {

/// Combines the elements of each window by `body`, starting from `initial`,
/// which is also what padding holds when brought to x's element type.
template <typename Op>
Value emitWindows(Op op, Emitter &e, Value x, Value padding, Value initial,
                  Body body) {
  auto result = cast<RankedTensorType>(op.getType());
  int64_t rank = op.getKernel().size(), dims = 2 + 2 * rank;
  x = padSpatial(e, x, op.getPadding(), op.getLayout(), padding);
  WindowMaps w(e, dims, op.getLayout(), /*firstKernel=*/rank + 2,
               op.getStrides(), op.getDilations());
  AffineExpr channel = e.dim(rank + 1);
  AffineMap maps[] = {w.input({channel}), e.map(dims, w.kernel()),
                      w.output({channel})};
  Value window = e.empty(op.getKernel(), elementOf(x));
  return e.reduce(e.fill(result.getShape(), initial), {x, window}, maps, body);
}

FailureOr<Value> lowerMaxPool(graph::MaxPoolOp op, Emitter &e,
                              ValueRange operands) {
  Type element = elementOf(operands[0]);
  Value x = e.convert(operands[0], computeType(element));
  Value lowest = e.scalars().lowest(elementOf(x));
  Value largest =
      emitWindows(op, e, x, lowest, lowest,
                  [](Scalars &s, ValueRange v) { return s.max(v[2], v[0]); });
  return e.convert(largest, element);
}

/// How many k in [0, kernel) have start + k · dilation in [low, high).
Value countInside(Scalars &s, Value start, int64_t kernel, int64_t dilation,
                  int64_t low, int64_t high) {
  Value zero = s.index(0);
  auto firstAtLeast = [&](int64_t bound) {
    Value distance = s.max(s.sub(s.index(bound), start), zero);
    Value rounded = s.add(distance, s.index(dilation - 1));
    Value steps = arith::DivSIOp::create(s.b, rounded, s.index(dilation));
    return s.min(steps, s.index(kernel));
  };
  return s.sub(firstAtLeast(high), firstAtLeast(low));
}

/// The elements of each window that count, in a body over the result.
Value countWindow(Scalars &s, graph::AvgPoolOp op) {
  auto input = cast<RankedTensorType>(op.getX().getType());
  bool withPadding = op.getCountIncludePad();
  size_t rank = op.getKernel().size();
  Value count = s.index(1);
  for (size_t i = 0; i < rank; ++i) {
    int64_t axis = spatialAxis(op.getLayout(), i);
    int64_t begin = op.getPadding()[i], end = op.getPadding()[rank + i];
    if (!op.getCeilPadding().empty())
      end -= op.getCeilPadding()[i];
    Value start =
        s.sub(s.mul(Emitter::index(s, axis), s.index(op.getStrides()[i])),
              s.index(begin));
    int64_t extent = input.getDimSize(axis);
    Value inside = countInside(s, start, op.getKernel()[i],
                               op.getDilations()[i], withPadding ? -begin : 0,
                               withPadding ? extent + end : extent);
    count = s.mul(count, inside);
  }
  return s.max(count, s.index(1));
}

/// Whether the divisor is the same for each window: the kernel's size.
bool countsWholeKernel(graph::AvgPoolOp op) {
  auto isZero = [](int64_t amount) { return amount == 0; };
  return llvm::all_of(op.getPadding(), isZero) ||
         (op.getCountIncludePad() && llvm::all_of(op.getCeilPadding(), isZero));
}

FailureOr<Value> lowerAvgPool(graph::AvgPoolOp op, Emitter &e,
                              ValueRange operands) {
  Type element = elementOf(operands[0]);
  Type accumulator = accumulatorType(element);
  Scalars outer = e.scalars();
  Value sum = emitWindows(op, e, operands[0], outer.constant(element, 0),
                          outer.constant(accumulator, 0),
                          [&](Scalars &s, ValueRange v) {
                            return s.add(v[2], s.convert(v[0], accumulator));
                          });
  bool whole = countsWholeKernel(op);
  double size = 1;
  for (int64_t extent : op.getKernel())
    size *= extent;
  return e.elementwise(
      shapeOf(sum), element, sum, [&](Scalars &s, ValueRange v) {
        if (whole && isa<FloatType>(accumulator))
          return s.convert(s.mul(v[0], s.constant(accumulator, 1 / size)),
                           element);
        Value count = whole ? s.constant(accumulator, size)
                            : s.fromIndex(countWindow(s, op), accumulator);
        return s.convert(s.div(v[0], count), element);
      });
}

} // namespace

void attachPoolingLowerings(MLIRContext *context) {
  attachLowering<graph::MaxPoolOp, lowerMaxPool>(context);
  attachLowering<graph::AvgPoolOp, lowerAvgPool>(context);
}

} // namespace tinh::codegen
