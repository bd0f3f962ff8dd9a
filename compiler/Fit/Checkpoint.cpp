//===- Checkpoint.cpp - Files that training goes on from ------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors of a checkpoint are model.NAME (parameters and buffers),
// optimizer.NAME (its state_dict), scores, the sums of the epoch so far, and
// those of the callbacks, callback.0.NAME. Its metadata are text: epoch and
// batch of the next batch, the data that they are of, the step of the schedule,
// seed and counter of the random generators, and the state of the callbacks, in
// order.
//
//===----------------------------------------------------------------------===//
#include "compiler/Fit/Checkpoint.h"

#include "compiler/Eager/Tensor/Support.h"
#include "compiler/Fit/ModelImpl.h"
#include "tinh/autograd.h"
#include "tinh/distributed.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace tinh {

namespace {

constexpr std::string_view kModel = "model.", kOptimizer = "optimizer.";
constexpr const char *kScores = "scores", *kCallback = "callback.";

void append(StateDict &to, std::string_view prefix, const StateDict &state) {
  for (const NamedTensor &entry : state)
    to.push_back({std::string(prefix) + entry.name, entry.tensor});
}

/// Those whose names begin with `prefix`, without it.
StateDict part(const StateDict &state, std::string_view prefix) {
  StateDict result;
  for (const NamedTensor &entry : state)
    if (entry.name.starts_with(prefix))
      result.push_back({entry.name.substr(prefix.size()), entry.tensor});
  return result;
}

/// The metadata of a checkpoint that is read.
class Record {
public:
  Record(const Metadata &metadata, const std::string &path, At at)
      : metadata(metadata), path(path), at(at) {}

  const std::string &text(const std::string &key) const {
    auto found = metadata.find(key);
    if (found == metadata.end())
      eager::fail({"load_checkpoint", at}, "'", path,
                  "' is no checkpoint of a model: it has no \"", key,
                  "\" in its metadata");
    return found->second;
  }
  template <typename Number> Number number(const std::string &key) const {
    const std::string &from = text(key);
    Number value{};
    auto [end, error] =
        std::from_chars(from.data(), from.data() + from.size(), value);
    if (error != std::errc() || end != from.data() + from.size())
      eager::fail({"load_checkpoint", at}, "'", path, "': \"", key,
                  "\" should be a number, found \"", from, "\"");
    return value;
  }

private:
  const Metadata &metadata;
  const std::string &path;
  At at;
};

} // namespace

void Model::save_checkpoint(const std::string &path, At at) const {
  NoGrad guard;
  if (impl->loader)
    impl->requireFinite(); // Rather keep the file of better times.
  StateDict tensors;
  Metadata metadata;
  append(tensors, kModel, impl->network->state_dict(at));
  if (impl->optimizer)
    append(tensors, kOptimizer, impl->optimizer->state_dict());
  if (impl->trainSums)
    tensors.push_back({kScores, impl->trainSums->total()});
  auto position =
      impl->loader ? impl->loader->position() : DataLoader::Position();
  auto put = [&](const std::string &key, auto value) {
    metadata[key] = std::to_string(value);
  };
  put("epoch", position.epoch);
  put("batch", position.batch);
  put("schedule", impl->scheduler ? impl->scheduler->current_step() : 0);
  std::vector<Generator> generators = impl->network->generators();
  put("generators", generators.size());
  for (size_t i = 0; i < generators.size(); ++i) {
    put("generator." + std::to_string(i) + ".seed", generators[i].seed());
    put("generator." + std::to_string(i) + ".counter", generators[i].counter());
  }
  for (size_t i = 0; i < impl->callbacks.size(); ++i) {
    std::string name = kCallback + std::to_string(i);
    metadata[name] = impl->callbacks[i]->state();
    append(tensors, name + ".", impl->callbacks[i]->tensors());
  }
  metadata["data"] = impl->loader ? impl->data : "";
  if (distributed::rank() == 0)
    save_safetensors(path, tensors, metadata, at);
}

void Model::load_checkpoint(const std::string &path, At at) {
  NoGrad guard;
  impl->requireCompiled("load_checkpoint", at);
  Metadata metadata;
  StateDict tensors = load_safetensors(path, &metadata, at);
  Record record(metadata, path, at);
  DataLoader::Position position{record.number<int64_t>("epoch"),
                                record.number<int64_t>("batch")};
  if (impl->loader && !record.text("data").empty() &&
      record.text("data") != impl->data)
    eager::fail({"load_checkpoint", at}, "'", path, "' is of a training on ",
                record.text("data"), ", and this is on ", impl->data,
                "; go on with the same data and options");
  impl->network->load_state_dict(part(tensors, kModel), true, at);
  if (!impl->optimizer)
    impl->prepare(impl->example, at);
  impl->optimizer->load_state_dict(part(tensors, kOptimizer), at);
  if (impl->scheduler)
    impl->scheduler->set_step(record.number<int64_t>("schedule"));
  for (size_t i = 0; const Generator &generator : impl->network->generators()) {
    std::string name = "generator." + std::to_string(i++);
    generator.state()->seed = record.number<uint64_t>(name + ".seed");
    generator.state()->counter = record.number<uint64_t>(name + ".counter");
  }
  for (size_t i = 0; i < impl->callbacks.size(); ++i) {
    std::string name = kCallback + std::to_string(i);
    impl->callbacks[i]->set_state(record.text(name));
    impl->callbacks[i]->set_tensors(part(tensors, name + "."));
  }
  if (const Tensor *sums = find(tensors, kScores);
      sums && sums->shape() == impl->trainSums->tensor().shape())
    impl->trainSums->tensor().copy_(*sums);
  // They are of all ranks.
  if (impl->trainSums && distributed::rank() != 0)
    impl->trainSums->clear();
  impl->share();
  if (impl->loader)
    impl->loader->seek(position, at);
}

//===----------------------------------------------------------------------===//
// The callback
//===----------------------------------------------------------------------===//

namespace {

class Checkpoint final : public Callback {
public:
  Checkpoint(std::string path, CheckpointOptions options)
      : path(std::move(path)), options(options) {}

  void on_train_begin(Model &model) override {
    Tensor exists = tensor({static_cast<int64_t>(
        options.resume && std::filesystem::exists(path))});
    distributed::broadcast(exists);
    if (exists.item<int64_t>() != 0)
      model.load_checkpoint(path, At{});
    else
      model.save_checkpoint(path, At{}); // Rather fail before the first epoch.
  }
  void on_batch_end(Model &model, const Progress &progress) override {
    if (options.batches > 0 && progress.batch % options.batches == 0)
      model.save_checkpoint(path, At{});
  }
  void on_epoch_end(Model &model, const Progress &) override {
    model.save_checkpoint(path, At{});
  }

private:
  std::string path;
  CheckpointOptions options;
};

} // namespace

CallbackPtr checkpoint(std::string path, CheckpointOptions options) {
  return std::make_shared<Checkpoint>(std::move(path), options);
}

std::vector<CallbackPtr> checkpointsLast(std::vector<CallbackPtr> callbacks) {
  std::vector<CallbackPtr> checkpoints;
  std::erase_if(callbacks, [&](const CallbackPtr &callback) {
    bool isLast = std::dynamic_pointer_cast<Checkpoint>(callback) != nullptr;
    if (isLast)
      checkpoints.push_back(callback);
    return isLast;
  });
  callbacks.insert(callbacks.end(), checkpoints.begin(), checkpoints.end());
  return callbacks;
}

} // namespace tinh
