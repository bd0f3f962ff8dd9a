//===- Callbacks.cpp - Early stopping and logs ----------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/autograd.h"
#include "tinh/distributed.h"
#include "tinh/fit.h"
#include "tinh/function.h"
#include "tinh/summary_writer.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdlib.h>

namespace tinh {

namespace {

/// The score of that name; an error that lists those there are if it is none.
double scoreOf(const Progress &progress, const std::string &name) {
  if (const double *score = find(progress.scores, name))
    return *score;
  std::string known;
  for (const auto &[score, value] : progress.scores)
    known += (known.empty() ? "" : ", ") + score;
  throw Error(TINH_INVALID_ARGUMENT, "early_stopping: there is no score '" +
                                         name + "'; there are " + known);
}

//===----------------------------------------------------------------------===//
// Early stopping
//===----------------------------------------------------------------------===//

class EarlyStopping final : public Callback {
public:
  explicit EarlyStopping(EarlyStoppingOptions options)
      : options(std::move(options)) {}

  /// Each call of fit has an end of its own. One that is resumed gets its state
  /// behind this.
  void on_train_begin(Model &) override {
    hasBest = false;
    epochsSince = 0;
    kept.clear();
  }
  void on_epoch_end(Model &model, const Progress &progress) override {
    double score = scoreOf(progress, options.monitor);
    double gain = options.maximize ? score - best : best - score;
    bool isBetter = !hasBest || gain > options.min_delta;
    if (isBetter && std::isfinite(score)) {
      hasBest = true;
      best = score;
      epochsSince = 0;
      if (options.restore_best)
        keep(model);
    } else {
      ++epochsSince;
    }
    if (has_ended())
      model.stop_training();
  }
  bool has_ended() const override {
    return epochsSince > 0 && epochsSince >= options.patience;
  }
  void on_train_end(Model &model) override {
    if (options.restore_best && !kept.empty() && epochsSince > 0)
      model.network().load_state_dict(kept);
  }

  /// "BEST EPOCHS".
  std::string state() const override {
    std::ostringstream text;
    text.precision(17);
    if (hasBest)
      text << best << ' ' << epochsSince;
    return text.str();
  }
  void set_state(const std::string &state) override {
    std::istringstream text(state);
    hasBest = static_cast<bool>(text >> best >> epochsSince);
    if (!hasBest)
      epochsSince = 0;
  }
  /// The parameters of the best epoch.
  StateDict tensors() const override { return kept; }
  void set_tensors(const StateDict &tensors) override { kept = tensors; }

private:
  void keep(Model &model) {
    NoGrad guard;
    kept.clear();
    for (const NamedTensor &entry : model.network().state_dict())
      kept.push_back({entry.name, entry.tensor.clone()});
  }

  EarlyStoppingOptions options;
  bool hasBest = false;
  double best = 0;
  int64_t epochsSince = 0;
  StateDict kept;
};

//===----------------------------------------------------------------------===//
// Logs
//===----------------------------------------------------------------------===//

class CsvLog final : public Callback {
public:
  explicit CsvLog(std::string path) : path(std::move(path)) {}

  void on_epoch_end(Model &, const Progress &progress) override {
    if (distributed::rank() != 0)
      return;
    if (!file.is_open())
      open();
    if (file.tellp() == 0) {
      file << "epoch";
      for (const auto &[name, value] : progress.scores)
        file << ',' << name;
      file << '\n';
    }
    file << progress.epoch;
    file.precision(9);
    for (const auto &[name, value] : progress.scores)
      file << ',' << value;
    file << std::endl;
    if (!file)
      throw Error(TINH_IO_ERROR,
                  "'" + path + "': cannot be written: " + std::strerror(errno));
    size = static_cast<uint64_t>(file.tellp());
  }
  /// The size of the file: rows that were written later, before training was
  /// interrupted, are written again.
  std::string state() const override { return std::to_string(size); }
  void set_state(const std::string &state) override {
    size = std::strtoull(state.c_str(), nullptr, 10);
  }

private:
  void open() {
    std::error_code none;
    if (std::filesystem::file_size(path, none) > size && !none)
      std::filesystem::resize_file(path, size, none);
    file.open(path, std::ios::app);
    file.seekp(0, std::ios::end);
  }

  std::string path;
  std::ofstream file;
  uint64_t size = 0;
};

/// Gone with what is in it when this is.
class TemporaryFolder {
public:
  TemporaryFolder() {
    path = (std::filesystem::temp_directory_path() / "tinh-XXXXXX").string();
    if (!::mkdtemp(path.data()))
      throw Error(TINH_IO_ERROR,
                  "'" + path + "': cannot be made: " + std::strerror(errno));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;

  std::string path;
};

class TensorBoardLog final : public Callback {
public:
  TensorBoardLog(std::string directory, TensorBoardOptions options)
      : directory(std::move(directory)), options(options) {}

  void on_train_begin(Model &model) override {
    if (distributed::rank() != 0)
      return;
    writer.emplace(directory);
    TemporaryFolder folder;
    std::string json = folder.path + "/network.json";
    model.network().eval();
    auto network = [&](Tensor x) {
      NoGrad guard;
      return model.network()(x);
    };
    function("network", network).save(json, model.example());
    writer->add_graph(json);
  }
  void on_epoch_end(Model &model, const Progress &progress) override {
    if (!writer)
      return;
    for (const auto &[name, value] : progress.scores)
      writer->add_scalar(tagOf(name), value, progress.epoch);
    int64_t every = options.histogram_epochs;
    if (every > 0 && progress.epoch % every == 0)
      for (const NamedTensor &entry : model.network().named_parameters())
        writer->add_histogram(entry.name, entry.tensor, progress.epoch);
    writer->flush();
  }
  void on_train_end(Model &) override { writer.reset(); }

private:
  /// Training's and validation's score in one chart.
  static std::string tagOf(const std::string &name) {
    return name.starts_with("val_") ? name.substr(4) + "/validation"
                                    : name + "/training";
  }

  std::string directory;
  TensorBoardOptions options;
  std::optional<SummaryWriter> writer;
};

} // namespace

CallbackPtr early_stopping(EarlyStoppingOptions options) {
  return std::make_shared<EarlyStopping>(std::move(options));
}

CallbackPtr csv_log(std::string path) {
  return std::make_shared<CsvLog>(std::move(path));
}

CallbackPtr tensorboard_log(std::string directory, TensorBoardOptions options) {
  return std::make_shared<TensorBoardLog>(std::move(directory), options);
}

} // namespace tinh
