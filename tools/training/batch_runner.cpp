//===- batch_runner.cpp - Runs over batches of samples ----------*- C++ -*-===//
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
#include "batch_runner.h"

#include "inputs.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>

namespace tinh::tools {

/// What losses ignore if they are not told otherwise.
static constexpr int64_t kIgnored = -100;

static double scalar_of(const tinh_tensor_info_t &tensor, const char *bytes) {
  if (tensor.dtype == TINH_DTYPE_F64) {
    double value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

BatchRunner::BatchRunner(const Module &module, const Context &context,
                         const Ranks &ranks, const std::string &function,
                         const std::string &option, const std::string &files)
    : context(context), ranks(ranks), function(module.find_function(function)),
      outputs(module.outputs(this->function)),
      data(option, read_files(option, files, module.inputs(this->function)),
           module.inputs(this->function)),
      is_common(module.function_info(this->function).has_collectives),
      totals(outputs.size()), own(outputs.size()) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].rank == 0 && (outputs[i].dtype == TINH_DTYPE_F32 ||
                                 outputs[i].dtype == TINH_DTYPE_F64))
      scalars.push_back(i);
  if (scalars.empty())
    throw UserError("the function " + function +
                    " has no loss, an f32 or f64 scalar, as its output");
  if (num_steps() == 0)
    throw UserError(option + ": there are " +
                    std::to_string(data.num_samples()) +
                    " samples, and the ranks take " +
                    std::to_string(batch_size()) + " at a time");
  find_classes(module);
  for (Slot &slot : slots) {
    slot.inputs = data.make_batch();
    for (const tinh_tensor_info_t &output : outputs) {
      slot.memory.push_back(allocate(output, "output"));
      slot.outputs.push_back({slot.memory.back().data(), output.size});
    }
  }
}

uint64_t BatchRunner::batch_size() const {
  return is_common ? data.batch_size() * ranks.count() : data.batch_size();
}

uint64_t BatchRunner::num_steps() const {
  return data.num_samples() / batch_size();
}

void BatchRunner::start(const std::vector<uint64_t> &order, uint64_t epoch,
                        uint64_t step) {
  if (!is_common && step % ranks.count() != ranks.rank())
    return;
  Slot &slot = slots[num_started++ % slots.size()];
  finish(slot);
  uint64_t batch = is_common ? step * ranks.count() + ranks.rank() : step;
  data.fill(order, batch, slot.inputs);
  slot.epoch = epoch;
  slot.step = step;
  auto first =
      order.begin() + static_cast<ptrdiff_t>(batch * data.batch_size());
  slot.samples.assign(first, first + static_cast<ptrdiff_t>(data.batch_size()));
  slot.future.emplace(
      context.submit(slot.inputs.buffers, slot.outputs, {}, function));
}

void BatchRunner::finish() {
  size_t first = slots[0].step > slots[1].step ? 1 : 0;
  finish(slots[first]); // In their order, for equal sums.
  finish(slots[1 - first]);
}

void BatchRunner::collect() {
  if (!ranks.are_many())
    return;
  ranks.sum(own);
  for (size_t i = 0; i < own.size(); ++i)
    totals[i] += own[i] / ranks.count();
  own.assign(own.size(), 0);
}

std::string BatchRunner::means() const {
  // Of steps that are not common each rank has its share.
  double count = static_cast<double>(num_steps());
  if (!is_common)
    count /= ranks.count();
  std::string text;
  for (size_t i : scalars) {
    char number[40];
    std::snprintf(number, sizeof number, " %.6g", totals[i] / count);
    text.append(text.empty() ? "" : ", ")
        .append(outputs[i].name)
        .append(number);
  }
  return text;
}

void BatchRunner::finish(Slot &slot) {
  if (!slot.future)
    return;
  wait_for(slot);
  std::vector<double> &into = ranks.are_many() ? own : totals;
  for (size_t i : scalars) {
    double value = scalar_of(outputs[i], slot.memory[i].data());
    if (i == scalars[0] && !std::isfinite(value))
      fail(slot,
           "the " + std::string(outputs[i].name) + " is " +
               (std::isnan(value) ? "nan" : std::to_string(value)),
           "check the data, or train with a lower learning rate; "
           "--check-numerics names what gave the first such number");
    into[i] += value;
  }
}

void BatchRunner::wait_for(Slot &slot) {
  try {
    slot.future->wait();
  } catch (const Error &error) {
    if (error.status() != TINH_NOT_FINITE)
      throw;
    fail(slot, "a number is not finite", error.what());
  }
  slot.future.reset();
}

void BatchRunner::fail(const Slot &slot, const std::string &what,
                       const std::string &advice) const {
  std::string label = wrong_label(slot);
  throw UserError(what + " in step " + std::to_string(slot.step + 1) +
                  " of epoch " + std::to_string(slot.epoch + 1) +
                  (label.empty() ? "" : ": " + label) + "; " + advice);
}

/// No kernel fails: for a label that is no class the loss is NaN, but for one
/// that it ignores, which only the model knows.
std::string BatchRunner::wrong_label(const Slot &slot) const {
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
void BatchRunner::find_classes(const Module &module) {
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

} // namespace tinh::tools
