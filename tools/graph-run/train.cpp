//===- train.cpp - Training with an artifact --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "train.h"

#include "dataset.h"
#include "inputs.h"
#include "progress.h"
#include "run.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

namespace tinh::tools {
namespace {

using Clock = std::chrono::steady_clock;

double scalar_of(const tinh_tensor_info_t &tensor, const char *bytes) {
  if (tensor.dtype == TINH_DTYPE_F64) {
    double value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Runs of a function over batches, two of them in flight: while one computes,
/// the next one's samples are gathered. Means of its outputs that are numbers,
/// the loss first.
class BatchRunner {
public:
  BatchRunner(const Module &module, const Context &context,
              const std::string &function, const std::string &option,
              const std::string &files)
      : context(context), function(module.find_function(function)),
        outputs(module.outputs(this->function)),
        data(option, read_files(option, files, module.inputs(this->function)),
             module.inputs(this->function)),
        totals(outputs.size()) {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].rank == 0 && (outputs[i].dtype == TINH_DTYPE_F32 ||
                                   outputs[i].dtype == TINH_DTYPE_F64))
        scalars.push_back(i);
    if (scalars.empty())
      throw UserError("the function " + function +
                      " has no loss, an f32 or f64 scalar, as its output");
    find_classes(module);
    for (Slot &slot : slots) {
      slot.inputs = data.make_batch();
      for (const tinh_tensor_info_t &output : outputs) {
        slot.memory.push_back(allocate(output, "output"));
        slot.outputs.push_back({slot.memory.back().data(), output.size});
      }
    }
  }

  BatchRunner(const BatchRunner &) = delete;
  /// Runs that have been started use its memory, also after an error.
  ~BatchRunner() { tinh_context_wait_all(context.handle()); }

  const Dataset &dataset() const { return data; }
  /// Sums of the outputs over the batches of an epoch so far.
  std::vector<double> &sums() { return totals; }

  /// Starts a run on batch `index`. `epoch` is for messages.
  void start(const std::vector<uint64_t> &order, uint64_t epoch,
             uint64_t index) {
    Slot &slot = slots[index % slots.size()];
    finish(slot);
    data.fill(order, index, slot.inputs);
    slot.epoch = epoch;
    slot.index = index;
    auto first =
        order.begin() + static_cast<ptrdiff_t>(index * data.batch_size());
    slot.samples.assign(first,
                        first + static_cast<ptrdiff_t>(data.batch_size()));
    slot.future.emplace(
        context.submit(slot.inputs.buffers, slot.outputs, {}, function));
  }

  /// Waits for what has been started.
  void finish() {
    if (slots[0].index > slots[1].index)
      std::swap(slots[0], slots[1]); // In their order, for equal sums.
    for (Slot &slot : slots)
      finish(slot);
  }

  /// "loss 0.25, accuracy 0.5": means over so many batches.
  std::string means(uint64_t count) const {
    std::string text;
    for (size_t i : scalars) {
      char number[40];
      std::snprintf(number, sizeof number, " %.6g",
                    totals[i] / static_cast<double>(count));
      text.append(text.empty() ? "" : ", ")
          .append(outputs[i].name)
          .append(number);
    }
    return text;
  }

private:
  struct Slot {
    Dataset::Batch inputs;
    std::vector<std::vector<char>> memory;
    std::vector<tinh_buffer_t> outputs;
    std::optional<Future> future;
    uint64_t epoch = 0, index = 0;
    std::vector<uint64_t> samples;
  };

  void finish(Slot &slot) {
    if (!slot.future)
      return;
    wait_for(slot);
    for (size_t i : scalars) {
      double value = scalar_of(outputs[i], slot.memory[i].data());
      if (i == scalars[0] && !std::isfinite(value))
        fail(slot,
             "the " + std::string(outputs[i].name) + " is " +
                 (std::isnan(value) ? "nan" : std::to_string(value)),
             "check the data, or train with a lower learning rate; "
             "--check-numerics names what gave the first such number");
      totals[i] += value;
    }
  }

  void wait_for(Slot &slot) {
    try {
      slot.future->wait();
    } catch (const Error &error) {
      if (error.status() != TINH_NOT_FINITE)
        throw;
      fail(slot, "a number is not finite", error.what());
    }
    slot.future.reset();
  }

  [[noreturn]] void fail(const Slot &slot, const std::string &what,
                         const std::string &advice) const {
    std::string label = wrong_label(slot);
    throw UserError(what + " in step " + std::to_string(slot.index + 1) +
                    " of epoch " + std::to_string(slot.epoch + 1) +
                    (label.empty() ? "" : ": " + label) + "; " + advice);
  }

  /// No kernel fails: for a label that is no class the loss is NaN, but for one
  /// that it ignores, which only the model knows.
  std::string wrong_label(const Slot &slot) const {
    if (!target)
      return "";
    const std::vector<char> &memory = slot.inputs.memory[*target];
    size_t width = sizeof(int64_t), count = memory.size() / width;
    for (size_t i = 0; i < count; ++i) {
      int64_t label;
      std::memcpy(&label, &memory[i * width], width);
      if (label != kIgnored && (label < 0 || label >= classes))
        return "the target of sample " +
               std::to_string(slot.samples[i * slot.samples.size() / count]) +
               " is " + std::to_string(label) +
               ", which is wrong unless it is the loss's ignore_index: the "
               "model has the classes 0 to " +
               std::to_string(classes - 1);
    }
    return "";
  }

  /// If the targets are classes, how many the model tells apart. The target is
  /// what a prediction does without.
  void find_classes(const Module &module) {
    uint32_t predict = 0, count = module.info().num_functions;
    while (predict < count &&
           std::string_view(module.function_info(predict).name) != "predict")
      ++predict;
    if (predict == count)
      return;
    std::set<std::string> others;
    for (const tinh_tensor_info_t &input : module.inputs(predict))
      others.insert(input.name);
    auto inputs = module.inputs(function);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!others.count(inputs[i].name) && inputs[i].dtype == TINH_DTYPE_I64)
        target = i;
    if (!target)
      return;
    tinh_tensor_info_t prediction = module.outputs(predict).at(0);
    if (prediction.rank == 0)
      return target.reset();
    classes = prediction.dims[prediction.rank == 1 ? 0 : 1];
  }

  const Context &context;
  const uint32_t function;
  const std::vector<tinh_tensor_info_t> outputs;
  const Dataset data;
  std::array<Slot, 2> slots;
  /// What losses ignore if they are not told otherwise.
  static constexpr int64_t kIgnored = -100;
  std::optional<size_t> target; ///< The input of classes, if there is one.
  int64_t classes = 0;
  std::vector<size_t> scalars; ///< The outputs that are summed.
  std::vector<double> totals;
};

/// How far a training is; what a checkpoint says beside the variables.
struct Position {
  uint64_t epoch = 0; ///< Epochs completed, and
  uint64_t step = 0;  ///< batches of the next one.
};

class Training {
public:
  Training(const Module &module, const Context &context,
           const TrainOptions &options)
      : context(context), options(options),
        steps(module, context, "train_step", "--data", options.data) {
    if (options.seed)
      seed(module, *options.seed);
    const Dataset &data = steps.dataset();
    if (options.batch && *options.batch != data.batch_size())
      throw UserError("--batch " + std::to_string(*options.batch) +
                      ": the model was compiled for batches of " +
                      std::to_string(data.batch_size()) +
                      "; compile it again with another --shape");
    if (!options.validation.empty())
      validation.emplace(module, context, "evaluate", "--validation",
                         options.validation);
  }

  void run() {
    if (options.resume)
      resume();
    if (!std::filesystem::is_regular_file(options.checkpoint))
      save(); // Rather fail before the first epoch.
    describe();
    while (position.epoch < options.epochs) {
      run_epoch();
      report_epoch();
      ++position.epoch;
      position.step = 0;
      steps.sums().assign(steps.sums().size(), 0);
      save();
    }
  }

private:
  /// Makes the generator of the model's random numbers begin with `number`.
  void seed(const Module &module, uint64_t number) {
    uint32_t variable = 0;
    if (tinh_module_find_variable(module.handle(), "random.generator",
                                  &variable))
      throw UserError("--seed: the model draws no random numbers");
    uint64_t state[] = {number, /*counter=*/0};
    context.write_variable(variable, {state, sizeof state});
  }

  Metadata metadata() {
    const Dataset &data = steps.dataset();
    std::string sums;
    for (double sum : steps.sums()) {
      char text[40];
      std::snprintf(text, sizeof text, "%a", sum); // Exact.
      sums.append(sums.empty() ? "" : " ").append(text);
    }
    return {{"tinh.epoch", std::to_string(position.epoch)},
            {"tinh.step", std::to_string(position.step)},
            {"tinh.sums", sums},
            {"tinh.batch", std::to_string(data.batch_size())},
            {"tinh.samples", std::to_string(data.num_samples())},
            {"tinh.shuffle",
             options.shuffle ? std::to_string(*options.shuffle) : "none"}};
  }

  void save() {
    if (!options.checkpoint.empty())
      context.save_state(options.checkpoint, metadata());
  }

  [[noreturn]] void cannot_resume(const std::string &why) const {
    throw UserError("cannot resume from '" + options.checkpoint + "': " + why);
  }

  /// A number of at most `limit` in the metadata of the checkpoint.
  uint64_t number(const std::string &text, uint64_t limit) const {
    uint64_t value = 0;
    const char *end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || at != end || value > limit)
      cannot_resume("its metadata is damaged");
    return value;
  }

  /// Goes on from the checkpoint, if there is one, which must be of the same
  /// data, in the same order.
  void resume() {
    if (!std::filesystem::exists(options.checkpoint)) {
      std::printf("there is no '%s': training from the beginning\n",
                  options.checkpoint.c_str());
      return;
    }
    Metadata found = TensorFile(options.checkpoint).metadata();
    Metadata expected = metadata();
    for (const char *key : {"tinh.batch", "tinh.samples", "tinh.shuffle"})
      if (found[key] != expected[key])
        cannot_resume(std::string("its ") + (key + std::strlen("tinh.")) +
                      " is " + (found[key].empty() ? "not known" : found[key]) +
                      ", and is " + expected[key] + " now");
    position.epoch = number(found["tinh.epoch"], UINT64_MAX);
    position.step = number(found["tinh.step"], steps.dataset().num_batches());
    const char *at = found["tinh.sums"].c_str();
    for (double &sum : steps.sums()) {
      char *end;
      sum = std::strtod(at, &end);
      if (end == at)
        cannot_resume("its metadata is damaged");
      at = end;
    }
    context.load_state(options.checkpoint);
  }

  void describe() const {
    const Dataset &data = steps.dataset();
    uint64_t left = data.num_samples() % data.batch_size();
    std::printf("%" PRIu64 " samples, %" PRIu64 " batches of %" PRIu64,
                data.num_samples(), data.num_batches(), data.batch_size());
    if (left)
      std::printf(", %" PRIu64 " left out of each epoch", left);
    std::printf("\n");
    std::fflush(stdout);
  }

  void run_epoch() {
    std::vector<uint64_t> order =
        steps.dataset().order(options.shuffle, position.epoch);
    began = Clock::now();
    first_step = position.step;
    uint64_t count = steps.dataset().num_batches();
    std::string what = epoch_text() + ": step";
    for (uint64_t step = position.step; step < count;) {
      steps.start(order, position.epoch, step);
      position.step = ++step;
      if (options.checkpoint_steps && step < count &&
          step % options.checkpoint_steps == 0) {
        steps.finish();
        save();
      }
      progress.show(what, step, count);
    }
    steps.finish();
  }

  /// "epoch 2 of 10"
  std::string epoch_text() const {
    return "epoch " + std::to_string(position.epoch + 1) + " of " +
           std::to_string(options.epochs);
  }

  void report_epoch() {
    double seconds =
        std::chrono::duration<double>(Clock::now() - began).count();
    uint64_t count = steps.dataset().num_batches();
    std::string text = steps.means(count);
    if (validation)
      text += "; validation " + evaluate();
    auto done = static_cast<double>(
        std::max<uint64_t>(count - std::min(count, first_step), 1));
    progress.erase();
    std::printf("%s: %s (%.3f ms a step)\n", epoch_text().c_str(), text.c_str(),
                1000 * seconds / done);
    std::fflush(stdout);
  }

  std::string evaluate() {
    std::vector<uint64_t> order = validation->dataset().order({}, 0);
    validation->sums().assign(validation->sums().size(), 0);
    uint64_t count = validation->dataset().num_batches();
    for (uint64_t batch = 0; batch < count; ++batch)
      validation->start(order, position.epoch, batch);
    validation->finish();
    return validation->means(count);
  }

  const Context &context;
  const TrainOptions &options;
  BatchRunner steps;
  std::optional<BatchRunner> validation;
  Position position;
  uint64_t first_step = 0; ///< Of this epoch in this process.
  Clock::time_point began;
  Progress progress;
};

} // namespace

void train(const RunOptions &options) {
  Module module = load_module(options);
  {
    Context context(module, options.context());
    if (!options.load_state.empty())
      context.load_state(options.load_state);
    if (const char *why = context.info().why_not_cuda)
      std::printf("not on a GPU: %s\n", why);
    Training(module, context, options.training).run();
    if (!options.save_state.empty())
      context.save_state(options.save_state);
  }
  check_trace(options);
}

} // namespace tinh::tools
