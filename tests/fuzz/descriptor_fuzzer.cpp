//===- descriptor_fuzzer.cpp - Descriptors of artifacts ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is a list of edits of the descriptor of an artifact that is right:
// numbers that replace others in copies of its structures. Pointers stay as
// they are: what they lead to is trusted as code is.
//
//===----------------------------------------------------------------------===//
#include "artifact/check_artifact.h"
#include "artifact/module.h"
#include "artifact/steps.h"
#include "device/device.h"
#include "toy.h"

#include <cstring>
#include <deque>

using namespace tinh::runtime;

namespace {

/// The bytes of an input, one after the other; zeros behind its end.
class Bytes {
public:
  Bytes(const uint8_t *data, size_t size) : data(data), size(size) {}
  bool empty() const { return size == 0; }
  template <typename T> T next() {
    T value = {};
    size_t count = std::min(size, sizeof value);
    std::memcpy(&value, data, count);
    data += count;
    size -= count;
    return value;
  }

private:
  const uint8_t *data;
  size_t size;
};

/// A descriptor of which all structures are copies, and the numbers in them.
class Copy {
public:
  explicit Copy(const tinh_artifact_t &original) : artifact(original) {
    artifact.kernels = copy(original.kernels, original.num_kernels);
    for (uint32_t i = 0; i < artifact.num_kernels; ++i)
      add(const_cast<tinh_kernel_desc_t &>(artifact.kernels[i]));
    artifact.variables = copy(original.variables, original.num_variables);
    for (uint32_t i = 0; i < artifact.num_variables; ++i)
      add(const_cast<tinh_variable_desc_t &>(artifact.variables[i]));
    artifact.functions = copy(original.functions, original.num_functions);
    for (uint32_t i = 0; i < artifact.num_functions; ++i)
      add(const_cast<tinh_function_desc_t &>(artifact.functions[i]));
    number(artifact.weights_size);
    number(artifact.state_size);
    number(artifact.device_state_size);
    number(artifact.device_weights_size);
  }

  void edit(Bytes &bytes) {
    Place place = places[bytes.next<uint16_t>() % places.size()];
    auto value = bytes.next<uint64_t>();
    if (place.is_count) { // There is no more than there is.
      auto &count = *static_cast<uint32_t *>(place.at);
      count = static_cast<uint32_t>(value % (count + uint64_t(1)));
    } else {
      std::memcpy(place.at, &value, place.size);
    }
  }

  tinh_artifact_t artifact;

private:
  struct Place {
    void *at;
    size_t size;
    bool is_count;
  };

  template <typename T> const T *copy(const T *array, size_t count) {
    auto &bytes = memory.emplace_back(count * sizeof(T) + 1);
    if (count)
      std::memcpy(bytes.data(), array, count * sizeof(T));
    return reinterpret_cast<T *>(bytes.data());
  }
  template <typename T> void number(const T &field) {
    places.push_back({const_cast<T *>(&field), sizeof field, false});
  }
  void count(const uint32_t &field) {
    places.push_back({const_cast<uint32_t *>(&field), sizeof field, true});
  }
  template <typename T> void numbers(const T *&array, uint32_t size) {
    array = copy(array, size);
    for (uint32_t i = 0; i < size; ++i)
      number(array[i]);
  }

  void add(tinh_kernel_desc_t &kernel);
  void add(tinh_function_desc_t &function);
  void add(tinh_step_t &step);
  void add(tinh_device_plan_t &plan, uint32_t num_steps);
  void add(tinh_tensor_desc_t &tensor);
  void add(tinh_variable_desc_t &variable);

  std::deque<std::vector<char>> memory;
  std::vector<Place> places;
};

} // namespace

void Copy::add(tinh_kernel_desc_t &kernel) {
  number(kernel.scratch_size);
  number(kernel.device);
  number(kernel.threads);
  kernel.operands = copy(kernel.operands, kernel.num_operands);
  for (uint32_t i = 0; i < kernel.num_operands; ++i) {
    auto &operand = const_cast<tinh_operand_desc_t &>(kernel.operands[i]);
    number(operand.dtype);
    number(operand.written);
    numbers(operand.dims, operand.rank);
    numbers(operand.strides, operand.rank);
    count(operand.rank);
  }
  count(kernel.num_operands);
}

void Copy::add(tinh_tensor_desc_t &tensor) {
  number(tensor.dtype);
  number(tensor.rank);
  for (int64_t &dim : tensor.dims)
    number(dim);
  number(tensor.size);
  number(tensor.variable);
}

void Copy::add(tinh_variable_desc_t &variable) {
  number(variable.dtype);
  number(variable.rank);
  for (int64_t &dim : variable.dims)
    number(dim);
  for (uint64_t *field : {&variable.size, &variable.offset,
                          &variable.initial_offset, &variable.stored_size})
    number(*field);
  number(variable.device);
  for (auto *conversion : {&variable.pack, &variable.unpack}) {
    number(conversion->kernel);
    number(conversion->num_chunks);
  }
}

void Copy::add(tinh_step_t &step) {
  for (uint32_t *field :
       {&step.opcode, &step.kernel, &step.target, &step.alone})
    number(*field);
  number(step.wait_for);
  number(step.num_chunks);
  number(step.size);
  step.buffers = copy(step.buffers, step.num_buffers);
  for (uint32_t i = 0; i < step.num_buffers; ++i) {
    number(step.buffers[i].space);
    number(step.buffers[i].index);
    number(step.buffers[i].offset);
  }
  step.strides = copy(step.strides, step.num_strides);
  for (uint32_t i = 0; i < step.num_strides; ++i) {
    number(step.strides[i].buffer);
    number(step.strides[i].loop);
    number(step.strides[i].bytes);
  }
  count(step.num_buffers);
  count(step.num_strides);
}

void Copy::add(tinh_device_plan_t &plan, uint32_t num_steps) {
  numbers(plan.launches, num_steps);
  numbers(plan.gates, num_steps);
  plan.segments = copy(plan.segments, plan.num_segments);
  for (uint32_t i = 0; i < plan.num_segments; ++i)
    for (const uint32_t *field :
         {&plan.segments[i].first_node, &plan.segments[i].num_nodes,
          &plan.segments[i].launch, &plan.segments[i].wait,
          &plan.segments[i].due, &plan.segments[i].stream,
          &plan.segments[i].after, &plan.segments[i].is_awaited})
      number(*field);
  plan.nodes = copy(plan.nodes, plan.num_nodes);
  for (uint32_t i = 0; i < plan.num_nodes; ++i)
    for (const uint32_t *field :
         {&plan.nodes[i].step, &plan.nodes[i].iteration,
          &plan.nodes[i].first_edge, &plan.nodes[i].num_edges})
      number(*field);
  numbers(plan.edges, plan.num_edges);
  count(plan.num_segments);
  count(plan.num_nodes);
  count(plan.num_edges);
}

void Copy::add(tinh_function_desc_t &function) {
  function.inputs = copy(function.inputs, function.num_inputs);
  function.outputs = copy(function.outputs, function.num_outputs);
  for (uint32_t i = 0; i < function.num_inputs; ++i)
    add(const_cast<tinh_tensor_desc_t &>(function.inputs[i]));
  for (uint32_t i = 0; i < function.num_outputs; ++i)
    add(const_cast<tinh_tensor_desc_t &>(function.outputs[i]));
  function.steps = copy(function.steps, function.num_steps);
  for (uint32_t i = 0; i < function.num_steps; ++i)
    add(const_cast<tinh_step_t &>(function.steps[i]));
  if (function.device_plan) {
    function.device_plan = copy(function.device_plan, 1);
    add(const_cast<tinh_device_plan_t &>(*function.device_plan),
        function.num_steps);
  }
  number(function.mutates_state);
  number(function.arena_size);
  number(function.device_arena_size);
  count(function.num_inputs);
  count(function.num_outputs);
  count(function.num_steps);
}

/// Reads of a function what runs read, which has been checked.
static void read(const tinh_artifact_t &artifact,
                 const tinh_function_desc_t &function) {
  if (enclosing_loops(function).empty())
    std::abort();
  DeviceSchedule schedule(artifact, function, /*one_by_one=*/false);
  for (const tinh_device_segment_t &segment : schedule.segments())
    for (uint32_t i = 0; i < segment.num_nodes; ++i) {
      const tinh_device_plan_t &plan = *function.device_plan;
      const tinh_device_node_t &node = plan.nodes[segment.first_node + i];
      if (!schedule.on_device(node.step) || node.step < segment.launch)
        std::abort();
      for (uint32_t e = 0; e < node.num_edges; ++e)
        if (plan.edges[node.first_edge + e] >= i)
          std::abort();
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Toy toys[] = {Toy({}, false, CONTROL_ARTIFACT),
                             Toy({}, false, TRAINER_ARTIFACT),
                             Toy({}, false, CUDA_ARTIFACT)};
  static const Module modules[] = {
      Module(toys[0].path()), Module(toys[1].path()), Module(toys[2].path())};
  Bytes bytes(data, size);
  Copy copy(modules[bytes.next<uint8_t>() % std::size(modules)].artifact());
  while (!bytes.empty())
    copy.edit(bytes);
  if (valid_artifact(copy.artifact))
    for (uint32_t i = 0; i < copy.artifact.num_functions; ++i)
      read(copy.artifact, copy.artifact.functions[i]);
  return 0;
}
