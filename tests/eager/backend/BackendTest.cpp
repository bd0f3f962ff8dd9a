//===- BackendTest.cpp - The engine's operations against naive ones -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation, on views of all kinds and of sizes that make one chunk and
// many, gives what the naive backend gives; and the same bits for any number of
// workers.
//
//===----------------------------------------------------------------------===//
#include "NaiveBackend.h"

#include "tinh/engine.h"
#include "tinh/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace tinh::eager {
namespace {

/// How a tensor lies in memory.
enum class Layout { Dense, Transposed, Sliced, Broadcast };

/// A tensor that is made anew for each backend.
struct Spec {
  Shape shape;
  DType dtype = float32;
  Layout layout = Layout::Dense;
  double low = -3, high = 3;
  uint32_t seed = 1;
};

Tensor numbers(const Spec &spec, const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  std::mt19937 random(spec.seed);
  std::uniform_real_distribution<double> distribution(spec.low, spec.high);
  std::vector<double> values(static_cast<size_t>(count));
  for (double &value : values)
    value = std::round(distribution(random) * 1024) / 1024;
  return from_data(values, shape).to(spec.dtype);
}

Tensor make(const Spec &spec) {
  Shape shape = spec.shape;
  int64_t rank = static_cast<int64_t>(shape.size());
  switch (spec.layout) {
  case Layout::Dense:
    break;
  case Layout::Transposed:
    if (rank >= 2) {
      std::swap(shape[0], shape[shape.size() - 1]);
      return numbers(spec, shape).transpose(0, rank - 1);
    }
    break;
  case Layout::Sliced:
    if (rank >= 1) {
      int64_t extent = shape[shape.size() - 1];
      shape[shape.size() - 1] = 2 * extent + 3;
      return numbers(spec, shape).slice(rank - 1, 1, 2 * extent + 1, 2);
    }
    break;
  case Layout::Broadcast:
    if (rank >= 1) {
      shape[0] = 1;
      return numbers(spec, shape).expand(spec.shape);
    }
    break;
  }
  return numbers(spec, shape);
}

using Function = std::function<Tensor(const std::vector<Tensor> &)>;

std::vector<double> run(const std::vector<Spec> &specs,
                        const Function &function) {
  std::vector<Tensor> inputs;
  for (const Spec &spec : specs)
    inputs.push_back(make(spec));
  return function(inputs).to_vector<double>();
}

void compare(const char *what, const std::vector<Spec> &specs,
             const Function &function, double tolerance = 0) {
  NaiveBackend naive;
  std::vector<double> expected;
  {
    BackendScope scope(naive);
    expected = run(specs, function);
  }
  std::vector<double> found = run(specs, function);
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i] ||
        (std::isnan(found[i]) && std::isnan(expected[i])))
      continue;
    ASSERT_LE(std::abs(found[i] - expected[i]),
              tolerance * std::max(1.0, std::abs(expected[i])))
        << what << ": element " << i << " is " << found[i] << " and not "
        << expected[i];
  }
}

const Layout kLayouts[] = {Layout::Dense, Layout::Transposed, Layout::Sliced,
                           Layout::Broadcast};
const DType kDTypes[] = {boolean,  int8,    uint8,  int16,  uint16,
                         int32,    uint32,  int64,  uint64, float16,
                         bfloat16, float32, float64};

TEST(BackendTest, Elementwise) {
  std::vector<std::pair<Shape, Shape>> shapes = {
      {{}, {}},
      {{10}, {10}},
      {{10}, {1}},
      {{3, 5}, {5}},
      {{7, 1, 9}, {4, 1}},
      {{200, 300}, {300}},
      {{70'000}, {70'000}},
      {{40, 3, 50}, {3, 1}},
      {{2, 3, 4, 5, 6}, {3, 1, 5, 1}}};
  for (auto [a, b] : shapes)
    for (Layout left : kLayouts)
      for (Layout right : kLayouts)
        compare(
            "a * b + 1 - a", {{a, float32, left}, {b, float32, right}},
            [](auto &x) { return x[0] * x[1] + 1 - x[0]; }, 1e-6);
}

TEST(BackendTest, Where) {
  for (Layout layout : kLayouts)
    compare("where",
            {{{50, 60}, float32, layout}, {{60}}, {{50, 1}, float32, layout}},
            [](auto &x) { return where(x[0] > 0, x[1], x[2]); });
}

TEST(BackendTest, InPlaceOnViews) {
  compare("in place", {{{40, 30}}, {{30}}}, [](auto &x) {
    x[0].slice(0, 3, 20, 2).add_(x[1]);
    x[0].t().slice(0, 1, 9).mul_(2);
    x[0].select(1, 4).fill_(7);
    x[0].slice(1, 10, 20).copy_(x[0].slice(1, 12, 22));
    return x[0];
  });
}

TEST(BackendTest, Casts) {
  for (DType from : kDTypes)
    for (DType to : kDTypes)
      for (Layout layout : kLayouts)
        compare("cast", {{{9, 17}, from, layout, 0, 100}},
                [to](auto &x) { return x[0].to(to).clone(); });
  for (DType dtype : {uint8, float16, float32, float64})
    for (Layout layout : kLayouts)
      for (Shape shape : {Shape{300, 170}, Shape{5, 40'000}, Shape{6, 70, 80}})
        compare("copy", {{shape, dtype, layout, 0, 100}},
                [](auto &x) { return x[0].clone(); });
}

TEST(BackendTest, Permutations) {
  for (const Axes &order : {Axes{2, 0, 1}, Axes{1, 2, 0}, Axes{2, 1, 0}})
    for (DType dtype : {uint8, float16, float32, float64})
      compare("permute", {{{37, 65, 130}, dtype}},
              [&](auto &x) { return x[0].permute(order).clone(); });
}

TEST(BackendTest, Flip) {
  for (const Axes &axes : {Axes{0}, Axes{1}, Axes{0, 1}})
    for (Layout layout : kLayouts)
      compare("flip", {{{150, 300}, float32, layout}},
              [&](auto &x) { return flip(x[0], axes); });
}

TEST(BackendTest, Reductions) {
  std::vector<std::pair<Shape, Axes>> cases = {{{10}, {}},
                                               {{40'000}, {0}},
                                               {{300, 500}, {0}},
                                               {{300, 500}, {1}},
                                               {{300, 500}, {}},
                                               {{5, 40'000}, {1}},
                                               {{40'000, 5}, {0}},
                                               {{8, 30, 20, 20}, {0, 2, 3}},
                                               {{8, 30, 20, 20}, {1}},
                                               {{7, 9, 11}, {0, 2}},
                                               {{4, 1, 3}, {1}},
                                               {{0, 4}, {0}},
                                               {{90, 80, 70}, {1, 2}},
                                               {{3, 4, 5, 6, 7}, {0, 2, 4}}};
  for (auto &[shape, axes] : cases)
    for (Layout layout : kLayouts) {
      std::vector<Spec> specs = {{shape, float32, layout}};
      compare("sum", specs, [&](auto &x) { return sum(x[0], axes); }, 1e-3);
      compare("sum, whole numbers", {{shape, int32, layout}},
              [&](auto &x) { return sum(x[0], axes, true); });
      compare("mean", specs, [&](auto &x) { return mean(x[0], axes); }, 1e-4);
      compare(
          "mean, f16", {{shape, float16, layout}},
          [&](auto &x) { return mean(x[0], axes); }, 1e-2);
      if (shape[0] == 0)
        continue;
      compare("max", specs, [&](auto &x) { return max(x[0], axes); });
      compare("min", {{shape, int8, layout, -100, 100}},
              [&](auto &x) { return min(x[0], axes); });
      compare("any", specs, [&](auto &x) { return any(x[0] > 2.9, axes); });
      compare("all", specs, [&](auto &x) { return all(x[0] > -2.9, axes); });
    }
  compare(
      "prod", {{{6, 7, 8}, float64, Layout::Dense, 0.5, 2}},
      [&](auto &x) { return prod(x[0], {0, 2}); }, 1e-9);
}

TEST(BackendTest, AlongAnAxis) {
  for (Shape shape :
       {Shape{13}, Shape{40, 50}, Shape{3, 200, 70}, Shape{2, 3, 30'000}})
    for (Layout layout : kLayouts)
      for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size());
           ++axis) {
        std::vector<Spec> specs = {{shape, float32, layout}};
        std::vector<Spec> whole = {{shape, int32, layout, -20, 20}};
        compare("argmax", whole, [&](auto &x) { return argmax(x[0], axis); });
        compare("argmin", specs, [&](auto &x) { return argmin(x[0], axis); });
        compare("cumsum", whole, [&](auto &x) { return cumsum(x[0], axis); });
        compare(
            "cumsum", specs, [&](auto &x) { return cumsum(x[0], axis); }, 1e-3);
        std::vector<Spec> factors = {{shape, float32, layout, 0.99, 1.01}};
        compare("cumprod", whole, [&](auto &x) { return cumprod(x[0], axis); });
        compare(
            "cumprod", factors, [&](auto &x) { return cumprod(x[0], axis); },
            1e-3);
        compare(
            "softmax", specs, [&](auto &x) { return softmax(x[0], axis); },
            1e-5);
        compare(
            "log_softmax", specs,
            [&](auto &x) { return log_softmax(x[0], axis); }, 1e-5);
      }
}

TEST(BackendTest, LayerNorm) {
  for (Layout layout : kLayouts)
    for (DType dtype : {float16, float32, float64}) {
      double tolerance = dtype == float16 ? 2e-2 : 1e-5;
      compare(
          "layer_norm",
          {{{5, 40, 60}, dtype, layout}, {{60}, dtype}, {{60}, dtype}},
          [](auto &x) { return layer_norm(x[0], {60}, x[1], x[2]); },
          tolerance);
      compare(
          "layer_norm, two dimensions",
          {{{5, 4, 60}, dtype, layout}, {{4, 60}, dtype, layout}},
          [](auto &x) { return layer_norm(x[0], {4, 60}, x[1]); }, tolerance);
      compare(
          "rms_norm", {{{30, 20}, dtype, layout}},
          [](auto &x) { return rms_norm(x[0], {20}); }, tolerance);
    }
}

TEST(BackendTest, Matmul) {
  for (Layout a : kLayouts)
    for (Layout b : kLayouts) {
      compare(
          "matmul", {{{33, 47}, float32, a}, {{47, 65}, float32, b}},
          [](auto &x) { return matmul(x[0], x[1]); }, 1e-4);
      compare(
          "batched", {{{4, 1, 9, 7}, float32, a}, {{3, 7, 5}, float32, b}},
          [](auto &x) { return matmul(x[0], x[1]); }, 1e-5);
      compare(
          "vectors", {{{70}, float32, a}, {{70}, float32, b}},
          [](auto &x) { return matmul(x[0], x[1]); }, 1e-4);
      compare(
          "linear", {{{5, 9, 20}, float32, a}, {{12, 20}, float32, b}, {{12}}},
          [](auto &x) { return linear(x[0], x[1], x[2]); }, 1e-4);
    }
  for (DType dtype : {int8, int32, int64, float16, bfloat16, float64})
    compare(
        "matmul", {{{20, 30}, dtype}, {{30, 17}, dtype}},
        [](auto &x) { return matmul(x[0], x[1]); },
        dtype == float64 ? 1e-12 : 2e-1);
}

TEST(BackendTest, Convolutions) {
  for (Layout layout : {Layout::Dense, Layout::Sliced}) {
    compare(
        "conv2d", {{{2, 6, 20, 23}, float32, layout}, {{8, 6, 3, 3}}, {{8}}},
        [](auto &x) { return conv2d(x[0], x[1], x[2], 2, 1); }, 1e-4);
    compare(
        "grouped, dilated", {{{1, 6, 20, 23}, float32, layout}, {{9, 2, 3, 2}}},
        [](auto &x) {
          return conv2d(x[0], x[1], {}, {1, 2}, {2, 0}, {2, 1}, 3);
        },
        1e-4);
    compare(
        "conv1d", {{{2, 3, 50}, float32, layout}, {{4, 3, 5}}},
        [](auto &x) { return conv1d(x[0], x[1]); }, 1e-4);
    compare(
        "conv3d", {{{1, 2, 6, 7, 8}, float32, layout}, {{3, 2, 2, 3, 3}}},
        [](auto &x) { return conv3d(x[0], x[1], {}, 1, 1); }, 1e-4);
  }
}

TEST(BackendTest, Pooling) {
  for (Layout layout : kLayouts)
    for (DType dtype : {float16, float32, float64}) {
      double tolerance = dtype == float16 ? 1e-2 : 1e-5;
      std::vector<Spec> image = {{{2, 5, 30, 33}, dtype, layout}};
      compare("max_pool2d", image,
              [](auto &x) { return max_pool2d(x[0], {3, 2}, 2, 1); });
      compare("max_pool2d, ceil", image,
              [](auto &x) { return max_pool2d(x[0], 3, 2, 0, 2, true); });
      compare(
          "avg_pool2d", image,
          [](auto &x) { return avg_pool2d(x[0], {3, 4}, {2, 3}, 1); },
          tolerance);
      compare(
          "avg_pool2d, ceil", image,
          [](auto &x) { return avg_pool2d(x[0], 4, 3, 2, true); }, tolerance);
      compare("max_pool1d", {{{2, 3, 50}, dtype, layout}},
              [](auto &x) { return max_pool1d(x[0], 4); });
      compare(
          "avg_pool3d", {{{1, 2, 6, 7, 8}, dtype, layout}},
          [](auto &x) { return avg_pool3d(x[0], 2, 2, 1); }, tolerance);
    }
}

TEST(BackendTest, Movement) {
  for (Layout layout : kLayouts) {
    for (int64_t axis : {0, 1, 2})
      compare("concat",
              {{{20, 30, 40}, float32, layout},
               {{20, 30, 40}},
               {{20, 30, 40}, float32, Layout::Transposed}},
              [&](auto &x) { return concat(std::span(x), axis); });
    for (Padding mode :
         {Padding::Constant, Padding::Edge, Padding::Reflect, Padding::Wrap})
      compare("pad", {{{5, 60, 70}, float32, layout}},
              [&](auto &x) { return pad(x[0], {1, 2, 3}, {2, 0, 5}, mode); });
    compare("tile", {{{7, 9}, int16, layout}},
            [](auto &x) { return tile(x[0], {3, 2}); });
    compare("roll", {{{7, 9}, int16, layout}},
            [](auto &x) { return roll(x[0], {3, -2}, {0, 1}); });
  }
}

TEST(BackendTest, Gathers) {
  for (Layout layout : kLayouts)
    for (Layout of : {Layout::Dense, Layout::Transposed}) {
      Spec x = {{30, 40, 50}, float32, layout};
      Spec index = {{6, 7}, int64, of, -30, 29.9, 2};
      for (int64_t axis : {0, 1, 2})
        compare("index_select", {x, {{200}, int64, of, 0, 29.9}},
                [&](auto &x) { return index_select(x[0], axis, x[1]); });
      compare("index", {x, index, index},
              [](auto &x) { return x[0].index({x[1], x[2]}); });
      compare("embedding", {x, index},
              [](auto &x) { return embedding(x[0].select(1, 3), x[1]); });
      for (int64_t axis : {0, 1, 2})
        compare("gather", {x, {{20, 30, 35}, int64, of, 0, 29.9, 3}},
                [&](auto &x) { return gather(x[0], axis, x[1]); });
    }
}

TEST(BackendTest, Scatters) {
  for (Layout layout : {Layout::Dense, Layout::Transposed, Layout::Sliced})
    for (DType dtype : {int32, float64, float16}) {
      Spec x = {{30, 40, 50}, dtype, layout, -8, 8};
      Spec index = {{20, 30, 35}, int64, layout, 0, 29.9, 3};
      Spec source = {{20, 30, 35}, dtype, layout, -8, 8, 4};
      double tolerance = dtype == float16 ? 5e-2 : 1e-12;
      for (int64_t axis : {0, 1, 2}) {
        compare("scatter", {x, index, source},
                [&](auto &x) { return scatter(x[0], axis, x[1], x[2]); });
        compare(
            "scatter_add", {x, index, source},
            [&](auto &x) { return scatter_add(x[0], axis, x[1], x[2]); },
            tolerance);
      }
      compare(
          "index_add",
          {x,
           {{200}, int64, Layout::Dense, 0, 29.9},
           {{200, 40, 50}, dtype, Layout::Dense, -8, 8, 5}},
          [](auto &x) { return index_add(x[0], 0, x[1], x[2]); },
          tolerance * 10);
      compare(
          "index_put_",
          {x, {{60}, int64, Layout::Dense, -30, 29.9}, {{60, 40, 50}, dtype}},
          [](auto &x) {
            Tensor y = x[0].clone();
            y.index_put_({x[1]}, x[2]);
            return y;
          });
    }
}

TEST(BackendTest, Sorting) {
  for (Layout layout : kLayouts)
    for (DType dtype : {int8, float32, float16, uint64}) {
      Spec x = {{30, 70, 5}, dtype, layout, 0, 20};
      for (int64_t axis : {0, 1, 2})
        for (bool descending : {false, true}) {
          compare("sort", {x},
                  [&](auto &x) { return sort(x[0], axis, descending).values; });
          compare("argsort", {x},
                  [&](auto &x) { return argsort(x[0], axis, descending); });
          compare("topk", {x}, [&](auto &x) {
            return topk(x[0], 3, axis, descending).indices;
          });
        }
    }
  compare("NaN last", {{{100}}},
          [](auto &x) { return argsort(where(x[0] > 1, NAN, x[0]), 0); });
}

TEST(BackendTest, Sources) {
  compare("arange", {}, [](auto &) { return arange(3, 200'000, 7); });
  compare("linspace", {}, [](auto &) { return linspace(-1, 2, 70'000); });
  for (DType dtype : {float16, float32, float64}) {
    compare("uniform", {}, [&](auto &) {
      return uniform({300, 101}, Generator(7), -1, 2, dtype);
    });
    compare(
        "normal", {},
        [&](auto &) { return normal({300, 101}, Generator(7), 1, 2, dtype); },
        1e-6);
  }
  compare("randint", {},
          [](auto &) { return randint(-5, 1000, {30'001}, Generator(3)); });
  compare("bernoulli", {},
          [](auto &) { return bernoulli(0.3, {30'001}, Generator(3)); });
}

TEST(BackendTest, IndicesOutOfBounds) {
  Tensor x = ones({4, 5});
  try {
    index_select(x, 1, tensor({1, 5})).wait_to_read();
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.status(), TINH_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.what()).find("index 5"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("BackendTest.cpp:"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(wait_all(), Error);
  EXPECT_EQ((x + 1).to_vector<float>()[0], 2); // Others are unaffected.
}

TEST(BackendTest, TheSameBitsForAnyNumberOfWorkers) {
  std::vector<Spec> specs = {{{700, 300}}, {{300, 200}}, {{16, 8, 50, 50}}};
  auto program = [](auto &x) {
    Tensor y = softmax(matmul(x[0], x[1]), 1);
    Tensor z = exp(x[2]).mean({0, 2, 3});
    Tensor noise = normal({5000}, Generator(3));
    return y.sum() + z.sum() + cumsum(noise, 0).mean() + (x[0] * x[0]).sum();
  };
  std::vector<std::vector<double>> results;
  for (uint32_t workers : {1, 2, 3})
    for (EngineMode mode :
         {EngineMode::Asynchronous, EngineMode::Synchronous}) {
      EngineOptions options;
      options.workers = workers;
      options.mode = mode;
      configure(options);
      results.push_back(run(specs, program));
    }
  configure({});
  for (const std::vector<double> &result : results)
    EXPECT_EQ(result, results[0]);
}

} // namespace
} // namespace tinh::eager
