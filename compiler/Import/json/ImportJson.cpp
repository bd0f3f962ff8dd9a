//===- ImportJson.cpp - JSON graphs to the graph dialect --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Formats.h"

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
  RankedTensorType type;   ///< Null if it is wrong.
  DenseElementsAttr value; ///< Not null: a constant takes its place.

  bool isArgument() const { return type && !value; }
};

/// Reads one file. What is wrong is noted, and the rest read all the same.
class JsonImporter {
public:
  JsonImporter(StringRef path, const ImportOptions &options,
               MLIRContext &context)
      : context(context), options(options),
        directory(options.directoryOf(path)) {}

  /// Null if there are problems.
  OwningOpRef<ModuleOp> import(const Json &root, StringRef path);

  Problems problems;

private:
  bool readHeader(const Json &root);
  bool read(const Json &root);
  bool readInputs(const Json &root);
  bool readShape(const Json &input, StringRef name, const Scope &inside,
                 SmallVectorImpl<int64_t> &shape);
  void readInput(const Json &input, size_t index);
  bool readWeights(const Json &root);
  TypedAttr readWeight(const Json &weight, const Scope &scope);
  TypedAttr readMemory(RankedTensorType type, const std::string &name,
                       std::string &error);
  TypedAttr readTensor(const std::string &file, const std::string &tensor,
                       std::string &error);
  bool isDefined(StringRef name) const;
  bool build(GraphBuilder &builder, func::FuncOp function,
             SmallVectorImpl<Value> &results);

  MLIRContext &context;
  const ImportOptions &options;
  Scope scope{problems};
  std::string directory, name;
  std::vector<Input> inputs;
  Graph graph;
  /// Null for those that are wrong.
  llvm::StringMap<TypedAttr> weights;
  llvm::StringMap<Safetensors> files;
  TrainingInfo training;
};

/// Whether the file is one of this format, which it says at its start.
bool JsonImporter::readHeader(const Json &root) {
  if (!root.is_object())
    return scope.fail(root, "expected an object with the key \"tinh\"");
  const Json *version = find(root, "tinh");
  int64_t number = 0;
  if (!version || !toInt(*version, number))
    return scope.fail(root, "not a Tinh graph: the key \"tinh\" with the "
                            "format's version, 1, is missing");
  return number == kVersion ||
         scope.fail(*version, "the file has version " + Twine(number) +
                                  " of the format, this program reads version "
                                  "1");
}

/// False if names, or what makes them, are not known, so that nothing can be
/// built.
bool JsonImporter::read(const Json &root) {
  if (!readHeader(root))
    return false;
  scope.checkKeys(root, {"tinh", "name", "inputs", "weights", "nodes",
                         "outputs", "training", "$schema", "comment"});
  getString(root, "name", name);
  readTraining(root, training, scope);
  bool right = readInputs(root);
  right &= readWeights(root);
  right &= readGraph(root, graph, scope);
  checkOps(graph, context, scope);
  llvm::StringSet<> known;
  for (const Input &input : inputs)
    known.insert(input.name);
  known.insert_range(weights.keys());
  if (!right || !checkNames(root, graph, known, scope))
    return false;
  std::vector<std::string> cycles = sortNodes(graph, known);
  for (const std::string &cycle : cycles)
    scope.fail(root["nodes"], cycle);
  return cycles.empty();
}

bool JsonImporter::isDefined(StringRef name) const {
  return weights.contains(name) ||
         llvm::any_of(inputs,
                      [&](const Input &input) { return input.name == name; });
}

bool JsonImporter::readShape(const Json &input, StringRef name,
                             const Scope &inside,
                             SmallVectorImpl<int64_t> &shape) {
  const Json *dims = find(input, "shape");
  if (!dims || !dims->is_array())
    return inside.fail(dims ? *dims : input,
                       "\"shape\" is missing or is not a list");
  auto given = options.shapes.find(name);
  ArrayRef<int64_t> wanted;
  if (given != options.shapes.end())
    wanted = given->second;
  if (!wanted.empty() && wanted.size() != dims->size())
    return inside.fail(*dims, "the given shape " + formatShape(wanted) +
                                  " has rank " + Twine(wanted.size()) +
                                  ", the model's has rank " +
                                  Twine(dims->size()));
  std::string text, example;
  bool open = false;
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    int64_t extent = wanted.empty() ? -1 : wanted[i];
    bool named = dim.is_string();
    if (!named && (!toInt(dim, extent) || extent < 0))
      return inside.fail(dim, "each dimension is an extent or the name of an "
                              "open one, found " +
                                  quote(dim));
    if (!named && !wanted.empty() && wanted[i] != extent)
      return inside.fail(dim,
                         "the given shape " + formatShape(wanted) + " has " +
                             Twine(wanted[i]) + " in dimension " + Twine(i) +
                             ", which the model fixes at " + Twine(extent));
    open |= extent < 0;
    text += (i ? ", " : "") +
            (named ? dim.get<std::string>() : std::to_string(extent));
    example += (i ? "x" : "") + std::to_string(std::max<int64_t>(extent, 1));
    shape.push_back(extent);
  }
  if (open)
    return scope.fail(*dims, "input \"" + name + "\" has the open shape [" +
                                 text +
                                 "]; give it a fixed one, as in --shape " +
                                 name + "=" + example);
  return countElements(shape) ||
         inside.fail(*dims, "the shape " + formatShape(shape) +
                                " is beyond any memory");
}

void JsonImporter::readInput(const Json &input, size_t index) {
  Input result;
  std::string dtype;
  if (!input.is_object() || !getString(input, "name", result.name) ||
      result.name.empty()) {
    scope.fail(input,
               "input " + Twine(index) + ": expected name, dtype and shape");
    return;
  }
  Scope inside = scope.within("input \"" + result.name + "\"");
  if (isDefined(result.name))
    scope.fail(input, "two inputs are called \"" + result.name + "\"");
  inside.checkKeys(input, {"name", "dtype", "shape", "comment"});
  Type element;
  if (!getString(input, "dtype", dtype))
    inside.fail(input, "\"dtype\" is missing or is not a string");
  else if (!(element = parseDtype(dtype, &context)))
    inside.fail(input["dtype"],
                "unknown dtype \"" + dtype + "\"; there are " + kDtypes);
  SmallVector<int64_t> shape;
  if (readShape(input, result.name, inside, shape) && element)
    result.type = RankedTensorType::get(shape, element);
  std::string error;
  if (result.type)
    result.value = inputValue(options, result.name, result.type, error);
  if (!error.empty())
    scope.fail(input, error);
  inputs.push_back(result);
}

bool JsonImporter::readInputs(const Json &root) {
  const Json *list = find(root, "inputs");
  if (!list || !list->is_array())
    return scope.fail(list ? *list : root,
                      "\"inputs\" is missing or is not a list");
  for (const auto &[i, input] : llvm::enumerate(*list))
    readInput(input, i);
  SmallVector<StringRef> names;
  for (const Input &input : inputs)
    names.push_back(input.name);
  for (const std::string &unknown : describeUnknownInputs(options, names))
    scope.fail(*list, unknown);
  for (const std::string &wrong : describeLengthsOfTensors(options, names))
    scope.fail(*list, wrong);
  return inputs.size() == list->size();
}

TypedAttr JsonImporter::readTensor(const std::string &file,
                                   const std::string &tensor,
                                   std::string &error) {
  auto it = files.find(file);
  if (it == files.end()) {
    DataFile data;
    Safetensors tensors;
    if (!findDataFile(directory, file, data, error) ||
        !readSafetensors(data, &context, tensors, error))
      return {};
    it = files.try_emplace(file, std::move(tensors)).first;
  }
  auto found = it->second.find(tensor);
  if (found != it->second.end())
    return found->second;
  error = file + " has no tensor \"" + tensor + "\"";
  return {};
}

TypedAttr JsonImporter::readMemory(RankedTensorType type,
                                   const std::string &name,
                                   std::string &error) {
  DataFile memory;
  if (!findMemory(context, name, memory, error))
    return {};
  return referToBytes(type, memory, /*offset=*/0, memory.size, error);
}

/// {"dtype", "shape", "data"}, {"dtype", "shape", "memory"} or
/// {"file", "tensor"}
TypedAttr JsonImporter::readWeight(const Json &weight, const Scope &scope) {
  auto fail = [&](const Json &at, const Twine &what) {
    scope.fail(at, what);
    return TypedAttr();
  };
  std::string file, tensor, dtype, memory, error;
  if (getString(weight, "file", file)) {
    if (find(weight, "data") || find(weight, "memory") ||
        !getString(weight, "tensor", tensor))
      return fail(weight, "a weight in a file has the keys file and tensor");
    TypedAttr value = readTensor(file, tensor, error);
    return value ? value : fail(weight["file"], error);
  }
  SmallVector<int64_t> shape;
  const Json *data = find(weight, "data");
  bool inMemory = getString(weight, "memory", memory);
  if ((data != nullptr) == inMemory || !getString(weight, "dtype", dtype) ||
      !getInts(weight, "shape", shape))
    return fail(weight,
                "expected dtype, shape and data or memory, or file and tensor");
  Type element = parseDtype(dtype, &context);
  if (!element)
    return fail(weight["dtype"],
                "unknown dtype \"" + dtype + "\"; there are " + kDtypes);
  if (!countElements(shape))
    return fail(weight["shape"], "the shape " + formatShape(shape) +
                                     " is negative or beyond any memory");
  auto type = RankedTensorType::get(shape, element);
  TypedAttr value = inMemory ? readMemory(type, memory, error)
                             : TypedAttr(parseData(*data, type, error));
  return value ? value : fail(inMemory ? weight["memory"] : *data, error);
}

bool JsonImporter::readWeights(const Json &root) {
  const Json *list = find(root, "weights");
  if (!list)
    return true;
  if (!list->is_array())
    return scope.fail(*list, "\"weights\" is not a list");
  bool named = true;
  for (const auto &[i, weight] : llvm::enumerate(*list)) {
    std::string weightName;
    if (!weight.is_object() || !getString(weight, "name", weightName) ||
        weightName.empty()) {
      named = scope.fail(weight, "weight " + Twine(i) +
                                     ": expected an object with a name");
      continue;
    }
    if (isDefined(weightName))
      scope.fail(weight, "two tensors are called \"" + weightName + "\"");
    Scope inside = scope.within("weight \"" + weightName + "\"");
    inside.checkKeys(weight, {"name", "dtype", "shape", "data", "memory",
                              "file", "tensor", "comment"});
    weights[weightName] = readWeight(weight, inside);
  }
  return named;
}

bool JsonImporter::build(GraphBuilder &builder, func::FuncOp function,
                         SmallVectorImpl<Value> &results) {
  GraphImporter importer(builder, weights, scope);
  Builder attributes(&context);
  unsigned index = 0;
  SmallVector<Attribute> names;
  for (const Input &input : inputs) {
    if (input.value)
      importer.define(input.name, builder.constant(input.value));
    if (!input.isArgument())
      continue;
    importer.define(input.name, function.getArgument(index++));
    names.push_back(attributes.getDictionaryAttr(attributes.getNamedAttr(
        graph::names::kName, attributes.getStringAttr(input.name))));
  }
  function.setAllArgAttrs(names);
  return importer.build(graph, results);
}

OwningOpRef<ModuleOp> JsonImporter::import(const Json &root, StringRef path) {
  if (!read(root))
    return nullptr;
  Builder attributes(&context);
  Location loc = NameLoc::get(attributes.getStringAttr(
      name.empty() ? llvm::sys::path::filename(path) : StringRef(name)));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  SmallVector<Type> types;
  for (const Input &input : inputs)
    if (input.isArgument())
      types.push_back(input.type);
  auto function = func::FuncOp::create(loc, graph::names::kMain,
                                       attributes.getFunctionType(types, {}));
  module->push_back(function);
  Block *block = function.addEntryBlock();
  GraphBuilder builder(block, directory);
  builder.setInterruption(options.interruption);
  SmallVector<Value> results;
  bool built = build(builder, function, results);
  if (isRequested(options.interruption))
    return scope.fail(root, options.interruption->message()), nullptr;
  if (results.empty())
    scope.fail(root["outputs"], "the model has no outputs");
  if (!built || !problems.empty())
    return nullptr;
  buildReturn(
      builder, function, results,
      SmallVector<StringRef>(graph.outputs.begin(), graph.outputs.end()));
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
  ParseError problem;
  Json root = parseJson(text, problem);
  if (!problem.message.empty()) {
    emitError(FileLineColLoc::get(StringAttr::get(&context, path), problem.line,
                                  problem.column))
        << "malformed JSON at byte " << problem.position << ": "
        << problem.message;
    return nullptr;
  }
  JsonImporter importer(path, options, context);
  OwningOpRef<ModuleOp> module = importer.import(root, path);
  importer.problems.report(path, text, root, context);
  return module;
}

} // namespace tinh::json
