//===- Metrics.cpp - What is measured of predictions ----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/fit.h"

namespace tinh {

const double *find(const Scores &scores, std::string_view name) {
  for (const auto &[known, value] : scores)
    if (known == name)
      return &value;
  return nullptr;
}

namespace metrics {

/// Class indices of targets that may be probabilities, [N, C, …].
static Tensor classesOf(const Tensor &prediction, const Tensor &target) {
  return target.dim() == prediction.dim() ? target.argmax(1) : target;
}

Metric accuracy() {
  return {"accuracy", [](const Tensor &prediction, const Tensor &target) {
            Tensor hits =
                prediction.argmax(1) == classesOf(prediction, target).to(int64);
            return hits.to(float32).mean();
          }};
}

Metric top_k_accuracy(int64_t count) {
  auto mean = [count](const Tensor &prediction, const Tensor &target) {
    Tensor classes = classesOf(prediction, target).to(int64).unsqueeze(1);
    // Those that are above the class's own logit.
    Tensor above = prediction > gather(prediction, 1, classes);
    Tensor hits = above.to(float32).sum(1) < static_cast<double>(count);
    return hits.to(float32).mean();
  };
  return {"top_" + std::to_string(count) + "_accuracy", mean};
}

Metric binary_accuracy() {
  return {"binary_accuracy",
          [](const Tensor &prediction, const Tensor &target) {
            Tensor hits = (prediction > 0) == (target > 0.5);
            return hits.to(float32).mean();
          }};
}

Metric mean_absolute_error() {
  return {"mean_absolute_error",
          [](const Tensor &prediction, const Tensor &target) {
            return abs(prediction - target).mean();
          }};
}

Metric mean_squared_error() {
  return {"mean_squared_error",
          [](const Tensor &prediction, const Tensor &target) {
            Tensor difference = prediction - target;
            return (difference * difference).mean();
          }};
}

static const std::vector<std::pair<std::string, Metric (*)()>> kMetrics = {
    {"accuracy", accuracy},
    {"top_5_accuracy", [] { return top_k_accuracy(5); }},
    {"binary_accuracy", binary_accuracy},
    {"mean_absolute_error", mean_absolute_error},
    {"mean_squared_error", mean_squared_error},
};

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto &[name, make] : kMetrics)
    result.push_back(name);
  return result;
}

Metric make(std::string_view name, At at) {
  std::string known;
  for (const auto &[metric, make] : kMetrics) {
    if (metric == name)
      return make();
    known += (known.empty() ? "" : ", ") + metric;
  }
  throw Error(TINH_INVALID_ARGUMENT,
              std::string(at.file_name()) + ":" + std::to_string(at.line()) +
                  ": there is no metric '" + std::string(name) +
                  "'; there are " + known);
}

} // namespace metrics
} // namespace tinh
