//===- Generator.cpp - Random graphs that are valid -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/end-to-end/random-graphs/Generator.h"

using namespace mlir;

namespace tinh::test {

Generator::Generator(uint64_t seed, MLIRContext &context)
    : builder(&context), special(hasSpecialNumbers(seed)), engine(seed) {}

//===----------------------------------------------------------------------===//
// Choices: the standard library's distributions differ between its versions.
//===----------------------------------------------------------------------===//

int64_t Generator::number(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(engine() % (high - low + 1));
}

double Generator::real(double low, double high) {
  return low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
}

bool Generator::chance(double probability) { return real(0, 1) < probability; }

Shape Generator::randomShape(int64_t minRank, int64_t maxRank) {
  Shape shape;
  int64_t rank = number(minRank, maxRank);
  int64_t largest = rank <= 1 ? 300 : rank == 2 ? 90 : rank == 3 ? 20 : 8;
  for (int64_t i = 0; i < rank; ++i)
    shape.push_back(chance(0.1) ? 1 : number(1, largest));
  if (rank && chance(0.05))
    shape[number(0, rank - 1)] = 0;
  return shape;
}

Type Generator::randomElement() {
  auto integer = [&](unsigned width, bool isSigned) -> Type {
    return isSigned ? builder.getIntegerType(width)
                    : builder.getIntegerType(width, /*isSigned=*/false);
  };
  int64_t dice = number(1, 100);
  if (dice <= 70)
    return builder.getF32Type();
  if (dice <= 75)
    return builder.getF64Type();
  if (dice <= 80)
    return builder.getF16Type();
  if (dice <= 84)
    return builder.getBF16Type();
  if (dice <= 87)
    return builder.getI1Type();
  return integer(choose({8u, 16u, 32u, 64u}), chance(0.7));
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

Value Generator::addInput(RankedTensorType type) {
  return body->addArgument(type, builder.getUnknownLoc());
}

static double leafBound(Type element) {
  return isa<FloatType>(element) || element.isInteger(1) ? 1 : 8;
}

Known Generator::leaf(ArrayRef<int64_t> shape, Type element) {
  double bound = leafBound(element);
  if (chance(0.4))
    return constant(shape, element, -bound, bound);
  return {addInput(RankedTensorType::get(shape, element)), bound, true};
}

Known Generator::constant(ArrayRef<int64_t> shape, Type element, double low,
                          double high) {
  auto type = RankedTensorType::get(shape, element);
  if (!element.isSignlessInteger() || element.isInteger(1))
    low = isa<FloatType>(element) ? low : std::max(low, 0.0);
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    if (isa<FloatType>(element))
      elements.push_back(builder.getFloatAttr(element, real(low, high)));
    else
      elements.push_back(builder.getIntegerAttr(
          element, number(std::ceil(low), std::floor(high))));
  auto value = DenseElementsAttr::get(type, elements);
  return {create<graph::ConstantOp>(type, cast<TypedAttr>(value)),
          std::max(std::abs(low), std::abs(high)), true};
}

Known Generator::splat(Type element, double value) {
  return constant({}, element, value, value);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool Generator::add(Value value, double bound, bool exact) {
  Known known{value, bound, exact};
  if (!isSmall(known.shape())) {
    value.getDefiningOp()->erase();
    return false;
  }
  // Integers wrap.
  if (!known.isFloat())
    known.bound = std::min(
        bound, std::ldexp(1.0, known.element().getIntOrFloatBitWidth()));
  values.push_back(known);
  if (known.isFloat() && bound > 1000)
    values.push_back(settle(known, 1000));
  return true;
}

Known Generator::any() {
  if (chance(0.6))
    return values.back();
  return choose(values);
}

Known Generator::anyBounded(double limit) { return settle(any(), limit); }

Known Generator::settle(Known x, double limit) {
  if (!x.isFloat() || x.bound <= limit)
    return x;
  return {create<graph::TanhOp>(x.value), 1, false};
}

Known Generator::positive(Known x) {
  Value magnitude = create<graph::AbsOp>(x.value);
  return {create<graph::AddOp>(magnitude, splat(x.element(), 1).value),
          x.bound + 1, false};
}

Known Generator::partner(const Known &x) {
  for (int tries = 0; tries < 3 && chance(0.7); ++tries) {
    Known y = choose(values);
    auto shape = graph::broadcastShapes({x.shape(), y.shape()});
    if (y.element() == x.element() && shape && isSmall(*shape))
      return y;
  }
  // A shape that broadcasts to x's.
  Shape shape(x.shape());
  if (chance(0.4))
    shape.erase(shape.begin(), shape.begin() + number(0, shape.size()));
  for (int64_t &extent : shape)
    if (chance(0.2))
      extent = 1;
  return leaf(shape, x.element());
}

Known Generator::like(RankedTensorType type) {
  for (const Known &known : llvm::reverse(values))
    if (known.type() == type && chance(0.7))
      return known;
  return leaf(type.getShape(), type.getElementType());
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

void Generator::makeOps(int64_t count) {
  SmallVector<Family> families;
  for (ArrayRef<Family> some :
       {elementwiseFamilies(), contractionFamilies(), movementFamilies(),
        reductionFamilies(), compositeFamilies(), controlFlowFamilies()})
    families.append(some.begin(), some.end());
  unsigned total = 0;
  for (const Family &family : families)
    total += family.weight;
  for (int64_t tries = 0; count > 0 && tries < 100; ++tries) {
    int64_t dice = number(1, total);
    const Family *family = families.begin();
    for (; dice > family->weight; ++family)
      dice -= family->weight;
    count -= family->make(*this);
  }
}

void Generator::makeGraph() {
  values.clear();
  Known first{
      addInput(RankedTensorType::get(randomShape(0, 5), randomElement())), 1,
      true};
  first.bound = leafBound(first.element());
  values.push_back(first);
  makeOps(number(2, 8));
}

Generator::Body::Body(Generator &generator, Region &region,
                      ArrayRef<Argument> arguments)
    : generator(generator), guard(generator.builder),
      before(generator.values.size()) {
  Block *block = generator.builder.createBlock(&region);
  for (auto [type, bound, exact] : arguments)
    generator.values.push_back(
        {block->addArgument(type, generator.builder.getUnknownLoc()), bound,
         exact});
  ++generator.depth;
}

Generator::Body::~Body() {
  generator.values.resize(before);
  --generator.depth;
}

/// Whether `value` is computed from an input, or not ahead of time anyway.
static bool readsInput(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || graph::isControlFlow(op) ||
         llvm::any_of(op->getOperands(), readsInput);
}

/// Returns what nothing reads.
void Generator::returnUnused(func::FuncOp function) {
  SmallVector<Value> results;
  for (Operation &op : *body)
    for (Value result : op.getResults())
      if (result.use_empty() && readsInput(result))
        results.push_back(result);
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  function.setFunctionType(builder.getFunctionType(
      body->getArgumentTypes(), TypeRange(ValueRange(results))));
  auto name = [&](const char *prefix, size_t i) {
    return builder.getStringAttr(prefix + std::to_string(i));
  };
  for (size_t i = 0; i < body->getNumArguments(); ++i)
    function.setArgAttr(i, graph::names::kName, name("x", i));
  for (size_t i = 0; i < results.size(); ++i)
    function.setResultAttr(i, graph::names::kName, name("y", i));
}

OwningOpRef<ModuleOp> Generator::make(unsigned graphs) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, builder.getUnknownLoc(),
                                       graph::names::kMain,
                                       builder.getFunctionType({}, {}));
  body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  for (unsigned i = 0; i < graphs; ++i)
    makeGraph();
  returnUnused(function);
  return module;
}

} // namespace tinh::test
