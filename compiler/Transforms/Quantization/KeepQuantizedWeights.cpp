//===- KeepQuantizedWeights.cpp - Weights that stay integers --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.reshape %q : tensor<8192x4096xi8> -> tensor<8192x128x32xi8>
//   %1 = graph.dequantize %0 scale %s : …, tensor<8192x128x1xf32> -> …
//   %2 = graph.reshape %1 : … -> tensor<8192x4096xf32>
//   %y = graph.matmul %x, %2 transpose_b
// becomes
//   %0 = …                       // %q in the order [blocks, 32, columns]
//   %1 = graph.dequantize %0 scale %t : …, tensor<128x1x8192xf32> -> …
//   %2 = graph.reshape %1 : … -> tensor<4096x8192xf32>
//   %y = graph.matmul %x, %2
//
// where %q and %s are constants: what puts them in order runs when the artifact
// is written. Numbers of 4 bits are packed anew, in pairs along the depth, and
// an `unpack_int4` is what the product begins with.
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Quantization/Quantization.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_KEEPQUANTIZEDWEIGHTS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

using Shape = SmallVector<int64_t>;

ArrayRef<int64_t> shapeOf(Value value) { return tensorType(value).getShape(); }

/// Whether what multiplies the weights are floats that a run computes.
bool readsFloats(MatmulOp op) {
  return tensorType(op.getA()).getElementType().isF32() &&
         tensorType(op.getA()).getRank() > 1 && !op.getTransposeA() &&
         !isConstantExpression(op.getA()) &&
         tensorType(op.getB()).getRank() == 2 && !mayRunOnGpu(op);
}

/// Whether products make floats of what `dequantize` reads: bytes, those of
/// 8-bit floats without a zero point. Of 4-bit floats, floats are made once.
bool isOfWeights(DequantizeOp dequantize) {
  Value zero = dequantize.getZeroPoint();
  Type element = tensorType(dequantize.getX()).getElementType();
  bool isFloat = isStorageFloat(element);
  return isOfBytes(dequantize) && !isa<Float4E2M1FNType>(element) &&
         (!isFloat || !zero || isSplatOf(zero, 0));
}

/// Whether numbers are whole words of 32 bits along the depth, and vectors of
/// columns.
bool areWords(ArrayRef<int64_t> shape, bool hasFourBits) {
  constexpr int64_t kLeastColumns = 8;
  return shape[shape.size() - 2] % (hasFourBits ? 8 : 4) == 0 &&
         shape.back() >= kLeastColumns;
}

/// What `value` is unpacked from, which may have moved since; null if it is
/// not.
UnpackInt4Op unpackedFrom(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<ReshapeOp, TransposeOp, SliceOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<UnpackInt4Op>(op);
}

/// The shape of parameters of weights [blocks, depth, columns], or
/// [depth, columns]: one for each column of each block.
Shape parameterShape(ArrayRef<int64_t> weights) {
  Shape shape(weights);
  shape[shape.size() - 2] = 1;
  return shape;
}

class WeightsKeeper {
public:
  explicit WeightsKeeper(MatmulOp op) : op(op), b(op.getLoc(), op) {}

  bool run();

private:
  DequantizeOp findDequantize();
  bool fits(DequantizeOp dequantize);
  Value inOrder(Value value);
  Value parameter(Value value, ArrayRef<int64_t> weights);
  Value everySecond(Value x, int64_t axis, int64_t first);
  Value packInt4(Value x);
  Value integers(Value x);

  MatmulOp op;
  ImplicitLocOpBuilder b;
  bool columnsFirst = false; // In what is dequantised.
};

/// What the right factor is, or is moved from as a matrix.
DequantizeOp WeightsKeeper::findDequantize() {
  Value value = op.getB();
  columnsFirst = op.getTransposeB();
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    columnsFirst = !columnsFirst;
    value = transpose.getX();
  }
  ArrayRef<int64_t> matrix = shapeOf(value);
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  auto dequantize = value.getDefiningOp<DequantizeOp>();
  if (!dequantize || !isOfWeights(dequantize) ||
      !tensorType(value).getElementType().isF32() || matrix.size() != 2 ||
      !llvm::all_of(dequantize->getOperands(), isConstantExpression))
    return {};
  ArrayRef<int64_t> shape = shapeOf(value);
  bool keepsColumns = columnsFirst ? shape.front() == matrix.front()
                                   : shape.back() == matrix.back();
  bool isBlocked = shape.size() == 2 || shape.size() == 3;
  return isBlocked && keepsColumns ? dequantize : DequantizeOp();
}

/// `value` with its columns as the last dimension.
Value WeightsKeeper::inOrder(Value value) {
  if (!columnsFirst)
    return value;
  Shape order = llvm::to_vector(llvm::seq<int64_t>(1, shapeOf(value).size()));
  order.push_back(0);
  return TransposeOp::create(b, value, order);
}

/// A scale or zero point of weights of this shape, for each column of each
/// block.
Value WeightsKeeper::parameter(Value value, ArrayRef<int64_t> weights) {
  Shape aligned(weights.size() - shapeOf(value).size(), 1);
  llvm::append_range(aligned, shapeOf(value));
  value = inOrder(reshapeTo(b, b.getLoc(), value, aligned));
  Shape wanted = parameterShape(weights);
  if (shapeOf(value) == ArrayRef(wanted))
    return value;
  return BroadcastOp::create(b, tensorType(value).clone(wanted), value);
}

Value WeightsKeeper::everySecond(Value x, int64_t axis, int64_t first) {
  Shape starts(shapeOf(x).size(), 0), steps(starts.size(), 1),
      sizes(shapeOf(x));
  starts[axis] = first;
  steps[axis] = 2;
  sizes[axis] /= 2;
  Value slice =
      SliceOp::create(b, tensorType(x).clone(sizes), x, starts, sizes, steps);
  Type byte = IntegerType::get(b.getContext(), 8, IntegerType::Unsigned);
  return CastOp::create(b, tensorType(slice).clone(byte), slice);
}

/// Pairs along the depth as bytes.
Value WeightsKeeper::packInt4(Value x) {
  int64_t axis = tensorType(x).getRank() - 2;
  Value even = everySecond(x, axis, 0), odd = everySecond(x, axis, 1);
  auto scalar = tensorType(even).clone(ArrayRef<int64_t>());
  Value low = AndOp::create(b, even, createSplat(b, b.getLoc(), scalar, 15));
  Value high =
      ShiftLeftOp::create(b, odd, createSplat(b, b.getLoc(), scalar, 4));
  return OrOp::create(b, low, high);
}

/// The integers in order, numbers of 4 bits in bytes as long as possible.
Value WeightsKeeper::integers(Value x) {
  auto unpack = x.getDefiningOp<UnpackInt4Op>();
  RankedTensorType type = tensorType(x);
  int64_t depth = type.getRank() - 2;
  bool isPacked =
      unpack && !columnsFirst && unpack.getAxis() == uint64_t(depth);
  bool hasFourBits = unpackedFrom(x);
  x = inOrder(x);
  if (!hasFourBits || !areWords(shapeOf(x), hasFourBits))
    return x;
  Value bytes = isPacked ? unpack.getX() : packInt4(x);
  return UnpackInt4Op::create(b, tensorType(x), bytes, depth);
}

/// Whether the parameters are the same for all of a block's depth.
bool WeightsKeeper::fits(DequantizeOp dequantize) {
  ArrayRef<int64_t> shape = shapeOf(dequantize.getX());
  size_t depth = shape.size() - (columnsFirst ? 1 : 2);
  Shape inOrder(shape);
  if (columnsFirst)
    std::rotate(inOrder.begin(), inOrder.begin() + 1, inOrder.end());
  auto isOne = [&](Value parameter) {
    ArrayRef<int64_t> own = shapeOf(parameter);
    size_t lead = shape.size() - own.size();
    return depth < lead || own[depth - lead] == 1;
  };
  return areWords(inOrder, /*hasFourBits=*/false) &&
         llvm::all_of(dequantize->getOperands().drop_front(), isOne);
}

bool WeightsKeeper::run() {
  DequantizeOp from = readsFloats(op) ? findDequantize() : DequantizeOp();
  if (!from || !fits(from))
    return false;
  Value x = integers(from.getX()), zero = from.getZeroPoint();
  Value scale = parameter(from.getScale(), shapeOf(x));
  if (zero && splatValue(zero))
    zero = createSplat(b, b.getLoc(), tensorType(zero).clone(Shape()),
                       *splatValue(zero));
  else if (zero)
    zero = parameter(zero, shapeOf(x));
  auto floats = tensorType(x).clone(b.getF32Type());
  Value y = DequantizeOp::create(b, floats, x, scale, zero);
  Shape matrix{floats.getNumElements() / floats.getShape().back(),
               floats.getShape().back()};
  op.getBMutable().assign(reshapeTo(b, b.getLoc(), y, matrix));
  op.setTransposeB(false);
  return true;
}

struct KeepQuantizedWeightsPass
    : impl::KeepQuantizedWeightsBase<KeepQuantizedWeightsPass> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    getOperation().walk(
        [&](MatmulOp op) { numKept += WeightsKeeper(op).run(); });
    eraseDeadOps(getOperation().getBody().front());
  }
};

} // namespace

SmallVector<Operation *> quantizedWeightsOf(MatmulOp op) {
  SmallVector<Operation *> ops;
  Value value = op.getB();
  if (!readsFloats(op) || op.getTransposeB())
    return {};
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    ops.push_back(reshape);
    value = reshape.getX();
  }
  auto dequantize = value.getDefiningOp<DequantizeOp>();
  if (!dequantize || !isOfWeights(dequantize) || !isConstantExpression(value))
    return {};
  ops.push_back(dequantize);
  ArrayRef<int64_t> shape = shapeOf(value);
  auto unpack = dequantize.getX().getDefiningOp<UnpackInt4Op>();
  if (unpack && unpack.getAxis() + 2 == shape.size())
    ops.push_back(unpack);
  Value zero = dequantize.getZeroPoint();
  Shape wanted = parameterShape(shape);
  bool isInOrder =
      shape.size() <= 3 && shape.back() == shapeOf(op.getB())[1] &&
      areWords(shape, ops.back() == unpack) &&
      shapeOf(dequantize.getScale()) == ArrayRef(wanted) &&
      (!zero || splatValue(zero) || shapeOf(zero) == ArrayRef(wanted));
  auto isAlone = [](Operation *op) { return op->hasOneUse(); };
  return isInOrder && llvm::all_of(ops, isAlone) ? ops
                                                 : SmallVector<Operation *>();
}

} // namespace tinh::transforms
