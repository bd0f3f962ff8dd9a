//===- Random.cpp - Random numbers ------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers follow from the node's seed or, if it has none, from its name: they
// are the same in each run, and in each iteration of a loop, and are computed
// when the artifact is written.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ops/Random.h"
#include "compiler/Graph/Composites.h"
#include "compiler/Import/onnx/OpTable.h"

#include "llvm/Support/xxhash.h"

#include <bit>
#include <optional>

using namespace mlir;

namespace tinh::onnx {

namespace {

/// The key of the node's numbers.
Value keyOf(NodeBuilder &b) {
  uint64_t key = llvm::xxh3_64bits(b.node.name);
  if (b.op() == "Dropout" && b.hasAttribute("seed")) {
    key = static_cast<uint64_t>(b.intAttribute("seed", 0));
  } else if (b.hasAttribute("seed")) {
    auto seed = static_cast<float>(b.floatAttribute("seed", 0));
    key = std::bit_cast<uint32_t>(seed);
  }
  Type u64 = b.graph.raw().getIntegerType(64, /*isSigned=*/false);
  return b.graph.constant(
      DenseElementsAttr::get(RankedTensorType::get({}, u64), APInt(64, key)));
}

struct DrawnBlocks {
  int64_t count; ///< Of numbers that are wanted.
  bool isWide;   ///< Two numbers of 64 bits, not four of 32.
  SmallVector<Value> words;
};

/// Blocks for the numbers of a tensor; none, with an error, if it cannot be.
std::optional<DrawnBlocks> drawBlocks(NodeBuilder &b, Type element,
                                      ArrayRef<int64_t> shape) {
  auto count = countElements(shape);
  if (!count) {
    b.fail("the shape " + formatShape(shape) +
           " is negative or beyond any memory");
    return std::nullopt;
  }
  bool isWide = element.isF64();
  int64_t perBlock = isWide ? 2 : 4;
  Type u64 = b.graph.raw().getIntegerType(64, /*isSigned=*/false);
  SmallVector<Value> words =
      philoxBlocks(b, keyOf(b), b.scalar(u64, 0),
                   std::max<int64_t>(llvm::divideCeil(*count, perBlock), 1));
  if (isWide)
    words = {joinWords(b, words, 0), joinWords(b, words, 1)};
  return DrawnBlocks{*count, isWide, words};
}

} // namespace

Value drawUniform(NodeBuilder &b, FloatType element, ArrayRef<int64_t> shape) {
  auto drawn = drawBlocks(b, element, shape);
  if (!drawn)
    return {};
  int bits = static_cast<int>(
      APFloat::semanticsPrecision(element.getFloatSemantics()));
  for (Value &number : drawn->words)
    number = unitInterval(b, number, drawn->isWide, bits);
  return b.reshape(interleaveBlocks(b, drawn->words, drawn->count), shape);
}

namespace {

Value drawNormal(NodeBuilder &b, FloatType element, ArrayRef<int64_t> shape) {
  auto drawn = drawBlocks(b, element, shape);
  if (!drawn)
    return {};
  SmallVector<Value> &numbers = drawn->words;
  for (Value &number : numbers)
    number = unitInterval(b, number, drawn->isWide, drawn->isWide ? 53 : 24);
  for (size_t i = 0; i < numbers.size(); i += 2)
    std::tie(numbers[i], numbers[i + 1]) =
        normalPair(b, numbers[i], numbers[i + 1]);
  return b.reshape(interleaveBlocks(b, numbers, drawn->count), shape);
}

/// The type that `dtype` names, or otherwise that of an input; null, with an
/// error, if it is not one of floats.
FloatType drawnType(NodeBuilder &b, Value like) {
  constexpr int64_t kFloat32 = 1;
  Type type = like && !b.hasAttribute("dtype")
                  ? b.element(like)
                  : b.elementType(b.intAttribute("dtype", kFloat32));
  auto element = dyn_cast_or_null<FloatType>(type);
  if (element && !graph::isStorageFloat(element))
    return element;
  b.fail("expected numbers of f64, f32, f16 or bf16 as the result");
  return {};
}

using DrawFunction = Value (*)(NodeBuilder &, FloatType, ArrayRef<int64_t>);

/// Numbers in the shape of an input, or in that of the attribute.
template <DrawFunction draw> Results randomTensor(NodeBuilder &b) {
  bool isLike = b.numInputs() > 0, isNormal = draw == drawNormal;
  Value like = isLike ? b.input(0) : Value();
  if (!isLike && !b.hasAttribute("shape"))
    return {b.fail("attribute shape is missing")};
  FloatType element = drawnType(b, like);
  if (!element || b.failed())
    return {Value()};
  Ints shape = like ? Ints(b.shape(like)) : b.intsAttribute("shape");
  Value y = draw(b, element, shape);
  double start = b.floatAttribute(isNormal ? "mean" : "low", 0);
  double scale = isNormal ? b.floatAttribute("scale", 1)
                          : b.floatAttribute("high", 1) - start;
  y = b.add(b.mul(y, b.scalarLike(y, scale)), b.scalarLike(y, start));
  return {b.cast(y, element)};
}

/// 1 with the probability that the input has, else 0.
Results bernoulli(NodeBuilder &b) {
  Value p = b.input(0);
  auto element = dyn_cast<FloatType>(b.element(p));
  if (!element)
    return {b.fail("expected probabilities of floats, found " +
                   graph::shapeToString(p.getType()))};
  Type to = b.hasAttribute("dtype") ? b.elementType(b.intAttribute("dtype", 1))
                                    : Type(element);
  Value u = b.cast(drawUniform(b, element, b.shape(p)), element);
  return {b.cast(b.compare(Predicate::Less, u, p), to)};
}

/// Classes by their unnormalised log-probabilities, [batch, classes]: of each
/// number the first class up to which the probabilities add up to more.
Results multinomial(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t samples = b.intAttribute("sample_size", 1);
  constexpr int64_t kInt32 = 6;
  Type to = b.elementType(b.intAttribute("dtype", kInt32));
  if (b.rank(x) != 2 || b.shape(x)[1] < 1 || samples < 1 ||
      !isa<FloatType>(b.element(x)))
    return {b.fail("expected log-probabilities [batch, classes] of floats and "
                   "a sample_size of 1 or more, found " +
                   graph::shapeToString(x.getType()) + " and " +
                   Twine(samples))};
  if (!to)
    return {Value()};
  FloatType f32 = b.graph.raw().getF32Type();
  int64_t batch = b.shape(x)[0], classes = b.shape(x)[1];
  Value shares = b.create<graph::SoftmaxOp>({b.cast(x, f32)},
                                            {b.attr("axis", int64_t(1))});
  Value sums =
      b.create<graph::CumsumOp>({shares}, {b.attr("axis", int64_t(1))});
  Value u = b.cast(drawUniform(b, f32, {batch, samples}), f32);
  Value isBelow =
      b.compare(Predicate::LessEqual, b.reshape(sums, {batch, 1, classes}),
                b.reshape(u, {batch, samples, 1}));
  Type i64 = b.graph.raw().getI64Type();
  Value index = b.reduce(Kind::Sum, b.cast(isBelow, i64), 2, false);
  // Sums that are rounded may end below 1.
  Value last = b.scalar(i64, static_cast<double>(classes - 1));
  return {b.cast(b.min(index, last), to)};
}

} // namespace

OpFamily randomOps() {
  return {{"Bernoulli", bernoulli},
          {"Multinomial", multinomial},
          {"RandomNormal", randomTensor<drawNormal>},
          {"RandomNormalLike", randomTensor<drawNormal>},
          {"RandomUniform", randomTensor<drawUniform>},
          {"RandomUniformLike", randomTensor<drawUniform>}};
}

} // namespace tinh::onnx
