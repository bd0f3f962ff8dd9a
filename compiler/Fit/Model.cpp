//===- Model.cpp - Training a module on a dataset -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Support.h"
#include "compiler/Fit/Checkpoint.h"
#include "compiler/Fit/ModelImpl.h"
#include "tinh/autograd.h"
#include "tinh/collectives.hpp"
#include "tinh/distributed.h"
#include "tinh/function.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tinh {

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

/// Has a network compute as in inference while it lives.
class Evaluating {
public:
  explicit Evaluating(nn::Module &network) {
    for (const nn::Module::Named &entry : network.modules())
      before.emplace_back(entry.module, entry.module->is_training());
    network.eval();
  }
  ~Evaluating() {
    for (auto [module, training] : before) // Parents first.
      module->train(training);
  }
  Evaluating(const Evaluating &) = delete;

private:
  std::vector<std::pair<nn::Module *, bool>> before;
};

} // namespace

void Model::Impl::requireCompiled(const char *operation, At at) const {
  if (!loss)
    eager::fail({operation, at},
                "the model has no loss and no optimizer; call compile first");
}

void Model::Impl::requireFinite() const {
  std::optional<int64_t> examples = trainSums->lastFinite();
  if (!examples)
    return;
  auto [epoch, batch] = loader->position();
  // An epoch that has ended is the one before that of the position.
  throw LossNotFinite(
      "fit: the loss is not finite in step " +
      std::to_string(*examples / batchSize + 1) + " of epoch " +
      std::to_string(batch == 0 ? epoch : epoch + 1) +
      "; check the data, also for labels out of range, or train with a lower "
      "learning rate; with CompileOptions::graph = false, operations say what "
      "they cannot compute, and with EngineOptions::check_numerics what gave "
      "the first NaN");
}

void Model::Impl::prepare(const Tensor &x, At at) {
  example = x;
  if (optimizer)
    return;
  if (!network->is_initialized()) {
    NoGrad guard;
    Evaluating inference(*network);
    (*network)(x, at);
  }
  optimizer =
      std::make_unique<optim::Optimizer>(network->parameters(at), rule, at);
  if (options.schedule)
    scheduler =
        std::make_unique<optim::Scheduler>(*optimizer, options.schedule);
}

void Model::Impl::train(const Tensor &x, const Tensor &y) {
  addGradients(x, y);
  update();
}

void Model::Impl::addGradients(const Tensor &x, const Tensor &y) {
  Tensor prediction = (*network)(x, place);
  Tensor value = (*loss)(prediction, y);
  if (!requires_grad(value))
    throw Error(TINH_INVALID_ARGUMENT,
                "fit: no gradient gets from the loss to a parameter: all are "
                "frozen, or an operation without a gradient, such as argmax or "
                "a conversion to integers, is on every way");
  backward(value);
  trainSums->add(value, prediction, y);
}

void Model::Impl::update() {
  if (options.clip_norm > 0)
    optim::clip_grad_norm_(network->parameters(), options.clip_norm);
  optimizer->step();
  // So that nothing of the gradients outlives the step.
  optimizer->zero_grad();
}

void Model::Impl::step(const Tensor &x, const Tensor &y) {
  if (distributed::world_size() == 1)
    return trainStep(x, y);
  gradientStep(x, y);
  std::vector<Tensor> gradients;
  for (const Tensor &parameter : network->parameters())
    if (Tensor gradient = grad_of(parameter); gradient.defined())
      gradients.push_back(gradient);
  distributed::all_reduce(gradients, distributed::ReduceOp::Mean);
  updateStep();
}

static std::vector<Tensor> tensorsOf(const StateDict &state) {
  std::vector<Tensor> tensors;
  for (const NamedTensor &entry : state)
    tensors.push_back(entry.tensor);
  return tensors;
}

void Model::Impl::share() {
  if (distributed::world_size() == 1)
    return;
  distributed::broadcast(tensorsOf(network->state_dict()));
  for (const Generator &generator : network->generators()) {
    Generator::State &state = *generator.state();
    Tensor numbers = tensor({static_cast<int64_t>(state.seed),
                             static_cast<int64_t>(state.counter)});
    distributed::broadcast(numbers);
    std::vector<int64_t> first = numbers.to_vector<int64_t>();
    state.seed = seed_of_rank(static_cast<uint64_t>(first[0]),
                              static_cast<uint32_t>(distributed::rank()));
    state.counter = static_cast<uint64_t>(first[1]);
  }
}

void Model::Impl::evaluate(const Tensor &x, const Tensor &y) {
  NoGrad guard;
  Tensor prediction = (*network)(x, place);
  validationSums->add((*loss)(prediction, y), prediction, y);
}

/// Leaves the scores in `validationSums`.
void Model::Impl::evaluateAll(DataLoader &batches) {
  Evaluating guard(*network);
  validationSums->clear();
  while (auto batch = batches.next())
    evaluateStep((*batch)[0], (*batch)[1]);
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

Model::Model(std::shared_ptr<nn::Module> network)
    : impl(std::make_shared<Impl>(std::move(network))) {
  if (!impl->network)
    throw Error(TINH_INVALID_ARGUMENT, "a model needs a network, found null");
}

nn::Module &Model::network() const { return *impl->network; }

optim::Optimizer &Model::optimizer() const {
  if (!impl->optimizer)
    throw Error(TINH_INVALID_ARGUMENT,
                "the model has no optimizer before its first call of fit");
  return *impl->optimizer;
}

const Tensor &Model::example() const { return impl->example; }

void Model::stop_training() { impl->stopping = true; }

void Model::compile(Loss loss, optim::Rule rule, std::vector<Metric> metrics,
                    CompileOptions options) {
  Impl *model = impl.get();
  if (!rule)
    throw Error(TINH_INVALID_ARGUMENT,
                "compile: there is no optimizer, the rule is null");
  if (!(options.clip_norm >= 0))
    throw Error(TINH_INVALID_ARGUMENT, "compile: clip_norm is " +
                                           std::to_string(options.clip_norm) +
                                           "; it must be 0 or more");
  model->loss = std::move(loss);
  model->rule = std::move(rule);
  model->metrics = std::move(metrics);
  model->options = std::move(options);
  model->optimizer.reset();
  model->scheduler.reset();
  model->trainSums = std::make_unique<ScoreSums>(model->metrics);
  model->validationSums = std::make_unique<ScoreSums>(model->metrics);
  model->trainStep = [model](const Tensor &x, const Tensor &y) {
    model->train(x, y);
  };
  model->gradientStep = [model](const Tensor &x, const Tensor &y) {
    model->addGradients(x, y);
  };
  model->updateStep = [model] { model->update(); };
  model->evaluateStep = [model](const Tensor &x, const Tensor &y) {
    model->evaluate(x, y);
  };
  model->predictStep = [model](const Tensor &x) {
    NoGrad guard;
    return (*model->network)(x, model->place);
  };
  if (!model->options.graph)
    return;
  model->trainStep = function("train_step", model->trainStep);
  model->gradientStep = function("gradients", model->gradientStep);
  model->updateStep = function("update", model->updateStep);
  model->evaluateStep = function("evaluate", model->evaluateStep);
  model->predictStep = function("predict", model->predictStep);
}

static std::shared_ptr<const Dataset> pair(const Tensor &x, const Tensor &y,
                                           At at) {
  return std::make_shared<TensorDataset>(std::vector{x, y}, at);
}

Scores Model::evaluate(std::shared_ptr<const Dataset> dataset,
                       int64_t batchSize, At at) {
  impl->requireCompiled("evaluate", at);
  impl->place = at;
  DataLoader batches(std::move(dataset), {.batch_size = batchSize}, at);
  impl->evaluateAll(batches);
  return impl->validationSums->means();
}

Scores Model::evaluate(const Tensor &x, const Tensor &y, int64_t batchSize,
                       At at) {
  return evaluate(pair(x, y, at), batchSize, at);
}

Tensor Model::predict(const Tensor &x, int64_t batchSize, At at) {
  impl->requireCompiled("predict", at);
  impl->place = at;
  Evaluating guard(*impl->network);
  DataLoader batches({x}, {.batch_size = batchSize}, at);
  std::vector<Tensor> results;
  while (auto batch = batches.next())
    results.push_back(impl->predictStep(batch->front()));
  return concat(results);
}

History Model::fit(const Tensor &x, const Tensor &y, FitOptions options,
                   At at) {
  return fit(pair(x, y, at), std::move(options), at);
}

//===----------------------------------------------------------------------===//
// fit
//===----------------------------------------------------------------------===//

namespace {

using Clock = std::chrono::steady_clock;

/// One call of Model::fit.
class Training {
public:
  Training(Model &model, Model::Impl &impl,
           std::shared_ptr<const Dataset> dataset, const FitOptions &options,
           At at);
  ~Training() {
    impl.callbacks.clear();
    impl.loader.reset();
  }
  Training(const Training &) = delete;
  History run();

private:
  std::unique_ptr<DataLoader>
  makeLoaders(std::shared_ptr<const Dataset> dataset, At at);
  void runEpoch();
  [[noreturn]] void failIn(const Error &error) const;
  void endEpoch();

  Model &model;
  Model::Impl &impl;
  const FitOptions &options;
  std::unique_ptr<DataLoader> validation;
  ProgressDisplay display;
  Progress progress;
  History history;
};

/// Examples for training and, if there are any, for validation.
struct Parts {
  std::shared_ptr<const Dataset> training, validation;
};

Parts divide(std::shared_ptr<const Dataset> dataset, const FitOptions &options,
             At at) {
  if (options.validation_split == 0)
    return {std::move(dataset), options.validation};
  double split = options.validation_split;
  int64_t size = dataset->size();
  auto kept =
      static_cast<int64_t>(std::floor(static_cast<double>(size) * (1 - split)));
  if (options.validation || !(split > 0) || kept < 1 || kept >= size)
    eager::fail({"fit", at},
                options.validation
                    ? "validation_split and validation are both given"
                    : "validation_split must leave examples on both sides of "
                      "it",
                "; there are ", size, " examples, and the split is ", split);
  return {subset(dataset, 0, kept), subset(dataset, kept, size - kept)};
}

void check(const Model::Impl &impl, const Dataset *dataset,
           const FitOptions &options, At at) {
  impl.requireCompiled("fit", at);
  if (!dataset)
    eager::fail({"fit", at}, "the dataset is null");
  if (impl.loader)
    eager::fail({"fit", at}, "the model is being trained, by the call of fit "
                             "that this one is made in");
  if (options.epochs < 0)
    eager::fail({"fit", at}, "epochs is ", options.epochs,
                "; it must be 0 or more");
  if (std::ranges::find(options.callbacks, nullptr) != options.callbacks.end())
    eager::fail({"fit", at}, "a callback is null");
}

Training::Training(Model &model, Model::Impl &impl,
                   std::shared_ptr<const Dataset> dataset,
                   const FitOptions &options, At at)
    : model(model), impl(impl), options(options),
      display(distributed::rank() == 0 ? options.verbosity
                                       : Verbosity::Silent) {
  check(impl, dataset.get(), options, at);
  impl.place = at;
  std::unique_ptr<DataLoader> loader = makeLoaders(std::move(dataset), at);
  impl.share();
  impl.callbacks = checkpointsLast(options.callbacks);
  impl.stopping = false;
  impl.trainSums->clear();
  impl.loader = std::move(loader); // From here on it is being trained.
}

/// What the examples of fit and their order depend on.
std::string describe(const Dataset &dataset, const FitOptions &options) {
  return std::to_string(dataset.size()) + " examples in batches of " +
         std::to_string(options.batch_size * distributed::world_size()) +
         (options.shuffle ? ", shuffled by seed " + std::to_string(options.seed)
                          : "");
}

/// Of the examples for training; `validation` is made, too.
std::unique_ptr<DataLoader>
Training::makeLoaders(std::shared_ptr<const Dataset> dataset, At at) {
  Parts parts = divide(std::move(dataset), options, at);
  int64_t rank = distributed::rank(), numRanks = distributed::world_size();
  auto loader = std::make_unique<DataLoader>(
      parts.training,
      DataLoaderOptions{.batch_size = options.batch_size,
                        .shuffle = options.shuffle,
                        .seed = options.seed,
                        .rank = rank,
                        .num_ranks = numRanks},
      at);
  // Of few examples each rank takes all, which gives the same means.
  if (int64_t size = parts.validation ? parts.validation->size() : 0;
      numRanks > 1 && size >= numRanks) {
    int64_t first = size * rank / numRanks;
    parts.validation =
        subset(parts.validation, first, size * (rank + 1) / numRanks - first);
  }
  if (parts.validation)
    validation = std::make_unique<DataLoader>(
        parts.validation, DataLoaderOptions{.batch_size = options.batch_size},
        at);
  std::vector<Tensor> first = parts.training->batch(arange(1));
  if (first.size() != 2)
    eager::fail({"fit", at},
                "examples must have two fields, an input and a "
                "target; found ",
                first.size());
  impl.prepare(first[0], at);
  impl.data = describe(*parts.training, options);
  distributed::require_equal("data and options of fit",
                             impl.data + ", " + std::to_string(options.epochs) +
                                 " epochs");
  impl.batchSize = options.batch_size * numRanks;
  return loader;
}

void Training::runEpoch() {
  impl.network->train();
  DataLoader &loader = *impl.loader;
  Clock::time_point start = Clock::now();
  while (!impl.stopping) {
    auto batch = loader.next();
    if (!batch)
      break;
    impl.step((*batch)[0], (*batch)[1]);
    if (impl.scheduler)
      impl.scheduler->step();
    progress.batch = loader.position().batch;
    if (options.terminate_on_nan)
      impl.requireFinite();
    progress.seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    display.batch(progress, *impl.trainSums);
    for (const CallbackPtr &callback : impl.callbacks)
      callback->on_batch_end(model, progress);
  }
  progress.scores = impl.trainSums->meansOfAll();
  progress.seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
}

/// Says when the number was found that EngineOptions::check_numerics asks for.
void Training::failIn(const Error &error) const {
  if (error.status() != TINH_NOT_FINITE)
    throw;
  throw Error(TINH_NOT_FINITE,
              "fit: by batch " + std::to_string(progress.batch) + " of epoch " +
                  std::to_string(progress.epoch + 1) + ", " + error.what());
}

void Training::endEpoch() {
  impl.requireFinite();
  if (validation) {
    // Running means of batch norms are of each rank's batches.
    if (std::vector<Tensor> buffers = tensorsOf(impl.network->named_buffers());
        !buffers.empty())
      distributed::broadcast(buffers);
    impl.evaluateAll(*validation);
    for (auto &score : impl.validationSums->meansOfAll("val_"))
      progress.scores.push_back(std::move(score));
  }
  impl.trainSums->clear();
  progress.epoch = impl.loader->position().epoch;
  history.epochs.push_back(progress.scores);
  display.epoch(progress);
  for (const CallbackPtr &callback : impl.callbacks)
    callback->on_epoch_end(model, progress);
}

History Training::run() {
  for (const CallbackPtr &callback : impl.callbacks)
    callback->on_train_begin(model);
  bool hasEnded = std::ranges::any_of(impl.callbacks, &Callback::has_ended);
  impl.stopping |= hasEnded;
  DataLoader::Position begin = impl.loader->position();
  if (begin.epoch > 0 || begin.batch > 0)
    display.resumed(begin, hasEnded);
  progress.epochs = options.epochs;
  progress.batches = impl.loader->size();
  if (impl.options.graph && !impl.stopping && begin.epoch < options.epochs)
    display.compiling(begin.epoch + 1, options.epochs);
  while (impl.loader->position().epoch < options.epochs && !impl.stopping) {
    progress.epoch = impl.loader->position().epoch;
    try {
      runEpoch();
    } catch (const LossNotFinite &) {
      throw;
    } catch (const Error &error) {
      failIn(error);
    }
    if (impl.loader->position().epoch > progress.epoch)
      endEpoch();
  }
  history.stopped = impl.stopping;
  for (const CallbackPtr &callback : impl.callbacks)
    callback->on_train_end(model);
  return history;
}

} // namespace

History Model::fit(std::shared_ptr<const Dataset> dataset, FitOptions options,
                   At at) {
  return Training(*this, *impl, std::move(dataset), options, at).run();
}

} // namespace tinh
