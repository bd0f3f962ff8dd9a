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
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
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

//===----------------------------------------------------------------------===//
// max_pool_gradient: the first tap of each window that has its largest element,
// and for each element the sum over the windows that may have it there. Along
// one dimension an element at p, counted from the start of the padding, is tap
// p - w · stride of window w.
//===----------------------------------------------------------------------===//

class MaxPoolGradient {
public:
  MaxPoolGradient(graph::MaxPoolGradientOp op, Emitter &e, Value x, Value dy)
      : op(op), e(e), x(x), dy(dy), element(computeType(elementOf(x))),
        rank(static_cast<int64_t>(op.getKernel().size())),
        windows(shapeOf(dy)) {}

  Value build() { return sumOverWindows(firstLargest()); }

private:
  Value firstLargest();
  Value numberOf(Scalars &s, function_ref<Value(int64_t)> tap);
  Value firstInside(Scalars &s, int64_t i);
  Value sumOverWindows(Value first);
  Value contribution(Scalars &s, Value first);
  int64_t axis(int64_t i) { return spatialAxis(op.getLayout(), i); }
  Type tapType() { return e.b.getI32Type(); }

  graph::MaxPoolGradientOp op;
  Emitter &e;
  Value x, dy;
  Type element; // In which elements of x are compared.
  int64_t rank;
  ArrayRef<int64_t> windows; // dy's shape.
};

/// Whether `x` is larger than `largest`, or the first NaN.
static Value takesPlace(Scalars &s, Value x, Value largest) {
  using arith::CmpFPredicate;
  Value larger = arith::CmpFOp::create(s.b, CmpFPredicate::UGT, x, largest);
  Value isNumber =
      arith::CmpFOp::create(s.b, CmpFPredicate::ORD, largest, largest);
  return arith::AndIOp::create(s.b, larger, isNumber);
}

/// The number of a tap of which `tap` gives the position along each dimension:
/// taps are counted in row-major order.
Value MaxPoolGradient::numberOf(Scalars &s, function_ref<Value(int64_t)> tap) {
  Value number = tap(0);
  for (int64_t i = 1; i < rank; ++i)
    number = s.add(s.mul(number, s.index(op.getKernel()[i])), tap(i));
  return s.fromIndex(number, tapType());
}

/// The first tap along dimension i that is not in the padding before x, in a
/// body over the windows.
Value MaxPoolGradient::firstInside(Scalars &s, int64_t i) {
  int64_t dilation = op.getDilations()[i];
  Value start = s.mul(Emitter::index(s, axis(i)), s.index(op.getStrides()[i]));
  Value outside = s.max(s.sub(s.index(op.getPadding()[i]), start), s.index(0));
  return arith::DivUIOp::create(s.b, s.add(outside, s.index(dilation - 1)),
                                s.index(dilation));
}

/// One reduction carries the largest element so far and its tap. Padding, -∞,
/// never takes their place: a window with nothing larger has its first tap
/// inside of x.
Value MaxPoolGradient::firstLargest() {
  Scalars outer = e.scalars();
  Value lowest = outer.lowest(element), none = outer.highest(tapType());
  int64_t dims = 2 + 2 * rank;
  Value padded = padSpatial(e, e.convert(x, element), op.getPadding(),
                            op.getLayout(), lowest);
  WindowMaps w(e, dims, op.getLayout(), /*firstKernel=*/rank + 2,
               op.getStrides(), op.getDilations());
  AffineExpr channel = e.dim(rank + 1);
  AffineMap output = w.output({channel});
  AffineMap maps[] = {w.input({channel}), e.map(dims, w.kernel()), output,
                      output};
  Value inits[] = {e.fill(windows, lowest), e.fill(windows, none)};
  Value inputs[] = {padded, e.empty(op.getKernel(), element)};
  auto found = e.reduceAll(
      inits, inputs, maps, [&](Scalars &s, ValueRange v) -> SmallVector<Value> {
        Value taken = takesPlace(s, v[0], v[2]);
        Value tap = numberOf(
            s, [&](int64_t i) { return Emitter::index(s, rank + 2 + i); });
        return {s.select(taken, v[0], v[2]), s.select(taken, tap, v[3])};
      });
  return e.elementwise(
      windows, tapType(), found[1], [&](Scalars &s, ValueRange v) {
        Value first = numberOf(s, [&](int64_t i) { return firstInside(s, i); });
        return s.select(s.equal(v[0], none), first, v[0]);
      });
}

/// What an element gets from one of the windows that reach it.
Value MaxPoolGradient::contribution(Scalars &s, Value first) {
  SmallVector<Value> window{Emitter::index(s, 0)};
  if (op.getLayout() == graph::Layout::ChannelsFirst)
    window.push_back(Emitter::index(s, 1));
  Value tap = s.index(0), isOne;
  auto require = [&](Value condition) {
    isOne =
        isOne ? Value(arith::AndIOp::create(s.b, isOne, condition)) : condition;
  };
  for (int64_t i = 0; i < rank; ++i) {
    Value stride = s.index(op.getStrides()[i]),
          dilation = s.index(op.getDilations()[i]);
    Value p = s.add(Emitter::index(s, axis(i)), s.index(op.getPadding()[i]));
    Value last = arith::DivUIOp::create(s.b, p, stride);
    Value w = s.sub(last, Emitter::index(s, rank + 2 + i));
    Value offset = s.sub(p, s.mul(w, stride));
    Value k = arith::DivUIOp::create(s.b, offset, dilation);
    if (op.getDilations()[i] != 1)
      require(s.equal(s.mul(k, dilation), offset));
    require(s.less(k, s.index(op.getKernel()[i])));
    Value existing = s.clampIndex(w, windows[axis(i)]);
    require(s.equal(existing, w));
    tap = s.add(s.mul(tap, s.index(op.getKernel()[i])), k);
    window.push_back(existing);
  }
  if (op.getLayout() == graph::Layout::ChannelsLast)
    window.push_back(Emitter::index(s, rank + 1));
  require(
      s.equal(Emitter::extract(s, first, window), s.fromIndex(tap, tapType())));
  Value gradient =
      s.convert(Emitter::extract(s, dy, window), accumulatorType(elementOf(x)));
  return s.select(isOne, gradient, s.like(gradient, 0));
}

Value MaxPoolGradient::sumOverWindows(Value first) {
  // As many windows reach an element along each dimension, at most.
  SmallVector<int64_t> reach;
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t span = (op.getKernel()[i] - 1) * op.getDilations()[i] + 1;
    reach.push_back(llvm::divideCeil(span, op.getStrides()[i]));
    exprs.push_back(e.dim(rank + 2 + i));
  }
  int64_t dims = 2 + 2 * rank;
  Type accumulator = accumulatorType(elementOf(x));
  AffineMap maps[] = {e.map(dims, exprs),
                      e.identity(dims).getSliceMap(0, rank + 2)};
  Value init = e.fill(shapeOf(x), e.scalars().constant(accumulator, 0));
  Value sum = e.reduce(init, e.empty(reach, element), maps,
                       [&](Scalars &s, ValueRange v) {
                         return s.add(v[1], contribution(s, first));
                       });
  return e.convert(sum, elementOf(x));
}

FailureOr<Value> lowerMaxPoolGradient(graph::MaxPoolGradientOp op, Emitter &e,
                                      ValueRange operands) {
  return MaxPoolGradient(op, e, operands[0], operands[1]).build();
}

} // namespace

void attachPoolingLowerings(MLIRContext *context) {
  attachLowerings<lowerMaxPool, lowerAvgPool, lowerMaxPoolGradient>(context);
}

} // namespace tinh::codegen
