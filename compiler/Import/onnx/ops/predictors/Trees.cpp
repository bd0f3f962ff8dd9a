//===- Trees.cpp - Ensembles of decision trees ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/ExternalData.h"
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/predictors/Forest.h"
#include "compiler/Import/onnx/ops/predictors/Scores.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace tinh::onnx {

namespace {

constexpr StringLiteral kModeNames[] = {
    "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
    "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The numbers of a TENSOR attribute; none if it is not there.
SmallVector<double> tensorAttribute(NodeBuilder &b, StringRef name) {
  auto *a = b.attribute(name, AttributeProto::TENSOR);
  if (!a)
    return {};
  std::string error;
  TypedAttr value = convertTensor(a->t(), b.file, b.graph.context(), error);
  if (auto external = dyn_cast_or_null<graph::ExternalAttr>(value)) {
    MappedFiles files(b.file.directory);
    auto bytes = files.read(external);
    if (bytes)
      return denseToDoubles(
          denseFromBytes(cast<RankedTensorType>(external.getType()), *bytes));
    error = llvm::toString(bytes.takeError());
  }
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(value))
    return denseToDoubles(dense);
  b.fail("attribute " + name + ": " + error);
  return {};
}

/// Numbers as FLOATS, or as a TENSOR of another type.
SmallVector<double> numbersAttribute(NodeBuilder &b, const std::string &name) {
  return b.hasAttribute(name + "_as_tensor")
             ? tensorAttribute(b, name + "_as_tensor")
             : floatsAttribute(b, name);
}

/// Lists that go together have one length; reports if not.
bool haveSize(NodeBuilder &b, size_t expected,
              std::initializer_list<std::pair<StringRef, size_t>> lists) {
  for (auto [name, size] : lists)
    if (size != expected) {
      b.fail("attribute " + name + ": expected " + Twine(expected) +
             " elements, found " + Twine(size));
      return false;
    }
  return true;
}

/// The trees of TreeEnsembleRegressor and TreeEnsembleClassifier, in which
/// nodes have the number of their tree and their own. `weights` is what the
/// attributes of leaves begin with.
std::optional<Forest> readNumberedTrees(NodeBuilder &b, StringRef weights) {
  Forest forest;
  Ints trees = b.intsAttribute("nodes_treeids"),
       ids = b.intsAttribute("nodes_nodeids"),
       features = b.intsAttribute("nodes_featureids"),
       yes = b.intsAttribute("nodes_truenodeids"),
       no = b.intsAttribute("nodes_falsenodeids"),
       missing = b.intsAttribute("nodes_missing_value_tracks_true",
                                 Ints(trees.size(), 0));
  SmallVector<double> numbers = numbersAttribute(b, "nodes_values");
  auto *modes = b.attribute("nodes_modes", AttributeProto::STRINGS);
  if (b.failed() ||
      !haveSize(b, trees.size(),
                {{"nodes_nodeids", ids.size()},
                 {"nodes_featureids", features.size()},
                 {"nodes_truenodeids", yes.size()},
                 {"nodes_falsenodeids", no.size()},
                 {"nodes_missing_value_tracks_true", missing.size()},
                 {"nodes_values", numbers.size()},
                 {"nodes_modes", modes ? modes->strings_size() : 0}}))
    return std::nullopt;
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  std::map<int64_t, int64_t> roots; // The first node of each tree.
  for (auto [i, tree] : llvm::enumerate(trees)) {
    auto place = static_cast<int64_t>(i);
    places.insert({{tree, ids[i]}, place});
    roots.insert({tree, place});
  }
  auto find = [&](int64_t tree, int64_t id) {
    auto it = places.find({tree, id});
    return it == places.end() ? -1 : it->second;
  };
  for (auto [i, tree] : llvm::enumerate(trees)) {
    const std::string &name = modes->strings(static_cast<int>(i));
    const auto *mode = llvm::find(kModeNames, name);
    if (mode == std::end(kModeNames) || name == kModeNames[kMember]) {
      b.fail("attribute nodes_modes: \"" + name + "\" is not known");
      return std::nullopt;
    }
    forest.nodes.push_back({mode - std::begin(kModeNames), features[i],
                            numbers[i], missing[i] != 0, find(tree, yes[i]),
                            find(tree, no[i])});
  }
  for (auto [tree, place] : roots)
    forest.roots.push_back(place);
  std::string prefix = weights.str();
  Ints leafTrees = b.intsAttribute(prefix + "_treeids"),
       leafIds = b.intsAttribute(prefix + "_nodeids"),
       targets = b.intsAttribute(prefix + "_ids");
  SmallVector<double> values = numbersAttribute(b, prefix + "_weights");
  if (b.failed() || !haveSize(b, leafTrees.size(),
                              {{prefix + "_nodeids", leafIds.size()},
                               {prefix + "_ids", targets.size()},
                               {prefix + "_weights", values.size()}}))
    return std::nullopt;
  for (auto [i, tree] : llvm::enumerate(leafTrees)) {
    int64_t node = find(tree, leafIds[i]);
    if (node < 0) {
      b.fail("attribute " + prefix + "_nodeids: tree " + Twine(tree) +
             " has no node " + Twine(leafIds[i]));
      return std::nullopt;
    }
    forest.weights.push_back({node, targets[i], values[i]});
  }
  return forest;
}

/// Adds base_values, one for each target, if there are some.
Value addBase(NodeBuilder &b, Value scores, ArrayRef<double> base) {
  auto count = static_cast<int64_t>(base.size());
  if (!scores || base.empty())
    return scores;
  if (count != b.shape(scores)[1] && count != 1)
    return b.fail("attribute base_values: expected " +
                  Twine(b.shape(scores)[1]) + " numbers, found " +
                  Twine(count));
  return b.add(scores, b.constantFloats(b.element(scores), count, base));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Results treeEnsembleRegressor(NodeBuilder &b) {
  auto forest = readNumberedTrees(b, "target");
  std::string name = b.stringAttribute("aggregate_function", "SUM");
  auto how = llvm::StringSwitch<std::optional<Aggregate>>(name)
                 .Case("SUM", Aggregate::Sum)
                 .Case("AVERAGE", Aggregate::Average)
                 .Case("MIN", Aggregate::Min)
                 .Case("MAX", Aggregate::Max)
                 .Default(std::nullopt);
  if (!how)
    return {b.fail("attribute aggregate_function: expected SUM, AVERAGE, MIN "
                   "or MAX, found \"" +
                   name + "\"")};
  if (!forest)
    return {Value()};
  Value y = scoreForest(b, *forest, b.intAttribute("n_targets", 1), *how);
  y = addBase(b, y, numbersAttribute(b, "base_values"));
  y = transformScores(b, y, b.stringAttribute("post_transform", "NONE"));
  return {b.cast(y, b.graph.raw().getF32Type())};
}

/// Scores of two classes of that of one: its opposite is the first. Weights
/// that are all positive are taken for probabilities.
Value scoresOfTwo(NodeBuilder &b, Value score, bool isProbability) {
  Value other = isProbability ? b.sub(b.scalarLike(score, 1), score)
                              : b.create<graph::NegOp>({score});
  return b.concat({other, score}, 1);
}

Results treeEnsembleClassifier(NodeBuilder &b) {
  ClassLabels labels = readLabels(b, "classlabels_int64s");
  auto forest = readNumberedTrees(b, "class");
  if (!forest || labels.size() == 0)
    return {b.fail("attribute classlabels_int64s or classlabels_strings is "
                   "missing")};
  std::string transform = b.stringAttribute("post_transform", "NONE");
  SmallVector<double> base = numbersAttribute(b, "base_values");
  llvm::DenseSet<int64_t> targets;
  bool isPositive = true;
  for (LeafWeight &weight : forest->weights) {
    targets.insert(weight.target);
    isPositive &= weight.weight >= 0;
  }
  int64_t classes = labels.size();
  bool isBinary = targets.size() == 1 && classes <= 2;
  if (isBinary) {
    for (LeafWeight &weight : forest->weights)
      weight.target = 0;
    if (base.size() == 2)
      base = {base[1]};
  }
  Value scores =
      scoreForest(b, *forest, isBinary ? 1 : classes, Aggregate::Sum);
  scores = addBase(b, b.cast(scores, b.graph.raw().getF32Type()), base);
  if (!scores)
    return {Value()};
  if (!isBinary) {
    Value best =
        b.create<graph::ArgmaxOp>({scores}, {b.attr("axis", int64_t(1))});
    return labelled(b, best, labels, transformScores(b, scores, transform));
  }
  Value limit = b.scalarLike(scores, isPositive ? 0.5 : 0);
  Value isSecond = b.reshape(b.compare(Predicate::Greater, scores, limit),
                             b.shape(scores)[0]);
  // ONNX Runtime leaves probabilities as they are, but for PROBIT.
  Value both = scoresOfTwo(b, scores, isPositive);
  bool isDone = isPositive && transform != "PROBIT";
  return labelledByTwo(b, isSecond, labels,
                       isDone ? both : transformScores(b, both, transform));
}

/// A node that looks whether a feature is one of several numbers, as nodes that
/// compare with one each.
void splitMember(Forest &forest, int64_t place, ArrayRef<double> members) {
  TreeNode node = forest.nodes[place];
  node.mode = kEqual;
  int64_t otherwise = node.whenFalse;
  for (auto [i, member] : llvm::enumerate(members)) {
    node.number = member;
    bool isLast = i + 1 == members.size();
    node.whenFalse =
        isLast ? otherwise
               : static_cast<int64_t>(forest.nodes.size()) + (i == 0 ? 0 : 1);
    if (i == 0)
      forest.nodes[place] = node;
    else
      forest.nodes.push_back(node);
  }
}

/// The trees of TreeEnsemble, whose nodes are numbered through; leaves follow
/// them here.
std::optional<Forest> readTrees(NodeBuilder &b) {
  Forest forest;
  SmallVector<double> modes = tensorAttribute(b, "nodes_modes"),
                      numbers = tensorAttribute(b, "nodes_splits"),
                      weights = tensorAttribute(b, "leaf_weights"),
                      members = tensorAttribute(b, "membership_values");
  size_t count = modes.size();
  Ints features = b.intsAttribute("nodes_featureids"),
       yes = b.intsAttribute("nodes_truenodeids"),
       no = b.intsAttribute("nodes_falsenodeids"),
       yesLeaf = b.intsAttribute("nodes_trueleafs"),
       noLeaf = b.intsAttribute("nodes_falseleafs"),
       missing =
           b.intsAttribute("nodes_missing_value_tracks_true", Ints(count, 0)),
       targets = b.intsAttribute("leaf_targetids");
  if (b.failed() ||
      !haveSize(b, count,
                {{"nodes_splits", numbers.size()},
                 {"nodes_featureids", features.size()},
                 {"nodes_truenodeids", yes.size()},
                 {"nodes_falsenodeids", no.size()},
                 {"nodes_trueleafs", yesLeaf.size()},
                 {"nodes_falseleafs", noLeaf.size()},
                 {"nodes_missing_value_tracks_true", missing.size()}}) ||
      !haveSize(b, weights.size(), {{"leaf_targetids", targets.size()}}))
    return std::nullopt;
  forest.roots = b.intsAttribute("tree_roots");
  auto child = [&](int64_t id, bool isLeaf) {
    return isLeaf ? static_cast<int64_t>(count) + id : id;
  };
  for (size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= double(kMember))) {
      b.fail("attribute nodes_modes: expected 0 to 6, found " +
             std::to_string(modes[i]));
      return std::nullopt;
    }
    forest.nodes.push_back({static_cast<int64_t>(modes[i]), features[i],
                            numbers[i], missing[i] != 0,
                            child(yes[i], yesLeaf[i] != 0),
                            child(no[i], noLeaf[i] != 0)});
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    forest.weights.push_back(
        {static_cast<int64_t>(forest.nodes.size()), targets[i], weights[i]});
    forest.nodes.emplace_back();
  }
  // NaN ends the members of each node.
  const double *next = members.begin();
  for (size_t i = 0; i < count; ++i) {
    if (forest.nodes[i].mode != kMember)
      continue;
    const double *end =
        std::find_if(next, static_cast<const double *>(members.end()),
                     [](double member) { return std::isnan(member); });
    if (end == members.end() || end == next) {
      b.fail("attribute membership_values: expected numbers and a NaN for each "
             "node that looks for members");
      return std::nullopt;
    }
    splitMember(forest, static_cast<int64_t>(i), ArrayRef(next, end));
    next = end + 1;
  }
  return forest;
}

Results treeEnsemble(NodeBuilder &b) {
  auto forest = readTrees(b);
  int64_t how = b.intAttribute("aggregate_function", 1);
  int64_t transform = b.intAttribute("post_transform", 0);
  constexpr StringLiteral kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC",
                                           "SOFTMAX_ZERO", "PROBIT"};
  if (!forest)
    return {Value()};
  if (how < 0 || how > 3 || transform < 0 || transform > 4)
    return {b.fail("expected an aggregate_function from 0 to 3 and a "
                   "post_transform from 0 to 4, found " +
                   Twine(how) + " and " + Twine(transform))};
  Value y = scoreForest(b, *forest, b.intAttribute("n_targets", 1),
                        static_cast<Aggregate>(how));
  y = transformScores(b, y, kTransforms[transform]);
  return {b.cast(y, b.element(b.input(0)))};
}

} // namespace

OpFamily treeOps() {
  return {
      {"ai.onnx.ml.TreeEnsemble", treeEnsemble, {5, 1, 1}},
      {"ai.onnx.ml.TreeEnsembleClassifier", treeEnsembleClassifier, {1, 1, 1}},
      {"ai.onnx.ml.TreeEnsembleRegressor", treeEnsembleRegressor, {1, 1, 1}}};
}

} // namespace tinh::onnx
