//===- ModuleTest.cpp - Names, values and modes of modules ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/eager/tensor/TensorTesting.h"
#include "tinh/autograd.h"
#include "tinh/function.h"
#include "tinh/nn.h"

#include <cmath>
#include <filesystem>

using namespace tinh;
using namespace tinh::test;

namespace {

/// As a program writes one.
class Net : public nn::Module {
public:
  Tensor forward(const Tensor &x) override {
    return output(dropout(relu(norm(hidden(x)))) * scale);
  }

  nn::Handle<nn::Linear> hidden = add<nn::Linear>("hidden", nn::inferred, 4);
  nn::Handle<nn::BatchNorm1d> norm = add<nn::BatchNorm1d>("norm", nn::inferred);
  nn::Handle<nn::Dropout> dropout = add<nn::Dropout>("dropout", 0.5);
  nn::Handle<nn::Linear> output = add<nn::Linear>("output", nn::inferred, 2);
  Tensor scale;

  Net() { register_parameter("scale", scale, 1, nn::init::constant(2)); }
};

} // namespace

static std::vector<std::string> namesOf(const StateDict &state) {
  std::vector<std::string> names;
  for (const NamedTensor &entry : state)
    names.push_back(entry.name);
  return names;
}

template <typename Body>
static void expectError(Body body, const std::string &part) {
  std::string message = errorOf(body);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

static nn::Handle<Net> initialized(uint64_t seed = 1) {
  nn::Handle<Net> net = nn::make<Net>();
  net->initialize(Generator(seed));
  net(ones({3, 5}));
  return net;
}

//===----------------------------------------------------------------------===//
// Names and shapes
//===----------------------------------------------------------------------===//

TEST(Module, NamesAreDotted) {
  nn::Handle<Net> net = initialized();
  EXPECT_EQ(namesOf(net->named_parameters()),
            (std::vector<std::string>{"scale", "hidden.weight", "hidden.bias",
                                      "norm.weight", "norm.bias",
                                      "output.weight", "output.bias"}));
  EXPECT_EQ(namesOf(net->named_buffers()),
            (std::vector<std::string>{"norm.running_mean", "norm.running_var",
                                      "norm.num_batches_tracked"}));
  EXPECT_EQ(net->state_dict().size(), 10u);
  EXPECT_EQ(net->num_parameters(), 1 + 4 * 5 + 4 + 4 + 4 + 2 * 4 + 2);
}

TEST(Module, SizesAreInferredAtTheFirstCall) {
  nn::Handle<Net> net = nn::make<Net>();
  expectError([&] { net(ones({3, 5})); }, "call initialize(generator)");
  net->initialize(Generator(1));
  EXPECT_FALSE(net->is_initialized());
  expectError([&] { net->parameters(); }, "call the model once");
  net(ones({3, 5}));
  EXPECT_TRUE(net->is_initialized());
  EXPECT_EQ(net->hidden->weight.shape(), (Shape{4, 5}));
  EXPECT_EQ(net->output->weight.shape(), (Shape{2, 4}));
  EXPECT_THROW(net(ones({3, 6})), Error);

  auto sizes = [](auto module, const Shape &input) {
    module->initialize(Generator(1));
    module(ones(input));
    return module->state_dict()[0].tensor.shape();
  };
  constexpr int64_t any = nn::inferred;
  EXPECT_EQ(sizes(nn::make<nn::Conv2d>(any, 4, 3, nn::ConvOptions{.groups = 2}),
                  {1, 6, 5, 5}),
            (Shape{4, 3, 3, 3}));
  EXPECT_EQ(sizes(nn::make<nn::ConvTranspose1d>(any, 4, 3), {2, 5, 7}),
            (Shape{5, 4, 3}));
  EXPECT_EQ(sizes(nn::make<nn::LayerNorm>(Shape{any, 3}), {2, 5, 3}),
            (Shape{5, 3}));
  EXPECT_EQ(sizes(nn::make<nn::GroupNorm>(2, any), {2, 6, 3}), Shape(6));
  EXPECT_EQ(sizes(nn::make<nn::LSTM>(any, 2), {4, 1, 3}), (Shape{8, 3}));
}

TEST(Module, SizesAreInferredInTracedFunctions) {
  nn::Handle<Net> net = nn::make<Net>();
  net->initialize(Generator(1));
  net->eval();
  auto traced = function([&](Tensor x) { return net(x); });
  Tensor x = uniform({3, 5}, Generator(2));
  NoGrad guard;
  Tensor y = traced(x);
  EXPECT_TRUE(allclose(y, net(x), 1e-5, 1e-6));
  EXPECT_EQ(net->hidden->weight.shape(), (Shape{4, 5}));
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

TEST(Module, StatesAreLoaded) {
  nn::Handle<Net> from = initialized(1), to = nn::make<Net>();
  to->load_state_dict(from->state_dict()); // Also finds the sizes.
  EXPECT_TRUE(to->is_initialized());
  from->eval();
  to->eval();
  Tensor x = uniform({2, 5}, Generator(3));
  EXPECT_TRUE(equal(detach(from(x)), detach(to(x))));
  EXPECT_TRUE(requires_grad(to->hidden->weight));
  EXPECT_FALSE(requires_grad(to->norm->running_mean));
}

TEST(Module, StatesAreSavedToFiles) {
  std::string path = testing::TempDir() + "nn_module_test.safetensors";
  nn::Handle<Net> from = initialized(1), to = nn::make<Net>();
  from->save(path);
  to->load(path);
  std::filesystem::remove(path);
  StateDict state = to->state_dict();
  for (const NamedTensor &entry : from->state_dict())
    EXPECT_TRUE(equal(detach(entry.tensor), detach(*find(state, entry.name))))
        << entry.name;
  try {
    to->load("/nowhere/at/all");
    FAIL() << "there is such a file";
  } catch (const Error &error) {
    EXPECT_EQ(error.status(), TINH_NOT_FOUND);
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all"),
              std::string::npos);
  }
}

TEST(Module, StatesOfSomethingElseAreRefused) {
  nn::Handle<Net> net = initialized();
  StateDict state = net->state_dict();
  StateDict less = {state.begin() + 2, state.end()};
  less.push_back({"head.weight", zeros(2)});
  less[0].tensor = zeros({7});
  expectError([&] { net->load_state_dict(less); },
              "missing: \"scale\" and 1 more; unexpected: \"head.weight\"; of "
              "another shape: \"hidden.bias\", which is [7] instead of [4]");
  less[0] = state[2];
  net->load_state_dict(less, false);
  less.push_back(less[0]);
  expectError([&] { net->load_state_dict(less, false); }, "twice");
  state[1].tensor = zeros({4, 5, 1});
  nn::Handle<Net> empty = nn::make<Net>();
  expectError([&] { empty->load_state_dict(state); },
              "which is [4, 5, 1] instead of [4, -1]");
}

//===----------------------------------------------------------------------===//
// Sharing, freezing, modes, dtypes
//===----------------------------------------------------------------------===//

namespace {

class Tied : public nn::Module {
public:
  Tensor forward(const Tensor &x) override { return decoder(embedding(x)); }

  nn::Handle<nn::Embedding> embedding = add<nn::Embedding>("embedding", 6, 3);
  nn::Handle<nn::Linear> decoder = add<nn::Linear>("decoder", 3, 6, false);

  Tied() { share_parameter(decoder->weight, embedding->weight); }
};

} // namespace

TEST(Module, SharedParametersAreOne) {
  nn::Handle<Tied> tied = nn::make<Tied>();
  tied->initialize(Generator(1));
  EXPECT_TRUE(tied->decoder->weight.is_same(tied->embedding->weight));
  EXPECT_EQ(namesOf(tied->named_parameters()),
            std::vector<std::string>{"embedding.weight"});
  EXPECT_EQ(tied->num_parameters(), 18);
  EXPECT_EQ(tied->state_dict().size(), 2u); // As in PyTorch.
  tied(tensor({1, 2}));
  tied->to(float64);
  EXPECT_TRUE(tied->decoder->weight.is_same(tied->embedding->weight));
  EXPECT_STREQ(tied->decoder->weight.dtype().name(), "f64");

  // A module that is there twice is one, too.
  auto layer = nn::make<nn::Linear>(2, 2);
  auto twice = nn::make<nn::Sequential>(layer, layer);
  twice->initialize(Generator(1));
  EXPECT_EQ(twice->named_parameters().size(), 2u);
  EXPECT_EQ(twice->modules().size(), 2u);
}

TEST(Module, FrozenParametersGetNoGradients) {
  nn::Handle<Net> net = nn::make<Net>();
  net->hidden->freeze(); // Before there are values.
  net->initialize(Generator(1));
  backward(net(uniform({4, 5}, Generator(2))).sum());
  EXPECT_FALSE(grad_of(net->hidden->weight).defined());
  EXPECT_TRUE(grad_of(net->output->weight).defined());
  net->freeze();
  EXPECT_FALSE(requires_grad(net->output->weight));
  net->unfreeze();
  EXPECT_TRUE(requires_grad(net->hidden->weight));
  EXPECT_FALSE(requires_grad(net->norm->running_mean));
}

TEST(Module, ModesReachAllModules) {
  nn::Handle<Net> net = initialized();
  EXPECT_TRUE(net->is_training());
  EXPECT_EQ(net->norm->num_batches_tracked.item<int>(), 1);
  net->eval();
  EXPECT_FALSE(net->dropout->is_training());
  net(ones({1, 5}));
  EXPECT_EQ(net->norm->num_batches_tracked.item<int>(), 1);
  net->train();
  EXPECT_TRUE(net->dropout->is_training());
  expectError([&] { net(ones({1, 5})); }, "which has no variance");
}

TEST(Module, PaddingIsZerosAtFirst) {
  auto words = nn::make<nn::Embedding>(4, 3, -1);
  words->initialize(Generator(1));
  EXPECT_TRUE(equal(words->weight.select(0, 3), zeros({3})));
  EXPECT_GT(abs(words->weight.slice(0, 0, 3)).min().item<float>(), 0);
}

TEST(Module, DropoutDrawsFromItsGenerator) {
  auto drawn = [](nn::Handle<nn::Module> dropout) {
    return dropout(ones({50, 40}));
  };
  auto dropout = nn::make<nn::Dropout>(0.25);
  expectError([&] { drawn(dropout); }, "has no generator");
  dropout->initialize(Generator(5));
  Tensor first = drawn(dropout);
  EXPECT_NEAR(first.mean().item<float>(), 1, 0.1);
  EXPECT_FALSE(equal(first, drawn(dropout)));
  EXPECT_TRUE(equal(first, drawn(nn::make<nn::Dropout>(0.25, Generator(5)))));
  dropout->eval();
  EXPECT_TRUE(equal(drawn(dropout), ones({50, 40})));
}

TEST(Module, DtypesAreConverted) {
  nn::Handle<Net> net = nn::make<Net>();
  net->to(float64); // Before there are values.
  net->initialize(Generator(1));
  net(ones({3, 5}, float64));
  EXPECT_STREQ(net->norm->running_var.dtype().name(), "f64");
  EXPECT_STREQ(net->norm->num_batches_tracked.dtype().name(), "i64");
  net->to(bfloat16);
  EXPECT_STREQ(net->hidden->weight.dtype().name(), "bf16");
  EXPECT_TRUE(requires_grad(net->hidden->weight));
  expectError([&] { net->to(int32); }, "no floating-point dtype");
}

TEST(Module, AttentionDropsWhileTraining) {
  auto attention = nn::make<nn::MultiHeadAttention>(
      4, 2, nn::MultiHeadAttentionOptions{.dropout = 0.5});
  attention->initialize(Generator(1));
  Tensor x = uniform({3, 1, 4}, Generator(2));
  NoGrad guard;
  EXPECT_FALSE(equal(attention(x), attention(x)));
  // Without what is dropped, both ways to compute it are the same.
  auto certain = nn::make<nn::MultiHeadAttention>(
      4, 2, nn::MultiHeadAttentionOptions{.dropout = 1e-30});
  certain->load_state_dict(attention->state_dict());
  certain->initialize(Generator(3));
  certain->load_state_dict(attention->state_dict());
  nn::AttentionMask mask{.mask = tril(ones({3, 3}, boolean)), .causal = true};
  Tensor dropping = certain(x, x, x, mask);
  attention->eval();
  EXPECT_TRUE(allclose(dropping, attention(x, x, x, mask), 1e-5, 1e-6));
}

TEST(Module, SummaryIsATable) {
  nn::Handle<Net> net = initialized();
  net->hidden->freeze();
  EXPECT_EQ(net->summary(ones({1, 5})),
            "module   type         result  parameters\n"
            "(all)    Module       [1, 2]           1\n"
            "hidden   Linear       [1, 4]          24\n"
            "norm     BatchNorm1d  [1, 4]           8\n"
            "dropout  Dropout      [1, 4]\n"
            "output   Linear       [1, 2]          10\n"
            "43 parameters, 19 of them trainable\n");
  EXPECT_TRUE(net->is_training());
  EXPECT_NE(nn::make<Net>()->summary().find("?"), std::string::npos);
}

TEST(Module, ErrorsTellTheWayToThem) {
  nn::Handle<Net> net = initialized();
  std::string message = errorOf([&] { net(ones({3, 6})); });
  size_t outer = message.find("Module: "),
         inner = message.find("hidden (Linear)");
  EXPECT_LT(outer, inner) << message;
  EXPECT_NE(inner, std::string::npos) << message;
  EXPECT_TRUE(message.starts_with("ModuleTest.cpp:")) << message;
}

TEST(Module, ErrorsNameLinesOfTheProgramAlone) {
  auto net = nn::make<nn::Sequential>(nn::make<nn::ReLU>(),
                                      nn::make<nn::Linear>(4, 2));
  net->initialize(Generator(1));
  auto line = std::to_string(__LINE__ + 1);
  std::string message = errorOf([&] { net(ones({3, 6})); });
  EXPECT_TRUE(message.starts_with("ModuleTest.cpp:" + line +
                                  ": Sequential: 1 (Linear): "))
      << message;
  EXPECT_EQ(message.find(".h:"), std::string::npos) << message;
  EXPECT_EQ(message.find("ModuleTest.cpp", 1), std::string::npos) << message;
}

TEST(Module, ErrorsOfOnesOwnModulesNameTheirLines) {
  struct Own : nn::Module {
    Tensor forward(const Tensor &x) override {
      line = __LINE__ + 1;
      return matmul(x, ones({5, 2}));
    }
    int line = 0;
  };
  auto own = nn::make<Own>();
  auto net = nn::make<nn::Sequential>(own);
  net->initialize(Generator(1));
  std::string message = errorOf([&] { net(ones({3, 6})); });
  EXPECT_NE(message.find("0 (Module): ModuleTest.cpp:" +
                         std::to_string(own->line) + ": matmul"),
            std::string::npos)
      << message;
}

TEST(Module, SayWhatIsWrong) {
  struct Twice : nn::Module {
    Twice() {
      add<nn::ReLU>("a");
      add<nn::ReLU>("a");
    }
  };
  struct Dotted : nn::Module {
    Dotted() { add<nn::ReLU>("a.b"); }
  };
  expectError([] { nn::make<Twice>(); }, "two modules \"a\"");
  expectError([] { nn::make<Dotted>(); }, "no dots");
  expectError([] { nn::make<nn::Module>()(ones(2)); }, "no forward(x)");
  expectError([] { nn::make<nn::Linear>(0, 3); }, "in is 0");
  expectError([] { nn::make<nn::GroupNorm>(3, 4); }, "do not make 3 groups");
  expectError([] { nn::make<nn::MultiHeadAttention>(5, 2); },
              "does not make 2 heads");
  expectError([] { nn::make<nn::Dropout>(2); }, "from 0 to 1");
  auto lstm = nn::make<nn::LSTM>(3, 4);
  lstm->initialize(Generator(1));
  expectError([&] { lstm(ones({5})); },
              "[length, N, width], or [length, width]");
  expectError([&] { lstm(ones({5, 3}), std::vector(2, zeros({1, 2, 4}))); },
              "2 tensors of shape [1, 4], [1, 4]");
  expectError(
      [] { nn::make<nn::GRU>(3, 4, nn::RecurrentOptions{.proj_size = 2}); },
      "only an LSTM has projections");
  expectError(
      [] { nn::make<nn::LSTM>(3, 4, nn::RecurrentOptions{.proj_size = 4}); },
      "less than the 4 of hidden");
  expectError([] { nn::make<nn::Embedding>(3, 4, 3); }, "row 3 of paddings");
  nn::ConvOptions odd{.padding = {1, 2, 3},
                      .padding_mode = nn::PaddingMode::Circular};
  expectError([&] { nn::make<nn::Conv2d>(1, 1, 3, odd); },
              "one size, or 2 or twice as many");
  expectError([&] { lstm(ones({5, 2, 3}), std::vector{zeros({1, 2, 4})}); },
              "2 tensors of shape [1, 2, 4], [1, 2, 4]");
}

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

static double deviation(const Tensor &x) { return tinh::std(x).item<double>(); }

TEST(Init, HasTheUsualDeviations) {
  Generator generator(7);
  Tensor x = empty({60, 40, 5}); // Fans: in 200, out 300.
  auto with = [&](const nn::Initializer &init) {
    init(x, generator);
    return deviation(x);
  };
  using namespace nn::init;
  EXPECT_EQ(with(constant(3)), 0);
  EXPECT_NEAR(with(nn::init::uniform(-1, 1)), 2 / std::sqrt(12.0), 0.02);
  EXPECT_NEAR(with(nn::init::normal(1, 3)), 3, 0.1);
  EXPECT_NEAR(with(xavier_uniform()), std::sqrt(2.0 / 500), 0.002);
  EXPECT_NEAR(with(xavier_normal(2)), 2 * std::sqrt(2.0 / 500), 0.004);
  EXPECT_NEAR(with(kaiming_uniform()), std::sqrt(2.0 / 200), 0.003);
  EXPECT_NEAR(with(kaiming_normal(1, Fan::Out)), std::sqrt(1.0 / 300), 0.002);
  EXPECT_NEAR(with(trunc_normal()), 0.8796, 0.02);
  EXPECT_LE(tinh::abs(x).max().item<float>(), 2);
  EXPECT_NEAR(x.mean().item<float>(), 0, 0.03);
  expectError([&] { xavier_normal()(zeros(3), generator); }, "has no fans");
}

TEST(Init, OrthogonalRowsAreOrthogonal) {
  for (Shape shape : {Shape{4, 7}, Shape{7, 4}, Shape{3, 2, 5}}) {
    Tensor x = empty(shape);
    nn::init::orthogonal(2)(x, Generator(1));
    Tensor matrix = x.flatten(1);
    if (matrix.size(0) > matrix.size(1))
      matrix = matrix.t();
    Tensor products = matmul(matrix, matrix.t());
    EXPECT_TRUE(allclose(products, 4 * eye(matrix.size(0)), 1e-5, 1e-5));
  }
}

TEST(Init, ModulesBeginAsPyTorchsDo) {
  auto first = [](auto module, size_t index = 0) {
    module->initialize(Generator(11));
    return detach(module->state_dict()[index].tensor);
  };
  double even = 1 / std::sqrt(3.0); // Of what is even in ±1.
  Tensor weight = first(nn::make<nn::Linear>(100, 50));
  EXPECT_NEAR(deviation(weight), even / 10, 0.002);
  EXPECT_LE(tinh::abs(weight).max().item<float>(), 0.1f);
  EXPECT_NEAR(deviation(first(nn::make<nn::Linear>(100, 900), 1)), even / 10,
              0.003);
  EXPECT_NEAR(deviation(first(nn::make<nn::Conv2d>(4, 50, 5))), even / 10,
              0.003);
  EXPECT_NEAR(deviation(first(nn::make<nn::ConvTranspose2d>(50, 4, 5))),
              even / 10, 0.003);
  EXPECT_NEAR(deviation(first(nn::make<nn::Embedding>(90, 50))), 1, 0.05);
  EXPECT_NEAR(deviation(first(nn::make<nn::LSTM>(20, 25))), even / 5, 0.01);
  EXPECT_NEAR(deviation(first(nn::make<nn::MultiHeadAttention>(30, 2))),
              std::sqrt(2.0 / 120), 0.005);
  EXPECT_EQ(deviation(first(nn::make<nn::BatchNorm2d>(4))), 0);
}
