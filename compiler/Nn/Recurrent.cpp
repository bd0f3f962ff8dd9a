//===- Recurrent.cpp - Recurrent layers -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/nn/recurrent.h"

#include "compiler/Nn/Checks.h"
#include "tinh/function.h"

#include <cmath>

namespace tinh::nn {

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static double checkedDropout(double probability) {
  if (!(probability >= 0 && probability <= 1))
    throw Error(TINH_INVALID_ARGUMENT,
                "a recurrent layer: the probability of dropout is " +
                    std::to_string(probability) + "; it must be from 0 to 1");
  return probability;
}

RecurrentBase::RecurrentBase(int64_t width, int64_t hidden, int64_t gates,
                             int64_t states, const RecurrentOptions &options)
    : hidden(hidden), gates(gates), states(states), options(options) {
  requireSize(width, "a recurrent layer", "width");
  requireCount(hidden, "a recurrent layer", "hidden");
  requireCount(options.num_layers, "a recurrent layer", "num_layers");
  checkedDropout(options.dropout);
  if (options.proj_size != 0 && states != 2)
    throw Error(
        TINH_INVALID_ARGUMENT,
        "a recurrent layer: only an LSTM has projections; proj_size is " +
            std::to_string(options.proj_size));
  if (options.proj_size < 0 || options.proj_size >= hidden)
    throw Error(TINH_INVALID_ARGUMENT,
                "an LSTM: proj_size is " + std::to_string(options.proj_size) +
                    "; it must be less than the " + std::to_string(hidden) +
                    " of hidden, or 0 for no projections");
  size_t directions = options.bidirectional ? 2 : 1;
  cells.resize(size_t(options.num_layers) * directions); // Not moved later.
  for (size_t i = 0; i < cells.size(); ++i) {
    size_t layer = i / directions;
    std::string suffix = "_l" + std::to_string(layer);
    int64_t in = layer == 0 ? width : outputs() * int64_t(directions);
    declare(i % directions ? suffix + "_reverse" : suffix, cells[i], in);
  }
}

void RecurrentBase::declare(const std::string &suffix, Cell &cell,
                            int64_t width) {
  double bound = 1 / std::sqrt(double(hidden));
  Initializer first = init::uniform(-bound, bound);
  int64_t rows = gates * hidden;
  register_parameter("weight_ih" + suffix, cell.weight_ih, {rows, width},
                     first);
  register_parameter("weight_hh" + suffix, cell.weight_hh, {rows, outputs()},
                     first);
  if (options.bias) {
    register_parameter("bias_ih" + suffix, cell.bias_ih, rows, first);
    register_parameter("bias_hh" + suffix, cell.bias_hh, rows, first);
  }
  if (options.proj_size)
    register_parameter("weight_hr" + suffix, cell.weight_hr,
                       {options.proj_size, hidden}, first);
}

void RecurrentBase::infer(const Shape &input) {
  if (input.size() != 2 && input.size() != 3)
    return;
  for (size_t i = 0; i < (options.bidirectional ? 2 : 1); ++i)
    set_shape(cells[i].weight_ih, {gates * hidden, input[input.size() - 1]});
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

Tensor RecurrentBase::forward(const Tensor &x) {
  return run(x, {}, At::current()).output;
}

RecurrentResult RecurrentBase::operator()(const Tensor &x,
                                          const std::vector<Tensor> &state,
                                          At at) {
  RecurrentResult result;
  call(x, at, [&] {
    result = run(x, state, at);
    note_result(result.output);
  });
  return result;
}

RecurrentResult RecurrentBase::runCell(const Cell &cell, const Tensor &x,
                                       std::vector<Tensor> state,
                                       bool isBackward) const {
  Tensor bias = cell.bias_ih;
  if (options.bias && addsHiddenBias())
    bias = bias + cell.bias_hh;
  // The input's part of all steps at once.
  Tensor inputs = linear(x, cell.weight_ih, bias);
  if (isBackward)
    inputs = flip(inputs, 0);
  auto body = [&](std::span<const Tensor> last, std::span<const Tensor> rows) {
    ScanStep next{step(cell, rows[0], last), {}};
    next.items = {next.state[0]};
    return next;
  };
  ScanResult result = scan(body, std::move(state), {inputs});
  Tensor output = result.stacked[0];
  return {isBackward ? flip(output, 0) : output, std::move(result.state)};
}

/// The given state, or zeros, with a dimension for the batch.
std::vector<Tensor>
RecurrentBase::checkedState(const std::vector<Tensor> &state, const Tensor &x,
                            bool isSingle, At at) const {
  std::vector<Tensor> checked;
  bool fits = state.empty() || state.size() == size_t(states);
  std::string expected;
  for (size_t i = 0; i < size_t(states); ++i) {
    int64_t width = i == 0 ? outputs() : hidden, layers = int64_t(cells.size());
    Shape shape = {layers, x.size(1), width};
    Shape given = isSingle ? Shape{layers, width} : shape;
    fits = fits && (state.empty() || state[i].shape(at) == given);
    expected += (i ? ", " : "") + to_string(given);
    if (fits)
      checked.push_back(state.empty() ? zeros(shape, x.dtype())
                                      : state[i].reshape(shape));
  }
  if (!fits)
    throw Error(TINH_INVALID_ARGUMENT, type_name() + ": the state must be " +
                                           std::to_string(states) +
                                           " tensors of shape " + expected);
  return checked;
}

/// One layer in all directions; its last states are added to `last`.
Tensor RecurrentBase::runLayer(size_t layer, const Tensor &x,
                               const std::vector<Tensor> &state,
                               std::vector<std::vector<Tensor>> &last) const {
  size_t directions = options.bidirectional ? 2 : 1;
  std::vector<Tensor> outputs;
  for (size_t d = 0; d < directions; ++d) {
    size_t index = layer * directions + d;
    std::vector<Tensor> first;
    for (const Tensor &part : state)
      first.push_back(part.select(0, int64_t(index)));
    RecurrentResult result = runCell(cells[index], x, first, d == 1);
    outputs.push_back(result.output);
    for (size_t i = 0; i < last.size(); ++i)
      last[i].push_back(result.state[i]);
  }
  return directions == 1 ? outputs[0] : concat(outputs, -1);
}

RecurrentResult RecurrentBase::run(const Tensor &given,
                                   const std::vector<Tensor> &state, At at) {
  bool isSingle = given.dim() == 2;
  if (given.dim() != 3 && !isSingle)
    throw Error(TINH_INVALID_ARGUMENT,
                type_name() + ": shape " + to_string(given.shape()) +
                    " must be " +
                    (options.batch_first ? "[N, length, width]"
                                         : "[length, N, width]") +
                    ", or [length, width]");
  bool isSwapped = options.batch_first && !isSingle;
  Tensor x = isSingle    ? given.unsqueeze(1)
             : isSwapped ? given.transpose(0, 1)
                         : given;
  std::vector<Tensor> first = checkedState(state, x, isSingle, at);
  std::vector<std::vector<Tensor>> last(size_t(states), std::vector<Tensor>{});
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    if (layer > 0 && is_training() && options.dropout > 0)
      x = dropout(x, options.dropout, generator(at));
    x = runLayer(size_t(layer), x, first, last);
  }
  auto withoutBatch = [&](const Tensor &tensor) {
    return isSingle ? tensor.squeeze(1) : tensor;
  };
  RecurrentResult result{isSwapped ? x.transpose(0, 1) : withoutBatch(x), {}};
  for (const std::vector<Tensor> &parts : last)
    result.state.push_back(withoutBatch(stack(parts)));
  return result;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

RNN::RNN(int64_t width, int64_t hidden, const RecurrentOptions &options,
         Nonlinearity nonlinearity)
    : RecurrentBase(width, hidden, 1, 1, options), nonlinearity(nonlinearity) {}

std::vector<Tensor> RNN::step(const Cell &cell, const Tensor &input,
                              std::span<const Tensor> state) const {
  Tensor sum = input + linear(state[0], cell.weight_hh);
  return {nonlinearity == Nonlinearity::ReLU ? relu(sum) : tanh(sum)};
}

LSTM::LSTM(int64_t width, int64_t hidden, const RecurrentOptions &options)
    : RecurrentBase(width, hidden, 4, 2, options) {}

std::vector<Tensor> LSTM::step(const Cell &cell, const Tensor &input,
                               std::span<const Tensor> state) const {
  std::vector<Tensor> gates =
      chunk(input + linear(state[0], cell.weight_hh), 4, -1);
  Tensor kept = sigmoid(gates[1]) * state[1];
  Tensor c = muladd(sigmoid(gates[0]), tanh(gates[2]), kept);
  Tensor h = sigmoid(gates[3]) * tanh(c);
  return {cell.weight_hr.defined() ? linear(h, cell.weight_hr) : h, c};
}

GRU::GRU(int64_t width, int64_t hidden, const RecurrentOptions &options)
    : RecurrentBase(width, hidden, 3, 1, options) {}

std::vector<Tensor> GRU::step(const Cell &cell, const Tensor &input,
                              std::span<const Tensor> state) const {
  std::vector<Tensor> x = chunk(input, 3, -1);
  std::vector<Tensor> h =
      chunk(linear(state[0], cell.weight_hh, cell.bias_hh), 3, -1);
  Tensor reset = sigmoid(x[0] + h[0]);
  Tensor update = sigmoid(x[1] + h[1]);
  Tensor proposed = tanh(muladd(reset, h[2], x[2]));
  return {muladd(update, state[0] - proposed, proposed)};
}

} // namespace tinh::nn
