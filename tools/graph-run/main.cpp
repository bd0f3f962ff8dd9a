//===- main.cpp - graph-run: runs an artifact from the command line -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads an artifact, fills its inputs, runs it as often as asked, and writes
// outputs and times.
//
//===----------------------------------------------------------------------===//
#include "command_line.h"
#include "inputs.h"
#include "npy.h"
#include "report.h"
#include "train.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

using namespace tinh::tools;

namespace {

struct Options {
  std::string artifact;
  std::string function = "main";
  std::vector<std::string> inputs;
  std::string output_dir;
  std::string trace;
  std::string load_weights, load_state, save_state;
  TrainOptions training;
  uint32_t threads = 0;
  uint32_t runs = 1;
  uint32_t warmup = 0;
  uint32_t in_flight = 1;
  bool list = false;
  bool train = false;
  bool percentiles = false;
  bool json = false;
};

/// The runtime's defect, not the user's.
struct InternalError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Release {
  void operator()(tinh_module_t *module) const { tinh_module_release(module); }
  void operator()(tinh_context_t *context) const {
    tinh_context_release(context);
  }
  void operator()(tinh_future_t *future) const { tinh_future_release(future); }
};

template <typename T> using Handle = std::unique_ptr<T, Release>;
using Clock = std::chrono::steady_clock;

/// The buffers of one run in flight.
struct Slot {
  std::vector<std::vector<char>> memory;
  std::vector<tinh_buffer_t> outputs;
  Handle<tinh_future_t> future;
  Clock::time_point begin, end;
};

} // namespace

static void check(tinh_status_t status) {
  if (status == TINH_INTERNAL)
    throw InternalError(tinh_last_error());
  if (status != TINH_OK)
    throw UserError(tinh_last_error());
}

static double milliseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

static std::vector<tinh_tensor_info_t>
tensors_of(const tinh_module_t *module, uint32_t function, uint32_t count,
           decltype(&tinh_module_input_info) get) {
  std::vector<tinh_tensor_info_t> tensors(count);
  for (uint32_t i = 0; i < count; ++i)
    check(get(module, function, i, &tensors[i]));
  return tensors;
}

static void wait_for(Slot &slot) {
  check(tinh_future_wait(slot.future.get()));
  slot.future.reset();
}

/// Runs once to its end, on this thread too.
static void run_alone(tinh_context_t *context, uint32_t function,
                      const std::vector<tinh_buffer_t> &inputs, Slot &slot) {
  slot.begin = Clock::now();
  check(tinh_context_run(
      context, function, inputs.data(), static_cast<uint32_t>(inputs.size()),
      slot.outputs.data(), static_cast<uint32_t>(slot.outputs.size())));
  slot.end = Clock::now();
}

static void submit(tinh_context_t *context, uint32_t function,
                   const std::vector<tinh_buffer_t> &inputs, Slot &slot) {
  slot.begin = Clock::now();
  tinh_future_t *future = nullptr;
  check(tinh_context_submit(
      context, function, inputs.data(), static_cast<uint32_t>(inputs.size()),
      slot.outputs.data(), static_cast<uint32_t>(slot.outputs.size()), nullptr,
      0, &future));
  slot.future.reset(future);
}

/// Runs `count` times with as many in flight as there are slots; times in order
/// of submission, each from submission to result.
static std::vector<double> run_many(tinh_context_t *context, uint32_t function,
                                    const std::vector<tinh_buffer_t> &inputs,
                                    std::vector<Slot> &slots, uint32_t count) {
  std::vector<double> times;
  auto finish = [&](Slot &slot) {
    if (slot.future) {
      wait_for(slot);
      slot.end = Clock::now();
    }
    times.push_back(milliseconds(slot.begin, slot.end));
  };
  for (uint32_t i = 0; i < count; ++i) {
    Slot &slot = slots[i % slots.size()];
    if (i >= slots.size())
      finish(slot);
    if (slots.size() == 1)
      run_alone(context, function, inputs, slot);
    else
      submit(context, function, inputs, slot);
  }
  uint32_t left = std::min<uint32_t>(count, slots.size());
  for (uint32_t i = count - left; i < count; ++i)
    finish(slots[i % slots.size()]);
  return times;
}

static void make_directory(const std::string &directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    throw UserError("cannot make the directory '" + directory +
                    "': " + error.message());
}

static void write_outputs(const std::string &directory,
                          const std::vector<tinh_tensor_info_t> &tensors,
                          const Slot &slot) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string name = tensors[i].name;
    std::replace(name.begin(), name.end(), '/', '_');
    std::string message;
    if (!write_npy(directory + "/" + name + ".npy", tensors[i].dtype,
                   {tensors[i].dims, tensors[i].dims + tensors[i].rank},
                   slot.memory[i].data(), slot.memory[i].size(), &message))
      throw UserError(message);
  }
}

static Handle<tinh_context_t> make_context(const Options &options,
                                           const tinh_module_t *module) {
  tinh_context_options_t wanted;
  tinh_context_options_init(&wanted);
  wanted.threads = options.threads;
  wanted.max_in_flight = options.in_flight;
  if (!options.trace.empty())
    wanted.trace_path = options.trace.c_str();
  tinh_context_t *context = nullptr;
  check(tinh_context_create(module, &wanted, &context));
  return Handle<tinh_context_t>(context);
}

static std::vector<Slot>
make_slots(uint32_t count, const std::vector<tinh_tensor_info_t> &outputs) {
  std::vector<Slot> slots(count);
  for (Slot &slot : slots)
    for (const tinh_tensor_info_t &tensor : outputs) {
      slot.memory.emplace_back(tensor.size);
      slot.outputs.push_back({slot.memory.back().data(), tensor.size});
    }
  return slots;
}

/// Trains, with the C++ wrapper.
static void run_training(const Options &options) {
  tinh::Module module(options.artifact);
  tinh::ContextOptions wanted;
  wanted.threads = options.threads;
  if (!options.trace.empty())
    wanted.trace_path = options.trace.c_str();
  tinh::Context context(module, wanted);
  if (!options.load_state.empty())
    context.load_state(options.load_state);
  train(module, context, options.training);
  if (!options.save_state.empty())
    context.save_state(options.save_state);
}

static Handle<tinh_module_t> load(const Options &options) {
  tinh_module_t *loaded = nullptr;
  check(tinh_module_load(options.artifact.c_str(), &loaded));
  Handle<tinh_module_t> module(loaded);
  if (options.load_weights.empty())
    return module;
  check(tinh_module_with_weights(module.get(), options.load_weights.c_str(),
                                 &loaded));
  return Handle<tinh_module_t>(loaded);
}

static void run(const Options &options) {
  if (options.train)
    return run_training(options);
  Handle<tinh_module_t> module = load(options);
  if (options.list)
    return print_module(module.get());

  uint32_t index = 0;
  check(tinh_module_find_function(module.get(), options.function.c_str(),
                                  &index));
  tinh_function_info_t function;
  check(tinh_module_function_info(module.get(), index, &function));
  auto inputs = tensors_of(module.get(), index, function.num_inputs,
                           tinh_module_input_info);
  auto outputs = tensors_of(module.get(), index, function.num_outputs,
                            tinh_module_output_info);

  auto sources = parse_inputs(options.inputs, inputs);
  std::vector<std::vector<char>> contents;
  std::vector<tinh_buffer_t> buffers;
  for (const tinh_tensor_info_t &tensor : inputs) {
    contents.push_back(make_input(tensor, sources[tensor.name]));
    buffers.push_back({contents.back().data(), contents.back().size()});
  }

  if (!options.output_dir.empty())
    make_directory(options.output_dir); // Rather fail before the runs.
  // Before the context, which waits for runs in flight, also after an error.
  std::vector<Slot> slots = make_slots(options.in_flight, outputs);
  Handle<tinh_context_t> context = make_context(options, module.get());
  if (!options.load_state.empty())
    check(tinh_context_load_state(context.get(), options.load_state.c_str()));
  uint32_t total = options.warmup + options.runs;
  std::vector<double> times =
      run_many(context.get(), index, buffers, slots, total);

  if (!options.save_state.empty())
    check(tinh_context_save_state(context.get(), options.save_state.c_str(),
                                  nullptr, 0));
  tinh_module_info_t about;
  tinh_context_info_t context_info;
  check(tinh_module_info(module.get(), &about));
  check(tinh_context_info(context.get(), &context_info));
  Timings timings;
  timings.model = about.model;
  timings.threads = context_info.threads;
  timings.first_ms = times.front();
  timings.runs_ms.assign(times.begin() + options.warmup, times.end());
  timings.arena_bytes = function.arena_size;
  context
      .reset(); // Writes the trace. No call has failed on this thread so far.
  if (*tinh_last_error())
    throw UserError(tinh_last_error());

  if (!options.output_dir.empty())
    write_outputs(options.output_dir, outputs,
                  slots[(total - 1) % slots.size()]);
  if (options.json)
    print_json(timings);
  else
    print_timings(timings, options.percentiles);
}

static void define_options(CLI::App &app, Options &options) {
  app.add_option("ARTIFACT", options.artifact,
                 "the .so that graph-compile wrote")
      ->required();
  app.add_flag("--list", options.list,
               "print functions, inputs, outputs and sizes, and run nothing");
  app.add_option("--function", options.function, "the function to run")
      ->capture_default_str();
  app.add_option("--input", options.inputs,
                 "NAME=FILE.npy, NAME=random or NAME=zeros, for each input")
      ->type_name("NAME=SOURCE");
  app.add_option("--output-dir", options.output_dir,
                 "write each output to DIR/NAME.npy")
      ->type_name("DIR");
  add_threads(app, &options.threads);
  add_runs(app, &options.runs);
  app.add_option("--warmup", options.warmup, "runs before those")
      ->check(CLI::Range(0, 100000000))
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight, "runs in flight at a time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--percentiles", options.percentiles,
               "print minimum, percentiles and maximum");
  app.add_option("--trace", options.trace,
                 "write a trace for chrome://tracing or Perfetto")
      ->type_name("FILE");
  app.add_flag("--json", options.json, "print the times as JSON");
}

static void define_training(CLI::App &app, Options &options) {
  TrainOptions &training = options.training;
  CLI::Option *weights =
      app.add_option("--load-weights", options.load_weights,
                     "take the weights from a .safetensors file; for artifacts "
                     "compiled with --loadable-weights")
          ->type_name("FILE");
  app.add_option("--load-state", options.load_state,
                 "take all variables from a .safetensors file first")
      ->type_name("FILE");
  app.add_option("--save-state", options.save_state,
                 "write all variables to a .safetensors file in the end")
      ->type_name("FILE");
  CLI::Option *train = app.add_flag(
      "--train", options.train,
      "train with the functions train_step and evaluate of the artifact");
  train->excludes(weights);
  auto only_then = [&](CLI::Option *option) { return option->needs(train); };
  CLI::Option *data =
      app.add_option("--data", training.data,
                     "arrays of samples, one for each input of train_step")
          ->type_name("X.npy,Y.npy");
  train->needs(only_then(data));
  only_then(app.add_option("--validation", training.validation,
                           "the same, to evaluate after each epoch"))
      ->type_name("X.npy,Y.npy");
  only_then(app.add_option("--epochs", training.epochs,
                           "how often to go through the samples, in all"))
      ->capture_default_str();
  only_then(app.add_option("--batch", training.batch,
                           "samples in a step; what the artifact was compiled "
                           "for, or an error"));
  only_then(app.add_option("--shuffle", training.shuffle,
                           "another order of the samples in each epoch, from "
                           "a seed"))
      ->type_name("SEED");
  CLI::Option *checkpoint =
      only_then(app.add_option("--checkpoint", training.checkpoint,
                               "write variables and position to a .safetensors "
                               "file after each epoch"))
          ->type_name("FILE");
  only_then(app.add_option("--checkpoint-steps", training.checkpoint_steps,
                           "write it also after so many steps"))
      ->needs(checkpoint);
  only_then(app.add_flag("--resume", training.resume,
                         "go on from the checkpoint, if it is there"))
      ->needs(checkpoint);
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Runs a compiled model.", "graph-run");
  define_options(app, options);
  define_training(app, options);
  if (auto done = parse(app, argc, argv))
    return *done;
  try {
    run(options);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw UserError("cannot write to the standard output");
    return exit_success;
  } catch (const tinh::Error &error) {
    bool internal = error.status() == TINH_INTERNAL;
    std::fprintf(stderr, "graph-run: %serror: %s\n",
                 internal ? "internal " : "", error.what());
    return internal ? exit_internal : exit_wrong_input;
  } catch (const UserError &error) {
    std::fprintf(stderr, "graph-run: error: %s\n", error.what());
    return exit_wrong_input;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "graph-run: internal error: %s\n", error.what());
    return exit_internal;
  }
}
