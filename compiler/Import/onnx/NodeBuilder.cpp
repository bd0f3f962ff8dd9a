//===- NodeBuilder.cpp - What the builders of ONNX ops work with ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/NodeBuilder.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

std::string Operand::describe() const {
  if (tensor && isString)
    return "strings of the shape " +
           formatShape(GraphOps::shape(tensor).drop_back());
  if (tensor)
    return graph::shapeToString(tensor.getType());
  if (!sequence)
    return "an optional that has nothing";
  return "a sequence of " + std::to_string(sequence->size()) +
         (sequence->size() == 1 ? " tensor" : " tensors") +
         (isString ? " of strings" : "");
}

bool NodeBuilder::has(int i) const {
  return i < node.proto->input_size() && !node.proto->input(i).empty();
}

bool NodeBuilder::wants(int i) const {
  return i < node.proto->output_size() && !node.proto->output(i).empty();
}

Value NodeBuilder::input(int i) {
  if (!has(i))
    return fail("input " + Twine(i) + " is missing");
  Value value = lookup(node.proto->input(i)); // which reports its errors
  hasFailed |= !value;
  return value;
}

int NodeBuilder::inputType(int i) const {
  return has(i) ? findType(node.proto->input(i)) : 0;
}

SmallVector<Value> NodeBuilder::inputs() {
  SmallVector<Value> values;
  for (int i = 0; i < numInputs(); ++i)
    values.push_back(input(i));
  return values;
}

std::optional<Operand> NodeBuilder::operand(int i) {
  if (!has(i))
    return Operand();
  std::optional<Operand> found = findOperand(node.proto->input(i));
  hasFailed |= !found; // Which reports its errors.
  return found;
}

std::optional<Sequence> NodeBuilder::sequence(int i) {
  std::optional<Operand> found = operand(i);
  if (!found)
    return std::nullopt;
  if (!found->sequence || found->isString) {
    fail("input " + Twine(i) + ": expected a sequence of tensors" +
         (found->isString ? " of numbers" : "") + ", found " +
         found->describe());
    return std::nullopt;
  }
  return found->sequence;
}

bool NodeBuilder::isString(int i) {
  if (!has(i))
    return false;
  std::optional<Operand> found = operand(i);
  return found && found->tensor && found->isString;
}

Value NodeBuilder::strings(int i) {
  std::optional<Operand> found = operand(i);
  if (!found)
    return {};
  if (found->tensor && found->isString)
    return found->tensor;
  return fail("input " + Twine(i) + ": expected strings, found " +
              found->describe());
}

bool NodeBuilder::refuseOutputs(int first) {
  for (int i = first; i < numOutputs(); ++i)
    if (wants(i)) {
      fail("output " + Twine(i) + " (\"" + node.proto->output(i) +
           "\") is not supported");
      return true;
    }
  return false;
}

std::optional<DenseElementsAttr> NodeBuilder::constantInput(int i,
                                                            StringRef what) {
  Value value = input(i);
  if (!value)
    return std::nullopt;
  auto constant = graph.constantOf(value);
  if (!constant)
    fail(what + " (input \"" + node.proto->input(i) +
         "\") must be a constant: shapes are fixed when the model is compiled");
  return constant;
}

std::optional<Ints> NodeBuilder::ints(int i, StringRef what) {
  auto constant = constantInput(i, what);
  if (!constant)
    return std::nullopt;
  if (!isa<IntegerType>(constant->getElementType())) {
    fail(what + " must have integer elements");
    return std::nullopt;
  }
  return denseToInts(*constant);
}

/// Steps back from an element to what it was made of. A vector may be both in a
/// condition and what that chooses, so that the ways grow exponentially.
constexpr unsigned kMaxElementSteps = 1000;

static Value elementAt(NodeBuilder &b, Value vector, int64_t i,
                       unsigned &steps);

/// Where element `i` of a vector lies, whose only element may be repeated.
static int64_t placeIn(NodeBuilder &b, Value vector, int64_t i) {
  return b.rank(vector) == 0 || b.shape(vector)[0] == 1 ? 0 : i;
}

/// Whether element `i` of a condition holds, if that is known: no size is
/// negative, as what exporters look for is.
static std::optional<bool> holdsAt(NodeBuilder &b, Value condition, int64_t i,
                                   unsigned &steps) {
  auto compare = condition.getDefiningOp<graph::CompareOp>();
  if (!compare || compare.getPredicate() != Predicate::Equal ||
      !isa<IntegerType>(b.element(compare.getA())))
    return std::nullopt;
  auto wanted = b.graph.constantOf(compare.getB());
  Value x = wanted ? elementAt(b, compare.getA(), i, steps) : Value();
  if (!x)
    return std::nullopt;
  int64_t number = denseToInts(*wanted)[placeIn(b, compare.getB(), i)];
  if (auto known = b.graph.constantOf(x))
    return denseToInts(*known).front() == number;
  if (number < 0 && b.graph.isNeverNegative(x))
    return false;
  return std::nullopt;
}

/// Element `i` of a vector of integers, as a tensor<i64>: what the vector was
/// made of, where that can be seen.
static Value elementAt(NodeBuilder &b, Value vector, int64_t i,
                       unsigned &steps) {
  i = placeIn(b, vector, i);
  while (Operation *op = vector.getDefiningOp()) {
    if (++steps > kMaxElementSteps)
      break;
    Value from;
    if (auto concat = dyn_cast<graph::ConcatOp>(op)) {
      for (Value part : concat.getInputs()) {
        from = part;
        if (i < b.shape(part)[0])
          break;
        i -= b.shape(part)[0];
      }
    } else if (auto gather = dyn_cast<graph::GatherOp>(op)) {
      auto indices = b.graph.constantOf(gather.getIndices());
      if (!indices || b.rank(gather.getX()) != 1)
        break;
      i = denseToInts(*indices)[i];
      from = gather.getX();
      i += i < 0 ? b.shape(from)[0] : 0;
    } else if (auto slice = dyn_cast<graph::SliceOp>(op)) {
      i = slice.getStarts()[0] + i * slice.getSteps()[0];
      from = slice.getX();
    } else if (isa<graph::ReshapeOp>(op) && b.rank(op->getOperand(0)) <= 1) {
      from = op->getOperand(0);
    } else if (isa<graph::CastOp>(op) &&
               isa<IntegerType>(b.element(op->getOperand(0)))) {
      from = op->getOperand(0);
    } else if (auto where = dyn_cast<graph::WhereOp>(op)) {
      auto holds = holdsAt(b, where.getCondition(), i, steps);
      if (!holds || b.rank(where.getY()) > 1)
        break;
      from = *holds ? where.getA() : where.getB();
    } else {
      break;
    }
    vector = from;
    i = placeIn(b, vector, i);
  }
  Value element = vector;
  if (b.rank(vector) == 1)
    element = b.reshape(b.sliceAxis(vector, 0, i, 1), {});
  return b.cast(element, b.graph.raw().getI64Type());
}

std::optional<Extents> NodeBuilder::extents(int i, StringRef what) {
  Value value = input(i);
  auto bound = value ? graph.boundOf(value) : std::nullopt;
  if (!bound || !isa<IntegerType>(bound->getElementType()) || rank(value) > 1) {
    auto constant = ints(i, what); // Which says what is wrong.
    if (!constant)
      return std::nullopt;
    return Extents::constants(*constant);
  }
  Extents extents{denseToInts(*bound), {}};
  bool isConstant = graph.constantOf(value).has_value();
  for (int64_t k = 0; k < static_cast<int64_t>(extents.bounds.size()); ++k) {
    unsigned steps = 0;
    Value size = isConstant ? Value() : elementAt(*this, value, k, steps);
    if (size && graph.constantOf(size))
      size = {};
    extents.sizes.push_back(size);
  }
  return extents;
}

Value NodeBuilder::withSizes(Value y, const Extents &extents) {
  auto offset = y ? rank(y) - static_cast<int64_t>(extents.sizes.size()) : 0;
  for (auto [k, size] : llvm::enumerate(extents.sizes))
    if (int64_t d = offset + static_cast<int64_t>(k);
        y && size && d >= 0 && !graph.isBounded(y, d))
      y = setDimensionSize(y, d, size);
  return y;
}

std::optional<SmallVector<double>> NodeBuilder::numbers(int i, StringRef what) {
  auto constant = constantInput(i, what);
  if (!constant)
    return std::nullopt;
  return denseToDoubles(*constant);
}

std::optional<double> NodeBuilder::number(int i, StringRef what) {
  auto values = numbers(i, what);
  if (!values)
    return std::nullopt;
  if (values->size() != 1) {
    fail(what + " must be one number, found " + Twine(values->size()));
    return std::nullopt;
  }
  return values->front();
}

std::optional<int64_t> NodeBuilder::integer(int i, StringRef what) {
  auto value = number(i, what);
  if (!value)
    return std::nullopt;
  constexpr double kLargest = static_cast<double>(int64_t(1) << 53);
  if (*value == std::trunc(*value) && std::fabs(*value) <= kLargest)
    return static_cast<int64_t>(*value);
  fail(what + ": expected an integer, found " + std::to_string(*value));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

bool NodeBuilder::hasAttribute(StringRef name) const {
  return llvm::any_of(node.proto->attribute(), [&](const AttributeProto &a) {
    return a.name() == name;
  });
}

const AttributeProto *NodeBuilder::attribute(StringRef name, int type) {
  for (const AttributeProto &attribute : node.proto->attribute()) {
    if (attribute.name() != name)
      continue;
    // Files of IR version 1 leave the type out.
    if (attribute.type() == type ||
        attribute.type() == AttributeProto::UNDEFINED)
      return &attribute;
    fail("attribute " + name + ": expected " +
         AttributeProto::AttributeType_Name(
             static_cast<AttributeProto::AttributeType>(type)) +
         ", found " + AttributeProto::AttributeType_Name(attribute.type()));
  }
  return nullptr;
}

int64_t NodeBuilder::intAttribute(StringRef name, int64_t otherwise) {
  const AttributeProto *a = attribute(name, AttributeProto::INT);
  return a ? a->i() : otherwise;
}

double NodeBuilder::floatAttribute(StringRef name, double otherwise) {
  const AttributeProto *a = attribute(name, AttributeProto::FLOAT);
  return a ? a->f() : otherwise;
}

std::string NodeBuilder::stringAttribute(StringRef name, StringRef otherwise) {
  const AttributeProto *a = attribute(name, AttributeProto::STRING);
  return a ? a->s() : otherwise.str();
}

Ints NodeBuilder::intsAttribute(StringRef name, Ints otherwise) {
  const AttributeProto *a = attribute(name, AttributeProto::INTS);
  return a ? Ints(a->ints().begin(), a->ints().end()) : otherwise;
}

//===----------------------------------------------------------------------===//
// Types and constants of ONNX
//===----------------------------------------------------------------------===//

Type NodeBuilder::elementType(int64_t onnxType) {
  Type type = convertElementType(static_cast<int>(onnxType), graph.context());
  if (!type)
    fail("element type " + elementTypeName(static_cast<int>(onnxType)) +
         " is not supported");
  return type;
}

bool NodeBuilder::hasRank(Value x, int64_t least, StringRef name) {
  if (rank(x) >= least)
    return true;
  fail("expected " + name + " of rank " + Twine(least) + " or more, found " +
       graph::shapeToString(x.getType()));
  return false;
}

Value NodeBuilder::tensor(const TensorProto &tensor) {
  std::string error;
  Value value = buildTensor(graph, tensor, file, error);
  return value ? value : fail(error);
}

} // namespace tinh::onnx
