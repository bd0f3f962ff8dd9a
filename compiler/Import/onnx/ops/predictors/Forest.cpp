//===- Forest.cpp - Rows that walk down trees -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All rows walk down all trees at once, as many steps as the deepest tree has:
// a node is an index into tables, and a leaf leads to itself.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ops/predictors/Forest.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

constexpr Predicate kPredicates[] = {
    Predicate::LessEqual, Predicate::Less,  Predicate::GreaterEqual,
    Predicate::Greater,   Predicate::Equal, Predicate::NotEqual};

/// The steps to the deepest leaf; nothing if nodes lead nowhere or in a circle.
std::optional<int64_t> depthOf(const Forest &forest) {
  constexpr int64_t kUnknown = -1, kOpen = -2; // The latter below a root.
  auto count = static_cast<int64_t>(forest.nodes.size());
  SmallVector<int64_t, 0> depths(count, kUnknown);
  SmallVector<int64_t, 0> path(forest.roots.begin(), forest.roots.end());
  auto leadsOn = [&](int64_t at) {
    return at >= 0 && at < count && depths[at] != kOpen;
  };
  if (!llvm::all_of(path, leadsOn))
    return std::nullopt;
  int64_t deepest = 0;
  while (!path.empty()) {
    int64_t at = path.back(), &depth = depths[at];
    const TreeNode &node = forest.nodes[at];
    if (depth == kUnknown && node.mode != kLeaf) {
      depth = kOpen;
      if (!leadsOn(node.whenTrue) || !leadsOn(node.whenFalse))
        return std::nullopt;
      path.append({node.whenTrue, node.whenFalse});
      continue;
    }
    if (depth == kUnknown)
      depth = 0;
    else if (depth == kOpen)
      depth = 1 + std::max(depths[node.whenTrue], depths[node.whenFalse]);
    deepest = std::max(deepest, depth);
    path.pop_back();
  }
  return deepest;
}

struct ForestBuilder {
  NodeBuilder &b;
  const Forest &forest;
  Value x; ///< [N, features], floats

  int64_t rows() const { return NodeBuilder::shape(x)[0]; }
  int64_t trees() const { return static_cast<int64_t>(forest.roots.size()); }

  template <typename Field> Value integers(Field field) {
    Ints values;
    for (const TreeNode &node : forest.nodes)
      values.push_back(field(node));
    return b.constantInts(static_cast<int64_t>(values.size()), values);
  }
  Value holds(Value at, Value feature);
  Value step(Value at);
  Value leaves();
  Value weigh(Value leaves, int64_t targets, double missing);

  Value features, numbers, modes, missing, children;
};

/// Whether what each node says of its feature is true.
Value ForestBuilder::holds(Value at, Value feature) {
  Value number = b.gather(numbers, at, 0), result;
  Value mode = modes ? b.gather(modes, at, 0) : Value();
  for (auto [i, predicate] : llvm::enumerate(kPredicates)) {
    auto uses = [&](const TreeNode &node) {
      return node.mode == static_cast<int64_t>(i);
    };
    if (llvm::none_of(forest.nodes, uses))
      continue;
    Value is = b.compare(predicate, feature, number);
    Value isMode = mode ? b.compare(Predicate::Equal, mode,
                                    b.scalarLike(mode, static_cast<double>(i)))
                        : Value();
    result = result ? b.where(isMode, is, result) : is;
  }
  if (!missing)
    return result;
  Value goesOn = b.create<graph::AndOp>(
      {b.create<graph::IsNanOp>({feature}), b.gather(missing, at, 0)});
  return b.create<graph::OrOp>({result, goesOn});
}

Value ForestBuilder::step(Value at) {
  Type i64 = b.graph.raw().getI64Type();
  Value feature = b.create<graph::GatherElementsOp>(
      {x, b.gather(features, at, 0)}, {b.attr("axis", int64_t(1))});
  Value side = b.cast(holds(at, feature), i64);
  return b.gather(children, b.add(b.mul(at, b.scalar(i64, 2)), side), 0);
}

/// The leaf of each row in each tree, [N, trees].
Value ForestBuilder::leaves() {
  std::optional<int64_t> depth = depthOf(forest);
  if (!depth || forest.roots.empty())
    return b.fail("the nodes of the trees lead to none, or in a circle");
  for (const TreeNode &node : forest.nodes)
    if (node.mode != kLeaf &&
        (node.feature < 0 || node.feature >= b.shape(x)[1]))
      return b.fail("a node looks at feature " + Twine(node.feature) +
                    " of an input " + graph::shapeToString(x.getType()));
  Value at = b.broadcast(b.constantInts({1, trees()}, forest.roots),
                         {rows(), trees()});
  if (*depth == 0)
    return at;
  features = integers([](const TreeNode &node) {
    return node.mode == kLeaf ? 0 : node.feature;
  });
  SmallVector<double> values;
  Ints next, goOn;
  bool isMixed = false, hasMissing = false;
  int64_t first = kLeaf;
  for (auto [i, node] : llvm::enumerate(forest.nodes)) {
    bool isLeaf = node.mode == kLeaf;
    auto self = static_cast<int64_t>(i);
    values.push_back(node.number);
    next.append(
        {isLeaf ? self : node.whenFalse, isLeaf ? self : node.whenTrue});
    goOn.push_back(node.missingGoesOn);
    hasMissing |= node.missingGoesOn;
    first = first == kLeaf ? node.mode : first;
    isMixed |= !isLeaf && node.mode != first;
  }
  auto count = static_cast<int64_t>(values.size());
  numbers = b.constantFloats(b.element(x), count, values);
  children = b.constantInts(2 * count, next);
  if (isMixed)
    modes = integers([](const TreeNode &node) { return node.mode; });
  if (hasMissing)
    missing = b.cast(b.constantInts(count, goOn), b.graph.raw().getI1Type());
  ScanResults scan =
      b.scan({*depth}, at, {}, [&](const ScanArguments &arguments) {
        return ScanResults{{step(arguments.carried[0])}};
      });
  return scan.carried[0];
}

/// What the leaves have for each target, [N, trees, targets], or `missing`.
Value ForestBuilder::weigh(Value leaves, int64_t targets, double missing) {
  constexpr int64_t kMost = int64_t(1) << 26;
  Ints rowOf(forest.nodes.size(), 0);
  int64_t count = 1; // Row 0 has no weights.
  for (const LeafWeight &weight : forest.weights) {
    if (weight.target < 0 || weight.target >= targets)
      return b.fail("a leaf has a weight for target " + Twine(weight.target) +
                    " of " + Twine(targets));
    if (rowOf[weight.node] == 0)
      rowOf[weight.node] = count++;
  }
  if (count > kMost / targets)
    return b.fail("the trees have " + Twine(count - 1) + " leaves for " +
                  Twine(targets) + " targets, more than are supported");
  SmallVector<double, 0> table(count * targets, missing);
  llvm::DenseSet<int64_t> isThere;
  for (const LeafWeight &weight : forest.weights) {
    int64_t place = rowOf[weight.node] * targets + weight.target;
    bool isFirst = isThere.insert(place).second;
    table[place] = (isFirst ? 0 : table[place]) + weight.weight;
  }
  auto nodes = static_cast<int64_t>(rowOf.size());
  Value row = b.gather(b.constantInts(nodes, rowOf), leaves, 0);
  return b.gather(b.constantFloats(b.element(x), {count, targets}, table), row,
                  0);
}

Value forestInput(NodeBuilder &b) {
  Value x = b.input(0);
  if (x && b.rank(x) == 1)
    x = b.reshape(x, {1, b.shape(x)[0]});
  if (!x || b.rank(x) != 2)
    return b.fail("expected features [N, features]");
  Type element = b.element(x);
  return element.isF64() ? x : b.cast(x, b.graph.raw().getF32Type());
}

} // namespace

Value scoreForest(NodeBuilder &b, const Forest &forest, int64_t targets,
                  Aggregate how) {
  Value x = forestInput(b);
  if (!x || targets < 1)
    return x ? b.fail("expected 1 target or more") : x;
  ForestBuilder builder{b, forest, x, {}, {}, {}, {}, {}};
  Value leaves = builder.leaves();
  if (!leaves)
    return {};
  double largest =
      APFloat::getLargest(cast<FloatType>(b.element(x)).getFloatSemantics())
          .convertToDouble();
  switch (how) {
  case Aggregate::Min:
    return b.reduce(Kind::Min, builder.weigh(leaves, targets, largest), 1,
                    false);
  case Aggregate::Max:
    return b.reduce(Kind::Max, builder.weigh(leaves, targets, -largest), 1,
                    false);
  case Aggregate::Sum:
  case Aggregate::Average:
    break;
  }
  Value sum = b.reduce(Kind::Sum, builder.weigh(leaves, targets, 0), 1, false);
  if (how == Aggregate::Sum)
    return sum;
  return b.div(sum, b.scalarLike(sum, static_cast<double>(builder.trees())));
}

} // namespace tinh::onnx
