//===- ImportOnnx.cpp - ONNX models to the graph dialect --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Formats.h"

#include "compiler/Import/onnx/CheckFunctions.h"
#include "compiler/Import/onnx/GraphImporter.h"
#include "compiler/Import/onnx/Inputs.h"
#include "compiler/Import/onnx/ModelScan.h"
#include "compiler/Import/onnx/strings/Strings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// Where what is wrong with the file is reported.
Location fileLocation(MLIRContext &context, StringRef path) {
  return FileLineColLoc::get(StringAttr::get(&context, path), 0, 0);
}

std::optional<ModelProto> parseModel(StringRef bytes, std::string &error) {
  if (bytes.empty()) {
    error = "the file is empty";
    return std::nullopt;
  }
  ScanResult scan = scanModel(bytes, kMaxInlineBytes);
  if (!scan.error.empty()) {
    error = scan.error;
    return std::nullopt;
  }
  ModelProto model;
  google::protobuf::LogSilencer silent;
  if (scan.model.size() > INT_MAX || !model.ParseFromString(scan.model)) {
    error = "not a valid ONNX model: its fields do not have the types of "
            "onnx.proto";
    return std::nullopt;
  }
  if (!model.has_graph() ||
      (model.graph().node_size() == 0 && model.graph().output_size() == 0)) {
    error = "not an ONNX model: it holds no graph";
    return std::nullopt;
  }
  return model;
}

NamedAttribute nameAttribute(Builder &builder, StringRef name) {
  return builder.getNamedAttr(graph::names::kName, builder.getStringAttr(name));
}

/// The domain that is imported twice; nothing if none is.
template <typename Imports>
std::optional<std::string> repeatedDomain(const Imports &imports) {
  llvm::StringMap<int64_t> seen;
  for (const auto &import : imports) {
    std::string domain = normaliseDomain(import.domain());
    auto [known, isNew] = seen.try_emplace(domain, import.version());
    if (!isNew && known->second != import.version())
      return domain.empty() ? "ai.onnx" : domain;
  }
  return std::nullopt;
}

/// Notes what the model defines twice.
void checkRepeated(const ModelProto &model, Problems &problems) {
  if (auto domain = repeatedDomain(model.opset_import()))
    problems.add("the model imports two versions of the operator set " +
                 *domain);
  llvm::StringSet<> seen;
  for (const auto &function : model.functions()) {
    std::string domain = normaliseDomain(function.domain());
    std::string name =
        (domain.empty() ? "ai.onnx" : domain) + "." + function.name();
    if (!function.overload().empty())
      name += ":" + function.overload();
    if (!seen.insert(name).second)
      problems.add("the model defines the function " + name + " twice");
    if (auto repeated = repeatedDomain(function.opset_import()))
      problems.add("the function " + name +
                   " imports two versions of the operator set " + *repeated);
  }
}

/// Adds the names of the initializers of `graph` and of the graphs within it.
void addWeights(const GraphProto &graph, llvm::StringSet<> &weights) {
  for (const auto &tensor : graph.initializer())
    weights.insert(tensor.name());
  for (const auto &node : graph.node())
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        addWeights(attribute.g(), weights);
}

/// A result of the model's function.
struct Result {
  std::string name;
  Value value;
  bool isString = false;

  ArrayRef<int64_t> shape() const {
    return isString ? stringShape(value) : NodeBuilder::shape(value);
  }
};

/// Fills the function that becomes @main; its type is set at the end.
class ModelImporter {
public:
  ModelImporter(const ModelProto &model, const ModelFile &file,
                const ImportOptions &options, MLIRContext &context)
      : model(model), file(file), options(options), context(context) {}

  /// Null if there are problems.
  OwningOpRef<ModuleOp> import();

  Problems problems;

private:
  OwningOpRef<ModuleOp> build(ArrayRef<ModelInput> inputs);
  void checkDeclaredShape(const ::onnx::TypeProto::Tensor &type,
                          const Result &result);
  void checkDeclaredType(const ::onnx::TypeProto::Tensor &type,
                         const Result &result);
  void addResult(const ::onnx::TypeProto &type, const Result &result,
                 std::vector<Result> &results);
  void collectResults(GraphImporter &importer, std::vector<Result> &results);

  const ModelProto &model;
  const ModelFile &file;
  const ImportOptions &options;
  MLIRContext &context;
};

/// Warns of a declared shape that is not true. It decides nothing: models that
/// were edited often have some.
void ModelImporter::checkDeclaredShape(const ::onnx::TypeProto::Tensor &type,
                                       const Result &result) {
  if (!type.has_shape() || !options.shapes.empty() || !problems.empty())
    return;
  ArrayRef<int64_t> shape = result.shape();
  auto warn = [&](const Twine &declared) {
    emitWarning(fileLocation(context, file.path))
        << "output \"" << result.name << "\" is declared with " << declared
        << ", but has the shape " << formatShape(shape);
  };
  if (static_cast<size_t>(type.shape().dim_size()) != shape.size())
    return warn("rank " + Twine(type.shape().dim_size()));
  for (auto [i, dim] : llvm::enumerate(type.shape().dim()))
    if (dim.dim_value() > 0 && dim.dim_value() != shape[i])
      return warn(Twine(dim.dim_value()) + " in dimension " + Twine(i));
}

void ModelImporter::checkDeclaredType(const ::onnx::TypeProto::Tensor &type,
                                      const Result &result) {
  int declared = type.elem_type();
  Type element = NodeBuilder::element(result.value);
  bool isDeclaredString = declared == TensorProto::STRING;
  if (declared == 0 ||
      (result.isString ? isDeclaredString
                       : valueElementType(declared, &context) == element))
    return;
  if (result.isString) {
    problems.add("output \"" + result.name + "\" is declared as " +
                 elementTypeName(declared) + ", but has strings");
    return;
  }
  std::string text;
  llvm::raw_string_ostream(text) << element;
  problems.add("output \"" + result.name + "\" is declared as " +
               elementTypeName(declared) + ", but has elements of type " +
               text);
}

/// The type of the tensors of a sequence or an optional, or of a tensor itself.
const ::onnx::TypeProto::Tensor &tensorTypeOf(const ::onnx::TypeProto &type) {
  if (type.has_optional_type())
    return tensorTypeOf(type.optional_type().elem_type());
  if (type.has_sequence_type())
    return tensorTypeOf(type.sequence_type().elem_type());
  return type.tensor_type();
}

void ModelImporter::addResult(const ::onnx::TypeProto &type,
                              const Result &result,
                              std::vector<Result> &results) {
  checkDeclaredType(tensorTypeOf(type), result);
  checkDeclaredShape(tensorTypeOf(type), result);
  results.push_back(result);
}

/// Looks the outputs up: those that are known. A sequence is an output for each
/// of its tensors, and an optional that has nothing none.
void ModelImporter::collectResults(GraphImporter &importer,
                                   std::vector<Result> &results) {
  if (model.graph().output_size() == 0)
    problems.add("the model has no outputs");
  for (const auto &output : model.graph().output()) {
    if (importer.isUnknown(output.name()))
      continue;
    std::optional<Operand> found = importer.find(output.name());
    if (!found)
      problems.add("output \"" + output.name() + "\": " + importer.error);
    else if (found->tensor)
      addResult(output.type(), {output.name(), found->tensor, found->isString},
                results);
    else if (found->sequence)
      for (auto [i, tensor] : llvm::enumerate(*found->sequence))
        addResult(output.type(),
                  {elementName(output.name(), i), tensor, found->isString},
                  results);
  }
  llvm::StringSet<> names;
  for (const Result &result : results)
    if (!names.insert(result.name).second)
      problems.add("the model has two outputs \"" + result.name +
                   "\", where tensors of sequences are counted");
  if (results.empty() && problems.empty())
    problems.add("all outputs of the model are empty sequences or optionals "
                 "that have nothing");
}

OwningOpRef<ModuleOp> ModelImporter::import() {
  if (FunctionError wrong = checkFunctions(model); !wrong.what.empty()) {
    problems.add(wrong.what, wrong.node);
    return nullptr;
  }
  checkRepeated(model, problems);
  bool isAmbiguous = !problems.empty();
  std::vector<ModelInput> inputs =
      readInputs(model.graph(), options, &context, problems);
  return isAmbiguous ? nullptr : build(inputs);
}

/// What an input stands for: the first of the arguments of @main, which it
/// takes, or constants in their place.
Operand toOperand(const ModelInput &input, GraphBuilder &builder,
                  Block::BlockArgListType &arguments) {
  Sequence tensors;
  for (const Input &tensor : input.tensors) {
    if (tensor.value) {
      tensors.push_back(builder.constant(tensor.value));
      continue;
    }
    tensors.push_back(arguments.front());
    arguments = arguments.drop_front();
  }
  if (input.isSequence)
    return {{}, std::move(tensors), input.isString};
  return {tensors.empty() ? Value() : tensors.front(), {}, input.isString};
}

OwningOpRef<ModuleOp> ModelImporter::build(ArrayRef<ModelInput> inputs) {
  Builder attributes(&context);
  Location loc = NameLoc::get(attributes.getStringAttr(
      model.graph().name().empty() ? file.name : model.graph().name()));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  SmallVector<Type> inputTypes;
  SmallVector<Attribute> inputAttributes;
  for (const ModelInput &input : inputs)
    for (const Input &tensor : input.tensors) {
      if (tensor.value)
        continue;
      inputTypes.push_back(tensor.type);
      inputAttributes.push_back(
          attributes.getDictionaryAttr(nameAttribute(attributes, tensor.name)));
    }
  auto function = func::FuncOp::create(
      loc, graph::names::kMain, attributes.getFunctionType(inputTypes, {}));
  module->push_back(function);
  Block *block = function.addEntryBlock();

  GraphBuilder builder(block, file.directory);
  builder.setLocation(loc);
  builder.setInterruption(options.interruption);
  Opsets opsets = readOpsets(model.opset_import());
  if (model.ir_version() < 3 && opsets.empty())
    opsets[""] = 1; // Before there was a field for it.
  GraphImporter importer(model, model.graph(), opsets, file, builder);
  Block::BlockArgListType arguments = block->getArguments();
  for (const ModelInput &input : inputs) {
    if (input.isUnknown)
      importer.defineUnknown(input.name);
    else
      importer.define(input.name, toOperand(input, builder, arguments));
  }
  function.setAllArgAttrs(inputAttributes);
  importer.build();
  problems.append(std::move(importer.problems));
  if (isRequested(options.interruption)) {
    problems = {};
    problems.add(options.interruption->message());
    return nullptr;
  }
  std::vector<Result> results;
  builder.setLocation(loc);
  collectResults(importer, results);
  if (!problems.empty())
    return nullptr;

  SmallVector<Value> values;
  SmallVector<StringRef> names;
  for (const Result &result : results) {
    values.push_back(result.value);
    names.push_back(result.name);
  }
  buildReturn(builder, function, values, names);
  if (options.weights)
    addWeights(model.graph(), *options.weights);
  if (options.training)
    addWeights(model.graph(), options.training->weights);
  return module;
}

} // namespace

OwningOpRef<ModuleOp> importOnnx(StringRef path, StringRef content,
                                 const ImportOptions &options,
                                 MLIRContext &context) {
  auto fail = [&](const Twine &what) {
    emitError(fileLocation(context, path)) << what;
    return OwningOpRef<ModuleOp>();
  };
  std::string error;
  auto model = parseModel(content, error);
  if (!model)
    return fail(error);
  ModelFile file;
  file.path = path.str();
  file.name = llvm::sys::path::filename(path).str();
  file.directory = options.directoryOf(path);
  if (ImportOptions own;
      !llvm::sys::fs::equivalent(file.directory, own.directoryOf(path))) {
    SmallString<256> absolute(path);
    llvm::sys::fs::make_absolute(absolute);
    file.name = absolute.str().str();
  }
  file.size = content.size();
  file.isTrained = options.training != nullptr;
  ModelImporter importer(*model, file, options, context);
  OwningOpRef<ModuleOp> module = importer.import();
  importer.problems.report(path, context);
  return module;
}

} // namespace tinh::onnx
