//===- ModelImpl.h - What a model that is trained consists of ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_FIT_MODELIMPL_H
#define TINH_FIT_MODELIMPL_H

#include "tinh/fit.h"

#include <optional>

namespace tinh {

/// Sums of scores over examples, on the engine: adding to them waits for
/// nothing.
class ScoreSums {
public:
  /// Of the loss and the metrics.
  explicit ScoreSums(const std::vector<Metric> &metrics);

  void clear();
  /// Adds the scores of a batch. May be traced.
  void add(const Tensor &loss, const Tensor &prediction, const Tensor &target);
  /// Before how many examples the loss was finite for the last time, if it is
  /// not any more; waits. Of all ranks, for all at a time.
  std::optional<int64_t> lastFinite() const;
  /// The means; waits. Names begin with `prefix`.
  Scores means(const std::string &prefix = "") const {
    return meansOf(sums, prefix);
  }
  /// The same of all ranks, for all at a time.
  Scores meansOfAll(const std::string &prefix = "") const {
    return meansOf(total(), prefix);
  }
  const Tensor &tensor() const { return sums; }
  /// Those of all ranks, for all at a time.
  Tensor total() const;

private:
  Scores meansOf(const Tensor &all, const std::string &prefix) const;

  const std::vector<Metric> &metrics;
  /// f64: of the loss, of each metric, the examples, and those of them up to
  /// which the sum of the loss is finite.
  Tensor sums;
};

/// Apart from what EngineOptions::check_numerics finds, whose place in the
/// training is not known where it is found.
class LossNotFinite : public Error {
public:
  explicit LossNotFinite(const std::string &message)
      : Error(TINH_NOT_FINITE, message) {}
};

class Model::Impl {
public:
  explicit Impl(std::shared_ptr<nn::Module> network)
      : network(std::move(network)) {}

  using Step = std::function<void(const Tensor &x, const Tensor &y)>;
  using Prediction = std::function<Tensor(const Tensor &x)>;

  std::shared_ptr<nn::Module> network;
  std::optional<Loss> loss;
  optim::Rule rule;
  std::vector<Metric> metrics;
  CompileOptions options;
  /// Made when all parameters are there.
  std::unique_ptr<optim::Optimizer> optimizer;
  std::unique_ptr<optim::Scheduler> scheduler;
  std::unique_ptr<ScoreSums> trainSums, validationSums;
  Step trainStep, evaluateStep;
  /// The two parts of a step with other ranks, who meet between them.
  Step gradientStep;
  std::function<void()> updateStep;
  Prediction predictStep;

  /// Where fit, evaluate or predict was called.
  At place;

  // While fit runs.
  std::unique_ptr<DataLoader> loader;
  /// What the position in the data is a position in, for checkpoints.
  std::string data;
  int64_t batchSize = 0;
  std::vector<CallbackPtr> callbacks;
  Tensor example;
  bool stopping = false;

  void requireCompiled(const char *operation, At at) const;
  /// Refuses to go on where the loss of a step of this epoch was not finite.
  void requireFinite() const;
  /// Makes the parameters whose sizes are found by a call, and the optimizer.
  void prepare(const Tensor &x, At at);
  void train(const Tensor &x, const Tensor &y);
  /// What `train` does, in two parts.
  void addGradients(const Tensor &x, const Tensor &y);
  void update();
  /// A training step, with all ranks if there are others.
  void step(const Tensor &x, const Tensor &y);
  /// Gives all ranks the first one's parameters and buffers, and each random
  /// numbers of its own, which follow from the first one's.
  void share();
  void evaluate(const Tensor &x, const Tensor &y);
  void evaluateAll(DataLoader &batches);
  StateDict state() const;
};

/// Writes a table of scores for people while fit runs.
class ProgressDisplay {
public:
  explicit ProgressDisplay(Verbosity verbosity);
  /// Training goes on at that place, or not, since it had ended there.
  void resumed(const DataLoader::Position &position, bool hasEnded);
  /// The first step is about to be compiled, in that epoch.
  void compiling(int64_t epoch, int64_t epochs);
  void batch(const Progress &progress, const ScoreSums &sums);
  void epoch(const Progress &progress);

private:
  Verbosity verbosity;
  double nextUpdate = 0; ///< Seconds of the epoch.
};

} // namespace tinh

#endif // TINH_FIT_MODELIMPL_H
