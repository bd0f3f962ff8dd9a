//===- check_artifact.cpp - Whether a descriptor makes sense ----*- C++ -*-===//
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
#include "artifact/check_artifact.h"

#include "artifact/step_buffers.h"
#include "artifact/steps.h"
#include "support/error.h"
#include "tinh/runtime.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace tinh::runtime {
namespace {

/// Positions within a run, which are steps, are compared as 32-bit numbers that
/// wrap around: up to three runs' worth of them may lie between two workers.
constexpr uint32_t kMaxSteps = 1u << 28;

/// Of a tensor or a variable.
template <typename Desc> bool valid_type(const Desc &desc) {
  return desc.name && desc.rank <= TINH_MAX_RANK &&
         element_size(desc.dtype) != 0;
}

bool same_type(const tinh_tensor_desc_t &a, const tinh_variable_desc_t &b) {
  return a.dtype == b.dtype && a.rank == b.rank && a.size == b.size &&
         std::equal(a.dims, a.dims + TINH_MAX_RANK, b.dims);
}

/// `num_variables` gets the number of those that are variables, each of which
/// may be there once.
bool valid_tensors(const tinh_artifact_t &artifact,
                   const tinh_tensor_desc_t *tensors, uint32_t count,
                   uint32_t &num_variables) {
  std::vector<bool> seen(artifact.num_variables);
  for (uint32_t i = 0; i < count; ++i) {
    if (!valid_type(tensors[i]))
      return false;
    int32_t variable = tensors[i].variable;
    if (variable == TINH_NOT_VARIABLE)
      continue;
    auto index = static_cast<uint32_t>(variable);
    if (index >= artifact.num_variables || seen[index] ||
        !same_type(tensors[i], artifact.variables[index]))
      return false;
    seen[index] = true;
    ++num_variables;
  }
  return true;
}

/// Whether the outputs that say the sizes of `output` are the caller's, and
/// scalars of i64.
bool valid_sizes(const std::vector<const tinh_tensor_desc_t *> &given,
                 const tinh_tensor_desc_t &output) {
  for (uint32_t d = 0; output.size_outputs && d < output.rank; ++d) {
    int32_t number = output.size_outputs[d];
    if (number == -1)
      continue;
    auto index = static_cast<size_t>(number);
    if (number < 0 || index >= given.size() ||
        given[index]->dtype != TINH_DTYPE_I64 || given[index]->rank != 0)
      return false;
  }
  return true;
}

/// Sizes are of outputs of the caller's alone.
bool valid_sizes(const tinh_function_desc_t &function) {
  std::vector<const tinh_tensor_desc_t *> given;
  for (uint32_t i = 0; i < function.num_outputs; ++i)
    if (function.outputs[i].variable == TINH_NOT_VARIABLE)
      given.push_back(&function.outputs[i]);
    else if (function.outputs[i].size_outputs)
      return false;
  return std::none_of(function.inputs, function.inputs + function.num_inputs,
                      [](const auto &input) { return input.size_outputs; }) &&
         std::all_of(given.begin(), given.end(), [&](const auto *output) {
           return valid_sizes(given, *output);
         });
}

bool valid_signature(const tinh_artifact_t &artifact,
                     const tinh_function_desc_t &function) {
  uint32_t num_read = 0, num_written = 0;
  return function.name &&
         valid_tensors(artifact, function.inputs, function.num_inputs,
                       num_read) &&
         valid_tensors(artifact, function.outputs, function.num_outputs,
                       num_written) &&
         (function.mutates_state != 0) == (num_written != 0) &&
         valid_sizes(function);
}

/// Whether `size` bytes at `offset` are within `total`.
bool lies_within(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

/// The bytes that the memory of a tensor takes in the state.
uint64_t aligned_size(uint64_t size) {
  uint64_t rest = size % TINH_BUFFER_ALIGNMENT;
  return rest ? size - rest + TINH_BUFFER_ALIGNMENT : size;
}

/// Whether a kernel has code for the device that it is for, and says how it is
/// to be called there.
bool valid_code(const tinh_kernel_desc_t &kernel) {
  if (kernel.device == TINH_DEVICE_CPU)
    return kernel.function && kernel.threads == 0 && !kernel.image &&
           !kernel.library;
  return kernel.device == TINH_DEVICE_CUDA && kernel.name && !kernel.function &&
         kernel.image && kernel.image->size != 0 && kernel.threads != 0 &&
         kernel.threads % 32 == 0 && kernel.threads <= 1024 &&
         kernel.scratch_size <= INT32_MAX;
}

bool valid_kernels(const tinh_artifact_t &artifact) {
  for (uint32_t i = 0; i < artifact.num_kernels; ++i) {
    const tinh_kernel_desc_t &kernel = artifact.kernels[i];
    if (!valid_code(kernel) || (kernel.num_operands > 0 && !kernel.operands))
      return false;
    for (uint32_t k = 0; k < kernel.num_operands; ++k)
      if (!operand_size(kernel.operands[k]))
        return false;
    if (kernel.library && !valid_library_call(kernel))
      return false;
  }
  return true;
}

/// Whether `conversion` is a kernel that reads no more than `from` bytes
/// of one tensor and writes no more than `to` bytes of another one.
bool valid_conversion(const tinh_artifact_t &artifact,
                      const tinh_conversion_t &conversion, uint64_t from,
                      uint64_t to) {
  if (conversion.kernel >= artifact.num_kernels || conversion.num_chunks == 0 ||
      conversion.num_chunks > INT64_MAX)
    return false;
  const tinh_kernel_desc_t &kernel = artifact.kernels[conversion.kernel];
  if (kernel.device != TINH_DEVICE_CPU || kernel.scratch_size != 0 ||
      kernel.num_operands != 2)
    return false;
  const tinh_operand_desc_t &read = kernel.operands[0],
                            &written = kernel.operands[1];
  return !read.written && written.written && *operand_size(read) <= from &&
         *operand_size(written) <= to;
}

/// Whether the variable is stored in its own type or has kernels for both
/// directions. The kernels' operands have been checked.
bool valid_conversions(const tinh_artifact_t &artifact,
                       const tinh_variable_desc_t &variable) {
  uint64_t size = variable.size, stored = variable.stored_size;
  if (variable.pack.kernel == TINH_NO_KERNEL &&
      variable.unpack.kernel == TINH_NO_KERNEL)
    return stored == size;
  return variable.device == TINH_DEVICE_CPU && size <= INT64_MAX &&
         valid_conversion(artifact, variable.pack, size, stored) &&
         valid_conversion(artifact, variable.unpack, stored, size);
}

/// Variables have names of their own and memory of their own.
bool valid_variables(const tinh_artifact_t &artifact) {
  std::set<std::string_view> names;
  // Of each device: their ends by their beginnings.
  std::map<uint64_t, uint64_t> places[2];
  for (uint32_t i = 0; i < artifact.num_variables; ++i) {
    const tinh_variable_desc_t &variable = artifact.variables[i];
    if (variable.device > TINH_DEVICE_CUDA)
      return false;
    uint64_t state_size = variable.device == TINH_DEVICE_CUDA
                              ? artifact.device_state_size
                              : artifact.state_size;
    if (!valid_type(variable) || !names.insert(variable.name).second ||
        variable.offset % TINH_BUFFER_ALIGNMENT != 0 ||
        variable.stored_size > INT64_MAX ||
        !valid_conversions(artifact, variable) ||
        !lies_within(variable.offset, aligned_size(variable.stored_size),
                     state_size))
      return false;
    if (variable.initial_offset != TINH_INITIALLY_ZERO &&
        !lies_within(variable.initial_offset, variable.stored_size,
                     artifact.weights_size))
      return false;
    if (variable.stored_size != 0 &&
        !places[variable.device]
             .emplace(variable.offset, variable.offset + variable.stored_size)
             .second)
      return false;
  }
  return std::none_of(
      std::begin(places), std::end(places), [](auto &of_device) {
        return std::adjacent_find(of_device.begin(), of_device.end(),
                                  [](const auto &a, const auto &b) {
                                    return b.first < a.second;
                                  }) != of_device.end();
      });
}

/// Checks the steps of one function.
class StepChecker {
public:
  StepChecker(const tinh_artifact_t &artifact,
              const tinh_function_desc_t &function)
      : artifact(artifact), function(function),
        enclosing(enclosing_loops(function)) {}

  bool run() const {
    if (enclosing.empty())
      return false;
    for (uint32_t s = 0; s < function.num_steps; ++s)
      if (!valid_order(s) || !valid_operation(s) || !valid_buffers(s) ||
          !valid_devices(s))
        return false;
    return collectives_are_together();
  }

private:
  /// The LOOP at depth `depth` around step `s`; -1 if there is none.
  int32_t loop_around(uint32_t s, uint32_t depth) const {
    std::vector<int32_t> loops;
    for (int32_t l = enclosing[s]; l >= 0; l = enclosing[size_t(l)])
      loops.push_back(l);
    return depth < loops.size() ? loops[loops.size() - 1 - depth] : -1;
  }

  /// The bytes that the tensor has in memory: a variable may be stored in
  /// another way than its type says.
  uint64_t memory_of(const tinh_tensor_desc_t &tensor) const {
    return tensor.variable == TINH_NOT_VARIABLE
               ? tensor.size
               : artifact.variables[tensor.variable].stored_size;
  }

  /// The bytes of the memory that `buffer` lies in.
  std::optional<uint64_t> space_size(const tinh_buffer_ref_t &buffer) const {
    switch (buffer.space) {
    case TINH_SPACE_ARENA:
      return function.arena_size;
    case TINH_SPACE_DEVICE:
      return function.device_arena_size;
    case TINH_SPACE_WEIGHTS:
      return artifact.weights_size;
    case TINH_SPACE_DEVICE_WEIGHTS:
      return artifact.device_weights_size;
    case TINH_SPACE_INPUT:
      if (buffer.index < function.num_inputs)
        return memory_of(function.inputs[buffer.index]);
      return std::nullopt;
    case TINH_SPACE_OUTPUT:
      if (buffer.index < function.num_outputs)
        return memory_of(function.outputs[buffer.index]);
      return std::nullopt;
    }
    return std::nullopt;
  }

  /// Whether buffer `b` of step `s` lies in its memory in each iteration.
  bool valid_buffer(uint32_t s, uint32_t b) const {
    const tinh_step_t &step = function.steps[s];
    const tinh_buffer_ref_t &buffer = step.buffers[b];
    if (buffer.space == TINH_SPACE_LOOP)
      return buffer.offset == 0 && loop_around(s, buffer.index) >= 0;
    std::optional<uint64_t> size = space_size(buffer);
    uint64_t used = buffer_size(artifact, step, b);
    if (!size || *size > INT64_MAX || !lies_within(buffer.offset, used, *size))
      return false;
    auto first = static_cast<int64_t>(buffer.offset), last = first;
    for (uint32_t i = 0; i < step.num_strides; ++i) {
      const tinh_stride_t &stride = step.strides[i];
      if (stride.buffer != b)
        continue;
      int32_t loop = loop_around(s, stride.loop);
      if (loop < 0)
        return false;
      uint64_t length = function.steps[loop].num_chunks;
      int64_t way;
      if (length == 0)
        continue;
      int64_t &end = stride.bytes < 0 ? first : last;
      if (length > INT64_MAX ||
          __builtin_mul_overflow(stride.bytes, static_cast<int64_t>(length - 1),
                                 &way) ||
          __builtin_add_overflow(end, way, &end))
        return false;
    }
    return first >= 0 && lies_within(static_cast<uint64_t>(last), used, *size);
  }

  bool valid_buffers(uint32_t s) const {
    const tinh_step_t &step = function.steps[s];
    for (uint32_t i = 0; i < step.num_strides; ++i) {
      uint32_t buffer = step.strides[i].buffer;
      if (buffer >= step.num_buffers ||
          step.buffers[buffer].space == TINH_SPACE_LOOP ||
          (i > 0 && buffer < step.strides[i - 1].buffer))
        return false;
    }
    for (uint32_t b = 0; b < step.num_buffers; ++b)
      if (!valid_buffer(s, b))
        return false;
    return true;
  }

  /// Whether the buffers of step `s` lie where what does it can reach them: a
  /// kernel's with the kernel, what decides the way with the CPU. Copies go
  /// from anywhere to anywhere, but the weights are in both memories already.
  bool valid_devices(uint32_t s) const {
    const tinh_step_t &step = function.steps[s];
    bool of_gpu = on_device(artifact, function, step);
    if (of_gpu && &function == artifact.init)
      return false;
    if (of_gpu && step.opcode == TINH_OP_DISPATCH &&
        step.num_chunks > INT32_MAX)
      return false;
    for (uint32_t b = 0; b < step.num_buffers; ++b) {
      const tinh_buffer_ref_t &buffer = step.buffers[b];
      if (step.opcode == TINH_OP_COPY
              ? of_gpu && buffer.space == TINH_SPACE_WEIGHTS
              : on_device(artifact, function, buffer) != of_gpu)
        return false;
    }
    return true;
  }

  /// Whether a BRANCH or JUMP at `s` goes forward, into no loop, and out of one
  /// at most.
  bool valid_jump(uint32_t s) const {
    uint32_t target = function.steps[s].target;
    if (target <= s || target > function.num_steps)
      return false;
    int32_t from = enclosing[s], to = enclosing[target];
    return to == from || (from >= 0 && to == enclosing[size_t(from)]);
  }

  bool valid_order(uint32_t s) const {
    int32_t wait = function.steps[s].wait_for;
    return wait >= -1 && wait < static_cast<int32_t>(s) &&
           (wait < 0 || !in_alone_loop(s));
  }

  bool in_alone_loop(uint32_t s) const {
    for (int32_t loop = enclosing[s]; loop >= 0;
         loop = enclosing[static_cast<size_t>(loop)])
      if (function.steps[loop].alone)
        return true;
    return false;
  }

  /// Whether step `s` is in no loop, and no jump leads past it.
  bool runs_always(uint32_t s) const {
    return enclosing[s] < 0 && std::none_of(
                                   function.steps, function.steps + s,
                                   [&](const tinh_step_t &step) {
                                     return (step.opcode == TINH_OP_BRANCH ||
                                             step.opcode == TINH_OP_JUMP) &&
                                            step.target > s;
                                   });
  }

  /// How many steps wait for the collective that step `s` starts.
  size_t awaits(uint32_t s) const {
    return static_cast<size_t>(
        std::count_if(function.steps, function.steps + function.num_steps,
                      [&](const tinh_step_t &step) {
                        return step.opcode == TINH_OP_AWAIT && step.target == s;
                      }));
  }

  /// Whether collectives are all the GPU's, or all the CPU's.
  bool collectives_are_together() const {
    bool on_gpu = collective_needs(artifact, function).on_gpu;
    return std::all_of(function.steps, function.steps + function.num_steps,
                       [&](const tinh_step_t &step) {
                         return !is_collective(step) ||
                                on_device(artifact, function, step) == on_gpu;
                       });
  }

  /// The collective has been checked, where it is started.
  bool valid_await(uint32_t s) const {
    const tinh_step_t &step = function.steps[s];
    if (step.target >= s || step.num_buffers != 2)
      return false;
    const tinh_step_t &start = function.steps[step.target];
    auto same = [](const tinh_buffer_ref_t &a, const tinh_buffer_ref_t &b) {
      return a.space == b.space && a.index == b.index && a.offset == b.offset;
    };
    return start.opcode == TINH_OP_START &&
           step.collective == start.collective &&
           std::equal(step.buffers, step.buffers + 2, start.buffers, same) &&
           runs_always(s);
  }

  bool valid_operation(uint32_t s) const {
    const tinh_step_t &step = function.steps[s];
    switch (step.opcode) {
    case TINH_OP_DISPATCH:
      return step.num_chunks >= 1 && step.num_chunks <= INT64_MAX &&
             (step.num_chunks == 1 || !in_alone_loop(s)) &&
             step.kernel < artifact.num_kernels &&
             step.num_buffers == artifact.kernels[step.kernel].num_operands;
    case TINH_OP_COPY:
      return step.num_buffers == 2 && step.size <= INT64_MAX;
    case TINH_OP_ZERO:
      return step.num_buffers == 1 && step.size <= INT64_MAX;
    case TINH_OP_START:
      return step.num_buffers == 2 && step.collective &&
             valid_collective(*step.collective) && &function != artifact.init &&
             runs_always(s) && awaits(s) == 1;
    case TINH_OP_AWAIT:
      return valid_await(s);
    case TINH_OP_BRANCH:
      return step.num_buffers == 1 && valid_jump(s);
    case TINH_OP_JUMP:
      return step.num_buffers == 0 && valid_jump(s);
    case TINH_OP_LOOP: // Where it and NEXT go has been checked with the nest.
      return step.num_buffers <= 1 && step.num_chunks <= INT64_MAX;
    case TINH_OP_NEXT:
      return step.num_buffers == 0;
    }
    return false;
  }

  const tinh_artifact_t &artifact;
  const tinh_function_desc_t &function;
  std::vector<int32_t> enclosing;
};

} // namespace

/// Its steps, and how they go to a GPU. The signature has been checked.
static bool valid_steps(const tinh_artifact_t &artifact,
                        const tinh_function_desc_t &function,
                        std::string &wrong) {
  if (function.num_steps > kMaxSteps || !StepChecker(artifact, function).run())
    return false;
  std::string plan = wrong_device_plan(artifact, function);
  if (!plan.empty())
    wrong = message_of({"the plan of '", function.name, "' for a GPU: ", plan});
  return plan.empty();
}

/// It takes parameters, each once and under its name, and gives nothing.
static bool valid_init(const tinh_artifact_t &artifact,
                       const tinh_function_desc_t &init, std::string &wrong) {
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < init.num_inputs; ++i)
    if (!init.inputs[i].name || !names.insert(init.inputs[i].name).second ||
        init.inputs[i].variable != TINH_NOT_VARIABLE)
      return false;
  return init.num_outputs == 0 && valid_signature(artifact, init) &&
         valid_steps(artifact, init, wrong);
}

/// Its variables and functions. The kernels have been checked.
static bool valid_program(const tinh_artifact_t &artifact, std::string &wrong) {
  if (artifact.device_weights_size > artifact.weights_size ||
      !valid_variables(artifact))
    return false;
  return std::all_of(artifact.functions,
                     artifact.functions + artifact.num_functions,
                     [&](const tinh_function_desc_t &function) {
                       return valid_signature(artifact, function) &&
                              valid_steps(artifact, function, wrong);
                     });
}

bool valid_artifact(const tinh_artifact_t &artifact, std::string *wrong) {
  std::string unread;
  std::string &text = wrong ? *wrong : unread;
  return valid_kernels(artifact) && valid_program(artifact, text) &&
         (!artifact.init || valid_init(artifact, *artifact.init, text)) &&
         (!artifact.without_gpu ||
          (stands_in(*artifact.without_gpu, artifact) &&
           valid_program(*artifact.without_gpu, text) &&
           !needs_device(*artifact.without_gpu)));
}

} // namespace tinh::runtime
