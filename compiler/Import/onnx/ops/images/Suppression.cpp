//===- Suppression.cpp - Boxes without those that overlap -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   NonMaxSuppression(boxes [B, N, 4], scores [B, C, N], …)
//     -> graph.scan, all batches and classes at the same time: each iteration
//        takes the best box that is left of each, and drops those that overlap
//        with it too much; the last one is that after which no box is left
//     -> the taken boxes in the order [batch, class, iteration]
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/Composites.h"
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

class Suppression {
public:
  explicit Suppression(NodeBuilder &b) : b(b) {}

  Value build();

private:
  bool read();
  Value scalar(int i, StringRef what);
  bool readMostTaken();
  void readCorners();
  Value overlaps(Value index);
  Value scan();
  ScanResults takeBoxes(Value left);
  Value select(Value taken);

  NodeBuilder &b;
  Value boxes, scores, filledScores, threshold, tripCount;
  /// The lower and the higher corner of each box, and its area, [B, 1, N].
  Value low[2], high[2], area;
  int64_t batches = 0, classes = 0, count = 0, mostTaken = 0;
};

/// A scalar that may be a vector of one element.
Value Suppression::scalar(int i, StringRef what) {
  Value value = b.input(i);
  if (!value || b.type(value).getNumElements() != 1)
    return b.fail(what + " must be one number, found " +
                  (value ? graph::shapeToString(value.getType()) : "none"));
  return b.reshape(value, {});
}

/// A constant says how long the scan is, a number of the run when it ends.
bool Suppression::readMostTaken() {
  mostTaken = 0;
  if (!b.has(2))
    return true;
  Value most = scalar(2, "max_output_boxes_per_class");
  if (!most)
    return false;
  most = b.cast(most, b.graph.raw().getI64Type());
  mostTaken = count;
  if (auto known = b.graph.constantOf(most))
    mostTaken = std::clamp<int64_t>(denseToInts(*known).front(), 0, count);
  else
    tripCount = most;
  return !b.failed();
}

bool Suppression::read() {
  boxes = b.input(0), scores = b.input(1);
  if (!boxes || !scores)
    return false;
  if (b.rank(boxes) != 3 || b.rank(scores) != 3 || b.shape(boxes)[2] != 4 ||
      b.shape(boxes)[0] != b.shape(scores)[0] ||
      b.shape(boxes)[1] != b.shape(scores)[2]) {
    b.fail("expected boxes [batches, boxes, 4] and scores [batches, classes, "
           "boxes], found " +
           graph::shapeToString(boxes.getType()) + " and " +
           graph::shapeToString(scores.getType()));
    return false;
  }
  batches = b.shape(scores)[0], classes = b.shape(scores)[1];
  count = b.shape(scores)[2];
  if (!readMostTaken())
    return false;
  Type element = b.element(scores);
  threshold = b.has(3) ? scalar(3, "iou_threshold") : b.scalar(element, 0);
  return !b.failed();
}

/// Corners may come in any order; a box may be its centre and its extents.
void Suppression::readCorners() {
  Value whole = fillPadding(b, boxes, b.scalarLike(boxes, 0));
  bool isCentred = b.intAttribute("center_point_box", 0) != 0;
  Value coordinates[4];
  for (int64_t i = 0; i < 4; ++i)
    coordinates[i] =
        b.reshape(b.sliceAxis(whole, 2, i, 1), {batches, 1, count});
  for (int i : {0, 1}) {
    Value first = coordinates[i], second = coordinates[i + 2];
    if (isCentred) {
      Value half = b.mul(second, b.scalarLike(second, 0.5));
      low[i] = b.sub(first, half), high[i] = b.add(first, half);
    } else {
      low[i] = b.min(first, second), high[i] = b.max(first, second);
    }
  }
  area = b.mul(b.sub(high[0], low[0]), b.sub(high[1], low[1]));
}

/// Whether each box and the one with `index`, [B, C, 1], overlap too much,
/// [B, C, N]: boxes without an area overlap with none.
Value Suppression::overlaps(Value index) {
  auto ofTaken = [&](Value each) { // [B, 1, N] -> [B, C, 1]
    return b.create<graph::GatherElementsOp>(
        {b.broadcast(each, {batches, classes, count}), index},
        {b.attr("axis", int64_t(2))});
  };
  Value zero = b.scalarLike(boxes, 0), common;
  for (int i : {0, 1}) {
    Value side =
        b.sub(b.min(high[i], ofTaken(high[i])), b.max(low[i], ofTaken(low[i])));
    side = b.max(side, zero);
    common = common ? b.mul(common, side) : side;
  }
  Value together = b.sub(b.add(area, ofTaken(area)), common);
  Value isAbove = b.compare(Predicate::Greater, b.div(common, together),
                            b.cast(threshold, b.element(boxes)));
  return b.create<graph::AndOp>(
      {b.compare(Predicate::Greater, common, zero), isAbove});
}

/// One box of each batch and class, if one is left, goes from those that are
/// `left`.
ScanResults Suppression::takeBoxes(Value left) {
  Value lowest = b.scalarLike(scores, -std::numeric_limits<double>::infinity());
  Value index = b.create<graph::ArgmaxOp>(
      {b.where(left, filledScores, lowest)},
      {b.attr("axis", int64_t(2)), b.unit("keepdims")});
  Value isTaken = b.reduce(Kind::Max, left, 2, /*keepdims=*/true);
  Value isIndex = b.compare(Predicate::Equal, b.iota(count), index);
  Value goes = b.create<graph::OrOp>({isIndex, overlaps(index)});
  Value next = b.create<graph::AndOp>({left, b.create<graph::NotOp>({goes})});
  Value goesOn = b.reduce(Kind::Max, next, {0, 1, 2}, /*keepdims=*/false);
  // A box for each batch and class, and -1 where none is left.
  Value taken =
      b.where(isTaken, index, b.scalar(b.graph.raw().getI64Type(), -1));
  taken = b.reshape(taken, {batches, classes});
  return {{next}, {b.add(taken, b.scalarLike(taken, 1))}, goesOn};
}

/// What each iteration takes, [iterations, B, C], by number from 1 on; 0 is
/// none, as in the rows of iterations that do not run.
Value Suppression::scan() {
  Value left = fillPadding(
      b,
      b.has(4)
          ? b.compare(Predicate::Greater, scores,
                      b.cast(scalar(4, "score_threshold"), b.element(scores)))
          : b.compare(Predicate::Equal, scores, scores),
      b.scalar(b.graph.raw().getI1Type(), 0));
  Value begins = b.reduce(Kind::Max, left, {0, 1, 2}, /*keepdims=*/false);
  // Boxes that are not left are behind those of the least score.
  auto element = cast<FloatType>(b.element(scores));
  double least =
      -APFloat::getLargest(element.getFloatSemantics()).convertToDouble();
  filledScores = b.max(fillPadding(b, scores, b.scalarLike(scores, 0)),
                       b.scalarLike(scores, least));
  ScanResults scan = b.scan({mostTaken, tripCount, begins}, left, {},
                            [&](const ScanArguments &arguments) {
                              return takeBoxes(arguments.carried[0]);
                            });
  return b.failed() ? Value() : scan.rows[0];
}

/// [batch, class, box] of all that is taken.
Value Suppression::select(Value taken) {
  Type i64 = b.graph.raw().getI64Type();
  int64_t all = batches * classes * mostTaken;
  Value numbers = b.reshape(b.transpose(taken, {1, 2, 0}), {all});
  Value places = indicesOfTrue(
      b, b.compare(Predicate::Greater, numbers, b.scalar(i64, 0)));
  if (b.failed())
    return {};
  all = b.shape(places)[0];
  auto divide = [&](Value x, int64_t by) {
    return b.div(x,
                 b.scalar(i64, static_cast<double>(std::max<int64_t>(by, 1))));
  };
  Value slot = divide(places, mostTaken), batch = divide(slot, classes);
  Value ofClass =
      b.sub(slot, b.mul(batch, b.scalar(i64, static_cast<double>(classes))));
  Value box = b.sub(b.gather(numbers, places, 0), b.scalar(i64, 1));
  SmallVector<Value> columns;
  for (Value column : {batch, ofClass, box})
    columns.push_back(b.reshape(column, {all, 1}));
  return b.failed() ? Value() : b.concat(columns, 1);
}

Value Suppression::build() {
  if (!read())
    return {};
  if (batches * classes * mostTaken == 0)
    return b.constantInts({0, 3}, {});
  readCorners();
  return b.failed() ? Value() : select(scan());
}

Results nonMaxSuppression(NodeBuilder &b) { return {Suppression(b).build()}; }

} // namespace

OpFamily suppressionOps() { return {{"NonMaxSuppression", nonMaxSuppression}}; }

} // namespace tinh::onnx
