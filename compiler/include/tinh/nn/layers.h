//===- tinh/nn/layers.h - Linear, embedding, dropout, shapes ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_LAYERS_H
#define TINH_NN_LAYERS_H

#include "tinh/nn/module.h"
#include "tinh/nn/quantization.h"

namespace tinh::nn {

/// x · weightᵀ + bias over the last dimension. Initial values are PyTorch's:
/// uniform in ±1/√in.
class Linear : public QuantizableLayer {
public:
  Linear(int64_t in, int64_t out, bool has_bias = true);
  std::string type_name() const override { return "Linear"; }

  Tensor weight; ///< [out, in]
  Tensor bias;   ///< [out], or none.

protected:
  Tensor forward(const Tensor &x) override;
  void infer(const Shape &input) override;

private:
  int64_t out;
};

/// Rows of weight by integer indices; normally distributed at first. The row
/// `padding` (negative: from the end) is zeros at first and gets no gradient.
class Embedding : public Module {
public:
  Embedding(int64_t count, int64_t width, std::optional<int64_t> padding = {});
  std::string type_name() const override { return "Embedding"; }

  Tensor weight; ///< [count, width]

protected:
  Tensor forward(const Tensor &indices) override;

private:
  std::optional<int64_t> padding; // From the beginning.
};

/// While training, zeroes elements with the given probability and scales the
/// others. Draws from the generator of initialize(), or of its own.
class Dropout : public Module {
public:
  explicit Dropout(double probability = 0.5);
  Dropout(double probability, const Generator &generator);
  std::string type_name() const override { return "Dropout"; }

protected:
  Tensor forward(const Tensor &x) override;

private:
  double probability;
  std::optional<Generator> own;
};

class Flatten : public Module {
public:
  explicit Flatten(int64_t first = 1, int64_t last = -1)
      : first(first), last(last) {}
  std::string type_name() const override { return "Flatten"; }

protected:
  Tensor forward(const Tensor &x) override { return x.flatten(first, last); }

private:
  int64_t first, last;
};

/// Any function of a tensor.
class Lambda : public Module {
public:
  using Function = std::function<Tensor(const Tensor &)>;
  explicit Lambda(Function function, std::string name = "Lambda")
      : function(std::move(function)), name(std::move(name)) {}
  std::string type_name() const override { return name; }

protected:
  Tensor forward(const Tensor &x) override { return function(x); }

private:
  Function function;
  std::string name;
};

//===----------------------------------------------------------------------===//
// Element by element, and softmax
//===----------------------------------------------------------------------===//

struct Identity : Lambda {
  Identity() : Lambda([](const Tensor &x) { return x; }, "Identity") {}
};
struct ReLU : Lambda {
  ReLU() : Lambda([](const Tensor &x) { return relu(x); }, "ReLU") {}
};
struct LeakyReLU : Lambda {
  explicit LeakyReLU(double slope = 0.01)
      : Lambda([slope](const Tensor &x) { return leaky_relu(x, slope); },
               "LeakyReLU") {}
};
struct ELU : Lambda {
  explicit ELU(double alpha = 1)
      : Lambda([alpha](const Tensor &x) { return elu(x, alpha); }, "ELU") {}
};
struct GELU : Lambda {
  explicit GELU(bool tanh_approximation = false)
      : Lambda([=](const Tensor &x) { return gelu(x, tanh_approximation); },
               "GELU") {}
};
struct SiLU : Lambda {
  SiLU() : Lambda([](const Tensor &x) { return silu(x); }, "SiLU") {}
};
struct Sigmoid : Lambda {
  Sigmoid() : Lambda([](const Tensor &x) { return sigmoid(x); }, "Sigmoid") {}
};
struct Tanh : Lambda {
  Tanh() : Lambda([](const Tensor &x) { return tanh(x); }, "Tanh") {}
};
struct Softplus : Lambda {
  Softplus()
      : Lambda([](const Tensor &x) { return softplus(x); }, "Softplus") {}
};
struct Softmax : Lambda {
  explicit Softmax(int64_t axis)
      : Lambda([axis](const Tensor &x) { return softmax(x, axis); },
               "Softmax") {}
};
struct LogSoftmax : Lambda {
  explicit LogSoftmax(int64_t axis)
      : Lambda([axis](const Tensor &x) { return log_softmax(x, axis); },
               "LogSoftmax") {}
};

} // namespace tinh::nn

#endif // TINH_NN_LAYERS_H
