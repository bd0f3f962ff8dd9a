//===- tinh/fit.h - Training a module on a dataset --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The training loop, for those who do not write their own:
//
//   tinh::Model model(net);
//   model.compile(tinh::losses::make("cross_entropy"),
//                 tinh::optim::adam({.lr = 1e-3}),
//                 {tinh::metrics::accuracy()});
//   tinh::History history =
//       model.fit(images, labels, {.epochs = 10, .validation_split = 0.1});
//   tinh::Scores scores = model.evaluate(test_images, test_labels);
//   tinh::Tensor logits = model.predict(test_images);
//
// It is made in the manner of Keras; docs/fit.md has the names that differ, and
// compile takes the loss before the optimizer. A step (forward, gradients,
// update of the parameters) is a function that is traced and compiled as a
// whole, or runs operation by operation (CompileOptions::graph). The program
// waits for results when it shows them, not after each step.
//
// Where ranks have been joined (tinh/distributed.h), all of them call fit with
// the same examples and options, and train together: a batch is batch_size
// examples of each rank, N ranks see those of one process with N times as many,
// and gradients are averaged. All make the same calls of fit, save_checkpoint
// and load_checkpoint; files are written by the first rank, and read by all.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_FIT_H
#define TINH_FIT_H

#include "tinh/data.h"
#include "tinh/losses.h"
#include "tinh/nn/module.h"
#include "tinh/optim.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tinh {

//===----------------------------------------------------------------------===//
// What is measured
//===----------------------------------------------------------------------===//

/// A mean over examples.
struct Metric {
  std::string name;
  /// The mean over a batch, of rank 0.
  std::function<Tensor(const Tensor &prediction, const Tensor &target)> mean;
};

namespace metrics {

/// How often the largest of [N, C, …] logits is that of the class, [N, …].
Metric accuracy();
/// How often the class is among the `count` largest.
Metric top_k_accuracy(int64_t count = 5);
/// How often a logit has the sign of a target that is 0 or 1.
Metric binary_accuracy();
Metric mean_absolute_error();
Metric mean_squared_error();

/// By its name, as those above: "accuracy".
Metric make(std::string_view name, At at = At::current());
std::vector<std::string> names();

} // namespace metrics

/// "loss" and metrics by name; those of validation begin with "val_".
using Scores = std::vector<std::pair<std::string, double>>;
/// Null if there is none of that name.
const double *find(const Scores &scores, std::string_view name);

/// How far training is.
struct Progress {
  int64_t epoch = 0, epochs = 0;  ///< Epochs that are finished; and all.
  int64_t batch = 0, batches = 0; ///< In this epoch, likewise.
  double seconds = 0;             ///< Since the epoch began.
  Scores scores;                  ///< Of the epoch that has ended.
};

//===----------------------------------------------------------------------===//
// Callbacks
//===----------------------------------------------------------------------===//

class Model;

/// Told how training goes on. All functions may do nothing.
class Callback {
public:
  virtual ~Callback() = default;
  virtual void on_train_begin(Model & /*model*/) {}
  virtual void on_batch_end(Model & /*model*/, const Progress & /*progress*/) {}
  virtual void on_epoch_end(Model & /*model*/, const Progress & /*progress*/) {}
  virtual void on_train_end(Model & /*model*/) {}
  /// Whether it has ended training, so that one that is resumed does not go on.
  virtual bool has_ended() const { return false; }
  /// What a checkpoint keeps of it, as text and as tensors, and the opposite.
  virtual std::string state() const { return ""; }
  virtual void set_state(const std::string & /*state*/) {}
  virtual StateDict tensors() const { return {}; }
  virtual void set_tensors(const StateDict & /*tensors*/) {}
};
using CallbackPtr = std::shared_ptr<Callback>;

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  /// Larger is better; else smaller.
  bool maximize = false;
  /// What counts as better.
  double min_delta = 0;
  /// After so many epochs without anything better, and at least one, training
  /// stops.
  int64_t patience = 0;
  /// Put the parameters of the best epoch back in the end.
  bool restore_best = false;
};
CallbackPtr early_stopping(EarlyStoppingOptions options = {});

/// Writes the scores of each epoch as a row of a CSV file, which is replaced,
/// or goes on if training was resumed.
CallbackPtr csv_log(std::string path);

struct TensorBoardOptions {
  /// Epochs between histograms of all parameters; 0: none.
  int64_t histogram_epochs = 1;
};
/// Writes scores, histograms and the network's graph for TensorBoard.
CallbackPtr tensorboard_log(std::string directory,
                            TensorBoardOptions options = {});

struct CheckpointOptions {
  /// Between checkpoints; 0: none within epochs.
  int64_t batches = 0;
  /// Go on where the file, if there is one, was written.
  bool resume = true;
};
/// Writes all that training depends on to `path` (.safetensors) at the end of
/// each epoch: parameters, buffers, the optimizer's state, the schedule, random
/// generators, the position in the data and the other callbacks' states. The
/// file is replaced as a whole: it is always an old or a new one. Training that
/// is resumed ends with the same bits as if it had never been interrupted.
CallbackPtr checkpoint(std::string path, CheckpointOptions options = {});

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

struct CompileOptions {
  /// Trace and compile the steps.
  bool graph = true;
  /// Of the learning rate, by batches; may be empty.
  optim::Schedule schedule = {};
  /// The norm that all gradients together are clipped to; 0: none.
  double clip_norm = 0;
};

enum class Verbosity { Automatic, Silent, Lines, Bar };

struct FitOptions {
  int64_t epochs = 1;
  int64_t batch_size = 32;
  bool shuffle = true;
  uint64_t seed = 0;
  /// The part of the examples, the last ones, that is for validation only.
  double validation_split = 0;
  /// Examples for validation; may be null.
  std::shared_ptr<const Dataset> validation = {};
  std::vector<CallbackPtr> callbacks = {};
  /// Look at the loss after each batch, which waits for it, and not only at the
  /// end of an epoch: training ends at once when it is not finite.
  bool terminate_on_nan = false;
  /// A bar with the scores on a terminal, a line an epoch elsewhere.
  Verbosity verbosity = Verbosity::Automatic;
};

struct History {
  std::vector<Scores> epochs; ///< Of each epoch that this call has run.
  bool stopped = false;       ///< By a callback.
};

/// A module with what it is trained by. To be used by one thread at a time.
class Model {
public:
  explicit Model(std::shared_ptr<nn::Module> network);

  nn::Module &network() const;
  optim::Optimizer &optimizer() const;

  /// All parameters must have values, or get them at the first call. The
  /// optimizer is a new one, made when fit is called first.
  void compile(Loss loss, optim::Rule rule, std::vector<Metric> metrics = {},
               CompileOptions options = {});

  /// Datasets have two fields, inputs and targets. A loss that is not finite is
  /// an error, TINH_NOT_FINITE, at the end of the epoch, or where a checkpoint
  /// would be written.
  History fit(std::shared_ptr<const Dataset> dataset, FitOptions options = {},
              At at = At::current());
  History fit(const Tensor &x, const Tensor &y, FitOptions options = {},
              At at = At::current());
  /// "loss" and the metrics, without changing anything.
  Scores evaluate(std::shared_ptr<const Dataset> dataset,
                  int64_t batch_size = 32, At at = At::current());
  Scores evaluate(const Tensor &x, const Tensor &y, int64_t batch_size = 32,
                  At at = At::current());
  /// The network's results for all rows of x.
  Tensor predict(const Tensor &x, int64_t batch_size = 32,
                 At at = At::current());

  /// Makes fit end after this batch, for callbacks.
  void stop_training();
  /// All that training depends on, to a file (.safetensors) and back; while fit
  /// runs, with the position in its data, which must then be the same, in the
  /// same order. Names that the file lacks or has too many, and shapes that
  /// differ, are errors.
  void save_checkpoint(const std::string &path, At at = At::current()) const;
  void load_checkpoint(const std::string &path, At at = At::current());
  /// Tensors of a batch, a row of the first example's: for logs of the graph.
  const Tensor &example() const;

  class Impl;

private:
  std::shared_ptr<Impl> impl;
};

} // namespace tinh

#endif // TINH_FIT_H
