//===- Attributes.cpp - Attributes of JSON nodes ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/Attributes.h"

#include "compiler/Import/GraphBuilder.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;

namespace tinh::json {

namespace {

/// What a JSON value may mean; the op's constraints tell which it is.
SmallVector<Attribute> candidates(const Json &value, MLIRContext &context) {
  Builder b(&context);
  SmallVector<Attribute> result;
  int64_t integer;
  if (toInt(value, integer))
    result.push_back(b.getI64IntegerAttr(integer));
  if (value.is_number())
    result.push_back(b.getF64FloatAttr(value.get<double>()));
  if (value.is_boolean() && value.get<bool>())
    result.push_back(b.getUnitAttr());
  if (value.is_array()) {
    SmallVector<int64_t> ints;
    if (llvm::all_of(value, [&](const Json &entry) {
          return toInt(entry, ints.emplace_back());
        }))
      result.push_back(b.getDenseI64ArrayAttr(ints));
  }
  if (!value.is_string())
    return result;
  StringRef text = value.get_ref<const std::string &>();
  if (auto layout = graph::symbolizeLayout(text))
    result.push_back(graph::LayoutAttr::get(&context, *layout));
  if (auto predicate = graph::symbolizeComparePredicate(text))
    result.push_back(graph::ComparePredicateAttr::get(&context, *predicate));
  if (auto kind = graph::symbolizeReduceKind(text))
    result.push_back(graph::ReduceKindAttr::get(&context, *kind));
  if (auto kind = graph::symbolizeScatterKind(text))
    result.push_back(graph::ScatterKindAttr::get(&context, *kind));
  if (auto mode = graph::symbolizePadMode(text))
    result.push_back(graph::PadModeAttr::get(&context, *mode));
  return result;
}

/// Whether the op's definition accepts this attribute, by itself.
bool accepts(OperationName op, NamedAttribute attribute, std::string *why) {
  NamedAttrList list;
  list.append(attribute);
  MLIRContext *context = attribute.getName().getContext();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (why)
      *why = diagnostic.str();
    return success();
  });
  return succeeded(op.verifyInherentAttrs(
      list, [&]() { return emitError(UnknownLoc::get(context)); }));
}

/// "dtype" and "shape" say the result of ops that do not infer it.
bool readResult(ValueRange operands, const Json &json, MLIRContext &context,
                OpAttributes &attributes, std::string &error) {
  Type element;
  SmallVector<int64_t> shape;
  if (!operands.empty()) {
    auto type = cast<RankedTensorType>(operands.front().getType());
    element = type.getElementType();
    shape.assign(type.getShape().begin(), type.getShape().end());
  }
  std::string dtype;
  if (getString(json, "dtype", dtype))
    element = parseDtype(dtype, &context);
  if (!element) {
    error = "attribute dtype: expected one of " + kDtypes.str();
    return false;
  }
  if (find(json, "shape")) {
    shape.clear();
    if (!getInts(json, "shape", shape) || !countElements(shape)) {
      error = "attribute shape: expected a list of extents that memory can "
              "hold";
      return false;
    }
  }
  attributes.result = RankedTensorType::get(shape, element);
  return true;
}

std::string listNames(ArrayRef<StringAttr> names, bool infers) {
  std::string text;
  for (StringAttr name : names)
    text += (text.empty() ? "" : ", ") + name.str();
  if (!infers)
    text += text.empty() ? "dtype, shape" : ", dtype, shape";
  return text.empty() ? "it has none" : "it has " + text;
}

} // namespace

Attribute defaultFor(StringRef name, int64_t rank, MLIRContext &context) {
  Builder b(&context);
  auto repeat = [&](int64_t count, int64_t value) {
    return b.getDenseI64ArrayAttr(
        SmallVector<int64_t>(std::max<int64_t>(count, 0), value));
  };
  if (name == "strides" || name == "dilations")
    return repeat(rank - 2, 1);
  if (name == "padding")
    return repeat(2 * (rank - 2), 0);
  if (name == "output_padding")
    return repeat(rank - 2, 0);
  if (name == "steps")
    return repeat(rank, 1);
  if (name == "ceil_padding")
    return repeat(0, 0);
  if (name == "groups")
    return b.getI64IntegerAttr(1);
  if (name == "batch_dims")
    return b.getI64IntegerAttr(0);
  if (name == "epsilon")
    return b.getF64FloatAttr(1e-5);
  if (name == "momentum")
    return b.getF64FloatAttr(0.9);
  if (name == "layout")
    return graph::LayoutAttr::get(&context, graph::Layout::ChannelsFirst);
  return {};
}

bool isGraphOp(StringRef op, MLIRContext &context) {
  static constexpr StringLiteral kInternal[] = {
      "constant", "kernel", "yield", "condition", "dispatch", "weight"};
  return !llvm::is_contained(kInternal, op) &&
         OperationName(("graph." + op).str(), &context).isRegistered();
}

bool readAttributes(StringRef op, ValueRange operands, const Json *json,
                    MLIRContext &context, OpAttributes &attributes,
                    std::string &error) {
  static const Json none = Json::object();
  const Json &given = json ? *json : none;
  OperationName name(("graph." + op).str(), &context);
  bool infers = name.hasInterface<InferTypeOpInterface>();
  ArrayRef<StringAttr> known = name.getAttributeNames();
  for (const auto &[key, value] : given.items()) {
    bool isResult = !infers && (key == "dtype" || key == "shape");
    auto it = llvm::find_if(known, [&, k = StringRef(key)](StringAttr n) {
      return n.getValue() == k;
    });
    if (isResult || (it != known.end() && value.is_boolean() &&
                     !value.get<bool>())) // an absent flag
      continue;
    if (it == known.end()) {
      error = "unknown attribute \"" + key + "\"; " + listNames(known, infers);
      return false;
    }
    auto options = candidates(value, context);
    auto fits = llvm::find_if(options, [&](Attribute option) {
      return accepts(name, NamedAttribute(*it, option), nullptr);
    });
    if (fits == options.end()) {
      std::string why;
      if (!options.empty())
        accepts(name, NamedAttribute(*it, options.front()), &why);
      error = "attribute " + key + ": unexpected value " +
              value.dump(-1, ' ', false, Json::error_handler_t::replace)
                  .substr(0, 60) +
              (why.empty() ? "" : ": " + why);
      return false;
    }
    attributes.list.emplace_back(*it, *fits);
  }
  int64_t rank =
      operands.empty()
          ? 0
          : cast<RankedTensorType>(operands.front().getType()).getRank();
  for (StringAttr attribute : known)
    if (!given.contains(attribute.str()))
      if (Attribute value = defaultFor(attribute, rank, context))
        attributes.list.emplace_back(attribute, value);
  return infers || readResult(operands, given, context, attributes, error);
}

} // namespace tinh::json
