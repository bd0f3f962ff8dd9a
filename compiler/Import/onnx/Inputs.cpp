//===- Inputs.cpp - The types of a model's inputs ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/Inputs.h"

#include "compiler/Import/GraphBuilder.h"
#include "compiler/Import/InputOptions.h"
#include "compiler/Import/onnx/Tensors.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using ::onnx::GraphProto;
using ::onnx::TensorProto;
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

/// The type of an input; null, with an error, if it cannot be one.
RankedTensorType readType(const ValueInfoProto &info, const ShapeReader &reader,
                          MLIRContext *context, Problems &problems) {
  auto fail = [&](const Twine &what) {
    problems.add("input \"" + info.name() + "\": " + what);
    return RankedTensorType();
  };
  if (!info.type().has_tensor_type())
    return fail("only tensors are supported as inputs");
  int dataType = info.type().tensor_type().elem_type();
  Type element = valueElementType(dataType, context);
  if (!element)
    return fail("element type " + elementTypeName(dataType) +
                " is not supported");
  auto shape = reader.read(info);
  if (!shape) {
    problems.add(describeOpen(info));
    return {};
  }
  if (!countElements(*shape))
    return fail("the shape " + formatShape(*shape) + " is beyond any memory");
  return RankedTensorType::get(*shape, element);
}

} // namespace

std::vector<Input> readInputs(const GraphProto &graph,
                              const ImportOptions &options,
                              MLIRContext *context, Problems &problems) {
  Initializers initializers = readInitializers(graph, problems);
  std::vector<Input> inputs;
  SmallVector<const ValueInfoProto *> infos;
  SmallVector<StringRef> names;
  for (const ValueInfoProto &info : graph.input()) {
    const TensorProto *tensor = initializers.lookup(info.name());
    if (tensor && !checkInitializer(info, *tensor, problems))
      inputs.push_back({info.name(), {}, {}});
    if (tensor)
      continue;
    infos.push_back(&info);
    names.push_back(info.name());
  }
  for (const std::string &unknown : describeUnknownInputs(options, names))
    problems.add(unknown);
  ShapeReader reader(options, problems);
  llvm::StringSet<> seen, wrong;
  for (const ValueInfoProto *info : infos)
    if (!reader.learn(*info))
      wrong.insert(info->name());
  for (const ValueInfoProto *info : infos) {
    if (!seen.insert(info->name()).second) {
      problems.add("input \"" + info->name() +
                   "\": the model has two inputs of this name");
      continue;
    }
    Input input = {info->name(), {}, {}};
    if (!wrong.contains(info->name()))
      input.type = readType(*info, reader, context, problems);
    std::string error;
    if (input.type)
      input.value = inputValue(options, info->name(), input.type, error);
    if (!error.empty())
      problems.add(error);
    inputs.push_back(input);
  }
  return inputs;
}

} // namespace tinh::onnx
