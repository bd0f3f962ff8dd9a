//===- Inputs.cpp - The types of a model's inputs ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/Inputs.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Import/InputOptions.h"
#include "compiler/Import/onnx/Tensors.h"
#include "compiler/Import/onnx/strings/Strings.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;
using Dimension = ::onnx::TensorShapeProto_Dimension;

namespace tinh::onnx {

namespace {

/// The name of a dimension that all dimensions of this name share; empty if it
/// has none. Exporters write "?" for what they do not know.
StringRef symbolOf(const Dimension &dim) {
  StringRef name = dim.dim_param();
  return name == "?" ? "" : name;
}

/// Resolves the symbols in shapes.
class ShapeReader {
public:
  ShapeReader(const ImportOptions &options, Problems &problems)
      : options(options), problems(problems) {}

  /// Learns what the given shapes say of symbols.
  bool learn(const ValueInfoProto &info);
  /// The static shape; nothing if a dimension is unknown.
  std::optional<SmallVector<int64_t>> read(const ValueInfoProto &info) const;

private:
  bool fail(const ValueInfoProto &info, const Twine &what) {
    problems.add("input \"" + info.name() + "\": " + what);
    return false;
  }

  const ImportOptions &options;
  Problems &problems;
  llvm::StringMap<int64_t> symbols;
};

bool ShapeReader::learn(const ValueInfoProto &info) {
  auto given = options.shapes.find(info.name());
  if (given == options.shapes.end())
    return true;
  ArrayRef<int64_t> shape = given->second;
  if (!countElements(shape))
    return fail(info, "the shape " + formatShape(shape) +
                          " is negative or beyond any memory");
  const TypeProto::Tensor &type = info.type().tensor_type();
  if (!type.has_shape())
    return true;
  if (type.shape().dim_size() != static_cast<int>(shape.size()))
    return fail(info, "the given shape " + formatShape(shape) + " has rank " +
                          Twine(shape.size()) + ", the model's has rank " +
                          Twine(type.shape().dim_size()));
  for (auto [i, extent] : llvm::enumerate(shape)) {
    const Dimension &dim = type.shape().dim(static_cast<int>(i));
    if (dim.has_dim_value() && dim.dim_value() > 0 && dim.dim_value() != extent)
      return fail(info, "the given shape " + formatShape(shape) + " has " +
                            Twine(extent) + " in dimension " + Twine(i) +
                            ", which the model fixes at " +
                            Twine(dim.dim_value()));
    StringRef name = symbolOf(dim);
    if (name.empty())
      continue;
    auto [it, isNew] = symbols.try_emplace(name, extent);
    if (!isNew && it->second != extent)
      return fail(info, "the given shapes make dimension \"" + name +
                            "\" both " + Twine(it->second) + " and " +
                            Twine(extent));
  }
  return true;
}

std::optional<SmallVector<int64_t>>
ShapeReader::read(const ValueInfoProto &info) const {
  auto given = options.shapes.find(info.name());
  if (given != options.shapes.end())
    return given->second;
  const TypeProto::Tensor &type = info.type().tensor_type();
  if (!type.has_shape())
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (const Dimension &dim : type.shape().dim()) {
    auto symbol = symbols.find(symbolOf(dim));
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      shape.push_back(dim.dim_value());
    else if (symbol != symbols.end())
      shape.push_back(symbol->second);
    else
      return std::nullopt;
  }
  return shape;
}

/// "[batch, 3, 224]" and an option that would settle it.
std::string describeOpen(const ValueInfoProto &info) {
  const TypeProto::Tensor &type = info.type().tensor_type();
  if (!type.has_shape())
    return "input \"" + info.name() +
           "\" has no shape in the model; give it one, as in --shape " +
           info.name() + "=1x3x224x224";
  std::string shape, example;
  for (const Dimension &dim : type.shape().dim()) {
    bool fixed = dim.has_dim_value() && dim.dim_value() >= 0;
    std::string extent = std::to_string(dim.dim_value());
    std::string symbol = symbolOf(dim).empty() ? "?" : dim.dim_param();
    shape += (shape.empty() ? "" : ", ") + (fixed ? extent : symbol);
    example += (example.empty() ? "" : "x") + (fixed ? extent : "1");
  }
  return "input \"" + info.name() + "\" has the open shape [" + shape +
         "]; give it a fixed one, as in --shape " + info.name() + "=" + example;
}

std::string describeType(int dataType, ArrayRef<int64_t> shape) {
  return elementTypeName(dataType) + " " + formatShape(shape);
}

using Initializers = llvm::StringMap<const TensorProto *>;

/// By name; two of one name are a problem.
Initializers readInitializers(const GraphProto &graph, Problems &problems) {
  Initializers initializers;
  for (const TensorProto &tensor : graph.initializer())
    if (!initializers.try_emplace(tensor.name(), &tensor).second)
      problems.add("the model has two initializers \"" + tensor.name() + "\"");
  return initializers;
}

/// That an input which has an initializer is declared with the type of that.
bool checkInitializer(const ValueInfoProto &info, const TensorProto &tensor,
                      Problems &problems) {
  if (!info.type().has_tensor_type())
    return true;
  const TypeProto::Tensor &type = info.type().tensor_type();
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end()),
      declared(shape);
  if (type.has_shape())
    declared.assign(type.shape().dim_size(), 0);
  for (auto [i, dim] : llvm::enumerate(type.shape().dim()))
    declared[i] =
        dim.dim_value() > 0 || i >= shape.size() ? dim.dim_value() : shape[i];
  int element = type.elem_type() ? type.elem_type() : tensor.data_type();
  if (declared == shape && element == tensor.data_type())
    return true;
  problems.add("input \"" + info.name() + "\" is declared as " +
               describeType(element, declared) + ", but its initializer is " +
               describeType(tensor.data_type(), shape));
  return false;
}

bool isString(const ValueInfoProto &info) {
  return info.type().tensor_type().elem_type() == TensorProto::STRING;
}

/// The bytes that a string of an input has at most; nothing, with an error, if
/// the options give the input another one than strings have.
std::optional<int64_t> readWidth(const ValueInfoProto &info,
                                 const ImportOptions &options,
                                 std::string &error) {
  auto given = options.stringLengths.find(info.name());
  bool isGiven = given != options.stringLengths.end();
  int64_t width = isGiven ? given->second : ImportOptions::kStringLength;
  if (isGiven && !isString(info))
    error = kStringLengthOfNumbers;
  else if (width < 1)
    error = "strings of " + std::to_string(width) + " bytes are none";
  else
    error = checkStringLength(width);
  return error.empty() ? std::optional<int64_t>(width) : std::nullopt;
}

/// The type of an input; null, with an error, if it cannot be one.
RankedTensorType readType(const ValueInfoProto &info, const ShapeReader &reader,
                          const ImportOptions &options, MLIRContext *context,
                          Problems &problems) {
  auto fail = [&](const Twine &what) {
    problems.add("input \"" + info.name() + "\": " + what);
    return RankedTensorType();
  };
  int dataType = info.type().tensor_type().elem_type();
  Type element = isString(info)
                     ? IntegerType::get(context, 8, IntegerType::Unsigned)
                     : valueElementType(dataType, context);
  if (!element)
    return fail("element type " + elementTypeName(dataType) +
                " is not supported");
  auto shape = reader.read(info);
  if (!shape) {
    problems.add(describeOpen(info));
    return {};
  }
  std::string error;
  auto width = readWidth(info, options, error);
  if (!width)
    return fail(error);
  if (isString(info))
    shape->push_back(*width);
  if (!countElements(*shape))
    return fail("the shape " + formatShape(*shape) + " is beyond any memory");
  return RankedTensorType::get(*shape, element);
}

/// An input before its tensors have shapes.
struct DeclaredInput {
  const ValueInfoProto *info;
  bool isSequence = false;
  bool isWrong = false;
  /// Those of a sequence are "x.0", "x.1" ….
  std::vector<ValueInfoProto> tensors;
};

/// A tensor of a sequence; those of one symbol may have other extents.
ValueInfoProto elementOf(const ValueInfoProto &info,
                         const TypeProto::Tensor &type, size_t i) {
  ValueInfoProto element;
  element.set_name(elementName(info.name(), i));
  TypeProto::Tensor &own = *element.mutable_type()->mutable_tensor_type();
  own = type;
  if (own.has_shape())
    for (Dimension &dim : *own.mutable_shape()->mutable_dim())
      if (dim.has_dim_param())
        dim.clear_dim_param();
  return element;
}

/// What is wrong with the length of a tensor, which may be optional; empty if
/// nothing is.
std::string checkTensorLength(StringRef name, bool isOptional,
                              std::optional<int64_t> length) {
  if (!isOptional)
    return length ? kLengthOfTensor.str() : "";
  if (!length)
    return ("it is optional; say whether it is there, as in --length " + name +
            "=1, or =absent")
        .str();
  if (*length > 1)
    return "it is one tensor or none, and " + std::to_string(*length) +
           " were given as its length";
  return "";
}

/// The same of a sequence.
std::string checkSequenceLength(StringRef name, bool isOptional,
                                std::optional<int64_t> length) {
  constexpr int64_t kMostTensors = 1 << 16;
  if (!length)
    return ("it is a sequence; say how many tensors it has, as in --length " +
            name + "=2")
        .str();
  if (*length > kMostTensors)
    return std::to_string(*length) +
           " tensors are beyond any sequence, which has " +
           std::to_string(kMostTensors) + " at most";
  if (*length == ImportOptions::kAbsent && !isOptional)
    return "a sequence is there, if it is not optional; give its length";
  return "";
}

/// Finds the tensors that there are behind an input, as `lengths` has it; gives
/// what is wrong, or an empty string.
std::string declareTensors(const llvm::StringMap<int64_t> &lengths,
                           DeclaredInput &input) {
  const ValueInfoProto &info = *input.info;
  bool isOptional = info.type().has_optional_type();
  const TypeProto &type =
      isOptional ? info.type().optional_type().elem_type() : info.type();
  bool isTensor = type.has_tensor_type();
  if (!isTensor && !(type.has_sequence_type() &&
                     type.sequence_type().elem_type().has_tensor_type()))
    return "only tensors, sequences of tensors and optionals of these are "
           "supported as inputs";
  std::optional<int64_t> length;
  if (auto given = lengths.find(info.name()); given != lengths.end())
    length = given->second;
  if (length && *length < ImportOptions::kAbsent)
    return "there are no " + std::to_string(*length) + " tensors";
  std::string wrong =
      isTensor ? checkTensorLength(info.name(), isOptional, length)
               : checkSequenceLength(info.name(), isOptional, length);
  if (!wrong.empty())
    return wrong;
  if (isTensor) {
    if (length.value_or(1) < 1)
      return "";
    input.tensors.push_back(info);
    *input.tensors.back().mutable_type() = type;
    return "";
  }
  input.isSequence = *length != ImportOptions::kAbsent;
  for (int64_t i = 0; i < *length; ++i)
    input.tensors.push_back(
        elementOf(info, type.sequence_type().elem_type().tensor_type(), i));
  return "";
}

/// The inputs that are no initializers, in the order of the file.
std::vector<DeclaredInput> declareInputs(const GraphProto &graph,
                                         const ImportOptions &options,
                                         Problems &problems) {
  Initializers initializers = readInitializers(graph, problems);
  std::vector<DeclaredInput> inputs;
  for (const ValueInfoProto &info : graph.input()) {
    DeclaredInput input = {&info, false, false, {}};
    if (const TensorProto *tensor = initializers.lookup(info.name())) {
      input.isWrong = !checkInitializer(info, *tensor, problems);
      if (input.isWrong)
        inputs.push_back(std::move(input));
      continue;
    }
    std::string wrong = declareTensors(options.lengths, input);
    if (!wrong.empty())
      problems.add("input \"" + info.name() + "\": " + wrong);
    input.isWrong = !wrong.empty();
    inputs.push_back(std::move(input));
  }
  return inputs;
}

/// Notes the names in the options that are no input or tensor of one.
void checkNames(const ImportOptions &options, ArrayRef<DeclaredInput> inputs,
                Problems &problems) {
  SmallVector<StringRef> names;
  llvm::StringSet<> elements;
  for (const DeclaredInput &input : inputs) {
    names.push_back(input.info->name());
    for (const ValueInfoProto &tensor : input.tensors)
      elements.insert(tensor.name());
  }
  for (const std::string &unknown :
       describeUnknownInputs(options, names, elements))
    problems.add(unknown);
}

/// Gives what is said of a sequence to those of its tensors of which nothing is
/// said.
template <typename Given>
void giveToTensors(Given &given, ArrayRef<DeclaredInput> inputs) {
  for (const DeclaredInput &input : inputs) {
    auto ofSequence = given.find(input.info->name());
    if (!input.isSequence || ofSequence == given.end())
      continue;
    auto value = ofSequence->second;
    given.erase(ofSequence);
    for (const ValueInfoProto &tensor : input.tensors)
      given.try_emplace(tensor.name(), value);
  }
}

/// Reads the tensors of inputs, whose options are their own.
class InputReader {
public:
  InputReader(const ImportOptions &options, MLIRContext *context,
              Problems &problems)
      : options(options), context(context), problems(problems),
        shapes(options, problems) {}

  /// What options say of the shape of a tensor, which is known for all.
  void learn(const ValueInfoProto &info) {
    if (!shapes.learn(info))
      wrong.insert(info.name());
  }
  ModelInput read(const DeclaredInput &declared);

private:
  bool readTensor(const ValueInfoProto &info, Input &input);

  const ImportOptions &options;
  MLIRContext *context;
  Problems &problems;
  ShapeReader shapes;
  llvm::StringSet<> seen, wrong;
};

/// False, with an error, if that is impossible.
bool InputReader::readTensor(const ValueInfoProto &info, Input &input) {
  if (wrong.contains(info.name()))
    return false;
  input.name = info.name();
  input.type = readType(info, shapes, options, context, problems);
  if (!input.type)
    return false;
  std::string error;
  input.value = isString(info)
                    ? stringValue(options, info.name(), input.type, error)
                    : inputValue(options, info.name(), input.type, error);
  if (!error.empty())
    problems.add(error);
  return error.empty();
}

ModelInput InputReader::read(const DeclaredInput &declared) {
  ModelInput input = {declared.info->name(),
                      declared.isSequence,
                      llvm::any_of(declared.tensors, isString),
                      declared.isWrong,
                      {}};
  for (const ValueInfoProto &info : declared.tensors) {
    if (!seen.insert(info.name()).second) {
      problems.add("input \"" + info.name() +
                   "\": the model has two inputs of this name");
      input.isUnknown = true;
    } else if (!readTensor(info, input.tensors.emplace_back())) {
      input.isUnknown = true;
    }
  }
  if (input.isUnknown)
    input.tensors.clear();
  return input;
}

} // namespace

std::string elementName(StringRef sequence, size_t i) {
  return (sequence + "." + Twine(i)).str();
}

std::vector<ModelInput> readInputs(const GraphProto &graph,
                                   const ImportOptions &options,
                                   MLIRContext *context, Problems &problems) {
  std::vector<DeclaredInput> declared = declareInputs(graph, options, problems);
  checkNames(options, declared, problems);
  ImportOptions ofTensors = options;
  giveToTensors(ofTensors.shapes, declared);
  giveToTensors(ofTensors.stringLengths, declared);
  giveToTensors(ofTensors.inputValues, declared);
  InputReader reader(ofTensors, context, problems);
  for (const DeclaredInput &input : declared)
    for (const ValueInfoProto &tensor : input.tensors)
      reader.learn(tensor);
  std::vector<ModelInput> inputs;
  for (const DeclaredInput &input : declared)
    inputs.push_back(reader.read(input));
  return inputs;
}

} // namespace tinh::onnx
