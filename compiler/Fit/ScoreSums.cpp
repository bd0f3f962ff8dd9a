//===- ScoreSums.cpp - Sums of scores over examples -----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Fit/ModelImpl.h"
#include "tinh/autograd.h"
#include "tinh/distributed.h"

#include <cmath>
#include <limits>

namespace tinh {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

ScoreSums::ScoreSums(const std::vector<Metric> &metrics)
    : metrics(metrics),
      sums(zeros(static_cast<int64_t>(metrics.size()) + 3, float64)) {}

void ScoreSums::clear() { sums.zero_(); }

void ScoreSums::add(const Tensor &loss, const Tensor &prediction,
                    const Tensor &target) {
  NoGrad guard;
  double count = static_cast<double>(prediction.size(0));
  std::vector<Tensor> scores{loss.to(float64)};
  for (const Metric &metric : metrics)
    scores.push_back(metric.mean(prediction, target).to(float64));
  scores.push_back(ones({}, float64));
  // A sum that is not finite stays so.
  Tensor total = sums.select(0, 0) + scores[0] * count;
  scores.push_back((abs(total) < kInfinity).to(float64));
  sums += stack(scores) * count;
}

std::optional<int64_t> ScoreSums::lastFinite() const {
  std::vector<double> values = total().to_vector<double>();
  if (std::isfinite(values[0]))
    return std::nullopt;
  return static_cast<int64_t>(values.back());
}

Tensor ScoreSums::total() const {
  if (distributed::world_size() == 1)
    return sums;
  NoGrad guard;
  Tensor all = sums.clone();
  distributed::all_reduce(all);
  return all;
}

Scores ScoreSums::meansOf(const Tensor &all, const std::string &prefix) const {
  std::vector<double> values = all.to_vector<double>();
  double examples = values[metrics.size() + 1];
  Scores scores{{prefix + "loss", values[0] / examples}};
  for (size_t i = 0; i < metrics.size(); ++i)
    scores.emplace_back(prefix + metrics[i].name, values[i + 1] / examples);
  return scores;
}

} // namespace tinh
