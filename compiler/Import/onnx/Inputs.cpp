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
  ShapeReader(const ImportOptions &options, std::string &error)
      : options(options), error(error) {}

  /// Learns what the given shapes say of symbols.
  bool learn(const ValueInfoProto &info);
  /// The static shape; nothing if a dimension is unknown.
  std::optional<SmallVector<int64_t>> read(const ValueInfoProto &info) const;

private:
  bool fail(const ValueInfoProto &info, const Twine &what) {
    error = ("input \"" + info.name() + "\": " + what).str();
    return false;
  }

  const ImportOptions &options;
  std::string &error;
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

/// That initializers have distinct names, and those that are inputs, too, the
/// types that these declare.
bool checkInitializers(const GraphProto &graph,
                       llvm::StringMap<const TensorProto *> &initializers,
                       std::string &error) {
  for (const TensorProto &tensor : graph.initializer())
    if (!initializers.try_emplace(tensor.name(), &tensor).second) {
      error = "the model has two initializers \"" + tensor.name() + "\"";
      return false;
    }
  for (const ValueInfoProto &info : graph.input()) {
    auto found = initializers.find(info.name());
    if (found == initializers.end() || !info.type().has_tensor_type())
      continue;
    const TensorProto &tensor = *found->second;
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
      continue;
    error = "input \"" + info.name() + "\" is declared as " +
            describeType(element, declared) + ", but its initializer is " +
            describeType(tensor.data_type(), shape);
    return false;
  }
  return true;
}

} // namespace

bool readInputs(const GraphProto &graph, const ImportOptions &options,
                MLIRContext *context, std::vector<Input> &inputs,
                std::string &error) {
  llvm::StringMap<const TensorProto *> initializers;
  llvm::StringSet<> seen;
  if (!checkInitializers(graph, initializers, error))
    return false;
  SmallVector<const ValueInfoProto *> infos;
  for (const ValueInfoProto &info : graph.input())
    if (!initializers.contains(info.name()))
      infos.push_back(&info);
  SmallVector<StringRef> names;
  for (const ValueInfoProto *info : infos)
    names.push_back(info->name());
  std::vector<std::string> unknown = describeUnknownInputs(options, names);
  if (!unknown.empty()) {
    error = unknown.front();
    return false;
  }
  ShapeReader reader(options, error);
  for (const ValueInfoProto *info : infos)
    if (!reader.learn(*info))
      return false;
  std::string open;
  for (const ValueInfoProto *info : infos) {
    auto fail = [&](const Twine &what) {
      error = ("input \"" + info->name() + "\": " + what).str();
      return false;
    };
    if (!seen.insert(info->name()).second)
      return fail("the model has two inputs of this name");
    if (!info->type().has_tensor_type())
      return fail("only tensors are supported as inputs");
    int dataType = info->type().tensor_type().elem_type();
    Type element = valueElementType(dataType, context);
    if (!element)
      return fail("element type " + elementTypeName(dataType) +
                  " is not supported");
    auto shape = reader.read(*info);
    if (!shape) {
      open += (open.empty() ? "" : "\n") + describeOpen(*info);
      continue;
    }
    if (!countElements(*shape))
      return fail("the shape " + formatShape(*shape) + " is beyond any memory");
    auto type = RankedTensorType::get(*shape, element);
    auto value = inputValue(options, info->name(), type, error);
    if (!error.empty())
      return false;
    inputs.push_back({info->name(), type, value});
  }
  error = open;
  return open.empty();
}

} // namespace tinh::onnx
