//===- resources.cpp - What runs of a context share -------------*- C++ -*-===//
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
#include "resources/resources.h"

#include "device/choose_device.h"
#include "shared/cpu_count.h"
#include "support/error.h"

#include <algorithm>

namespace tinh::runtime {

static constexpr uint32_t kMaxThreads = 4096;
/// About twice what waking a sleeping thread costs: less loses on free CPUs,
/// more burns the time of a CPU that workers have come to share.
static constexpr std::chrono::microseconds kDefaultSpin{50};

/// What `options` ask for, in full. Throws INVALID_ARGUMENT.
static tinh_context_options_t checked(tinh_context_options_t options) {
  if (options.threads == 0)
    options.threads =
        std::max(1u, static_cast<uint32_t>(usable_cpus(options.collectives)));
  if (options.threads > kMaxThreads)
    throw_error(TINH_INVALID_ARGUMENT, {"a context has at most ", kMaxThreads,
                                        " threads, not ", options.threads});
  if (options.max_in_flight == 0)
    throw_error(TINH_INVALID_ARGUMENT, {"max_in_flight must be at least 1"});
  if (options.check_numerics < TINH_CHECK_NOTHING ||
      options.check_numerics > TINH_CHECK_NANS_AND_INFINITIES)
    throw_error(TINH_INVALID_ARGUMENT,
                {"check_numerics is none of the values of "
                 "tinh_check_numerics_t"});
  if (options.cuda_stream)
    options.cuda_device = device_api().stream_device(*options.cuda_stream);
  return options;
}

static std::chrono::microseconds
spin_time(const tinh_context_options_t &options) {
  if (options.spin_us >= 0)
    return std::chrono::microseconds(options.spin_us);
  bool has_cpus = options.threads <= usable_cpus(options.collectives);
  return has_cpus ? kDefaultSpin : std::chrono::microseconds(0);
}

Resources::Resources(std::shared_ptr<const Module> loaded,
                     const tinh_context_options_t &wanted)
    : options(checked(wanted)), spin(spin_time(options)) {
  if (options.trace_path || options.measure_steps)
    trace.emplace(options.trace_path ? options.trace_path : "",
                  options.threads);
  ChosenDevice chosen = choose_device(loaded, options);
  module = std::move(chosen.module);
  gpu = std::move(chosen.gpu);
  why_not_cuda = std::move(chosen.why_not_cuda);
  make_programs();
  make_arenas();
}

/// Of each thread, in bytes.
static uint64_t scratch_size(const tinh_artifact_t &artifact) {
  uint64_t scratch = 0;
  for (uint32_t i = 0; i < artifact.num_kernels; ++i)
    if (artifact.kernels[i].device == TINH_DEVICE_CPU)
      scratch = std::max(scratch, artifact.kernels[i].scratch_size);
  constexpr uint64_t kPage = 4096;
  return (scratch + kPage - 1) / kPage * kPage;
}

void Resources::make_programs() {
  const tinh_artifact_t &artifact = module->artifact();
  scratch_stride = scratch_size(artifact);
  scratch_memory = MappedMemory::anonymous(
      scratch_stride * options.threads,
      message_of({"the scratch memory of ", options.threads, " threads"}));
  variables.emplace(*module, gpu, /*is_given=*/on_stream());
  for (uint32_t i = 0; i < artifact.num_functions; ++i) {
    const tinh_function_desc_t &function = artifact.functions[i];
    programs.emplace_back(*module, function, options.threads,
                          /*all_walk=*/in_lockstep());
    arena_size = std::max(arena_size, function.arena_size);
    device_arena_size = std::max(device_arena_size, function.device_arena_size);
  }
}

void Resources::make_arenas() {
  // One worker finishes a run before it starts the next.
  bool overlap = (options.threads > 1 || gpu) && !in_lockstep();
  arenas.resize(overlap ? std::min(options.max_in_flight, 2u) : 1);
  if (options.collectives)
    ranks = std::make_shared<Ranks>(options.collectives, module->identity(),
                                    gpu != nullptr,
                                    2 * arenas.size() + in_lockstep());
  for (Arena &arena : arenas) {
    if (ranks)
      arena.collectives =
          std::make_unique<CollectiveSteps>(ranks, trace_or_null());
    if (gpu)
      make_device_arena(arena);
    else
      make_host_arena(arena);
  }
  if (gpu)
    cuda_libraries = gpu->report_libraries();
}

/// What an arena that is large enough for all functions is for.
static std::string arena_purpose(const tinh_artifact_t &artifact) {
  uint64_t size = 0;
  std::string purpose = "the arena";
  for (uint32_t i = 0; i < artifact.num_functions; ++i)
    if (const auto &function = artifact.functions[i];
        function.arena_size > size) {
      size = function.arena_size;
      purpose = message_of({"the arena, which holds the intermediate tensors "
                            "of '",
                            function.name, "'"});
    }
  return purpose;
}

void Resources::make_host_arena(Arena &arena) {
  arena.memory =
      MappedMemory::anonymous(arena_size, arena_purpose(module->artifact()));
  for (const Program &program : programs)
    arena.tables.push_back(
        program.address_table({arena.memory.data(), module->weights()}));
}

/// The ranks that functions compute with on GPUs, if any do and they can.
tinh_collectives_t *Resources::ranks_of_gpus() const {
  bool wanted =
      std::any_of(programs.begin(), programs.end(), [](const Program &program) {
        return program.computes_with_gpus();
      });
  return wanted && options.collectives && computes_on_gpus(*options.collectives)
             ? options.collectives
             : nullptr;
}

void Resources::make_device_arena(Arena &arena) {
  arena.device = std::make_unique<DeviceRun>(
      gpu, DeviceApi::RunOptions{arena_size, device_arena_size, spin.count(),
                                 trace.has_value(), options.measure_cuda,
                                 in_lockstep(), ranks_of_gpus(),
                                 options.cuda_stream});
  Program::Memory memory = {arena.device->host_arena(), module->weights(),
                            arena.device->device_arena(), gpu->weights()};
  for (const Program &program : programs) {
    std::vector<void *> &table =
        arena.tables.emplace_back(program.address_table(memory));
    for (const ArgumentSlot &slot : program.arguments())
      if (int32_t variable = program.tensor(slot.argument).variable;
          variable != TINH_NOT_VARIABLE && !on_stream())
        table[slot.entry] =
            variables->address(static_cast<uint32_t>(variable)) + slot.offset;
  }
  std::vector<DeviceApi::Function> functions;
  for (size_t i = 0; i < programs.size(); ++i)
    functions.push_back({&programs[i].function(), arena.tables[i].data()});
  arena.device->prepare(functions);
}

void Resources::free_memory() {
  if (gpu)
    return; // Nor may the driver be called.
  arenas.clear();
  variables.reset();
  scratch_memory = {};
  module.reset();
}

} // namespace tinh::runtime
