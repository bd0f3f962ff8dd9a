//===- ControlFlowTest.cpp - Tests of cond, while_loop and scan -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Expect.h"
#include "tinh/function.h"

using namespace tinh;
using namespace tinh::test;

namespace {

/// Expects the same of `program` eagerly and compiled.
template <typename Program, typename... Args>
void expectSame(Program program, const Args &...args) {
  std::vector<Tensor> expected = program(args...);
  std::vector<Tensor> found = function(program)(args...);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    expectClose(found[i], expected[i]);
}

std::vector<Tensor> absolute(Tensor x) {
  return cond(
      x.sum() < 0, [&] { return std::vector{-x}; },
      [&] { return std::vector{x}; });
}

} // namespace

TEST(Cond, ChoosesByValue) {
  expectSame(absolute, tensor({-1.0, -2.0}));
  expectSame(absolute, tensor({1.0, 2.0}));
  auto compiled = function(absolute);
  compiled(tensor({-1.0, -2.0}));
  compiled(tensor({1.0, 2.0}));
  EXPECT_EQ(compiled.statistics().traces, 1u);
}

TEST(Cond, ChangesWhatItsBranchesChange) {
  for (double sign : {-1.0, 1.0}) {
    auto program = [](Tensor x) {
      Tensor counter = zeros(2), other = ones(1);
      cond(
          x.sum() < 0,
          [&] {
            counter += 1;
            return std::vector<Tensor>();
          },
          [&] {
            counter[1] -= 5;
            other *= 3;
            return std::vector<Tensor>();
          });
      return std::vector{counter, other};
    };
    expectSame(program, tensor({sign}));
  }
}

TEST(Cond, BranchesMustAgree) {
  auto compiled = function([](Tensor x) {
    return cond(
        x.sum() < 0, [&] { return std::vector{x}; },
        [&] { return std::vector{x.sum()}; });
  });
  expectError(
      [&] { compiled(ones(2)); },
      "the second branch gives f32[] as tensor 0, the first one f32[2]");
  expectError(
      [&] {
        cond(
            ones(2) > 0, [] { return std::vector<Tensor>(); },
            [] { return std::vector<Tensor>(); });
      },
      "the condition is bool[2], not one boolean");
}

TEST(WhileLoop, RunsAsLongAsItsConditionHolds) {
  auto program = [](Tensor x) {
    return while_loop(
        [](std::span<const Tensor> state) { return state[0].sum() < 100; },
        [](std::span<const Tensor> state) {
          return std::vector{state[0] * 2, state[1] + 1};
        },
        {x, zeros({}, int64)});
  };
  expectSame(program, tensor({1.0, 3.0}));
  expectSame(program, tensor({1000.0, 3.0}));
}

TEST(WhileLoop, CarriesWhatItsBodyChanges) {
  auto program = [](Tensor x) {
    Tensor log = zeros(10);
    Tensor last = zeros(1);
    while_loop([](std::span<const Tensor> state) { return state[0] < 10; },
               [&](std::span<const Tensor> state) {
                 log += one_hot(state[0], 10).to(float32) * x;
                 last.copy_(x * 2 + log.sum());
                 return std::vector{state[0] + 3};
               },
               {tensor(int64_t(0))});
    return std::vector{log, last};
  };
  expectSame(program, tensor({2.0}));
}

TEST(Scan, CarriesAndStacks) {
  auto program = [](Tensor xs, Tensor w) {
    Tensor seen = zeros(1);
    ScanResult result = scan(
        [&](std::span<const Tensor> state,
            std::span<const Tensor> rows) -> ScanStep {
          Tensor next = tanh(matmul(state[0], w) + rows[0]);
          seen += 1;
          return {{next}, {next * 2, rows[0].sum()}};
        },
        {zeros(4)}, {xs});
    return std::vector{result.state[0], result.stacked[0], result.stacked[1],
                       seen};
  };
  Generator generator(1);
  expectSame(program, uniform({5, 4}, generator), uniform({4, 4}, generator));
}

TEST(Scan, NestsWithTheOthers) {
  auto program = [](Tensor xs) {
    return scan(
               [](std::span<const Tensor> state,
                  std::span<const Tensor> rows) -> ScanStep {
                 auto next = cond(
                     rows[0].sum() > 0,
                     [&] {
                       return while_loop(
                           [](auto inner) { return inner[0].max() < 4; },
                           [&](auto inner) {
                             return std::vector{inner[0] + abs(rows[0]) + 1};
                           },
                           {state[0]});
                     },
                     [&] { return std::vector{state[0] - 3}; });
                 return {next, {next[0]}};
               },
               {zeros(2)}, {xs})
        .stacked;
  };
  expectSame(program, tensor({{1.0, 2.0}, {-3.0, 1.0}, {0.5, 0.0}}));
}

TEST(Scan, ChecksItsArguments) {
  auto body = [](std::span<const Tensor> state,
                 std::span<const Tensor>) -> ScanStep {
    return {{state[0].sum()}, {}};
  };
  expectError([&] { scan(body, {ones(2)}, {}); }, "say the length");
  expectError([&] { scan(body, {ones(2)}, {ones(3)}); },
              "the body gives f32[] as tensor 0, it starts from f32[2]");
  expectError([&] { scan(body, {ones(2)}, {ones(3), ones(4)}); },
              "an input has 4 rows, not 3");
}

TEST(Loops, DrawNoNumbers) {
  Generator generator(1);
  auto compiled = function([&](Tensor x) {
    return while_loop([](auto state) { return state[0].sum() < 1; },
                      [&](auto state) {
                        return std::vector{state[0] + uniform(2, generator)};
                      },
                      {x});
  });
  expectError([&] { compiled(zeros(2)); },
              "the same numbers in each iteration");
}

TEST(Scan, OfNoRowsStacksNone) {
  auto program = [](Tensor x) {
    ScanResult result = scan(
        [](std::span<const Tensor> state, std::span<const Tensor> rows) {
          return ScanStep{{state[0] + rows[0]}, {matmul(state[0], rows[0])}};
        },
        {ones(2)}, {x});
    return std::vector{result.state[0], result.stacked.at(0)};
  };
  expectSame(program, zeros({0, 2}));
}

TEST(Loops, OwnTheirState) {
  auto program = [](Tensor x) {
    Tensor start = x * 2;
    std::vector<Tensor> last = while_loop(
        [](std::span<const Tensor> state) { return state[0].sum() < 50; },
        [](std::span<const Tensor> state) {
          Tensor next = state[0];
          next += 1;
          return std::vector{next};
        },
        {start});
    ScanResult sums = scan(
        [](std::span<const Tensor> state, std::span<const Tensor> rows) {
          Tensor sum = state[0];
          sum += rows[0];
          return ScanStep{{sum}, {sum * 1}};
        },
        {start}, {x.expand({3, 2})});
    return std::vector{start, last[0], sums.state[0], sums.stacked[0]};
  };
  expectSame(program, tensor({1.0, 2.0}));
  expectSame(program, tensor({100.0, 2.0}));
}

TEST(Loops, LeaveTheirInputsAsTheyAre) {
  auto compiled = function([](Tensor x) {
    return scan(
               [](std::span<const Tensor> state, std::span<const Tensor> rows) {
                 Tensor row = rows[0];
                 row += 1;
                 return ScanStep{{state[0] + row}, {}};
               },
               {ones(2)}, {x})
        .state[0];
  });
  expectError([&] { compiled(ones({3, 2})); }, "clone() of it");
}

TEST(Loops, MustDoTheSameWhenRecordedAgain) {
  Tensor other = ones(2);
  int bodies = 0;
  auto runs = [&](bool changes, bool grows, bool stacks) {
    bodies = 0;
    auto program = function([&](Tensor x) {
      return scan(
                 [&](std::span<const Tensor> state,
                     std::span<const Tensor> rows) {
                   bool again = ++bodies == 2;
                   if (changes && again)
                     other += 1;
                   ScanStep step{{state[0] + rows[0]}, {rows[0]}};
                   if (grows && again)
                     step.state[0] = step.state[0].unsqueeze(0);
                   if (stacks && again)
                     step.items.push_back(rows[0]);
                   return step;
                 },
                 {ones(2)}, {x})
          .state[0];
    });
    expectValues(program(ones({3, 2})), {4, 4});
  };
  runs(false, false, false);
  expectError([&] { runs(true, false, false); }, "do the same each time");
  expectError([&] { runs(false, true, false); }, "recorded again");
  expectError([&] { runs(false, false, true); }, "recorded again");
}

TEST(Regions, MayThrowWhatTheFunctionCatches) {
  auto program = function([](Tensor x) {
    auto change = [&]() -> std::vector<Tensor> {
      x += 1;
      throw std::runtime_error("changed my mind");
    };
    EXPECT_THROW(cond(x.sum() > 0, change, change), std::runtime_error);
    EXPECT_THROW(while_loop([](auto state) { return state[0].sum() < 9; },
                            [&](auto) { return change(); }, {x}),
                 std::runtime_error);
    return x * 2;
  });
  Tensor x = ones(2);
  expectValues(program(x), {2, 2});
  expectValues(x, {1, 1});
}
