//===- training.cpp - Training with an artifact -----------------*- C++ -*-===//
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
#include "training.h"

#include "batch_runner.h"
#include "inputs.h"
#include "progress.h"

#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace tinh::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// How far a training is; what a checkpoint says beside the variables.
struct Position {
  uint64_t epoch = 0; ///< Epochs completed, and
  uint64_t step = 0;  ///< batches of the next one.
};

class Training {
public:
  Training(const SharedState &state, const TrainOptions &options)
      : state(state), ranks(state.ranks), options(options),
        steps(state.module, state.context, ranks, "train_step", "--data",
              options.data) {
    if (ranks.are_many() && !steps.computes_with_ranks())
      throw UserError("there are " + std::to_string(ranks.count()) +
                      " ranks, and the artifact trains alone; compile the "
                      "model with --data-parallel");
    if (options.seed)
      seed(*options.seed);
    const Dataset &data = steps.dataset();
    if (options.batch && *options.batch != data.batch_size())
      throw UserError("--batch " + std::to_string(*options.batch) +
                      ": the model was compiled for batches of " +
                      std::to_string(data.batch_size()) +
                      "; compile it again with another --shape");
    if (!options.validation.empty())
      validation.emplace(state.module, state.context, ranks, "evaluate",
                         "--validation", options.validation);
    compare();
  }

  void run() {
    if (options.resume)
      resume();
    state.share();
    if (!options.checkpoint.empty() && is_new_checkpoint())
      write_checkpoint(); // Rather fail before the first epoch.
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
  void seed(uint64_t number) {
    uint32_t variable = 0;
    if (tinh_module_find_variable(state.module.handle(), kGenerator, &variable))
      throw UserError("--seed: the model draws no random numbers");
    uint64_t begin[] = {number, /*counter=*/0};
    state.context.write_variable(variable, {begin, sizeof begin});
  }

  /// What ranks must have in common, so that they go through the same steps.
  void compare() const {
    if (!ranks.are_many())
      return;
    auto text = [](const std::optional<uint64_t> &number) {
      return number ? std::to_string(*number) : "none";
    };
    ranks.compare("--shuffle", text(options.shuffle));
    ranks.compare("--seed", text(options.seed));
    ranks.compare("--epochs", std::to_string(options.epochs));
    ranks.compare("--checkpoint-steps",
                  std::to_string(options.checkpoint_steps));
    auto given = [](bool is) { return is ? "given" : "none"; };
    ranks.compare("--checkpoint", given(!options.checkpoint.empty()));
    ranks.compare("--resume", given(options.resume));
    ranks.compare("--data", std::to_string(steps.dataset().checksum()));
    ranks.compare("--validation",
                  validation ? std::to_string(validation->dataset().checksum())
                             : "none");
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
            {"tinh.batch", std::to_string(steps.batch_size())},
            {"tinh.samples", std::to_string(data.num_samples())},
            {"tinh.shuffle",
             options.shuffle ? std::to_string(*options.shuffle) : "none"}};
  }

  /// Of what all ranks have done. For all at a time.
  void save() {
    steps.collect();
    write_checkpoint();
  }

  bool is_new_checkpoint() const {
    bool is_new = ranks.is_first() &&
                  !std::filesystem::is_regular_file(options.checkpoint);
    ranks.broadcast(buffer(&is_new, 1));
    return is_new;
  }

  void write_checkpoint() {
    if (!options.checkpoint.empty())
      state.save(options.checkpoint, metadata());
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

  /// Goes on from the checkpoint, if there is one. The first rank alone reads
  /// it: the others need not have the file.
  void resume() {
    struct {
      uint64_t exists, epoch, step;
    } found = {};
    if (ranks.is_first() && std::filesystem::exists(options.checkpoint)) {
      read_checkpoint();
      found = {1, position.epoch, position.step};
    }
    ranks.broadcast(buffer(&found, 1));
    position = {found.epoch, found.step};
    if (found.exists)
      state.load(options.checkpoint);
    else
      std::printf("there is no '%s': training from the beginning\n",
                  options.checkpoint.c_str());
  }

  /// All but the state. It must be of the same data, in the same order.
  void read_checkpoint() {
    Metadata found = TensorFile(options.checkpoint).metadata();
    Metadata expected = metadata();
    for (const char *key : {"tinh.batch", "tinh.samples", "tinh.shuffle"})
      if (found[key] != expected[key])
        cannot_resume(std::string("its ") + (key + std::strlen("tinh.")) +
                      " is " + (found[key].empty() ? "not known" : found[key]) +
                      ", and is " + expected[key] + " now");
    position.epoch = number(found["tinh.epoch"], UINT64_MAX);
    position.step = number(found["tinh.step"], steps.num_steps());
    const char *at = found["tinh.sums"].c_str();
    for (double &sum : steps.sums()) {
      char *end;
      sum = std::strtod(at, &end);
      if (end == at)
        cannot_resume("its metadata is damaged");
      at = end;
    }
  }

  void describe() const {
    const Dataset &data = steps.dataset();
    uint64_t left = data.num_samples() % steps.batch_size();
    std::printf("%" PRIu64 " samples, %" PRIu64 " batches of %" PRIu64,
                data.num_samples(), steps.num_steps(), steps.batch_size());
    if (ranks.are_many())
      std::printf(" on %u ranks", ranks.count());
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
    uint64_t count = steps.num_steps();
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
    uint64_t count = steps.num_steps();
    steps.collect();
    std::string text = steps.means();
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
    for (uint64_t step = 0; step < validation->num_steps(); ++step)
      validation->start(order, position.epoch, step);
    validation->finish();
    validation->collect();
    return validation->means();
  }

  const SharedState &state;
  const Ranks &ranks;
  const TrainOptions &options;
  BatchRunner steps;
  std::optional<BatchRunner> validation;
  Position position;
  uint64_t first_step = 0; ///< Of this epoch in this process.
  Clock::time_point began;
  Progress progress;
};

} // namespace

void train(const SharedState &state, const TrainOptions &options) {
  auto training = std::make_unique<Training>(state, options);
  try {
    training->run();
  } catch (const Error &error) {
    // Messages may still come to what its runs read and wrote.
    if (error.status() == TINH_COLLECTIVE_FAILED)
      training.release();
    throw;
  }
}

} // namespace tinh::tools
