//===- GraphImporter.cpp - One ONNX graph into a function -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/GraphImporter.h"

#include "compiler/Import/onnx/InputSizes.h"

#include "compiler/Import/NodesByOp.h"
#include "compiler/Import/onnx/Schemas.h"
#include "compiler/Import/onnx/strings/Strings.h"

#include "mlir/IR/Location.h"

using namespace mlir;

namespace tinh::onnx {

/// The operator sets of ONNX that are understood.
constexpr int64_t kOldestOpset = 1, kNewestOpset = 28;

GraphImporter::GraphImporter(const ModelProto &model, const GraphProto &proto,
                             const Opsets &opsets, const ModelFile &file,
                             GraphBuilder &builder, GraphImporter *parent)
    : model(model), proto(proto), opsets(opsets), file(file), builder(builder),
      parent(parent), block(builder.raw().getInsertionBlock()) {
  for (const auto &tensor : proto.initializer())
    if (tensor.data_type() != TensorProto::STRING)
      initializers[tensor.name()] = &tensor;
  for (const auto &input : proto.input())
    declaredTypes[input.name()] = input.type().tensor_type().elem_type();
}

bool GraphImporter::knows(StringRef name) const {
  return values.contains(name) || initializers.contains(name) ||
         others.contains(name) || unknown.contains(name) ||
         (parent && parent->knows(name));
}

bool GraphImporter::isUnknown(StringRef name) const {
  if (unknown.contains(name))
    return true;
  bool isDefined = values.contains(name) || initializers.contains(name) ||
                   others.contains(name);
  return !isDefined && parent && parent->isUnknown(name);
}

const Operand *GraphImporter::findOther(StringRef name) const {
  if (auto it = others.find(name); it != others.end())
    return &it->second;
  if (values.contains(name) || initializers.contains(name))
    return nullptr;
  return parent ? parent->findOther(name) : nullptr;
}

std::optional<Operand> GraphImporter::find(StringRef name) {
  if (const Operand *other = findOther(name))
    return *other;
  Value tensor = lookup(name);
  return tensor ? std::optional<Operand>({tensor, {}}) : std::nullopt;
}

/// The TensorProto.DataType of an input or an initializer.
int GraphImporter::declaredType(StringRef name) const {
  if (auto it = initializers.find(name); it != initializers.end())
    return it->second->data_type();
  if (auto it = declaredTypes.find(name); it != declaredTypes.end())
    return it->second;
  return parent ? parent->declaredType(name) : TensorProto::UNDEFINED;
}

/// The TensorProto.DataType of a tensor, which is not built for that;
/// UNDEFINED if there is none of this name.
int GraphImporter::knownType(StringRef name) const {
  if (auto it = values.find(name); it != values.end())
    return findElementType(NodeBuilder::element(it->second));
  if (auto it = others.find(name); it != others.end())
    return it->second.tensor ? TensorProto::STRING : TensorProto::UNDEFINED;
  if (auto it = initializers.find(name); it != initializers.end())
    return it->second->data_type();
  return parent ? parent->knownType(name) : TensorProto::UNDEFINED;
}

/// Whether the value of a tensor can be had, with an error if not; it is not
/// built yet.
bool GraphImporter::isReadable(StringRef name) {
  if (values.contains(name))
    return true;
  auto tensor = initializers.find(name);
  error.clear();
  if (tensor != initializers.end()) {
    if (convertTensor(*tensor->second, file, builder.context(), error))
      return true;
    defineUnknown(name);
    return false;
  }
  if (!parent || parent->isReadable(name))
    return true;
  error = parent->error;
  return false;
}

Value GraphImporter::lookup(StringRef name) {
  if (auto it = values.find(name); it != values.end())
    return it->second;
  if (const Operand *other = findOther(name)) {
    error = ("\"" + name + "\" is " + other->describe() +
             (other->tensor ? "; numbers are needed here"
                            : "; a tensor is needed here"))
                .str();
    return {};
  }
  auto tensor = initializers.find(name);
  if (tensor == initializers.end()) {
    if (Value value = parent ? parent->lookup(name) : Value())
      return value;
    error = parent ? parent->error
                   : ("tensor \"" + name + "\" is not defined").str();
    return {};
  }
  // Not in the subgraph that asks for it: others will, too.
  OpBuilder::InsertionGuard guard(builder.raw());
  builder.raw().setInsertionPointToEnd(block);
  Location before = builder.location();
  builder.setLocation(NameLoc::get(StringAttr::get(builder.context(), name)));
  std::string reason;
  Value value = buildTensor(builder, *tensor->second, file, reason);
  builder.setLocation(before);
  if (value) {
    values[name] = value;
  } else {
    error = reason;
    defineUnknown(name);
  }
  return value;
}

bool GraphImporter::fail(const Node &node, const Twine &what) {
  problems.add("node \"" + node.name + "\" (" + node.proto->op_type() +
                   "): " + what,
               node.name);
  return false;
}

namespace {

std::string describe(const NodesByOp &unsupported) {
  size_t nodes = countNodes(unsupported);
  return "the model has " + std::to_string(nodes) +
         (nodes == 1 ? " node" : " nodes") + " of " +
         std::to_string(unsupported.size()) +
         (unsupported.size() == 1 ? " op" : " ops") +
         " not supported:" + listNodes(unsupported);
}

std::string describeOpset(int64_t opset) {
  if (opset == 0)
    return "the model imports no operator set of the domain ai.onnx";
  return "operator set " + std::to_string(opset) +
         " is not supported; export the model for one from " +
         std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset);
}

std::string describeArity(const Signature &signature) {
  std::string text = std::to_string(signature.minInputs);
  if (signature.maxInputs < 0)
    text += " or more";
  else if (signature.maxInputs != signature.minInputs)
    text += " to " + std::to_string(signature.maxInputs);
  return text + (text == "1" ? " input" : " inputs");
}

/// Whether the importer of graphs builds a node itself: its graphs are built
/// where it stands, as are those nodes that a Gradient is of.
bool hasSubgraphs(const Node &node) {
  StringRef op = node.proto->op_type();
  if (node.domain() == "ai.onnx.preview")
    return op == "FlexAttention";
  if (node.domain() == "ai.onnx.preview.training")
    return op == "Gradient";
  return node.domain().empty() &&
         (op == "If" || op == "Loop" || op == "SequenceMap" ||
          (op == "Scan" && node.opset() >= 8));
}

/// Adds the nodes of `list` and of their subgraphs that have no builder. Which
/// branch of an If is built is not known yet, so that these are left out unless
/// `intoBranches`.
void collectUnsupported(const NodeList &list, const ModelProto &model,
                        bool intoBranches, NodesByOp &unsupported) {
  for (const Node &node : list.nodes) {
    const std::string &type = node.proto->op_type();
    int64_t opset = node.opset();
    std::string domain = node.domain();
    if (!hasSubgraphs(node)) {
      if (findOp(domain, type, opset) || !node.problems.empty())
        continue;
      std::string op = (domain.empty() ? "ai.onnx" : domain) + "." + type +
                       " (opset " +
                       (opset ? std::to_string(opset) : "not imported") + ")";
      unsupported[op].push_back(node.name);
      continue;
    }
    if (type == "If" && !intoBranches)
      continue;
    for (const AttributeProto &attribute : node.proto->attribute()) {
      if (!attribute.has_g())
        continue;
      NodeList inner; // Whatever else is wrong with it is said later.
      expandFunctions(attribute.g().node(), *node.opsets, model, inner);
      collectUnsupported(inner, model, intoBranches, unsupported);
    }
  }
}

} // namespace

/// Lists what is not supported in the whole model, once.
void GraphImporter::reportUnsupported() {
  GraphImporter *root = this;
  while (root->parent)
    root = root->parent;
  if (std::exchange(root->hasListedOps, true))
    return;
  NodesByOp unsupported;
  NodeList list;
  expandFunctions(root->proto.node(), root->opsets, model, list);
  collectUnsupported(list, model, /*intoBranches=*/true, unsupported);
  problems.add(describe(unsupported));
}

/// False if no node can be built. Those of ops that are not supported are left
/// out.
bool GraphImporter::checkSupported(const NodeList &list) {
  for (const Node &node : list.nodes) {
    int64_t opset = node.opset();
    if (node.domain().empty() && (opset < kOldestOpset || opset > kNewestOpset))
      return fail(node, describeOpset(opset));
  }
  NodesByOp unsupported;
  collectUnsupported(list, model, /*intoBranches=*/false, unsupported);
  if (!unsupported.empty())
    reportUnsupported();
  return true;
}

/// Defines initializers of strings, which are no tensors of the graph.
static void defineStrings(GraphImporter &importer, const GraphProto &graph,
                          GraphBuilder &builder) {
  for (const auto &tensor : graph.initializer()) {
    if (tensor.data_type() != TensorProto::STRING)
      continue;
    builder.setLocation(
        NameLoc::get(StringAttr::get(builder.context(), tensor.name())));
    std::string reason;
    if (Value bytes = buildStrings(builder, tensor, reason)) {
      importer.define(tensor.name(), {bytes, {}, /*isString=*/true});
      continue;
    }
    importer.problems.add(reason);
    importer.defineUnknown(tensor.name());
  }
}

bool GraphImporter::build() {
  defineStrings(*this, proto, builder);
  if (proto.sparse_initializer_size() > 0)
    problems.add("sparse initializers are not supported");
  for (const auto &tensor : proto.sparse_initializer())
    defineUnknown(tensor.values().name());
  NodeList list;
  llvm::StringSet<> hidden;
  if (isCopy)
    for (const auto &node : proto.node())
      hidden.insert_range(node.output());
  auto available = [&](StringRef name) {
    return !hidden.contains(name) && knows(name);
  };
  expandFunctions(proto.node(), opsets, model, list);
  sortNodes(list, available);
  unknown.insert_range(list.unknown.keys());
  if (!checkSupported(list)) {
    for (const Node &node : list.nodes)
      unknown.insert_range(node.proto->output());
    return false;
  }
  bool built = problems.empty();
  // They are built in another order than that of the file.
  Problems before = std::exchange(problems, {});
  std::vector<Problems> found(list.nodes.size());
  for (const Node &node : list.nodes) {
    Interruption::Work at(builder.interruption(), "node '" + node.name + "'");
    if (isRequested(builder.interruption()))
      return false;
    if (!buildKnown(node)) {
      built = false;
      unknown.insert_range(node.proto->output());
      builder.forgetValues();
    }
    found[node.position] = std::exchange(problems, {});
  }
  problems = std::move(before);
  for (Problems &ofNode : found)
    problems.append(std::move(ofNode));
  return built;
}

/// What has to be known before a node is built; what its graphs read is looked
/// up while these are.
static std::vector<std::string> namesToKnow(const Node &node) {
  if (hasSubgraphs(node) && node.proto->op_type() == "Gradient")
    return readNames(*node.proto);
  return {node.proto->input().begin(), node.proto->input().end()};
}

bool GraphImporter::readsUnknown(const Node &node) const {
  return llvm::any_of(namesToKnow(node), [&](const std::string &name) {
    return !name.empty() && isUnknown(name);
  });
}

/// Builds a node if nothing is known to be wrong with it or what it reads.
bool GraphImporter::buildKnown(const Node &node) {
  for (const std::string &problem : node.problems)
    problems.add(problem, node.name);
  if (!node.problems.empty() || readsUnknown(node))
    return false;
  bool isListed = !hasSubgraphs(node) &&
                  !findOp(node.domain(), node.proto->op_type(), node.opset());
  return !isListed && buildNode(node);
}

bool GraphImporter::buildNode(const Node &node) {
  builder.setLocation(
      NameLoc::get(StringAttr::get(builder.context(), node.name)));
  auto findTensor = [&](StringRef name) { return lookup(name); };
  auto findAny = [&](StringRef name) { return find(name); };
  auto findType = [&](StringRef name) { return declaredType(name); };
  NodeBuilder nodeBuilder(builder, node, file, findTensor, findAny, findType);
  Results results;
  std::vector<std::string> wrong = checkAttributes(node);
  for (const std::string &reason : wrong)
    fail(node, reason);
  if (!wrong.empty())
    return false;
  failedInside = false;
  error.clear();
  if (hasSubgraphs(node)) {
    results = buildControlFlow(nodeBuilder);
  } else {
    std::optional<OpEntry> entry = findEntry(node);
    if (!checkInputs(nodeBuilder, *entry) || !checkTypes(node))
      return false;
    std::string unknown = isMove(*entry) ? "" : findUnknownSize(nodeBuilder);
    if (!unknown.empty())
      return fail(node, unknown);
    results = entry->build(nodeBuilder);
  }
  bool isNull = llvm::is_contained(results, Value());
  if (nodeBuilder.failed() || isNull || failedInside) {
    std::string reason = nodeBuilder.takeError();
    if (failedInside && reason.empty())
      return false; // As was said of the subgraph.
    return fail(node, reason.empty() ? std::string(error) : reason);
  }
  return defineResults(nodeBuilder, results);
}

/// What builds a node, by the types of what it reads.
std::optional<OpEntry> GraphImporter::findEntry(const Node &node) const {
  StringRef op = node.proto->op_type();
  for (const std::string &name : node.proto->input()) {
    const Operand *other = findOther(name);
    if (!other || !other->isString)
      continue;
    if (auto entry = findOpOnStrings(node.domain(), op, node.opset()))
      return entry;
  }
  const OpEntry *entry = findOp(node.domain(), op, node.opset());
  return entry ? std::optional<OpEntry>(*entry) : std::nullopt;
}

/// That the inputs have types that ONNX allows, before anything is built of
/// them.
bool GraphImporter::checkTypes(const Node &node) {
  for (const auto &[i, name] : llvm::enumerate(node.proto->input())) {
    int type = name.empty() ? 0 : knownType(name);
    if (type == TensorProto::UNDEFINED)
      continue;
    std::string reason = checkInputType(node, static_cast<int>(i), type);
    if (!reason.empty())
      return fail(node, "input " + Twine(i) + " (\"" + name + "\"): " + reason);
  }
  return true;
}

/// The type that the first output of a node has by what the node says; 0 if it
/// says nothing, and has that of its first input.
static int typeSaid(const NodeBuilder &builder) {
  const Node &node = builder.node;
  StringRef op = node.proto->op_type();
  for (const AttributeProto &attribute : node.proto->attribute()) {
    if (op == "Constant" && attribute.name() == "value")
      return attribute.t().data_type();
    if ((op == "Cast" && attribute.name() == "to") ||
        (op == "QuantizeLinear" && attribute.name() == "output_dtype"))
      return static_cast<int>(attribute.i());
  }
  if (op == "CastLike")
    return builder.inputType(1);
  return op == "QuantizeLinear" ? builder.inputType(2) : 0;
}

/// Integers of 4 and 2 bits have a byte each, so that their type is none of the
/// graph's: what a node makes, or moves, of them keeps it by its name. 0 for
/// all other elements.
static int packedTypeOf(const NodeBuilder &builder, Value result) {
  int type = typeSaid(builder);
  if (type == 0)
    type = builder.inputType(0);
  Type element = NodeBuilder::element(result);
  bool isPacked = integerBits(type) &&
                  valueElementType(type, element.getContext()) == element;
  return isPacked ? type : 0;
}

/// Gives what a node has made its names.
bool GraphImporter::defineResults(const NodeBuilder &nodeBuilder,
                                  const Results &results) {
  const Node &node = nodeBuilder.node;
  SmallVector<Operand> made;
  if (nodeBuilder.operandResults)
    made.assign(*nodeBuilder.operandResults);
  for (Value value : results)
    made.push_back({value, {}});
  for (int i = 0; i < node.proto->output_size(); ++i) {
    if (node.proto->output(i).empty())
      continue;
    if (i >= static_cast<int>(made.size()))
      return fail(node, "output " + Twine(i) + " (\"" + node.proto->output(i) +
                            "\") is not supported");
    define(node.proto->output(i), made[i]);
    if (int type = i == 0 && made[i].tensor
                       ? packedTypeOf(nodeBuilder, made[i].tensor)
                       : 0)
      declaredTypes[node.proto->output(i)] = type;
  }
  return true;
}

/// Each required input has a value, and none is a sequence that should be a
/// tensor, before the op is built. A sequence that is none is reported by the
/// op that takes it.
bool GraphImporter::checkInputs(const NodeBuilder &builder,
                                const OpEntry &entry) {
  const Node &node = builder.node;
  const Signature &signature = entry.signature;
  int inputs = builder.numInputs();
  if (inputs < signature.minInputs ||
      (signature.maxInputs >= 0 && inputs > signature.maxInputs))
    return fail(node, "expected " + describeArity(signature) + ", found " +
                          Twine(inputs));
  bool right = true;
  for (int i = 0; i < inputs; ++i) {
    if (!builder.has(i)) {
      if (i < signature.minInputs)
        right = fail(node, "input " + Twine(i) + " is missing");
      continue;
    }
    // Optional tensors are looked up by the op, where their constants belong.
    const std::string &name = node.proto->input(i);
    if (isUnknown(name)) { // It is another input, too.
      right = false;
      continue;
    }
    const Operand *other = findOther(name);
    bool isAny = (i == 0 && entry.takes == Takes::Sequence) ||
                 (entry.takes == Takes::Strings && other && other->isString);
    bool isChecked = i < signature.minInputs || other;
    if (!isAny && (isChecked ? !lookup(name) : !isReadable(name)))
      right = fail(node, std::string(error));
  }
  return right;
}

} // namespace tinh::onnx
