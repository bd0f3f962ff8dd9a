//===- GradientTest.cpp - Gradients in traced functions ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each program gives the same numbers on the tape and compiled.
//
//===----------------------------------------------------------------------===//
#include "Expect.h"
#include "tinh/autograd.h"
#include "tinh/function.h"
#include "tinh/session.h"

using namespace tinh;
using namespace tinh::test;
using Tensors = std::vector<Tensor>;

namespace {

/// Expects the same of `program` eagerly and compiled; both may change their
/// leaves, of which each gets its own.
template <typename Program> void expectSame(Program program, Tensors leaves) {
  auto copies = [&] {
    Tensors made;
    for (const Tensor &leaf : leaves)
      made.push_back(requires_grad_(leaf.clone()));
    return made;
  };
  Tensors eager = copies(), compiled = copies();
  auto traced = function([&] { return program(compiled); });
  for (int call = 0; call < 3; ++call) {
    Tensors expected = program(eager), found = traced();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      expectClose(found[i], expected[i]);
  }
  EXPECT_EQ(traced.statistics().traces, 1u);
  for (size_t i = 0; i < leaves.size(); ++i) {
    expectClose(compiled[i], eager[i]);
    ASSERT_EQ(grad_of(compiled[i]).defined(), grad_of(eager[i]).defined());
    if (grad_of(eager[i]).defined())
      expectClose(grad_of(compiled[i]), grad_of(eager[i]));
  }
}

Tensor lossOf(const Tensors &p, const Tensor &x, const Tensor &y) {
  Tensor hidden = tanh(matmul(x, p[0]) + p[1]);
  return mean(square(matmul(hidden, p[2]) + p[3] - y));
}

Tensors mlp() {
  return {numbers({5, 8}, 0.5), numbers({8}), numbers({8, 3}, 0.4),
          numbers({3})};
}

} // namespace

TEST(TracedGrad, OfInputs) {
  auto program = [](Tensor x, Tensor w) {
    requires_grad_(x);
    requires_grad_(w);
    Tensor loss = sum(tanh(matmul(x, w)) * x);
    return grad(loss, {x, w});
  };
  Tensor x = numbers({4, 4}), w = numbers({4, 4}, 0.3);
  Tensors expected = program(x.clone(), w.clone());
  Tensors found = function(program)(x, w);
  expectClose(found[0], expected[0]);
  expectClose(found[1], expected[1]);
}

TEST(TracedGrad, OfGradients) {
  expectSame(
      [](const Tensors &p) {
        Tensor loss = sum(exp(p[0]) * p[0]);
        Tensor first = grad(loss, p[0], {{.create_graph = true}});
        Tensor second = grad(sum(first * first), p[0]);
        return Tensors{first, second};
      },
      {numbers({6})});
}

TEST(TracedGrad, OfViewsAndInPlaceChanges) {
  expectSame(
      [](const Tensors &p) {
        Tensor x = p[0] * 2;
        x[1] = p[1][2];
        x.select(1, 0) *= 3;
        Tensor loss = sum(x * x);
        return grad(loss, {p[0], p[1]});
      },
      {numbers({3, 4}), numbers({3, 4})});
}

TEST(TracedGrad, NeedsAWay) {
  auto detached =
      function([](Tensor x) { return grad(sum(detach(x) * 2), x); });
  expectError([&] { detached(ones(3)); }, "no output depends on input 0");
  auto loop = function([](Tensor x) {
    Tensors end = while_loop(
        [](std::span<const Tensor> s) { return s[0].sum() < 100; },
        [](std::span<const Tensor> s) { return Tensors{s[0] * s[0]}; }, {x});
    return grad(sum(end[0]), x);
  });
  expectError([&] { loop(ones(3) * 2); },
              "graph.while cannot be differentiated: nothing bounds");
}

TEST(TracedBackward, AddsToLeaves) {
  Tensor x = numbers({7, 5}), y = numbers({7, 3});
  expectSame(
      [&](const Tensors &p) {
        Tensor loss = lossOf(p, x, y);
        backward(loss);
        return Tensors{detach(loss)};
      },
      mlp());
}

TEST(TracedBackward, ReplacesAfterZeroGrad) {
  Tensor x = numbers({7, 5}), y = numbers({7, 3});
  expectSame(
      [&](const Tensors &p) {
        zero_grad(p);
        EXPECT_FALSE(grad_of(p[0]).defined());
        backward(lossOf(p, x, y));
        backward(lossOf(p, x * 2, y));
        return Tensors{grad_of(p[0]).clone(), grad_of(p[3]).clone()};
      },
      mlp());
}

TEST(TracedBackward, SeesWhatIsDoneToGradientsBetweenCalls) {
  Tensor w = requires_grad_(numbers({4}));
  auto step = function([&] { backward(sum(square(w))); });
  step();
  step();
  expectClose(grad_of(w), w.clone() * 4);
  zero_grad(w);
  EXPECT_FALSE(grad_of(w).defined());
  step();
  expectClose(grad_of(w), w.clone() * 2);
}

TEST(TracedBackward, LeavesNoGradientAfterZeroGrad) {
  Tensor w = requires_grad_(numbers({4})), v = requires_grad_(numbers({4}));
  auto step = function([&] {
    backward(sum(square(w) + square(v)));
    Tensor moved = grad_of(w).clone();
    zero_grad(w);
    return moved;
  });
  for (int calls = 1; calls <= 2; ++calls) {
    expectClose(step(), w.clone() * 2); // It begins with none each time.
    EXPECT_FALSE(grad_of(w).defined());
    expectClose(grad_of(v), v.clone() * 2 * calls);
  }
  EXPECT_EQ(step.statistics().traces, 1u);
}

TEST(TracedBackward, NeedsALeaf) {
  Tensor w = numbers({4});
  auto step = function([&] { backward(sum(square(w))); });
  expectError([&] { step(); }, "output 0 does not require gradients");
}

TEST(TracedBackward, KnowsLeavesAmongArguments) {
  auto step = function([](Tensor w, Tensor x) { backward(sum(w * x)); });
  Tensor w = requires_grad_(ones(3)), x = numbers({3});
  step(w, x);
  expectClose(grad_of(w), x);
  EXPECT_FALSE(grad_of(x).defined());
  Tensor v = requires_grad_(numbers({3}));
  step(w, v);
  expectClose(grad_of(v), ones(3));
  EXPECT_EQ(step.statistics().traces, 2u);
}

TEST(TracedBackward, EndsAtWhatAFunctionIsGiven) {
  Tensor w = requires_grad_(ones(3)), x = numbers({3});
  auto step = function([&](Tensor x) { backward(sum(w * x)); });
  expectError([&] { step(w * 2); },
              "computed from others that require gradients");
  step(detach(w * 2));
  Tensor scaled = w * 3;
  auto other = function([&](Tensor x) { backward(sum(w * scaled * x)); });
  expectError([&] { other(x); }, "computed from others that require gradients");
}

TEST(TracedBackward, NoticesNewLeaves) {
  Tensor w = requires_grad_(ones(3)), v = numbers({3}), x = numbers({3});
  auto step = function([&](Tensor x) { backward(sum(w * v * x)); });
  step(x);
  EXPECT_FALSE(grad_of(v).defined());
  requires_grad_(v);
  step(x);
  expectClose(grad_of(v), x);
  EXPECT_EQ(step.statistics().traces, 2u);
}

TEST(TracedNoGrad, ChangesLeavesAndIsAConstant) {
  Tensor w = requires_grad_(ones(3));
  auto refused = function([&] { w += 1; });
  expectError([&] { refused(); }, "a leaf that requires gradients is changed");
  expectSame(
      [&](const Tensors &p) {
        Tensor factor;
        {
          NoGrad guard;
          p[0] *= 1.5;
          factor = sum(p[0]);
        }
        return Tensors{grad(sum(square(p[0]) * factor), p[0])};
      },
      {numbers({5})});
}

TEST(TracedHooks, ReplaceGradients) {
  expectSame(
      [](const Tensors &p) {
        Tensor h = exp(p[0]);
        Tensor early = sum(h);
        register_hook(h, [](const Tensor &g) { return clamp(g, -0.5, 1.5); });
        backward(early + sum(h * h * p[1]));
        return Tensors{};
      },
      {numbers({6}), numbers({6})});
}

TEST(TracedCustomGradient, IsTaken) {
  expectSame(
      [](const Tensors &p) {
        Tensors y = custom_gradient(
            [](std::span<const Tensor> in) {
              return Tensors{round(in[0] * 4) / 4 * in[1]};
            },
            [](std::span<const Tensor> in, std::span<const Tensor> out,
               std::span<const Tensor> dy) {
              return Tensors{dy[0] * in[1], sum(dy[0] * out[0])};
            },
            p);
        backward(sum(square(y[0])));
        return Tensors{detach(y[0])};
      },
      {numbers({6}), full({}, 1.25)});
}

//===----------------------------------------------------------------------===//
// Training steps
//===----------------------------------------------------------------------===//

namespace {

/// Expects three equal steps of `update`, which changes parameters and state.
template <typename Update>
void expectSameTraining(Update update, const Tensors &parameters) {
  Tensor x = numbers({16, 5}), y = numbers({16, 3});
  Tensors state[2];
  size_t numPrograms = 0;
  for (Tensors &one : state)
    for (int copy = 0; copy < 2; ++copy)
      for (const Tensor &parameter : parameters)
        one.push_back(zeros_like(parameter));
  std::map<const void *, size_t> programs;
  expectSame(
      [&](const Tensors &p) {
        if (!programs.contains(&p))
          programs[&p] = numPrograms++;
        zero_grad(p);
        Tensor loss = lossOf(p, x, y);
        backward(loss);
        NoGrad guard;
        for (size_t i = 0; i < p.size(); ++i)
          update(p[i], grad_of(p[i]), state[programs[&p]][i],
                 state[programs[&p]][i + p.size()]);
        return Tensors{loss};
      },
      parameters);
  for (size_t i = 0; i < state[0].size(); ++i)
    expectClose(state[1][i], state[0][i]);
}

} // namespace

TEST(TracedTraining, Momentum) {
  expectSameTraining(
      [](Tensor p, const Tensor &g, Tensor velocity, Tensor) {
        velocity *= 0.9;
        velocity += g;
        p -= 0.1 * velocity;
      },
      mlp());
}

TEST(TracedTraining, Adam) {
  expectSameTraining(
      [](Tensor p, const Tensor &g, Tensor mean, Tensor variance) {
        mean.copy_(0.9 * mean + 0.1 * g);
        variance.copy_(0.999 * variance + 0.001 * square(g));
        p -= 0.01 * mean / (sqrt(variance) + 1e-8);
      },
      mlp());
}

TEST(TracedTraining, ConvolutionalNetwork) {
  Tensor images = numbers({4, 2, 8, 8});
  Tensor classes = tensor({0, 2, 1, 2});
  expectSame(
      [&](const Tensors &p) {
        zero_grad(p);
        Tensor h = relu(conv2d(images, p[0], p[1], 1, 1));
        h = max_pool2d(h, {2, 2});
        Tensor scores = matmul(h.reshape({4, 4 * 4 * 4}), p[2]);
        Tensor loss = mean(
            -sum(log_softmax(scores, 1) * one_hot(classes, 3).to(float32), 1));
        backward(loss);
        NoGrad guard;
        for (Tensor w : p)
          w -= 0.2 * grad_of(w);
        return Tensors{loss};
      },
      {numbers({4, 2, 3, 3}, 0.3), numbers({4}), numbers({64, 3}, 0.2)});
}

/// All steps of a training in one loop.
TEST(TracedTraining, InAScan) {
  Tensor batches = numbers({6, 4, 5}), targets = numbers({6, 4, 3});
  expectSame(
      [&](const Tensors &p) {
        ScanResult result = scan(
            [&](std::span<const Tensor>, std::span<const Tensor> rows) {
              zero_grad(p);
              Tensor loss = lossOf(p, rows[0], rows[1]);
              backward(loss);
              NoGrad guard;
              for (Tensor w : p)
                w -= 0.1 * grad_of(w);
              return ScanStep{{}, {detach(loss)}};
            },
            {}, {batches, targets});
        return result.stacked;
      },
      mlp());
}

TEST(GradientsThroughControlFlow, ScanAndCond) {
  Tensor xs = numbers({5, 3, 4});
  expectSame(
      [&](const Tensors &p) {
        ScanResult result = scan(
            [&](std::span<const Tensor> state, std::span<const Tensor> rows) {
              Tensor h = tanh(matmul(state[0], p[0]) + rows[0]);
              Tensor out = cond(
                  sum(h) > 0, [&] { return Tensors{h * p[1]}; },
                  [&] { return Tensors{sin(h)}; })[0];
              return ScanStep{{h}, {out}};
            },
            {zeros({3, 4})}, {xs});
        backward(sum(square(result.stacked[0])) + sum(result.state[0]));
        return Tensors{};
      },
      {numbers({4, 4}, 0.5), numbers({4})});
}

TEST(GradientsThroughControlFlow, BoundedWhile) {
  expectSame(
      [&](const Tensors &p) {
        Tensors end = while_loop(
            [](std::span<const Tensor> state) { return state[1] < 4; },
            [&](std::span<const Tensor> state) {
              return Tensors{sin(state[0] * p[0]) + p[0], state[1] + 1};
            },
            {ones(3), tensor(int64_t(0))});
        backward(sum(end[0]));
        return Tensors{};
      },
      {numbers({3})});
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST(GraphGrad, OfVariables) {
  Tensor fed = numbers({4}), initial = full({4}, 3, float32);
  Graph graph;
  Tensors fetches, feeds;
  {
    Graph::Scope scope(graph);
    Tensor x = graph.placeholder("x", {4});
    Tensor w = requires_grad_(graph.variable("w", initial));
    Tensor loss = sum(square(w * x));
    Tensor gradient = grad(loss, w);
    backward(loss);
    fetches = {gradient, grad_of(w), graph.assign(w, w - 0.1 * gradient)};
    feeds = {x, w};
  }
  Session session(graph);
  Tensor expected = 6 * fed * fed;
  Tensors found = session.run(fetches, {{feeds[0], fed}});
  expectClose(found[0], expected);
  expectClose(found[1], expected);
  expectClose(session.value(feeds[1]), 3 - 0.1 * expected);
}
