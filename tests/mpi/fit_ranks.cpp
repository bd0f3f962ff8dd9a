//===- fit_ranks.cpp - Model::fit on several ranks ------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank runs this program: mpirun -n 2 fit_ranks. Before it joins the
// others it has computed alone what all are to have together.
//
//===----------------------------------------------------------------------===//
#include "tinh/autograd.h"
#include "tinh/distributed.h"
#include "tinh/fit.h"
#include "tinh/nn.h"
#include "tinh/random.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace tinh;

namespace {

constexpr int64_t kRanks = 2;

struct Net {
  Generator generator;
  nn::Handle<nn::Sequential> network = nn::make<nn::Sequential>(
      nn::make<nn::Linear>(3, 16), nn::make<nn::ReLU>(),
      nn::make<nn::Linear>(16, 2));
  Model model{network};

  explicit Net(bool graph, uint64_t seed = 11) : generator(seed) {
    network->initialize(generator);
    CompileOptions options;
    options.graph = graph;
    options.clip_norm = 1;
    model.compile(losses::make("cross_entropy"),
                  optim::sgd({.lr = 0.1, .momentum = 0.9}),
                  {metrics::accuracy()}, options);
  }

  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all;
    for (const NamedTensor &entry : network->state_dict())
      all.push_back(entry.tensor.to_vector<float>());
    return all;
  }
};

struct Examples {
  Tensor x = normal({100, 3}, Generator(5));
  Tensor y = ((x * x).sum(1) > 2.4).to(int64);
};

FitOptions options(int64_t batch_size, int64_t epochs = 4) {
  FitOptions options;
  options.epochs = epochs;
  options.batch_size = batch_size;
  options.validation_split =
      0.2; // 80 for training: no part of a batch is left.
  options.verbosity = Verbosity::Silent;
  return options;
}

/// What one process makes of them, eagerly and compiled.
struct Alone {
  History histories[2];
  std::vector<std::vector<float>> values[2];

  Alone() {
    Examples examples;
    for (bool graph : {false, true}) {
      Net net(graph);
      histories[graph] =
          net.model.fit(examples.x, examples.y, options(8 * kRanks));
      values[graph] = net.values();
    }
  }
};

const Alone *alone = nullptr;

void expect_near(const std::vector<std::vector<float>> &found,
                 const std::vector<std::vector<float>> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t j = 0; j < found[i].size(); ++j)
      EXPECT_NEAR(found[i][j], expected[i][j], 1e-4);
}

TEST(FitOnRanks, IsThatOfOneWithTheirBatches) {
  Examples examples;
  for (bool graph : {false, true}) {
    // The first one's parameters count.
    Net net(graph, distributed::rank() == 0 ? 11 : 12);
    History history = net.model.fit(examples.x, examples.y, options(8));
    expect_near(net.values(), alone->values[graph]);
    const History &expected = alone->histories[graph];
    ASSERT_EQ(history.epochs.size(), expected.epochs.size());
    for (size_t epoch = 0; epoch < history.epochs.size(); ++epoch)
      for (size_t i = 0; i < history.epochs[epoch].size(); ++i) {
        auto [name, value] = history.epochs[epoch][i];
        EXPECT_EQ(name, expected.epochs[epoch][i].first);
        EXPECT_NEAR(value, expected.epochs[epoch][i].second, 1e-4) << name;
      }
  }
}

TEST(FitOnRanks, GoesOnFromTheFirstOnesCheckpoint) {
  Examples examples;
  Net whole(true);
  whole.model.fit(examples.x, examples.y, options(8, 3));
  std::string path = std::getenv("TINH_TEST_CHECKPOINT");
  for (int64_t epochs : {1, 3}) {
    Net net(true);
    FitOptions wanted = options(8, epochs);
    wanted.callbacks = {checkpoint(path)};
    // Options are a part of what has to be the same.
    net.model.fit(examples.x, examples.y, wanted);
    if (epochs == 3) {
      EXPECT_EQ(net.values(), whole.values()); // To the bit.
    }
  }
  distributed::barrier();
  if (distributed::rank() == 0)
    std::filesystem::remove(path);
}

TEST(Distributed, ComputesWithTensors) {
  auto rank = static_cast<float>(distributed::rank());
  ASSERT_EQ(distributed::world_size(), kRanks);
  Tensor x = full({4, 3}, rank);
  distributed::all_reduce(x);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(12, 1));
  // A view that is not dense, and what is computed from it.
  Tensor y = full({4, 3}, rank), part = y.transpose(0, 1).narrow(0, 1, 2);
  distributed::all_reduce(part, distributed::ReduceOp::Mean);
  EXPECT_EQ((2 * y).sum().item<float>(), 2 * (8 * 0.5f + 4 * rank));
  Tensor all = distributed::all_gather(full({2}, rank + 3));
  EXPECT_EQ(all.shape(), Shape({2, 2}));
  EXPECT_EQ(all.to_vector<float>(), (std::vector<float>{3, 3, 4, 4}));
  Tensor z = full({3}, rank);
  distributed::broadcast(z, 1);
  EXPECT_EQ(z.to_vector<float>(), std::vector<float>(3, 1));
  EXPECT_THROW(distributed::broadcast(z, 2), Error);
  distributed::require_equal("text", "the same");
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  EXPECT_EQ(distributed::world_size(), 1);
  alone = new Alone;
  distributed::init_process_group();
  int result = RUN_ALL_TESTS();
  distributed::destroy_process_group();
  return result;
}
