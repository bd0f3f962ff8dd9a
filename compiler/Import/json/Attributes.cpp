//===- Attributes.cpp - Attributes of JSON nodes ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/Attributes.h"

#include "compiler/Graph/GraphBuilder.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tinh::json {

namespace {

/// What the op's definition says that an attribute must be, which it does when
/// it refuses one that none can be.
std::string constraintOf(OperationName op, StringAttr name) {
  MLIRContext *context = name.getContext();
  NamedAttrList list;
  list.append(name, DictionaryAttr::get(context));
  std::string refusal;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    refusal = diagnostic.str();
    return success();
  });
  (void)op.verifyInherentAttrs(
      list, [&]() { return emitError(UnknownLoc::get(context)); });
  return StringRef(refusal).split("constraint: ").second.str();
}

/// A choice among names, by what the dialect's definitions call it. To MLIR all
/// of them are numbers, of which one choice would take those of another.
struct Choice {
  StringLiteral constraint;
  unsigned last;
  Attribute (*convert)(MLIRContext &context, StringRef name);
  StringRef (*name)(unsigned number);

  SmallVector<StringRef> names() const {
    SmallVector<StringRef> all;
    for (unsigned i = 0; i <= last; ++i)
      all.push_back(name(i));
    return all;
  }
};

template <typename EnumAttr, typename E>
constexpr Choice choiceOf(StringLiteral constraint, unsigned last) {
  return {constraint, last,
          [](MLIRContext &context, StringRef name) -> Attribute {
            auto value = graph::symbolizeEnum<E>(name);
            return value ? EnumAttr::get(&context, *value) : Attribute();
          },
          [](unsigned i) { return graph::stringifyEnum(static_cast<E>(i)); }};
}

const Choice *findChoice(StringRef constraint) {
  using namespace graph;
  static const Choice choices[] = {
      choiceOf<LayoutAttr, Layout>("order of dimensions",
                                   getMaxEnumValForLayout()),
      choiceOf<ComparePredicateAttr, ComparePredicate>(
          "comparison", getMaxEnumValForComparePredicate()),
      choiceOf<ReduceKindAttr, ReduceKind>("reduction",
                                           getMaxEnumValForReduceKind()),
      choiceOf<ScatterKindAttr, ScatterKind>("what becomes of the element",
                                             getMaxEnumValForScatterKind()),
      choiceOf<PadModeAttr, PadMode>("what padding holds",
                                     getMaxEnumValForPadMode()),
      choiceOf<RoundingAttr, Rounding>("direction to round in",
                                       getMaxEnumValForRounding())};
  const auto *found = llvm::find_if(choices, [&](const Choice &choice) {
    return choice.constraint == constraint;
  });
  return found == std::end(choices) ? nullptr : found;
}

/// Converts a value to what an op takes as an attribute. Null if that is
/// something else, which `expected` then says.
Attribute convert(OperationName op, StringAttr name, const Json &value,
                  std::string &expected) {
  MLIRContext &context = *name.getContext();
  Builder b(&context);
  std::string constraint = constraintOf(op, name);
  bool isText = value.is_string();
  StringRef text =
      isText ? StringRef(value.get_ref<const std::string &>()) : StringRef();
  if (const Choice *choice = findChoice(constraint)) {
    expected = "one of " + llvm::join(choice->names(), ", ") +
               suggest(text, choice->names());
    return isText ? choice->convert(context, text) : Attribute();
  }
  if (constraint == "64-bit signless integer attribute") {
    expected = "an integer";
    int64_t integer = 0;
    return toInt(value, integer) ? b.getI64IntegerAttr(integer) : Attribute();
  }
  if (constraint == "64-bit float attribute") {
    expected = "a number";
    return value.is_number() ? b.getF64FloatAttr(value.get<double>())
                             : Attribute();
  }
  if (constraint == "unit attribute") {
    expected = "true or false";
    return value == true ? b.getUnitAttr() : Attribute();
  }
  expected = constraint;
  if (constraint != "i64 dense array attribute")
    return {};
  expected = "a list of integers";
  SmallVector<int64_t> ints;
  bool right = value.is_array() && llvm::all_of(value, [&](const Json &entry) {
                 return toInt(entry, ints.emplace_back());
               });
  return right ? b.getDenseI64ArrayAttr(ints) : Attribute();
}

/// "dtype" and "shape" say the result of ops that do not infer it.
bool readResult(const Node &node, ValueRange operands, MLIRContext &context,
                OpAttributes &attributes, const Scope &scope) {
  static const Json none = Json::object();
  const Json &json = node.attributes ? *node.attributes : none;
  Type element;
  SmallVector<int64_t> shape;
  if (!operands.empty()) {
    auto type = cast<RankedTensorType>(operands.front().getType());
    element = type.getElementType();
    shape.assign(type.getShape().begin(), type.getShape().end());
  }
  std::string name;
  const Json *dtype = find(json, "dtype"), *dims = find(json, "shape");
  if (dtype)
    element =
        getString(json, "dtype", name) ? parseDtype(name, &context) : Type();
  if (!element)
    return scope.fail(dtype ? *dtype : *node.json,
                      "attribute dtype: expected one of " + kDtypes);
  if (dims) {
    shape.clear();
    if (!getInts(json, "shape", shape) || !countElements(shape))
      return scope.fail(*dims, "attribute shape: expected a list of extents "
                               "that memory can hold");
  }
  attributes.result = RankedTensorType::get(shape, element);
  return true;
}

OperationName nameOf(const Node &node, MLIRContext &context) {
  return OperationName("graph." + node.op, &context);
}

bool infersType(OperationName op) {
  return op.hasInterface<InferTypeOpInterface>();
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
  if (name == "rounding")
    return graph::RoundingAttr::get(&context, graph::Rounding::Nearest);
  return {};
}

bool isGraphOp(StringRef op, MLIRContext &context) {
  static constexpr StringLiteral kInternal[] = {
      "constant", "kernel", "yield", "condition", "dispatch", "weight"};
  return !llvm::is_contained(kInternal, op) &&
         OperationName(("graph." + op).str(), &context).isRegistered();
}

StringRef choiceName(OperationName op, StringAttr name, int64_t number) {
  const Choice *choice = findChoice(constraintOf(op, name));
  return choice ? choice->name(number) : "";
}

SmallVector<StringRef> graphOps(MLIRContext &context) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (StringRef name = op.getStringRef();
        name.consume_front("graph.") && isGraphOp(name, context))
      names.push_back(name);
  return names;
}

bool readAttributes(const Node &node, MLIRContext &context,
                    OpAttributes &attributes, const Scope &scope) {
  if (!node.attributes)
    return true;
  OperationName op = nameOf(node, context);
  SmallVector<StringRef> known;
  for (StringAttr name : op.getAttributeNames())
    known.push_back(name);
  size_t inherent = known.size();
  if (!infersType(op))
    known.append({"dtype", "shape"});
  bool right = true;
  for (const auto &[key, value] : node.attributes->items()) {
    size_t index = llvm::find(known, key) - known.begin();
    if (index == known.size()) {
      std::string hint = suggest(key, known);
      if (hint.empty())
        hint = known.empty() ? "; it has none"
                             : "; it has " + llvm::join(known, ", ");
      right = scope.fail(value, "unknown attribute \"" + key + "\"" + hint);
      continue;
    }
    if (index >= inherent || (value.is_boolean() && !value.get<bool>()))
      continue; // Of the result, or an absent flag.
    StringAttr name = op.getAttributeNames()[index];
    std::string expected;
    if (Attribute converted = convert(op, name, value, expected))
      attributes.list.emplace_back(name, converted);
    else
      right = scope.fail(value, "attribute " + key + ": found " + quote(value) +
                                    ", expected " + expected);
  }
  return right;
}

bool completeAttributes(const Node &node, ValueRange operands,
                        MLIRContext &context, OpAttributes &attributes,
                        const Scope &scope) {
  OperationName op = nameOf(node, context);
  int64_t rank =
      operands.empty()
          ? 0
          : cast<RankedTensorType>(operands.front().getType()).getRank();
  for (StringAttr name : op.getAttributeNames())
    if (!node.attributes || !node.attributes->contains(name.str()))
      if (Attribute value = defaultFor(name, rank, context))
        attributes.list.emplace_back(name, value);
  return infersType(op) ||
         readResult(node, operands, context, attributes, scope);
}

} // namespace tinh::json
