//===- Layers.cpp - Linear, embedding, dropout ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/nn/layers.h"

#include "compiler/Nn/Checks.h"
#include "tinh/autograd.h"

#include <cmath>

namespace tinh::nn {

//===----------------------------------------------------------------------===//
// Linear
//===----------------------------------------------------------------------===//

Linear::Linear(int64_t in, int64_t out, bool hasBias) : out(out) {
  requireSize(in, "Linear", "in");
  requireCount(out, "Linear", "out");
  register_parameter("weight", weight, {out, in},
                     init::kaiming_uniform(std::sqrt(5.0)));
  if (hasBias)
    register_parameter(
        "bias", bias, out, [this](const Tensor &x, const Generator &generator) {
          double bound =
              1 / std::sqrt(double(std::max<int64_t>(weight.size(1), 1)));
          init::uniform(-bound, bound)(x, generator);
        });
}

void Linear::infer(const Shape &input) {
  if (input.size() != 0)
    set_shape(weight, {out, input[input.size() - 1]});
}

Tensor Linear::forward(const Tensor &x) {
  return linear(quantized_input(x), quantized_weight(weight), bias);
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

Embedding::Embedding(int64_t count, int64_t width,
                     std::optional<int64_t> given) {
  requireCount(count, "Embedding", "count");
  requireCount(width, "Embedding", "width");
  if (given && (*given < -count || *given >= count))
    throw Error(TINH_INVALID_ARGUMENT,
                "Embedding: the row " + std::to_string(*given) +
                    " of paddings is none of " + std::to_string(count));
  if (given)
    padding = *given < 0 ? *given + count : *given;
  register_parameter("weight", weight, {count, width},
                     [this](const Tensor &x, const Generator &generator) {
                       init::normal()(x, generator);
                       if (padding)
                         x.select(0, *padding).zero_();
                     });
}

Tensor Embedding::forward(const Tensor &indices) {
  Tensor rows = embedding(weight, indices);
  if (!padding)
    return rows;
  return where((indices == *padding).unsqueeze(-1), detach(rows), rows);
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

static double checkedProbability(double probability) {
  if (!(probability >= 0 && probability <= 1))
    throw Error(TINH_INVALID_ARGUMENT, "Dropout: the probability is " +
                                           std::to_string(probability) +
                                           "; it must be from 0 to 1");
  return probability;
}

Dropout::Dropout(double probability)
    : probability(checkedProbability(probability)) {}

Dropout::Dropout(double probability, const Generator &generator)
    : probability(checkedProbability(probability)), own(generator) {}

Tensor Dropout::forward(const Tensor &x) {
  if (!is_training() || probability == 0)
    return x;
  return dropout(x, probability, own ? *own : generator(At::current()));
}

} // namespace tinh::nn
