//===- Recurrent.cpp - RNN, LSTM and GRU ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scan over the steps. What they do not depend on each other for, the product
// of all inputs with the weights, is computed at once before it:
//
//   projected = X · Wᵀ + biases               [length, batch, gates · hidden]
//   step t:    state = cell(projected[t], state · Rᵀ, state)
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

struct Activation {
  std::string name;
  double alpha, beta;
};

/// One of the one or two directions of a layer.
struct Direction {
  bool isReverse;
  Value projected; ///< [length, batch, gates · hidden]
  Value weights;   ///< Of the recurrence, [gates · hidden, hidden].
  Value bias; ///< Of the recurrence, [gates · hidden]; null: in `projected`.
  Value peephole; ///< [3 · hidden], or null.
  SmallVector<Activation, 3> activations;
};

/// The hidden state and, of LSTM, the cell's, [batch, hidden].
using State = SmallVector<Value>;

struct Layer {
  NodeBuilder &b;
  int64_t gates, states; ///< Of the kind of cell.
  int64_t length = 0, batch = 0, hidden = 0;
  double clip = 0;
  SmallVector<Direction, 2> directions = {};

  State (*step)(Layer &, const Direction &, Value projected,
                const State &) = nullptr;

  /// The part of a gate.
  Value gate(Value all, int64_t index) {
    return all ? b.sliceAxis(all, b.rank(all) - 1, index * hidden, hidden)
               : Value();
  }
  Value activate(const Direction &d, int64_t index, Value x);
};

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// What an activation has for alpha and beta if the node says nothing, and
/// whether it has them; nothing for one that is not known.
struct ActivationDefaults {
  bool hasAlpha, hasBeta;
  double alpha, beta;
};

std::optional<ActivationDefaults> activationDefaults(StringRef name) {
  using Defaults = std::optional<ActivationDefaults>;
  return llvm::StringSwitch<Defaults>(name)
      .Cases({"Relu", "Tanh", "Sigmoid", "Softsign", "Softplus"},
             ActivationDefaults{false, false, 0, 0})
      .Case("Affine", ActivationDefaults{true, true, 1, 0})
      .Case("LeakyRelu", ActivationDefaults{true, false, 0.01f, 0})
      .Case("ThresholdedRelu", ActivationDefaults{true, false, 1, 0})
      .Case("ScaledTanh", ActivationDefaults{true, true, 1, 1})
      .Case("HardSigmoid", ActivationDefaults{true, true, 0.2f, 0.5f})
      .Case("Elu", ActivationDefaults{true, false, 1, 0})
      .Default(std::nullopt);
}

Value applyActivation(NodeBuilder &b, const Activation &a, Value x) {
  Value zero = b.scalarLike(x, 0), one = b.scalarLike(x, 1);
  Value alpha = b.scalarLike(x, a.alpha), beta = b.scalarLike(x, a.beta);
  if (b.failed() || !x)
    return {};
  if (a.name == "Relu")
    return b.create<graph::ReluOp>({x});
  if (a.name == "Tanh")
    return b.create<graph::TanhOp>({x});
  if (a.name == "Sigmoid")
    return b.create<graph::SigmoidOp>({x});
  if (a.name == "Softplus")
    return b.create<graph::SoftplusOp>({x});
  if (a.name == "Softsign")
    return b.create<graph::SoftsignOp>({x});
  if (a.name == "Affine")
    return b.add(b.mul(alpha, x), beta);
  if (a.name == "ScaledTanh")
    return b.mul(alpha, b.create<graph::TanhOp>({b.mul(beta, x)}));
  if (a.name == "HardSigmoid")
    return b.max(b.min(b.add(b.mul(alpha, x), beta), one), zero);
  if (a.name == "ThresholdedRelu")
    return b.where(b.compare(Predicate::GreaterEqual, x, alpha), x, zero);
  Value below =
      a.name == "LeakyRelu"
          ? b.mul(alpha, x)
          : b.mul(alpha, b.sub(b.create<graph::ExpOp>({b.min(x, zero)}),
                               one)); // Elu
  return b.where(b.compare(Predicate::Less, x, zero), below, x);
}

/// The activations of all directions, `each` of them in order.
bool readActivations(Layer &layer, ArrayRef<StringRef> otherwise) {
  NodeBuilder &b = layer.b;
  SmallVector<std::string> names;
  if (auto *a = b.attribute("activations", AttributeProto::STRINGS))
    names.assign(a->strings().begin(), a->strings().end());
  size_t each = otherwise.size(), count = each * layer.directions.size();
  for (size_t i = 0; names.size() < count && i < count; ++i)
    if (i >= names.size())
      names.push_back(otherwise[i % each].str());
  if (names.size() != count) {
    b.fail("attribute activations: expected " + Twine(count) + ", found " +
           Twine(names.size()));
    return false;
  }
  auto *alphas = b.attribute("activation_alpha", AttributeProto::FLOATS);
  auto *betas = b.attribute("activation_beta", AttributeProto::FLOATS);
  int nextAlpha = 0, nextBeta = 0;
  for (size_t i = 0; i < count; ++i) {
    auto defaults = activationDefaults(names[i]);
    if (!defaults) {
      b.fail("attribute activations: \"" + names[i] + "\" is not known");
      return false;
    }
    double alpha = defaults->alpha, beta = defaults->beta;
    if (defaults->hasAlpha && alphas && nextAlpha < alphas->floats_size())
      alpha = alphas->floats(nextAlpha++);
    if (defaults->hasBeta && betas && nextBeta < betas->floats_size())
      beta = betas->floats(nextBeta++);
    layer.directions[i / each].activations.push_back({names[i], alpha, beta});
  }
  return true;
}

Value Layer::activate(const Direction &d, int64_t index, Value x) {
  if (clip > 0)
    x = b.max(b.min(x, b.scalarLike(x, clip)), b.scalarLike(x, -clip));
  return applyActivation(b, d.activations[index], x);
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

State rnnStep(Layer &layer, const Direction &d, Value projected,
              const State &state) {
  NodeBuilder &b = layer.b;
  Value recurrent = b.matmul(state[0], d.weights, /*transposeB=*/true);
  return {layer.activate(d, 0, b.add(projected, recurrent))};
}

/// Gates in the order i, o, f, c; peepholes i, o, f.
State lstmStep(Layer &layer, const Direction &d, Value projected,
               const State &state) {
  NodeBuilder &b = layer.b;
  Value all =
      b.add(projected, b.matmul(state[0], d.weights, /*transposeB=*/true));
  auto gate = [&](int64_t index, Value cell) {
    Value x = layer.gate(all, index);
    if (d.peephole && cell)
      x = b.add(x, b.mul(layer.gate(d.peephole, index), cell));
    return x;
  };
  Value input = layer.activate(d, 0, gate(0, state[1]));
  Value forget = layer.activate(d, 0, gate(2, state[1]));
  Value candidate = layer.activate(d, 1, gate(3, {}));
  Value cell = b.add(b.mul(forget, state[1]), b.mul(input, candidate));
  Value output = layer.activate(d, 0, gate(1, cell));
  // The clip is for what enters the gates, not for the cell.
  Value hidden = b.mul(output, applyActivation(b, d.activations[2], cell));
  return {hidden, cell};
}

/// Gates in the order z, r, h.
State gruStep(Layer &layer, const Direction &d, Value projected,
              const State &state) {
  NodeBuilder &b = layer.b;
  bool isLinear = b.intAttribute("linear_before_reset", 0);
  int64_t hidden = layer.hidden;
  auto weights = [&](int64_t first, int64_t count) {
    return b.sliceAxis(d.weights, 0, first * hidden, count * hidden);
  };
  Value recurrent = b.matmul(state[0], weights(0, 2), /*transposeB=*/true);
  if (d.bias)
    recurrent = b.add(recurrent, b.sliceAxis(d.bias, 0, 0, 2 * hidden));
  auto gate = [&](int64_t index) {
    return layer.activate(
        d, 0,
        b.add(layer.gate(projected, index), layer.gate(recurrent, index)));
  };
  Value update = gate(0), reset = gate(1);
  Value source = isLinear ? state[0] : b.mul(reset, state[0]);
  Value inner = b.matmul(source, weights(2, 1), /*transposeB=*/true);
  if (d.bias)
    inner = b.add(inner, layer.gate(d.bias, 2));
  if (isLinear)
    inner = b.mul(reset, inner);
  Value candidate =
      layer.activate(d, 1, b.add(layer.gate(projected, 2), inner));
  Value one = b.scalarLike(update, 1);
  return {b.add(b.mul(b.sub(one, update), candidate), b.mul(update, state[0]))};
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Slice `index` of dimension 0, without that dimension.
Value pick(NodeBuilder &b, Value x, int64_t index) {
  if (!x)
    return {};
  return b.reshape(b.sliceAxis(x, 0, index, 1), b.shape(x).drop_front());
}

bool checkShapes(Layer &layer, Value x, size_t directions) {
  NodeBuilder &b = layer.b;
  Value w = b.input(1), r = b.input(2);
  auto count = static_cast<int64_t>(directions);
  auto expect = [&](Value value, std::initializer_list<int64_t> shape,
                    StringRef what) {
    if (!value || b.shape(value) == ArrayRef<int64_t>(shape))
      return;
    b.fail(what + " must be " + formatShape(shape) + ", found " +
           graph::shapeToString(value.getType()));
  };
  if (b.failed() || b.rank(x) != 3 || b.rank(r) != 3 ||
      b.shape(r)[1] != layer.gates * b.shape(r)[2]) {
    b.fail("X, W and R must have rank 3 and R the shape [directions, " +
           Twine(layer.gates) + " hidden, hidden]");
    return false;
  }
  layer.hidden = b.shape(r)[2];
  int64_t rows = layer.gates * layer.hidden;
  expect(w, {count, rows, b.shape(x)[2]}, "W");
  expect(r, {count, rows, layer.hidden}, "R");
  if (b.has(3))
    expect(b.input(3), {count, 2 * rows}, "B");
  if (b.has(7))
    expect(b.input(7), {count, 3 * layer.hidden}, "P");
  return !b.failed();
}

void readDirection(Layer &layer, Value x, int64_t index, bool isReverse) {
  NodeBuilder &b = layer.b;
  Direction d{isReverse, {}, pick(b, b.input(2), index), {}, {}, {}};
  int64_t rows = layer.gates * layer.hidden;
  Value flat = b.reshape(x, {layer.length * layer.batch, b.shape(x)[2]});
  d.projected = b.matmul(flat, pick(b, b.input(1), index), /*transposeB=*/true);
  if (b.has(3)) {
    Value bias = pick(b, b.input(3), index);
    d.projected = b.add(d.projected, b.sliceAxis(bias, 0, 0, rows));
    Value recurrent = b.sliceAxis(bias, 0, rows, rows);
    if (layer.step == gruStep)
      d.bias = recurrent;
    else
      d.projected = b.add(d.projected, recurrent);
  }
  d.projected = b.reshape(d.projected, {layer.length, layer.batch, rows});
  if (b.has(7))
    d.peephole = pick(b, b.input(7), index);
  layer.directions.push_back(std::move(d));
}

/// The initial state of a direction.
State startOf(Layer &layer, int64_t index, bool batchFirst) {
  NodeBuilder &b = layer.b;
  State state;
  for (int64_t s = 0; s < layer.states; ++s) {
    int input = static_cast<int>(5 + s);
    if (!b.has(input)) {
      Value zero = b.scalarLike(layer.directions[index].projected, 0);
      state.push_back(b.broadcast(zero, {layer.batch, layer.hidden}));
      continue;
    }
    Value given = b.input(input);
    if (given && batchFirst && b.rank(given) == 3)
      given = b.transpose(given, {1, 0, 2});
    Ints expected = {static_cast<int64_t>(layer.directions.size()), layer.batch,
                     layer.hidden};
    if (!given || b.shape(given) != ArrayRef<int64_t>(expected)) {
      b.fail("the initial state must be " + formatShape(expected));
      return state;
    }
    state.push_back(pick(b, given, index));
  }
  return state;
}

/// A step on `projected` [batch, gates · hidden] at `time`, which counts from
/// 0.
ScanResults runStep(Layer &layer, const Direction &d, Value projected,
                    const State &state, Value lengths, Value time) {
  NodeBuilder &b = layer.b;
  State next = layer.step(layer, d, projected, state);
  Value output = next[0];
  if (lengths) {
    // Past its end a sequence keeps its state and gives zeros.
    Value isInside = b.compare(Predicate::Greater, lengths, time);
    for (auto [after, before] : llvm::zip(next, state))
      after = b.where(isInside, after, before);
    output = b.where(isInside, output, b.scalarLike(output, 0));
  }
  return {next, {output}};
}

/// Runs a direction; the outputs [length, batch, hidden] in the order of time,
/// and the last state.
Value runDirection(Layer &layer, int64_t index, State &state) {
  NodeBuilder &b = layer.b;
  const Direction &d = layer.directions[index];
  Value lengths;
  if (b.has(4))
    lengths = b.reshape(b.input(4), {layer.batch, 1});
  Value rows = d.isReverse ? b.reverseRows(d.projected) : d.projected;
  if (b.failed())
    return {};
  auto step = [&](const ScanArguments &arguments) -> ScanResults {
    Value time = arguments.index;
    if (lengths && d.isReverse)
      time = b.sub(b.scalarLike(time, static_cast<double>(layer.length - 1)),
                   time);
    if (lengths)
      time = b.cast(time, b.element(lengths));
    return runStep(layer, d, arguments.rows[0], arguments.carried, lengths,
                   time);
  };
  ScanResults scan = b.scan({layer.length}, state, rows, step);
  if (b.failed())
    return {};
  state = scan.carried;
  Value outputs = scan.rows[0];
  return d.isReverse ? b.reverseRows(outputs) : outputs;
}

/// Values put together along a new dimension.
Value stack(NodeBuilder &b, ArrayRef<Value> values, int64_t axis) {
  SmallVector<Value> parts;
  for (Value value : values) {
    Ints shape(b.shape(value));
    shape.insert(shape.begin() + axis, 1);
    parts.push_back(b.reshape(value, shape));
  }
  return b.concat(parts, axis);
}

/// Y [length, directions, batch, hidden], then the last states [directions,
/// batch, hidden], or with the batch first.
Results runLayer(Layer &layer, bool batchFirst) {
  NodeBuilder &b = layer.b;
  SmallVector<Value> outputs;
  SmallVector<SmallVector<Value>> lasts(layer.states);
  for (size_t d = 0; d < layer.directions.size(); ++d) {
    auto index = static_cast<int64_t>(d);
    State state = startOf(layer, index, batchFirst);
    if (b.failed())
      return {Value()};
    outputs.push_back(runDirection(layer, index, state));
    if (b.failed())
      return {Value()};
    for (auto [s, last] : llvm::enumerate(state))
      lasts[s].push_back(last);
  }
  Value y = stack(b, outputs, 1);
  Results results = {y && batchFirst ? b.transpose(y, {2, 0, 1, 3}) : y};
  for (ArrayRef<Value> last : lasts) {
    Value state = stack(b, last, 0);
    results.push_back(state && batchFirst ? b.transpose(state, {1, 0, 2})
                                          : state);
  }
  return results;
}

Results recurrent(Layer layer, ArrayRef<StringRef> activations) {
  NodeBuilder &b = layer.b;
  bool batchFirst = b.intAttribute("layout", 0);
  std::string direction = b.stringAttribute("direction", "forward");
  bool isBoth = direction == "bidirectional";
  if (!isBoth && direction != "forward" && direction != "reverse")
    return {b.fail("attribute direction: unknown value \"" + direction + "\"")};
  if (b.intAttribute("input_forget", 0))
    return {b.fail("input_forget is not supported")};
  Value x = b.input(0);
  if (!checkShapes(layer, x, isBoth ? 2 : 1))
    return {Value()};
  if (batchFirst)
    x = b.transpose(x, {1, 0, 2});
  layer.length = b.shape(x)[0];
  layer.batch = b.shape(x)[1];
  layer.clip = b.floatAttribute("clip", 0);
  readDirection(layer, x, 0, direction == "reverse");
  if (isBoth)
    readDirection(layer, x, 1, true);
  if (b.failed() || !readActivations(layer, activations))
    return {Value()};
  return runLayer(layer, batchFirst);
}

Results rnn(NodeBuilder &b) {
  Layer layer{b, 1, 1};
  layer.step = rnnStep;
  return recurrent(layer, {"Tanh"});
}

Results lstm(NodeBuilder &b) {
  Layer layer{b, 4, 2};
  layer.step = lstmStep;
  return recurrent(layer, {"Sigmoid", "Tanh", "Tanh"});
}

Results gru(NodeBuilder &b) {
  Layer layer{b, 3, 1};
  layer.step = gruStep;
  return recurrent(layer, {"Sigmoid", "Tanh"});
}

} // namespace

OpFamily recurrentOps() { return {{"GRU", gru}, {"LSTM", lstm}, {"RNN", rnn}}; }

} // namespace tinh::onnx
