//===- NameScopeTest.cpp - Names of what traced graphs compute --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/eager/tensor/TensorTesting.h"
#include "tinh/function.h"
#include "tinh/nn.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace tinh;
using namespace tinh::test;

namespace {

/// As a program writes one.
class Net : public nn::Module {
public:
  Tensor forward(const Tensor &x) override {
    return output(relu(norm(hidden(x))));
  }

private:
  nn::Handle<nn::Linear> hidden = add<nn::Linear>("hidden", 5, 4);
  nn::Handle<nn::BatchNorm1d> norm = add<nn::BatchNorm1d>("norm", 4);
  nn::Handle<nn::Linear> output = add<nn::Linear>("output", 4, 2);
};

} // namespace

/// The names of all nodes of a model that `function` is saved as.
template <typename F>
static std::vector<std::string> namesOfNodes(const F &function, Tensor x) {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("NameScopeTest." + std::to_string(getpid()) + ".json"))
                         .string();
  function.save(path, x);
  std::ifstream file(path);
  nlohmann::json model = nlohmann::json::parse(file);
  std::filesystem::remove(path);
  std::vector<std::string> names;
  for (const nlohmann::json &node : model["nodes"])
    names.push_back(node.value("name", node["outputs"][0].get<std::string>()));
  return names;
}

TEST(NameScope, ModulesOpenOne) {
  auto net = nn::make<nn::Sequential>(
      nn::make<nn::Linear>(4, 5), nn::make<nn::Sequential>(nn::make<Net>()));
  net->initialize(Generator(1));
  net->eval();
  auto names = namesOfNodes(function([&](Tensor x) {
                              NameScope scope("network");
                              return net(x);
                            }),
                            ones({3, 4}));
  EXPECT_THAT(names,
              testing::Contains(testing::StartsWith("network/0/linear")));
  for (const char *inner :
       {"hidden/linear", "norm/rsqrt", "relu", "output/linear"})
    EXPECT_THAT(names, testing::Contains(testing::StartsWith(
                           std::string("network/1/0/") + inner)));
}

TEST(NameScope, EndsInAnyOrder) {
  auto layer = nn::make<nn::Linear>(4, 5);
  layer->initialize(Generator(1));
  auto names = namesOfNodes(function([&](Tensor x) {
                              auto a = std::make_unique<NameScope>("a");
                              auto b = std::make_unique<NameScope>("b");
                              a.reset();
                              NameScope c("c"), d("d");
                              b.reset();
                              return layer(x);
                            }),
                            ones({3, 4}));
  EXPECT_THAT(names, testing::Contains(testing::StartsWith("c/d/linear")));
}

TEST(NameScope, ModulesWithOtherArgumentsOpenOne) {
  auto layer = nn::make<nn::TransformerEncoderLayer>(8, 2);
  layer->initialize(Generator(1));
  layer->eval();
  auto names = namesOfNodes(
      function([&](Tensor x) { return layer(x, nn::AttentionMask()); }),
      ones({3, 1, 8}));
  EXPECT_THAT(names, testing::Contains(testing::StartsWith("self_attn/")));
  EXPECT_THAT(names,
              testing::Contains(testing::StartsWith("self_attn/out_proj/")));
  EXPECT_THAT(names, testing::Contains(testing::StartsWith("linear2/linear")));
}
