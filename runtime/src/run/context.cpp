//===- context.cpp - What runs a module's functions -------------*- C++ -*-===//
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
#include "run/context.h"

#include <algorithm>

namespace tinh::runtime {

tinh_context_options_t Context::default_options() {
  tinh_context_options_t options = {};
  options.max_in_flight = 4;
  options.spin_us = -1;
  return options;
}

Context::Context(std::shared_ptr<const Module> module,
                 const tinh_context_options_t &options)
    : resources(std::make_unique<Resources>(std::move(module), options)),
      execution(std::make_unique<Execution>(*resources)),
      runs(*resources, *execution) {}

tinh_context_info_t Context::info() const {
  const tinh_context_options_t &options = resources->options;
  auto text = [](const std::string &lines) {
    return lines.empty() ? nullptr : lines.c_str();
  };
  tinh_context_info_t info = {};
  info.threads = options.threads;
  info.max_in_flight = options.max_in_flight;
  info.arena_size = resources->arena_size;
  info.num_arenas = static_cast<uint32_t>(resources->arenas.size());
  info.scratch_size = resources->scratch_stride * options.threads;
  info.uses_cuda = resources->gpu != nullptr;
  info.cuda_device = options.cuda_device;
  info.why_not_cuda = text(resources->why_not_cuda);
  info.cuda_libraries = text(resources->cuda_libraries);
  info.device_arena_size = resources->device_arena_size;
  return info;
}

double Context::cuda_time() const {
  double time = resources->last_cuda_time;
  if (time < 0)
    throw_error(TINH_INVALID_ARGUMENT,
                {"no run of the context has been measured on a GPU; set "
                 "measure_cuda, and cuda_stream to NULL, and run"});
  return time;
}

void Context::check_memory(uint32_t function,
                           const Arguments &arguments) const {
  const Program &program = resources->programs[function];
  if (!resources->gpu)
    return;
  auto wrong = std::ranges::find_if(program.host_arguments(), [&](auto &entry) {
    bool of_state = arguments.on_state &&
                    program.tensor(entry.first).variable != TINH_NOT_VARIABLE;
    return !of_state &&
           kind_of(arguments.pointers[entry.first]) == MemoryKind::device;
  });
  if (wrong == program.host_arguments().end())
    return;
  auto [argument, step] = *wrong;
  bool is_input = argument < program.function().num_inputs;
  throw_error(TINH_INVALID_ARGUMENT,
              {is_input ? "input '" : "output '", program.tensor(argument).name,
               "' of '", program.function().name,
               "' lies in GPU memory, but step ", step,
               ", which the CPU does, ", (is_input ? "reads" : "writes"),
               " it; give memory of the host"});
}

void Context::with_state(const std::function<void(State &)> &use) {
  runs.while_idle([&] {
    if (resources->ranks)
      resources->ranks->require_whole();
    use(*resources->variables);
  });
}

std::shared_ptr<Run>
Context::submit(uint32_t function, Arguments arguments,
                const std::vector<std::shared_ptr<Future>> &wait_for) {
  auto run =
      std::make_shared<Run>(shared_from_this(), function, std::move(arguments));
  runs.submit(run, wait_for);
  return run;
}

void Context::require_measured() const {
  if (!resources->options.measure_steps)
    throw_error(TINH_INVALID_ARGUMENT,
                {"the context measures no steps; set measure_steps in its "
                 "options"});
}

std::shared_ptr<const Profile> Context::profile(uint32_t function) {
  require_measured();
  module().function(function); // Throws if there is none.
  std::shared_ptr<const Profile> result;
  with_state([&](State &) {
    result = profiles.get(module().artifact(), resources->programs[function],
                          *resources->trace, runs.num_runs());
  });
  return result;
}

void Context::reset_profile() {
  require_measured();
  with_state([&](State &) {
    profiles.forget(runs.num_runs());
    resources->trace->forget();
  });
}

/// Its threads are in another process, and who held its locks, too: nothing of
/// what has to do with them is touched any more, not even to be destroyed.
void Context::abandon() {
  kept = shared_from_this();
  resources->free_memory();
}

void Context::shut_down() {
  if (!runs.is_in_this_process())
    return abandon();
  runs.close();
  execution.reset();
  try {
    if (resources->trace)
      resources->trace->write(module().artifact());
  } catch (const std::exception &error) {
    set_last_error(TINH_IO_ERROR, error.what());
  }
  if (resources->ranks && resources->ranks->are_broken()) {
    for (const Arena &arena : resources->arenas)
      if (arena.device)
        arena.device->abandon();
    return keep_for_ever(shared_from_this());
  }
  // Futures may still refer to this object, but not to its memory.
  profiles = {};
  resources.reset();
}

} // namespace tinh::runtime
