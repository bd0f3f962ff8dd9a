//===- ExportJson.cpp - The graph dialect to JSON graphs --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is the dialect written down: each op is a node, each constant a
// weight. docs/json-format.md describes it.
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/Export.h"
#include "compiler/Export/GraphNames.h"
#include "compiler/Export/Refusals.h"
#include "compiler/Export/WeightFile.h"
#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Import/json/Attributes.h"
#include "compiler/Import/json/JsonValues.h"
#include "compiler/Import/json/Nodes.h"
#include "compiler/Import/json/Safetensors.h"

#include "dialects/graph/Graph.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace mlir;

namespace tinh::json {

namespace {

/// Keys stay in the order in which they are set.
using OrderedJson = nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

OrderedJson floatToJson(const APFloat &value) {
  bool loses;
  APFloat number = value;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  if (number.isNaN())
    return "nan";
  if (number.isInfinity())
    return number.isNegative() ? "-inf" : "inf";
  return number.convertToDouble();
}

OrderedJson integerToJson(const APInt &value, IntegerType type) {
  if (type.getWidth() == 1)
    return value.getBoolValue();
  if (type.isUnsigned())
    return value.getZExtValue();
  return value.getSExtValue();
}

/// A list of elements, or one element for all.
OrderedJson elementsToJson(DenseElementsAttr value) {
  OrderedJson list = OrderedJson::array();
  if (auto type = dyn_cast<IntegerType>(value.getElementType())) {
    if (value.isSplat())
      return integerToJson(value.getSplatValue<APInt>(), type);
    for (const APInt &element : value.getValues<APInt>())
      list.push_back(integerToJson(element, type));
    return list;
  }
  if (value.isSplat())
    return floatToJson(value.getSplatValue<APFloat>());
  for (const APFloat &element : value.getValues<APFloat>())
    list.push_back(floatToJson(element));
  return list;
}

OrderedJson attributeToJson(OperationName op, StringAttr name,
                            Attribute attribute) {
  return llvm::TypeSwitch<Attribute, OrderedJson>(attribute)
      .Case([](UnitAttr) { return true; })
      .Case([&](IntegerAttr value) -> OrderedJson {
        StringRef choice = choiceName(op, name, value.getInt());
        if (choice.empty())
          return value.getInt();
        return choice.str();
      })
      .Case([](FloatAttr value) { return value.getValueAsDouble(); })
      .Case([](DenseI64ArrayAttr value) {
        return std::vector<int64_t>(value.asArrayRef());
      })
      .Default([](Attribute) { return OrderedJson(); });
}

//===----------------------------------------------------------------------===//
// The exporter
//===----------------------------------------------------------------------===//

class JsonExporter {
public:
  JsonExporter(ModuleOp module, func::FuncOp main, MappedFiles &sources)
      : module(module), main(main), sources(sources) {}

  /// Fills the parts of the file. `weightsFile` is the name of the file of
  /// weights.
  LogicalResult build(StringRef weightsFile);
  /// The file, a line for each input, weight and node.
  std::string text() const;
  /// What stands in the file of weights before them.
  llvm::Expected<std::string> header() const {
    return writeSafetensorsHeader(large);
  }

  /// Weights without gaps, the ones of larger elements first, so that each is
  /// aligned.
  WeightFile weightFile{1};

private:
  void addWeight(graph::ConstantOp op);
  void layOutLargeWeights();
  /// The nodes of a block; its constants go to the weights.
  std::vector<OrderedJson> nodesOf(Block &block);
  OrderedJson nodeOf(Operation *op);
  OrderedJson graphOf(Region &region);
  void describeControlFlow(Operation *op, OrderedJson &json);
  OrderedJson attributesOf(Operation *op);
  OrderedJson namesOf(ValueRange values);
  void addOutputs();

  ModuleOp module;
  func::FuncOp main;
  MappedFiles &sources;
  GraphNames names;
  Refusals refusals;
  std::string modelName, weightsName, error;
  std::vector<OrderedJson> inputs, weights, nodes, outputs;
  std::vector<SafetensorsEntry> large;
  std::vector<TypedAttr> largeValues;
};

OrderedJson JsonExporter::attributesOf(Operation *op) {
  OrderedJson json = OrderedJson::object();
  MLIRContext &context = *op->getContext();
  RankedTensorType first;
  if (op->getNumOperands())
    first = cast<RankedTensorType>(op->getOperand(0).getType());
  for (StringAttr name : op->getName().getAttributeNames()) {
    Attribute value = op->getAttr(name);
    int64_t rank = first ? first.getRank() : 0;
    if (value && value != defaultFor(name, rank, context))
      json[name.str()] = attributeToJson(op->getName(), name, value);
  }
  if (isa<InferTypeOpInterface>(op))
    return json;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!first || first.getElementType() != type.getElementType())
    json["dtype"] = formatDtype(type.getElementType()).str();
  if (!first || first.getShape() != type.getShape())
    json["shape"] = std::vector<int64_t>(type.getShape());
  return json;
}

OrderedJson JsonExporter::namesOf(ValueRange values) {
  OrderedJson list = OrderedJson::array();
  for (Value value : values)
    list.push_back(names.tensor(value));
  return list;
}

OrderedJson JsonExporter::nodeOf(Operation *op) {
  StringRef name = op->getName().stripDialect();
  OrderedJson json;
  json["op"] = name.str();
  if (!isa<graph::GraphDialect>(op->getDialect()) ||
      !isGraphOp(name, *op->getContext())) {
    refusals.add(op, names.node(op),
                 "the format has no such node; only phases 'graph' and "
                 "'normalised' can be exported");
    return json;
  }
  if (isa<graph::CustomGradientOp>(op)) {
    refusals.add(op, names.node(op),
                 "the format has no gradients of the model's own; the pass "
                 "forget-gradients leaves what the op computes");
    return json;
  }
  std::string node = nameOf(op->getLoc());
  if (!node.empty() && node != names.node(op))
    json["name"] = node;
  json["inputs"] = namesOf(op->getOperands());
  json["outputs"] = namesOf(op->getResults());
  if (op->getNumRegions()) {
    describeControlFlow(op, json);
    return json;
  }
  OrderedJson attributes = attributesOf(op);
  if (!attributes.empty())
    json["attributes"] = attributes;
  return json;
}

std::vector<OrderedJson> JsonExporter::nodesOf(Block &block) {
  std::vector<OrderedJson> list;
  for (Operation &op : block.without_terminator()) {
    if (auto constant = dyn_cast<graph::ConstantOp>(op))
      addWeight(constant);
    else
      list.push_back(nodeOf(&op));
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

OrderedJson JsonExporter::graphOf(Region &region) {
  Block &block = region.front();
  OrderedJson json;
  if (block.getNumArguments())
    json["inputs"] = namesOf(block.getArguments());
  json["nodes"] = nodesOf(block);
  json["outputs"] = namesOf(block.getTerminator()->getOperands());
  return json;
}

void JsonExporter::describeControlFlow(Operation *op, OrderedJson &json) {
  if (auto scan = dyn_cast<graph::ScanOp>(op)) {
    SmallVector<Value> values(scan.getInitial());
    llvm::append_range(values, scan.getXs());
    json["inputs"] = namesOf(values);
    json["attributes"] = {{"length", scan.getLength()},
                          {"carry", scan.getInitial().size()}};
    if (scan.getTripCount())
      json["trip_count"] = names.tensor(scan.getTripCount());
    if (scan.getCondition())
      json["while"] = names.tensor(scan.getCondition());
  }
  for (auto [key, region] : llvm::zip_equal(
           graphKeys(op->getName().stripDialect()), op->getRegions()))
    json[key.str()] = graphOf(region);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

void JsonExporter::addWeight(graph::ConstantOp op) {
  OrderedJson json;
  const std::string &name = names.tensor(op.getY());
  auto type = cast<RankedTensorType>(op.getY().getType());
  TypedAttr value = graph::elementsOf(op.getValue());
  auto dense = dyn_cast<DenseElementsAttr>(value);
  json["name"] = name;
  if (isLarge(value) && !(dense && dense.isSplat())) {
    json["file"] = weightsName;
    json["tensor"] = name;
    large.push_back({name, type});
    largeValues.push_back(value);
    weights.push_back(json);
    return;
  }
  if (!dense) {
    auto bytes = smallElements(value, sources);
    if (!bytes) {
      error = llvm::toString(bytes.takeError());
      return;
    }
    dense = denseFromBytes(type, ArrayRef<char>(bytes->data(), bytes->size()));
  }
  json["dtype"] = formatDtype(type.getElementType()).str();
  json["shape"] = std::vector<int64_t>(type.getShape());
  json["data"] = elementsToJson(dense);
  weights.push_back(json);
}

void JsonExporter::layOutLargeWeights() {
  auto order = llvm::to_vector(llvm::seq<size_t>(0, large.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    auto key = [&](size_t i) {
      return std::pair(-graph::elementSize(large[i].type.getElementType()), i);
    };
    return key(a) < key(b);
  });
  std::vector<SafetensorsEntry> sorted;
  for (size_t i : order) {
    weightFile.add(largeValues[i]);
    sorted.push_back(large[i]);
  }
  large = std::move(sorted);
}

/// An output that is another name for a tensor is a view of it.
void JsonExporter::addOutputs() {
  for (const OutputName &output : names.outputs()) {
    outputs.push_back(output.name);
    if (!output.isCopy)
      continue;
    auto type = cast<RankedTensorType>(output.value.getType());
    OrderedJson json;
    json["op"] = "reshape";
    json["inputs"] = {names.tensor(output.value)};
    json["outputs"] = {output.name};
    json["attributes"] = {{"shape", std::vector<int64_t>(type.getShape())}};
    nodes.push_back(json);
  }
}

LogicalResult JsonExporter::build(StringRef weightsFile) {
  weightsName = weightsFile;
  if (failed(names.assign(main)))
    return failure();
  modelName = nameOf(main.getLoc());
  for (BlockArgument argument : main.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    OrderedJson json;
    json["name"] = names.tensor(argument);
    json["dtype"] = formatDtype(type.getElementType()).str();
    json["shape"] = std::vector<int64_t>(type.getShape());
    inputs.push_back(json);
  }
  nodes = nodesOf(main.getBody().front());
  addOutputs();
  layOutLargeWeights();
  if (failed(refusals.report(module, "a JSON graph")))
    return failure();
  return error.empty() ? success() : LogicalResult(module.emitError(error));
}

std::string JsonExporter::text() const {
  std::string result = "{\n  \"tinh\": 1";
  auto addList = [&](StringRef key, ArrayRef<OrderedJson> list) {
    result += (",\n  \"" + key + "\": [").str();
    for (auto [i, entry] : llvm::enumerate(list))
      result += (i ? ",\n    " : "\n    ") + entry.dump();
    result += list.empty() ? "]" : "\n  ]";
  };
  if (!modelName.empty())
    result += ",\n  \"name\": " + OrderedJson(modelName).dump();
  addList("inputs", inputs);
  addList("weights", weights);
  addList("nodes", nodes);
  addList("outputs", outputs);
  return result + "\n}\n";
}

} // namespace

} // namespace tinh::json

namespace tinh {

LogicalResult exportJson(ModuleOp module, StringRef path,
                         const ExportOptions &options) {
  func::FuncOp main = findMain(module);
  if (!main)
    return failure();
  SmallString<128> weightsPath(path);
  llvm::sys::path::replace_extension(weightsPath, "safetensors");
  if (weightsPath == path)
    return module.emitError()
           << "cannot write the model to '" << path
           << "': its weights' file would have the same name; call it .json";
  MappedFiles sources(options.modelDirectory);
  json::JsonExporter exporter(module, main, sources);
  if (failed(exporter.build(llvm::sys::path::filename(weightsPath))))
    return failure();
  auto header = exporter.header();
  if (!header)
    return module.emitError(llvm::toString(header.takeError()));
  if (llvm::Error error = writeModel(path, exporter.text(), weightsPath,
                                     *header, exporter.weightFile, sources))
    return emitError(UnknownLoc::get(module.getContext()),
                     llvm::toString(std::move(error)));
  return success();
}

} // namespace tinh
