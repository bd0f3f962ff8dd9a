//===- run.cpp - Runs of a function, and their times ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include "clock.h"
#include "command_line.h"
#include "input_source.h"
#include "inputs.h"
#include "list_module.h"
#include "output_folder.h"
#include "profile_page.h"
#include "profile_report.h"
#include "program.h"
#include "report.h"
#include "training.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tinh::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// The buffers of one run in flight.
struct Slot {
  explicit Slot(const std::vector<tinh_tensor_info_t> &tensors) {
    for (const tinh_tensor_info_t &tensor : tensors) {
      memory.push_back(allocate(tensor, "output"));
      outputs.push_back(buffer(memory.back()));
    }
  }
  std::vector<std::vector<char>> memory;
  std::vector<tinh_buffer_t> outputs;
  std::optional<Future> future;
  Clock::time_point begin, end;
};

/// The inputs of all runs. Those that --input does not give are from --inputs,
/// or random if there is neither.
struct Inputs {
  Inputs(const RunOptions &options,
         const std::vector<tinh_tensor_info_t> &tensors) {
    auto sources = parse_inputs(options.inputs, tensors);
    std::string others = options.other_inputs;
    if (others.empty() && options.inputs.empty() && !tensors.empty()) {
      others = "random";
      std::fprintf(stderr, "graph-run: the inputs are random: floats normal, "
                           "integers from 0 to 9; --input and --inputs give "
                           "others\n");
    }
    if (others.empty())
      check_inputs(sources, tensors);
    InputSource source(others);
    for (const tinh_tensor_info_t &tensor : tensors) {
      auto given = sources.find(tensor.name);
      memory.push_back(given != sources.end()
                           ? make_input(tensor, given->second)
                           : source.read(tensor));
    }
    for (std::vector<char> &bytes : memory)
      buffers.push_back(buffer(bytes));
  }

  std::vector<std::vector<char>> memory;
  std::vector<tinh_buffer_t> buffers;
};

/// Runs of a function with as many in flight as there are slots.
class Runner {
public:
  Runner(const Context &context, uint32_t function, const Inputs &inputs,
         std::vector<Slot> &slots)
      : context(context), function(function), inputs(inputs), slots(slots) {}

  /// Times in order of submission, each from submission to result.
  std::vector<double> run(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      Slot &slot = slots[i % slots.size()];
      if (i >= slots.size())
        finish(slot);
      start(slot);
    }
    uint32_t left =
        static_cast<uint32_t>(std::min<size_t>(count, slots.size()));
    for (uint32_t i = count - left; i < count; ++i)
      finish(slots[i % slots.size()]);
    return std::exchange(times, {});
  }

private:
  /// One run alone is computed on this thread, too.
  void start(Slot &slot) {
    slot.begin = Clock::now();
    if (slots.size() > 1) {
      slot.future.emplace(
          context.submit(inputs.buffers, slot.outputs, {}, function));
      return;
    }
    context.run(inputs.buffers, slot.outputs, function);
    slot.end = Clock::now();
  }

  void finish(Slot &slot) {
    if (slot.future) {
      slot.future->wait();
      slot.future.reset();
      slot.end = Clock::now();
    }
    times.push_back(
        std::chrono::duration<double, std::milli>(slot.end - slot.begin)
            .count());
  }

  const Context &context;
  const uint32_t function;
  const Inputs &inputs;
  std::vector<Slot> &slots;
  std::vector<double> times;
};

} // namespace

/// With what `options` say of its weights.
static Module load_module(const RunOptions &options) {
  Module module(options.artifact);
  if (options.verify_weights)
    module.verify_weights();
  if (options.load_weights.empty())
    return module;
  return module.with_weights(options.load_weights);
}

/// Throws UserError if the trace of a context that is gone could not be
/// written. No other call may have failed on this thread.
static void check_trace(const RunOptions &options) {
  if (!options.trace.empty() && *tinh_last_error())
    throw UserError(tinh_last_error());
}

/// Where the runs were, and in what memory.
static void add_device(Timings &timings, const tinh_context_info_t &context,
                       const tinh_function_info_t &function) {
  timings.arena_bytes = function.arena_size;
  if (context.uses_cuda) {
    timings.gpu = tinh::cuda_device_info(context.cuda_device).name;
    timings.device_arena_bytes = function.device_arena_size;
    if (context.cuda_libraries)
      timings.cuda_libraries = context.cuda_libraries;
  } else if (context.why_not_cuda) {
    timings.why_not_cuda = context.why_not_cuda;
    timings.arena_bytes = function.arena_size_without_gpu;
  }
}

/// As many runs as take about two seconds, if one takes so many milliseconds.
static uint32_t enough_runs(double milliseconds) {
  constexpr double kFewest = 10, kMost = 200, kMilliseconds = 2000;
  return static_cast<uint32_t>(
      std::clamp(kMilliseconds / milliseconds, kFewest, kMost));
}

/// The runs after the warm-up are those of the profile. All ranks make as many.
static std::vector<double> run_for_profile(const RunOptions &options,
                                           const Ranks &ranks,
                                           const Context &context,
                                           Runner &runner) {
  std::vector<double> times = runner.run(options.warmup);
  if (times.empty() && options.runs == 0)
    times = runner.run(1); // To know how long one takes.
  context.reset_profile();
  uint32_t runs = options.runs ? options.runs : enough_runs(times.back());
  ranks.broadcast({&runs, sizeof runs});
  std::vector<double> profiled = runner.run(runs);
  times.insert(times.end(), profiled.begin(), profiled.end());
  return times;
}

/// All runs, in a context of their own.
static Timings measure(const RunOptions &options, const Ranks &ranks,
                       const Module &module, uint32_t function,
                       const Inputs &inputs, std::vector<Slot> &slots) {
  Timings timings;
  {
    ContextOptions wanted = options.context();
    wanted.measure_cuda = true;
    Context context(module, wanted);
    if (!options.load_state.empty())
      context.load_state(options.load_state);
    std::optional<ProfilePage> page;
    if (is_page(options.profile))
      page.emplace(options.report, module, context);
    Runner runner(context, function, inputs, slots);
    std::vector<double> times =
        options.profile.empty()
            ? runner.run(options.warmup + options.runs)
            : run_for_profile(options, ranks, context, runner);
    if (!options.profile.empty())
      timings.profile =
          make_profile(module, context, function, measure_clock());
    if (!options.save_state.empty())
      context.save_state(options.save_state);
    if (page)
      page->write(options.profile, context, function, *timings.profile);
    timings.model = module.info().model;
    timings.threads = context.info().threads;
    timings.first_ms = times.front();
    timings.runs_ms.assign(times.begin() + options.warmup, times.end());
    add_device(timings, context.info(), module.function_info(function));
    // Steps that are looked at one by one are not measured.
    if (context.info().uses_cuda && !wanted.check_numerics)
      timings.gpu_ms = context.cuda_time();
  }
  check_trace(options);
  return timings;
}

bool is_for_ranks(const RunOptions &options) {
  if (options.train || options.list)
    return options.train;
  Module module(options.artifact);
  return module.function_info(module.find_function(options.function))
      .has_collectives;
}

std::string library_for_ranks(const RunOptions &options) {
  try {
    Module module(options.artifact);
    uint32_t function =
        module.find_function(options.train ? "train_step" : options.function);
    bool on_gpus = module.function_info(function).has_gpu_collectives &&
                   runs_on_gpu(module, options.of_context);
    return on_gpus ? Ranks::kNccl : "";
  } catch (const Error &) { // All ranks are told once they have joined.
    return "";
  }
}

/// Where a file of that name is written, as which links are followed.
static fs::path behind_links(fs::path path) {
  std::error_code error; // Whoever writes it says what is wrong.
  for (int links = 0; links < 40 && fs::is_symlink(path, error); ++links)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
}

/// Rather before the runs than after them. The first rank alone writes.
static void require_place_for_state(const RunOptions &options,
                                    const Ranks &ranks) {
  if (options.save_state.empty() || !ranks.is_first())
    return;
  fs::path path = behind_links(options.save_state);
  fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::string why;
  if (access((folder / ".").c_str(), W_OK) != 0)
    why = std::strerror(errno);
  else if (std::error_code error; fs::is_directory(path, error))
    why = std::strerror(EISDIR);
  if (!why.empty())
    throw UserError("cannot write '" + options.save_state + "': " + why);
}

void run(const RunOptions &options, const Ranks &ranks) {
  Module module = load_module(options);
  if (options.list)
    return options.json ? print_module_json(module.handle())
                        : print_module(module.handle());
  require_place_for_state(options, ranks);
  uint32_t function = module.find_function(options.function);
  auto outputs = module.outputs(function);
  Inputs inputs(options, module.inputs(function));
  std::optional<OutputFolder> folder; // Rather fail before the runs.
  if (!options.output_dir.empty())
    folder.emplace(options.output_dir, outputs);
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < options.in_flight; ++i)
    slots.emplace_back(outputs);
  Timings timings = measure(options, ranks, module, function, inputs, slots);
  uint32_t last = options.warmup + options.runs - 1;
  if (folder)
    folder->write(slots[last % slots.size()].outputs);
  if (is_page(options.profile) && !options.json)
    std::printf("%s: %s\n", options.profile.c_str(),
                "the profile, a page for a browser");
  else if (timings.profile && options.json)
    print_profile_json(*timings.profile);
  else if (timings.profile)
    print_profile(*timings.profile, options.profile);
  else if (options.json)
    print_json(timings);
  else
    print_timings(timings, options.percentiles);
}

void train(const RunOptions &options, const Ranks &ranks) {
  Module module = load_module(options);
  require_place_for_state(options, ranks);
  {
    Context context(module, options.context());
    SharedState state(module, context, ranks);
    for (auto [name, file] : {std::pair("--load-state", &options.load_state),
                              std::pair("--save-state", &options.save_state)})
      ranks.compare(name, file->empty() ? "none" : "given");
    if (!options.load_state.empty())
      state.load(options.load_state);
    if (const char *why = context.info().why_not_cuda)
      std::printf("not on a GPU: %s\n", why);
    train(state, options.training);
    if (!options.save_state.empty())
      state.save(options.save_state, {});
  }
  check_trace(options);
}

} // namespace tinh::tools
