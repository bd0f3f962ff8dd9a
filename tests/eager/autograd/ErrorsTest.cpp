//===- ErrorsTest.cpp - What is wrong with gradients ----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing.h"

#include "tinh/engine.h"
#include "tinh/function.h"

#include "gmock/gmock.h"

using namespace tinh;
using testing::AllOf;
using testing::HasSubstr;

/// The place of what comes in the next line.
static std::string nextLine(At at = At::current()) {
  return "ErrorsTest.cpp:" + std::to_string(at.line() + 1) + ": ";
}

TEST(AutogradErrors, NameTheOutputsShape) {
  Tensor x = requires_grad_(ones({2, 3}));
  std::string place = nextLine();
  std::string message = messageOf([&] { backward(x * 2); });
  EXPECT_THAT(message,
              AllOf(HasSubstr(place + "backward: "), HasSubstr("[2, 3]")));
}

TEST(AutogradErrors, RefuseGradientsOfOtherShapes) {
  Tensor x = requires_grad_(ones({2, 3}));
  Tensor y = x * 2;
  EXPECT_THAT(messageOf([&] { backward(y, ones({3})); }),
              AllOf(HasSubstr("[2, 3]"), HasSubstr("[3]")));
  EXPECT_THAT(messageOf([&] { backward(y, ones({2, 3}, float64)); }),
              AllOf(HasSubstr("f32"), HasSubstr("f64")));
  EXPECT_THAT(messageOf([&] { set_grad(x, ones({3, 2})); }),
              HasSubstr("[3, 2]"));
}

TEST(AutogradErrors, RefuseToFollowWhatWasFreed) {
  Tensor x = requires_grad_(ones({2}));
  std::string place = nextLine();
  Tensor y = exp(x);
  backward(sum(y));
  std::string message = messageOf([&] { backward(sum(y)); });
  EXPECT_THAT(message,
              AllOf(HasSubstr(place + "exp: "), HasSubstr("retain_graph")));
}

TEST(AutogradErrors, RefuseLeavesWithoutGradients) {
  EXPECT_THAT(messageOf([&] { requires_grad_(ones({2}, int64)); }),
              AllOf(HasSubstr("requires_grad_: "), HasSubstr("i64")));
  Tensor x = requires_grad_(ones({2}));
  Tensor y = x * 2;
  EXPECT_THAT(messageOf([&] { requires_grad_(y, false); }),
              AllOf(HasSubstr("computed by mul"), HasSubstr("detach")));
  EXPECT_THAT(messageOf([&] { requires_grad_(ones({1}).expand({4})); }),
              HasSubstr("clone()"));
  EXPECT_THAT(messageOf([&] { set_grad(y, ones({2})); }), HasSubstr("no leaf"));
}

TEST(AutogradErrors, NameWhatDependsOnNothing) {
  Tensor x = requires_grad_(ones({2})), other = requires_grad_(ones({3}));
  Tensor y = sum(x * 2);
  EXPECT_THAT(messageOf([&] { backward(sum(ones({2}))); }),
              HasSubstr("output 0 does not require gradients"));
  EXPECT_THAT(messageOf([&] { grad(y, {x, ones({2})}); }),
              HasSubstr("input 1 does not require gradients"));
  EXPECT_THAT(
      messageOf([&] { grad(y, {x, other}); }),
      AllOf(HasSubstr("input 1, of shape [3]"), HasSubstr("allow_unused")));
  y = sum(x * 2);
  GradOptions options;
  options.allow_unused = true;
  Tensor unused = grad(y, other, options);
  EXPECT_EQ(values(unused), (std::vector<double>{0, 0, 0}));
}

TEST(AutogradErrors, NameWhatChangedATensorThatIsNeeded) {
  Tensor x = requires_grad_(ones({2}));
  Tensor y = x * 2;
  std::string place = nextLine();
  Tensor z = exp(y) * y;
  std::string change = nextLine();
  y += 1;
  std::string message = messageOf([&] { backward(sum(z)); });
  EXPECT_THAT(message, AllOf(HasSubstr(place + "mul: "), HasSubstr("by add_ ("),
                             HasSubstr(change.substr(0, change.size() - 2))));
  // Through a view, a detached tensor, and without recording, too.
  for (int how = 0; how < 3; ++how) {
    Tensor w = exp(x * 2);
    if (how == 0) {
      w[0] = 1;
    } else if (how == 1) {
      detach(w).zero_();
    } else {
      NoGrad guard;
      w.zero_();
    }
    EXPECT_THAT(messageOf([&] { backward(sum(w)); }), HasSubstr("changed in"));
  }
}

TEST(AutogradErrors, RefuseToChangeLeavesInPlace) {
  Tensor x = requires_grad_(ones({2}));
  EXPECT_THAT(
      messageOf([&] { x += 1; }),
      AllOf(HasSubstr("add_: "), HasSubstr("a leaf"), HasSubstr("NoGrad")));
  EXPECT_THAT(messageOf([&] { x[0] = 1; }), HasSubstr("a view of a leaf"));
  EXPECT_THAT(messageOf([&] { x.zero_(); }), HasSubstr("a leaf"));
  auto nothing = [](auto reads, auto writes) {};
  EXPECT_THAT(messageOf([&] { call("write", nothing, {}, {x}); }),
              HasSubstr("a leaf"));
  EXPECT_EQ(values(x), (std::vector<double>{1, 1}));
}

TEST(AutogradErrors, RefuseCompiledFunctionsThatChangeResults) {
  auto scale = function("scale", [](Tensor x) {
    x *= 2;
    return x;
  });
  Tensor x = requires_grad_(ones({2})), y = x * 3;
  EXPECT_THAT(messageOf([&] { scale(y); }),
              AllOf(HasSubstr("'scale' changes in place"), HasSubstr("[2]")));
  EXPECT_EQ(values(y), (std::vector<double>{3, 3}));
  EXPECT_EQ(values(scale(detach(y).clone())), (std::vector<double>{6, 6}));
}

TEST(AutogradErrors, NameOperationsWithoutGradients) {
  Tensor x = requires_grad_(ones({2}));
  Tensor y = empty({2});
  std::string place = nextLine();
  call("double", [](auto reads, auto writes) {}, {x * 1}, {y});
  std::string message = messageOf([&] { backward(sum(y)); });
  EXPECT_THAT(message, AllOf(HasSubstr(place + "double: "),
                             HasSubstr("custom_gradient")));
}

TEST(AutogradErrors, CheckWhatFunctionsGive) {
  Tensor x = requires_grad_(ones({2}));
  Tensors inputs = {x};
  auto identity = [](std::span<const Tensor> in) { return Tensors{in[0]}; };
  auto loss = [&](Tensors given) {
    return sum(
        custom_gradient(identity, [=](auto...) { return given; }, inputs)[0]);
  };
  EXPECT_THAT(messageOf([&] { backward(loss({})); }),
              AllOf(HasSubstr("custom_gradient: "), HasSubstr("0 gradients")));
  EXPECT_THAT(messageOf([&] { backward(loss({ones({3})})); }),
              AllOf(HasSubstr("input 0"), HasSubstr("[3]")));
  Tensor y = x * 2;
  register_hook(y, [](const Tensor &) { return ones({5}); });
  EXPECT_THAT(messageOf([&] { backward(sum(y)); }), HasSubstr("a hook"));
  EXPECT_THAT(messageOf([&] { register_hook(ones({1}), {}); }),
              HasSubstr("does not require"));
}
