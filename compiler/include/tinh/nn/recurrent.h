//===- tinh/nn/recurrent.h - Recurrent layers -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of sequences [length, N, width], or [N, length, width] with `batch_first`; a
// single one may be [length, width], and has states [layers · directions, …]. A
// step is a body of tinh::scan: one loop in a traced function, however long the
// sequence is.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_RECURRENT_H
#define TINH_NN_RECURRENT_H

#include "tinh/nn/module.h"

namespace tinh::nn {

struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0; ///< Of what a layer gives to the next.
  bool bidirectional = false;
  int64_t proj_size = 0; ///< Of an LSTM's h, which is projected; 0: hidden.
};

/// The outputs of the last layer, of each step, and the last states of all
/// layers, [layers · directions, N, hidden]: h, and of LSTM c. An h that is
/// projected has that size.
struct RecurrentResult {
  Tensor output;
  std::vector<Tensor> state;
};

/// What all have. Parameters are weight_ih_l0, weight_hh_l0, bias_ih_l0,
/// bias_hh_l0, of projections weight_hr_l0, with "_reverse" for the way back,
/// and so on for each layer; initially uniform in ±1/√hidden.
class RecurrentBase : public Module {
public:
  using Module::operator();
  /// From a state as in RecurrentResult; none: zeros.
  RecurrentResult operator()(const Tensor &x, const std::vector<Tensor> &state,
                             At at = At::current());

protected:
  RecurrentBase(int64_t width, int64_t hidden, int64_t gates, int64_t states,
                const RecurrentOptions &options);
  /// The output alone.
  Tensor forward(const Tensor &x) override;
  void infer(const Shape &input) override;

  /// The parameters of one direction in one layer.
  struct Cell {
    Tensor weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;
  };
  /// The next state from the last one and the input's part of all gates.
  virtual std::vector<Tensor> step(const Cell &cell, const Tensor &input,
                                   std::span<const Tensor> state) const = 0;
  /// Whether bias_hh may be added to all inputs beforehand.
  virtual bool addsHiddenBias() const { return true; }

private:
  void declare(const std::string &suffix, Cell &cell, int64_t width);
  std::vector<Tensor> checkedState(const std::vector<Tensor> &state,
                                   const Tensor &x, bool isSingle, At at) const;
  /// Elements of h.
  int64_t outputs() const {
    return options.proj_size ? options.proj_size : hidden;
  }
  RecurrentResult run(const Tensor &x, const std::vector<Tensor> &state, At at);
  Tensor runLayer(size_t layer, const Tensor &x,
                  const std::vector<Tensor> &state,
                  std::vector<std::vector<Tensor>> &last) const;
  RecurrentResult runCell(const Cell &cell, const Tensor &x,
                          std::vector<Tensor> state, bool isBackward) const;

  int64_t hidden, gates, states;
  RecurrentOptions options;
  std::vector<Cell> cells;
};

enum class Nonlinearity { Tanh, ReLU };

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with ReLU.
class RNN : public RecurrentBase {
public:
  RNN(int64_t width, int64_t hidden, const RecurrentOptions &options = {},
      Nonlinearity nonlinearity = Nonlinearity::Tanh);
  std::string type_name() const override { return "RNN"; }

protected:
  std::vector<Tensor> step(const Cell &cell, const Tensor &input,
                           std::span<const Tensor> state) const override;

private:
  Nonlinearity nonlinearity;
};

/// Gates in PyTorch's order: input, forget, cell, output.
class LSTM : public RecurrentBase {
public:
  LSTM(int64_t width, int64_t hidden, const RecurrentOptions &options = {});
  std::string type_name() const override { return "LSTM"; }

protected:
  std::vector<Tensor> step(const Cell &cell, const Tensor &input,
                           std::span<const Tensor> state) const override;
};

/// Gates in PyTorch's order: reset, update, new.
class GRU : public RecurrentBase {
public:
  GRU(int64_t width, int64_t hidden, const RecurrentOptions &options = {});
  std::string type_name() const override { return "GRU"; }

protected:
  std::vector<Tensor> step(const Cell &cell, const Tensor &input,
                           std::span<const Tensor> state) const override;
  bool addsHiddenBias() const override { return false; }
};

} // namespace tinh::nn

#endif // TINH_NN_RECURRENT_H
