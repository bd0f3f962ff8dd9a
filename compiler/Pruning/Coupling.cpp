//===- Coupling.cpp - What each op says of slots ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each family of ops, in the table at the end; an op that is
// not there keeps all that it reads and gives.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pruning/Coupling.h"

#include "compiler/Pruning/Reshapes.h"
#include "compiler/Transforms/Constants/Constants.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::pruning {

using transforms::tensorType;

namespace {

int64_t rankOf(Value value) { return tensorType(value).getRank(); }

class Coupler {
public:
  Coupler(func::FuncOp main, const Reshapes &reshapes)
      : slots(main), main(main), reshapes(reshapes) {}

  Slots run();

private:
  void coupleOp(Operation *op);
  void keepAll(Operation *op);
  void keep(Operation *op, Value value, int64_t axis);
  void keepEnds();
  /// Along all axes but those that `isKept`, which are.
  void coupleAligned(Operation *op, Value x, Value y,
                     llvm::function_ref<bool(int64_t)> isKept);

  void coupleElementwise(Operation *op);
  void coupleAlong(Operation *op, int64_t axis);
  void couple(graph::MatmulOp op);
  void couple(graph::ConvOp op);
  void coupleGroups(graph::ConvOp op, int64_t channels, int64_t outputs);
  void couple(graph::ConvTransposeOp op);
  void coupleWindows(Operation *op, graph::Layout layout);
  void couple(graph::BatchNormOp op);
  void couple(graph::LayerNormOp op);
  void coupleReduction(Operation *op, ArrayRef<int64_t> axes, bool keepdims);
  void couple(graph::AttentionOp op);
  void couple(graph::TransposeOp op);
  void couple(graph::ConcatOp op);
  void couple(graph::SliceOp op);
  void couple(graph::PadOp op);
  void couple(graph::GatherOp op);
  void couple(graph::GatherNdOp op);
  void couple(graph::ConstantOp op);

  Slots slots;
  func::FuncOp main;
  const Reshapes &reshapes;
};

void Coupler::keep(Operation *op, Value value, int64_t axis) {
  slots.keep({value, axis}, "kept by " + nameOf(op));
}

void Coupler::keepAll(Operation *op) {
  SmallVector<Value> values = graph::readValues(op);
  llvm::append_range(values, op->getResults());
  for (Value value : values)
    for (int64_t axis = 0; axis < rankOf(value); ++axis)
      slots.keep({value, axis}, nameOf(op) + " is not understood");
}

void Coupler::keepEnds() {
  auto keepEnd = [&](Value value, StringRef what) {
    for (int64_t axis = 0; axis < rankOf(value); ++axis)
      slots.keep({value, axis}, what.str());
  };
  for (BlockArgument argument : main.getArguments())
    keepEnd(argument, "an input of the model");
  for (Value result : main.front().getTerminator()->getOperands())
    keepEnd(result, "an output of the model");
}

//===----------------------------------------------------------------------===//
// Element by element, and along an axis
//===----------------------------------------------------------------------===//

void Coupler::coupleAligned(Operation *op, Value x, Value y,
                            llvm::function_ref<bool(int64_t)> isKept) {
  for (int64_t axis = 0; axis < rankOf(x); ++axis)
    if (isKept(axis)) {
      keep(op, x, axis);
      keep(op, y, axis);
    } else {
      slots.couple({x, axis}, {y, axis});
    }
}

/// Shapes are broadcast from their ends.
void Coupler::coupleElementwise(Operation *op) {
  Value y = op->getResult(0);
  for (Value x : op->getOperands())
    for (int64_t i = 1; i <= rankOf(x); ++i)
      slots.couple({x, rankOf(x) - i}, {y, rankOf(y) - i});
}

/// What needs all elements along an axis: a softmax, a running sum.
void Coupler::coupleAlong(Operation *op, int64_t axis) {
  coupleAligned(op, op->getOperand(0), op->getResult(0),
                [&](int64_t i) { return i == axis; });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void Coupler::couple(graph::MatmulOp op) {
  Value a = op.getA(), b = op.getB(), y = op.getY();
  MatmulAxes axes = axesOf(op);
  slots.couple({a, axes.aDepth}, {b, axes.bDepth});
  if (axes.aRows >= 0)
    slots.couple({a, axes.aRows}, {y, axes.yRows});
  if (axes.bColumns >= 0)
    slots.couple({b, axes.bColumns}, {y, axes.yColumns});
  int64_t inner = (axes.aRows >= 0) + (axes.bColumns >= 0);
  for (Value x : {a, b})
    for (int64_t i = 3; i <= rankOf(x); ++i)
      slots.couple({x, rankOf(x) - i}, {y, rankOf(y) - (i - 2 + inner)});
}

/// The channels of each group are cut at the same positions, as one kernel
/// reads them all; where each is a group of its own, that goes.
void Coupler::coupleGroups(graph::ConvOp op, int64_t channels,
                           int64_t outputs) {
  Dimension x{op.getX(), channels}, y{op.getY(), outputs},
      o{op.getWeights(), 0}, c{op.getWeights(), 1};
  int64_t groups = static_cast<int64_t>(op.getGroups());
  int64_t inputsOfGroup = x.extent() / groups,
          outputsOfGroup = y.extent() / groups;
  slots.couple(o, y);
  for (int64_t i = 0; i < y.extent(); ++i)
    if (isDepthwise(op))
      slots.couple(y, i, x, i / outputsOfGroup);
    else
      slots.couple(y, i, y, i % outputsOfGroup);
  if (!isDepthwise(op))
    for (int64_t i = 0; i < x.extent(); ++i)
      slots.couple(x, i, c, i % inputsOfGroup);
}

void Coupler::couple(graph::ConvOp op) {
  int64_t channels = channelAxis(op.getLayout(), op.getX());
  slots.couple({op.getX(), 0}, {op.getY(), 0});
  coupleGroups(op, channels, channels);
  for (int64_t axis = 1; axis < rankOf(op.getX()); ++axis)
    if (axis != channels) {
      keep(op, op.getX(), axis);
      keep(op, op.getY(), axis);
    }
  for (int64_t axis = 2; axis < rankOf(op.getWeights()); ++axis)
    keep(op, op.getWeights(), axis);
}

void Coupler::couple(graph::ConvTransposeOp op) {
  if (op.getGroups() != 1)
    return keepAll(op);
  Value x = op.getX(), y = op.getY(), weights = op.getWeights();
  int64_t channels = channelAxis(op.getLayout(), x);
  slots.couple({x, channels}, {weights, 0});
  slots.couple({y, channels}, {weights, 1});
  slots.couple({x, 0}, {y, 0});
  for (int64_t axis = 1; axis < rankOf(x); ++axis)
    if (axis != channels) {
      keep(op, x, axis);
      keep(op, y, axis);
    }
  for (int64_t axis = 2; axis < rankOf(weights); ++axis)
    keep(op, weights, axis);
}

void Coupler::coupleWindows(Operation *op, graph::Layout layout) {
  Value x = op->getOperand(0);
  coupleAligned(op, x, op->getResult(0), [&](int64_t axis) {
    return axis != 0 && axis != channelAxis(layout, x);
  });
}

//===----------------------------------------------------------------------===//
// Norms and reductions
//===----------------------------------------------------------------------===//

void Coupler::couple(graph::BatchNormOp op) {
  Value x = op.getX();
  int64_t channels = channelAxis(op.getLayout(), x);
  coupleAligned(op, x, op.getY(), [](int64_t) { return false; });
  for (Value vector : op->getOperands().drop_front())
    slots.couple({vector, 0}, {x, channels});
}

/// Its mean and variance are those of the channels that are left.
void Coupler::couple(graph::LayerNormOp op) {
  Value x = op.getX();
  coupleAligned(op, x, op.getY(), [](int64_t) { return false; });
  for (Value vector : op->getOperands().drop_front())
    for (int64_t i = 1; i <= rankOf(vector); ++i)
      slots.couple({vector, rankOf(vector) - i}, {x, rankOf(x) - i});
}

void Coupler::coupleReduction(Operation *op, ArrayRef<int64_t> axes,
                              bool keepdims) {
  Value x = op->getOperand(0), y = op->getResult(0);
  int64_t to = 0;
  for (int64_t axis = 0; axis < rankOf(x); ++axis) {
    bool isReduced = llvm::is_contained(axes, axis);
    if (isReduced)
      keep(op, x, axis);
    else
      slots.couple({x, axis}, {y, to});
    to += !isReduced || keepdims;
  }
}

/// Operands are [batch, heads, length, width]. Several heads of the query may
/// read one of the keys, which goes with all of them.
void Coupler::couple(graph::AttentionOp op) {
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue();
  Dimension heads{query, 1}, keyHeads{key, 1};
  int64_t readers = heads.extent() / keyHeads.extent();
  for (int64_t i = 0; i < heads.extent(); ++i)
    slots.couple(heads, i, keyHeads, i / readers);
  slots.couple(keyHeads, {value, 1});
  slots.couple(heads, {op.getY(), 1});
  slots.couple({query, 3}, {key, 3});
  slots.couple({value, 3}, {op.getY(), 3});
  SmallVector<Value> all(op->getOperands());
  all.push_back(op.getY());
  for (Value x : all)
    for (int64_t i = 1; i <= rankOf(x); ++i)
      if (i == 2 || i == 4 || (i == 1 && x == op.getMask()))
        keep(op, x, rankOf(x) - i);
      else if (i == 3 && x == op.getMask())
        slots.couple({x, rankOf(x) - i}, heads);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

void Coupler::couple(graph::TransposeOp op) {
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    slots.couple({op.getX(), from}, {op.getY(), static_cast<int64_t>(to)});
}

void Coupler::couple(graph::ConcatOp op) {
  int64_t at = 0, along = static_cast<int64_t>(op.getAxis());
  Value y = op.getY();
  for (Value x : op.getInputs()) {
    for (int64_t axis = 0; axis < rankOf(x); ++axis)
      if (axis != along)
        slots.couple({x, axis}, {y, axis});
    Dimension piece{x, along};
    for (int64_t i = 0; i < piece.extent(); ++i)
      slots.couple(piece, i, {y, along}, at + i);
    at += piece.extent();
  }
}

void Coupler::couple(graph::SliceOp op) {
  for (int64_t axis = 0; axis < rankOf(op.getX()); ++axis) {
    Dimension x{op.getX(), axis}, y{op.getY(), axis};
    if (op.getSteps()[axis] != 1) {
      keep(op, op.getX(), axis);
      keep(op, op.getY(), axis);
      continue;
    }
    for (int64_t i = 0; i < y.extent(); ++i)
      slots.couple(y, i, x, op.getStarts()[axis] + i);
  }
}

void Coupler::couple(graph::PadOp op) {
  coupleAligned(op, op.getX(), op.getY(), [&](int64_t axis) {
    return op.getLow()[axis] != 0 || op.getHigh()[axis] != 0;
  });
}

void Coupler::couple(graph::GatherOp op) {
  Value x = op.getX(), indices = op.getIndices(), y = op.getY();
  int64_t along = static_cast<int64_t>(op.getAxis()), more = rankOf(indices);
  keep(op, x, along);
  for (int64_t axis = 0; axis < rankOf(x); ++axis)
    if (axis != along)
      slots.couple({x, axis}, {y, axis < along ? axis : axis - 1 + more});
  for (int64_t axis = 0; axis < more; ++axis)
    slots.couple({indices, axis}, {y, along + axis});
}

/// The dimensions that tuples of indices leave.
void Coupler::couple(graph::GatherNdOp op) {
  Value x = op.getX(), indices = op.getIndices(), y = op.getY();
  int64_t indexed = static_cast<int64_t>(op.getBatchDims()) +
                    tensorType(indices).getShape().back();
  for (int64_t axis = 0; axis < rankOf(indices); ++axis)
    keep(op, indices, axis);
  for (int64_t axis = 0; axis + 1 < rankOf(indices); ++axis)
    keep(op, y, axis);
  for (int64_t axis = 0; axis < rankOf(x); ++axis)
    if (axis < indexed)
      keep(op, x, axis);
    else
      slots.couple({x, axis}, {y, rankOf(y) - rankOf(x) + axis});
}

/// Booleans have no bytes of their own.
void Coupler::couple(graph::ConstantOp op) {
  if (tensorType(op.getY()).getElementType().isInteger(1))
    keepAll(op);
}

//===----------------------------------------------------------------------===//
// All ops
//===----------------------------------------------------------------------===//

void Coupler::coupleOp(Operation *op) {
  if (op->hasTrait<graph::ElementwiseOpTrait>())
    return coupleElementwise(op);
  llvm::TypeSwitch<Operation *>(op)
      .Case<graph::BroadcastOp, graph::DropoutOp, graph::StopGradientOp>(
          [&](Operation *op) { coupleElementwise(op); })
      .Case([&](graph::AlongAxisOpInterface op) {
        coupleAlong(op, static_cast<int64_t>(op.getAxis()));
      })
      .Case<graph::ArgmaxOp, graph::ArgminOp>([&](auto op) {
        coupleReduction(op, static_cast<int64_t>(op.getAxis()),
                        op.getKeepdims());
      })
      .Case<graph::ReduceOp, graph::VarianceOp>(
          [&](auto op) { coupleReduction(op, op.getAxes(), op.getKeepdims()); })
      .Case<graph::MaxPoolOp, graph::AvgPoolOp>(
          [&](auto op) { coupleWindows(op, op.getLayout()); })
      .Case([&](graph::LrnOp op) {
        coupleAlong(op, channelAxis(op.getLayout(), op.getX()));
      })
      .Case<graph::MatmulOp, graph::ConvOp, graph::ConvTransposeOp,
            graph::BatchNormOp, graph::LayerNormOp, graph::AttentionOp,
            graph::TransposeOp, graph::ConcatOp, graph::SliceOp, graph::PadOp,
            graph::GatherOp, graph::GatherNdOp, graph::ConstantOp>(
          [&](auto op) { couple(op); })
      .Case([&](graph::ReshapeOp op) { reshapes.couple(op, slots); })
      .Case([](func::ReturnOp) {})
      .Default([&](Operation *op) { keepAll(op); });
}

Slots Coupler::run() {
  keepEnds();
  for (Operation &op : main.front())
    coupleOp(&op);
  return std::move(slots);
}

} // namespace

std::string nameOf(Operation *op) {
  StringRef node = graph::nodeName(op->getLoc());
  std::string name = op->getName().getStringRef().str();
  return node.empty() ? name : name + " '" + node.str() + "'";
}

Slots coupleSlots(func::FuncOp main) {
  Reshapes reshapes(main);
  return reshapes.choose([&] { return Coupler(main, reshapes).run(); });
}

//===----------------------------------------------------------------------===//
// Dimensions of ops
//===----------------------------------------------------------------------===//

MatmulAxes axesOf(graph::MatmulOp matmul) {
  int64_t a = rankOf(matmul.getA()), b = rankOf(matmul.getB()),
          y = rankOf(matmul.getY());
  bool turnA = matmul.getTransposeA(), turnB = matmul.getTransposeB();
  MatmulAxes axes;
  axes.aRows = a == 1 ? -1 : a - 2 + turnA;
  axes.aDepth = a == 1 ? 0 : a - 1 - turnA;
  axes.bDepth = b == 1 ? 0 : b - 2 + turnB;
  axes.bColumns = b == 1 ? -1 : b - 1 - turnB;
  axes.yRows = a == 1 ? -1 : y - 1 - (b > 1);
  axes.yColumns = b == 1 ? -1 : y - 1;
  return axes;
}

int64_t channelAxis(graph::Layout layout, Value x) {
  return layout == graph::Layout::ChannelsFirst ? 1 : rankOf(x) - 1;
}

bool isDepthwise(graph::ConvOp conv) {
  return conv.getGroups() > 1 &&
         tensorType(conv.getWeights()).getDimSize(1) == 1;
}

} // namespace tinh::pruning
