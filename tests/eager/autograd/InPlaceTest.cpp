//===- InPlaceTest.cpp - Gradients of what is changed in place ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that write tensors and views of them, against finite differences.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"

#include "tinh/engine.h"

#include <algorithm>

using namespace tinh;

namespace {

struct Program {
  const char *name;
  Computation run;
  Tensors inputs;
};

std::vector<Program> programs() {
  using T = const Tensors &;
  Tensors one = {numbers({3, 4})}, row = {numbers({3, 4}), numbers({4})};
  return {
      {"operators",
       [](T x) {
         Tensor y = x[0] * 2;
         y += x[1];
         y *= x[0];
         y -= 1;
         y /= x[1] * x[1] + 3;
         return y;
       },
       row},
      {"functions",
       [](T x) {
         Tensor y = x[0] * x[0];
         Tensor z = y.sqrt_().clone().exp_().clone().sigmoid_().clone();
         return z.tanh_().clone().log_().neg_().abs_();
       },
       one},
      {"overwritten_operand",
       [](T x) { // The gradient needs what mul_ overwrites.
         Tensor y = x[0] + 1, w = x[0] * x[0];
         y.mul_(w);
         return y;
       },
       one},
      {"relu_in_place", [](T x) { return square((x[0] * 1).relu_()); }, one},
      {"write_row",
       [](T x) {
         Tensor y = x[0] * x[0];
         y[1] = x[1] * 3;
         return y * y;
       },
       row},
      {"write_into_constant",
       [](T x) {
         Tensor y = zeros({3, 4}, float64);
         for (int64_t i = 0; i < 3; ++i)
           y[i].copy_(x[0][2 - i] * (i + 1));
         return y * y;
       },
       one},
      {"read_view_after_write_of_base",
       [](T x) {
         Tensor y = x[0] * 1, view = y.t();
         y += x[1];
         return square(view);
       },
       row},
      {"read_base_after_write_of_view",
       [](T x) {
         Tensor y = x[0] * 1;
         Tensor view = y.slice(1, 0, 4, 2), other = y.narrow(1, 1, 2);
         view *= 3;
         other += view; // Shares a column with it.
         return y * x[0];
       },
       one},
      {"write_through_views_of_views",
       [](T x) {
         Tensor y = x[0] * 1;
         y.t().narrow(0, 1, 2).reshape({2, 3}).select(1, 1).mul_(x[0][0][0]);
         return y * y;
       },
       one},
      {"constants_into_parts",
       [](T x) {
         Tensor y = x[0] * x[0];
         y.narrow(1, 0, 2).zero_();
         y[2].fill_(7);
         return y * x[0];
       },
       one},
      {"constant_into_all",
       [](T x) {
         Tensor y = x[0] * x[0];
         y.fill_(2);
         y += x[0];
         return y;
       },
       one},
      {"masked",
       [](T x) {
         Tensor y = x[0] * 2;
         y.masked_fill_(x[0] > 0, 0);
         y.clamp_(-3, 3);
         return y * x[0];
       },
       one},
      {"addmul",
       [](T x) {
         Tensor y = x[0] * 2;
         y.addmul_(x[0], x[1]);
         return y * y;
       },
       row},
      {"expanded_source",
       [](T x) {
         Tensor y = x[0] * 1;
         y.copy_(x[1]);
         y[0] += x[0][1];
         return y * y;
       },
       row},
      {"reshaped_whole",
       [](T x) {
         Tensor y = x[0] * 1;
         y.reshape({12}).mul_(x[0].reshape({12}));
         return y;
       },
       one},
      {"written_by_the_host",
       [](T x) {
         Tensor y = x[0] * x[0];
         call("fill",
              [](auto reads, auto writes) {
                std::fill_n(writes[0].template as<double>(), 4, 2.0);
              },
              {}, {y[1]});
         return y * x[0];
       },
       one},
      {"versions_of_one_memory",
       [](T x) {
         Tensor y = x[0] * 1, total = zeros({}, float64);
         for (int i = 0; i < 3; ++i) {
           total = total + sum(y.clone() * x[1]);
           y *= x[1];
         }
         return total + y;
       },
       row},
  };
}

class InPlaceGradients : public testing::TestWithParam<size_t> {};

TEST_P(InPlaceGradients, AreThoseOfTheProgram) {
  Program program = programs()[GetParam()];
  expectGradients(program.run, program.inputs);
  expectSecondGradients(
      [&](const Tensors &x) { return square(program.run(x)); }, program.inputs);
}

INSTANTIATE_TEST_SUITE_P(All, InPlaceGradients,
                         testing::Range<size_t>(0, programs().size()),
                         [](const testing::TestParamInfo<size_t> &info) {
                           return std::string(programs()[info.param].name);
                         });

} // namespace
