//===- ImportJson.cpp - JSON graphs to the graph dialect --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/ImportJson.h"

#include "compiler/Import/json/GraphImporter.h"
#include "compiler/Import/json/ReadTraining.h"
#include "compiler/Import/json/Safetensors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh::json {

namespace {

constexpr int64_t kVersion = 1;

struct Input {
  std::string name;
  RankedTensorType type;
};

/// Reads one file; each step returns false after it has put the reason in
/// `error` and, if it is at a node, the node's name in `errorNode`.
class JsonImporter {
public:
  JsonImporter(StringRef path, const ImportOptions &options,
               MLIRContext &context)
      : context(context), options(options),
        directory(options.directoryOf(path)) {}

  OwningOpRef<ModuleOp> import(const Json &root, StringRef path);

  std::string error, errorNode;

private:
  bool fail(const Twine &what) {
    error = what.str();
    return false;
  }
  bool readRoot(const Json &root);
  bool readInputs(const Json &list);
  bool readShape(const Json &input, StringRef name,
                 SmallVectorImpl<int64_t> &shape);
  bool readWeights(const Json &list);
  TypedAttr readWeight(const Json &weight);
  TypedAttr readMemory(RankedTensorType type, const std::string &name);
  TypedAttr readTensor(const std::string &file, const std::string &tensor);
  bool sortNodes();
  bool build(GraphBuilder &builder, func::FuncOp function,
             SmallVectorImpl<Value> &results);

  MLIRContext &context;
  const ImportOptions &options;
  std::string directory, name;
  std::vector<Input> inputs;
  Graph graph;
  llvm::StringMap<TypedAttr> weights;
  llvm::StringMap<Safetensors> files;
  TrainingInfo training;
};

bool JsonImporter::readRoot(const Json &root) {
  if (!root.is_object())
    return fail("expected an object with the key \"tinh\"");
  const Json *version = find(root, "tinh");
  int64_t number = 0;
  if (!version || !toInt(*version, number))
    return fail("not a Tinh graph: the key \"tinh\" with the format's version, "
                "1, is missing");
  if (number != kVersion)
    return fail("the file has version " + Twine(number) +
                " of the format, this program reads version 1");
  std::string unknown =
      unknownKey(root, {"tinh", "name", "inputs", "weights", "nodes", "outputs",
                        "training", "$schema", "comment"});
  if (!unknown.empty())
    return fail("unknown key \"" + unknown + "\"");
  getString(root, "name", name);
  const Json *inputList = find(root, "inputs");
  if (!inputList || !inputList->is_array())
    return fail("\"inputs\" is missing or is not a list");
  static const Json none = Json::array();
  const Json *weightList = find(root, "weights");
  return readInputs(*inputList) &&
         readWeights(weightList ? *weightList : none) &&
         readGraph(root, graph, error) && sortNodes() &&
         readTraining(root, training, error);
}

/// Reports all unknown ops at once, then sorts.
bool JsonImporter::sortNodes() {
  error = describeUnknownOps(graph, context);
  llvm::StringSet<> known;
  for (const Input &input : inputs)
    known.insert(input.name);
  known.insert_range(weights.keys());
  return error.empty() && json::sortNodes(graph, known, error);
}

bool JsonImporter::readShape(const Json &input, StringRef name,
                             SmallVectorImpl<int64_t> &shape) {
  const Json *dims = find(input, "shape");
  if (!dims || !dims->is_array())
    return fail("input \"" + name +
                "\": \"shape\" is missing or is not a list");
  auto given = options.shapes.find(name);
  ArrayRef<int64_t> wanted;
  if (given != options.shapes.end())
    wanted = given->second;
  if (!wanted.empty() && wanted.size() != dims->size())
    return fail("input \"" + name + "\": the given shape " +
                formatShape(wanted) + " has rank " + Twine(wanted.size()) +
                ", the model's has rank " + Twine(dims->size()));
  std::string text, example;
  bool open = false;
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    int64_t extent = wanted.empty() ? -1 : wanted[i];
    bool named = dim.is_string();
    if (!named && (!toInt(dim, extent) || extent < 0))
      return fail("input \"" + name +
                  "\": each dimension is an extent or the "
                  "name of an open one");
    if (!named && !wanted.empty() && wanted[i] != extent)
      return fail("input \"" + name + "\": the given shape " +
                  formatShape(wanted) + " has " + Twine(wanted[i]) +
                  " in dimension " + Twine(i) + ", which the model fixes at " +
                  Twine(extent));
    open |= extent < 0;
    text += (i ? ", " : "") +
            (named ? dim.get<std::string>() : std::to_string(extent));
    example += (i ? "x" : "") + std::to_string(std::max<int64_t>(extent, 1));
    shape.push_back(extent);
  }
  if (open)
    return fail("input \"" + name + "\" has the open shape [" + text +
                "]; give it a fixed one, as in --shape " + name + "=" +
                example);
  if (!countElements(shape))
    return fail("input \"" + name + "\": the shape " + formatShape(shape) +
                " is beyond any memory");
  return true;
}

bool JsonImporter::readInputs(const Json &list) {
  for (const auto &[i, input] : llvm::enumerate(list)) {
    Input &result = inputs.emplace_back();
    std::string dtype;
    if (!input.is_object() || !getString(input, "name", result.name) ||
        !getString(input, "dtype", dtype) || result.name.empty())
      return fail("input " + Twine(i) + ": expected name, dtype and shape");
    for (const Input &other : ArrayRef(inputs).drop_back())
      if (other.name == result.name)
        return fail("two inputs are called \"" + result.name + "\"");
    std::string unknown =
        unknownKey(input, {"name", "dtype", "shape", "comment"});
    if (!unknown.empty())
      return fail("input \"" + result.name + "\": unknown key \"" + unknown +
                  "\"");
    Type element = parseDtype(dtype, &context);
    if (!element)
      return fail("input \"" + result.name + "\": unknown dtype \"" + dtype +
                  "\"; there are " + kDtypes);
    SmallVector<int64_t> shape;
    if (!readShape(input, result.name, shape))
      return false;
    result.type = RankedTensorType::get(shape, element);
  }
  for (const auto &entry : options.shapes)
    if (llvm::none_of(inputs, [&](const Input &input) {
          return input.name == entry.getKey();
        }))
      return fail("a shape was given for \"" + entry.getKey() +
                  "\", which is no input of the model");
  return true;
}

TypedAttr JsonImporter::readTensor(const std::string &file,
                                   const std::string &tensor) {
  auto [it, isNew] = files.try_emplace(file);
  if (isNew) {
    DataFile data;
    if (!findDataFile(directory, file, data, error) ||
        !readSafetensors(data, &context, it->second, error))
      return {};
  }
  auto found = it->second.find(tensor);
  if (found != it->second.end())
    return found->second;
  fail(file + " has no tensor \"" + tensor + "\"");
  return {};
}

TypedAttr JsonImporter::readMemory(RankedTensorType type,
                                   const std::string &name) {
  DataFile memory;
  if (!findMemory(context, name, memory, error))
    return {};
  return referToBytes(type, memory, /*offset=*/0, memory.size, error);
}

/// {"dtype", "shape", "data"}, {"dtype", "shape", "memory"} or
/// {"file", "tensor"}
TypedAttr JsonImporter::readWeight(const Json &weight) {
  std::string unknown =
      unknownKey(weight, {"name", "dtype", "shape", "data", "memory", "file",
                          "tensor", "comment"});
  if (!unknown.empty()) {
    fail("unknown key \"" + unknown + "\"");
    return {};
  }
  std::string file, tensor, dtype, memory;
  if (getString(weight, "file", file)) {
    if (find(weight, "data") || find(weight, "memory") ||
        !getString(weight, "tensor", tensor)) {
      fail("a weight in a file has the keys file and tensor");
      return {};
    }
    return readTensor(file, tensor);
  }
  SmallVector<int64_t> shape;
  const Json *data = find(weight, "data");
  bool inMemory = getString(weight, "memory", memory);
  if ((data != nullptr) == inMemory || !getString(weight, "dtype", dtype) ||
      !getInts(weight, "shape", shape)) {
    fail("expected dtype, shape and data or memory, or file and tensor");
    return {};
  }
  Type element = parseDtype(dtype, &context);
  if (!element || !countElements(shape)) {
    fail(!element
             ? "unknown dtype \"" + dtype + "\"; there are " + kDtypes.str()
             : "the shape " + formatShape(shape) +
                   " is negative or beyond any memory");
    return {};
  }
  auto type = RankedTensorType::get(shape, element);
  return inMemory ? readMemory(type, memory) : parseData(*data, type, error);
}

bool JsonImporter::readWeights(const Json &list) {
  if (!list.is_array())
    return fail("\"weights\" is not a list");
  for (const auto &[i, weight] : llvm::enumerate(list)) {
    std::string weightName;
    if (!weight.is_object() || !getString(weight, "name", weightName) ||
        weightName.empty())
      return fail("weight " + Twine(i) + ": expected an object with a name");
    if (llvm::any_of(inputs,
                     [&](const Input &in) { return in.name == weightName; }) ||
        weights.contains(weightName))
      return fail("two tensors are called \"" + weightName + "\"");
    TypedAttr value = readWeight(weight);
    if (!value)
      return fail("weight \"" + weightName + "\": " + std::string(error));
    weights[weightName] = value;
  }
  return true;
}

bool JsonImporter::build(GraphBuilder &builder, func::FuncOp function,
                         SmallVectorImpl<Value> &results) {
  GraphImporter importer(builder, weights);
  Builder attributes(&context);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    importer.define(input.name, function.getArgument(i));
    function.setArgAttr(i, graph::names::kName,
                        attributes.getStringAttr(input.name));
  }
  if (importer.build(graph, results))
    return true;
  errorNode = importer.errorNode;
  return fail(importer.error);
}

OwningOpRef<ModuleOp> JsonImporter::import(const Json &root, StringRef path) {
  if (!readRoot(root))
    return nullptr;
  Builder attributes(&context);
  Location loc = NameLoc::get(attributes.getStringAttr(
      name.empty() ? llvm::sys::path::filename(path) : StringRef(name)));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  SmallVector<Type> types;
  for (const Input &input : inputs)
    types.push_back(input.type);
  auto function = func::FuncOp::create(loc, graph::names::kMain,
                                       attributes.getFunctionType(types, {}));
  module->push_back(function);
  Block *block = function.addEntryBlock();
  GraphBuilder builder(block, directory);
  SmallVector<Value> results;
  if (!build(builder, function, results))
    return nullptr;
  builder.setLocation(loc);
  SmallVector<Attribute> resultNames;
  for (const std::string &output : graph.outputs)
    resultNames.push_back(attributes.getDictionaryAttr(attributes.getNamedAttr(
        graph::names::kName, attributes.getStringAttr(output))));
  if (results.empty()) {
    fail("the model has no outputs");
    return nullptr;
  }
  func::ReturnOp::create(builder.raw(), loc, results);
  function.setFunctionType(
      attributes.getFunctionType(types, ValueRange(results).getTypes()));
  function.setAllResultAttrs(resultNames);
  eraseDeadOps(*block);
  if (options.weights)
    options.weights->insert_range(weights.keys());
  if (options.training) {
    *options.training = training;
    options.training->weights.insert_range(weights.keys());
  }
  return module;
}

} // namespace

OwningOpRef<ModuleOp> importJson(StringRef path, StringRef text,
                                 const ImportOptions &options,
                                 MLIRContext &context) {
  auto fileName = StringAttr::get(&context, path);
  ParseError problem;
  Json root = parseJson(text, problem);
  if (!problem.message.empty()) {
    emitError(FileLineColLoc::get(fileName, problem.line, problem.column))
        << "malformed JSON at byte " << problem.position << ": "
        << problem.message;
    return nullptr;
  }
  JsonImporter importer(path, options, context);
  OwningOpRef<ModuleOp> module = importer.import(root, path);
  if (module)
    return module;
  Location loc = FileLineColLoc::get(fileName, 0, 0);
  if (!importer.errorNode.empty())
    loc = NameLoc::get(StringAttr::get(&context, importer.errorNode), loc);
  emitError(loc) << importer.error;
  return nullptr;
}

} // namespace tinh::json
