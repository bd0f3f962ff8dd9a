//===- cuda_random_test.cpp - Random schedules of CPU and GPU ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random functions of kernels and copies on both devices, with loops and
// branches, wait for no more than what they conflict with. On the fake driver,
// which puts off what it may, they must leave what the steps leave one by one.
//
//===----------------------------------------------------------------------===//
#include "artifact/module.h"
#include "cuda_plans.h"
#include "tests/cuda/driver/driver_api.h"
#include "toy.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace tinh::runtime;

namespace {

constexpr size_t kCount = 1024, kBytes = kCount * 4;
// Of floats in each arena; then one of a byte and the numbers of iterations.
constexpr uint32_t kSlots = 4;
enum Kernel { kNegate, kAccumulate, kScaleAdd, kFlip, kAdd, kAddNumber, kTest };

class RandomFunction {
public:
  explicit RandomFunction(uint32_t seed) : random(seed) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      copy(input(), host(slot), kBytes);
      copy(input(), device(slot), kBytes);
    }
    fill(3 + below(12));
    if (below(2))
      loop();
    if (below(2))
      device_loop();
    fill(below(8));
    if (below(2))
      branch();
    fill(3 + below(12));
    copy(below(2) ? host(below(kSlots)) : device(below(kSlots)), output(),
         kBytes);
  }

  tinh_function_desc_t describe() {
    tinh_function_desc_t function = {};
    function.name = "random";
    function.inputs = &x;
    function.outputs = &y;
    function.num_inputs = function.num_outputs = 1;
    function.steps = steps.data();
    function.num_steps = static_cast<uint32_t>(steps.size());
    function.arena_size = function.device_arena_size = (kSlots + 1) * kBytes;
    return function;
  }

  std::vector<float> expected(const std::vector<float> &in) {
    memory.assign(2 * (kSlots + 1), std::vector<float>(kCount));
    result.assign(kCount, 0);
    given = in;
    iterations.clear();
    for (uint32_t s = 0; s < steps.size();) {
      const tinh_step_t &step = steps[s];
      if (step.opcode == TINH_OP_LOOP)
        iterations.push_back(0);
      bool goes = step.opcode == TINH_OP_JUMP;
      if (step.opcode == TINH_OP_NEXT) {
        goes = ++iterations.back() < int64_t(steps[step.target - 1].num_chunks);
        if (!goes)
          iterations.pop_back();
      }
      if (step.opcode == TINH_OP_BRANCH)
        goes = *reinterpret_cast<char *>(at(step, 0)) == 0;
      if (step.opcode < TINH_OP_BRANCH)
        execute(step);
      s = goes ? step.target : s + 1;
    }
    return result;
  }

private:
  using Ref = tinh_buffer_ref_t;
  uint32_t below(uint32_t bound) { return random() % bound; }
  static Ref host(uint32_t slot) {
    return {TINH_SPACE_ARENA, 0, slot * kBytes};
  }
  static Ref device(uint32_t slot) {
    return {TINH_SPACE_DEVICE, 0, slot * kBytes};
  }
  static Ref input() { return {TINH_SPACE_INPUT, 0, 0}; }
  static Ref output() { return {TINH_SPACE_OUTPUT, 0, 0}; }
  static Ref
  number(uint32_t depth) { // Where that of an iteration is copied to.
    return {TINH_SPACE_DEVICE, 0, kSlots * kBytes + 64 + depth * 64};
  }
  /// Whether two buffers of two steps may have bytes in common.
  static bool meet(const tinh_step_t &a, uint32_t i, const tinh_step_t &b,
                   uint32_t k) {
    auto last = [](const tinh_step_t &step, uint32_t buffer) {
      uint64_t end = step.buffers[buffer].offset;
      for (uint32_t s = 0; s < step.num_strides; ++s)
        if (step.strides[s].buffer == buffer) // All loops have two iterations.
          end += uint64_t(step.strides[s].bytes);
      return end;
    };
    const Ref &x = a.buffers[i], &y = b.buffers[k];
    return x.space == y.space && x.offset <= last(b, k) &&
           y.offset <= last(a, i);
  }

  /// Whether a step writes the last of its buffers.
  static bool writes(const tinh_step_t &step) {
    return step.opcode < TINH_OP_BRANCH;
  }
  static bool conflict(const tinh_step_t &a, const tinh_step_t &b) {
    for (uint32_t i = 0; i < a.num_buffers; ++i)
      for (uint32_t k = 0; k < b.num_buffers; ++k)
        if (meet(a, i, b, k) && ((writes(a) && i + 1 == a.num_buffers) ||
                                 (writes(b) && k + 1 == b.num_buffers)))
          return true;
    return false;
  }

  tinh_step_t &add(uint32_t opcode, std::vector<Ref> buffers,
                   std::vector<tinh_stride_t> moves = {}) {
    tinh_step_t step = {};
    step.num_strides = static_cast<uint32_t>(moves.size());
    step.strides = strides.emplace_back(std::move(moves)).data();
    step.opcode = opcode;
    step.num_buffers = static_cast<uint32_t>(buffers.size());
    step.buffers = references.emplace_back(std::move(buffers)).data();
    step.wait_for = -1;
    for (size_t s = 0; s < steps.size(); ++s)
      if (conflict(steps[s], step))
        step.wait_for = static_cast<int32_t>(s);
    steps.push_back(step);
    return steps.back();
  }
  void copy(Ref from, Ref to, uint64_t size) {
    add(TINH_OP_COPY, {from, to}).size = size;
  }
  void dispatch(Kernel kernel, std::vector<Ref> buffers,
                std::vector<tinh_stride_t> moves = {}) {
    tinh_step_t &step =
        add(TINH_OP_DISPATCH, std::move(buffers), std::move(moves));
    step.kernel = kernel;
    step.num_chunks = kernel == kTest ? 1 : 4;
  }

  /// `num_kinds`: 7, or 2 for steps of the CPU alone.
  void fill(uint32_t count, uint32_t num_kinds = 7) {
    while (count-- > 0) {
      uint32_t a = below(kSlots), b = below(kSlots), c = below(kSlots);
      switch (below(num_kinds)) {
      case 0:
        dispatch(kNegate, {host(a), host(c)});
        break;
      case 1:
        dispatch(kAccumulate, {host(a), host(b), host(c)});
        break;
      case 2:
        if (a != c) // Threads read what others write.
          dispatch(kFlip, {device(a), device(c)});
        break;
      case 3:
      case 4:
        dispatch(kAdd, {device(a), device(b), device(c)});
        break;
      case 5:
        copy(host(a), device(c), kBytes);
        break;
      case 6:
        copy(device(a), host(c), kBytes);
        break;
      }
    }
  }

  void loop() {
    uint32_t at = static_cast<uint32_t>(steps.size());
    tinh_step_t &begin = add(TINH_OP_LOOP, {});
    begin.num_chunks = 1 + below(3);
    fill(1 + below(6), below(3) ? 7 : 2);
    add(TINH_OP_NEXT, {}).target = at + 1;
    steps[at].target = static_cast<uint32_t>(steps.size());
  }

  /// Steps of the GPU alone, some of which move from slot to slot.
  void fill_device(uint32_t count, uint32_t depth) {
    while (count-- > 0) {
      uint32_t a = below(kSlots), b = below(kSlots), loop = below(depth);
      bool moves = below(2);
      std::vector<tinh_stride_t> strides;
      uint32_t c = below(moves ? kSlots - 1 : kSlots);
      switch (below(4)) {
      case 0:
        copy(number(loop), loop);
        dispatch(kAddNumber, {device(a), number(loop), device(a)});
        break;
      case 1:
        if (below(2))
          copy(device(a), host(c), kBytes);
        else
          copy(host(a), device(c), kBytes);
        break;
      default: // No thread reads what another one writes.
        if (moves)
          strides = {{0, loop, kBytes}, {2, loop, kBytes}};
        dispatch(kAdd, {device(c), device(b < c ? c : b), device(c)}, strides);
      }
    }
  }
  void copy(Ref to, uint32_t loop) {
    add(TINH_OP_COPY, {{TINH_SPACE_LOOP, loop, 0}, to}).size = 8;
  }

  void device_loop() {
    uint32_t depth = 1 + below(2);
    std::vector<uint32_t> begins;
    for (uint32_t d = 0; d < depth; ++d) {
      begins.push_back(static_cast<uint32_t>(steps.size()));
      add(TINH_OP_LOOP, {}).num_chunks = 2;
      fill_device(1 + below(4), d + 1);
    }
    for (uint32_t d = depth; d-- > 0;) {
      if (below(2))
        fill_device(1 + below(2), d + 1);
      add(TINH_OP_NEXT, {}).target = begins[d] + 1;
      steps[begins[d]].target = static_cast<uint32_t>(steps.size());
    }
  }

  void branch() {
    dispatch(kTest, {device(below(kSlots)), device(kSlots)});
    copy(device(kSlots), host(kSlots), 1);
    uint32_t at = static_cast<uint32_t>(steps.size());
    add(TINH_OP_BRANCH, {host(kSlots)});
    fill(1 + below(4));
    uint32_t jump = static_cast<uint32_t>(steps.size());
    add(TINH_OP_JUMP, {});
    steps[at].target = static_cast<uint32_t>(steps.size());
    fill(1 + below(4));
    steps[jump].target = static_cast<uint32_t>(steps.size());
  }

  float *at(const tinh_step_t &step, uint32_t buffer) {
    Ref ref = step.buffers[buffer];
    for (uint32_t s = 0; s < step.num_strides; ++s)
      if (step.strides[s].buffer == buffer)
        ref.offset +=
            uint64_t(step.strides[s].bytes * iterations[step.strides[s].loop]);
    if (ref.space == TINH_SPACE_LOOP)
      return reinterpret_cast<float *>(&iterations[ref.index]);
    size_t slot = ref.offset / kBytes;
    if (slot == kSlots && ref.offset % kBytes)
      return reinterpret_cast<float *>(&numbers[ref.offset % kBytes / 64]);
    return ref.space == TINH_SPACE_INPUT    ? given.data()
           : ref.space == TINH_SPACE_OUTPUT ? result.data()
           : ref.space == TINH_SPACE_ARENA  ? memory[slot].data()
                                            : memory[kSlots + 1 + slot].data();
  }

  void execute(const tinh_step_t &step) {
    const float *a = at(step, 0), *b = at(step, 1);
    float *to = at(step, step.num_buffers - 1);
    if (step.opcode == TINH_OP_COPY) {
      std::memmove(to, a, step.size);
      return;
    }
    for (size_t i = 0; i < kCount; ++i)
      switch (step.kernel) {
      case kNegate:
        to[i] = -a[i];
        break;
      case kFlip:
        to[i] = a[kCount - 1 - i];
        break;
      case kAddNumber:
        to[i] = a[i] + float(*reinterpret_cast<const int64_t *>(b));
        break;
      case kTest:
        *reinterpret_cast<char *>(to) = a[0] < 100;
        break;
      default:
        to[i] = a[i] + b[i];
      }
  }

  std::mt19937 random;
  std::vector<tinh_step_t> steps;
  std::deque<std::vector<Ref>> references;
  std::deque<std::vector<tinh_stride_t>> strides;
  const tinh_tensor_desc_t x = {"x",      TINH_DTYPE_F32, 1,
                                {kCount}, kBytes,         TINH_NOT_VARIABLE},
                           y = {"y",      TINH_DTYPE_F32, 1,
                                {kCount}, kBytes,         TINH_NOT_VARIABLE};
  std::vector<std::vector<float>> memory;
  std::vector<float> given, result;
  std::vector<int64_t> iterations;
  int64_t numbers[3] = {};
};

/// A program's pool, of the calling thread alone.
void one_by_one(void *, uint32_t count, void (*task)(void *, uint32_t),
                void *argument) {
  for (uint32_t i = 0; i < count; ++i)
    task(argument, i);
}

TEST(CudaRandom, FunctionsGiveWhatTheirStepsGiveOneByOne) {
  setenv("TINH_CUDA_DRIVER", FAKE_CUDA, 1);
  Toy toy{{}, false, CUDA_ARTIFACT};
  Module base{toy.path()};
  for (uint32_t seed = 0; seed < 200; ++seed) {
    tinh_fake_cuda_configure(("schedule=" + std::to_string(seed)).c_str());
    RandomFunction random(seed);
    tinh_function_desc_t function = random.describe();
    tinh_artifact_t artifact = base.artifact();
    artifact.functions = &function;
    artifact.num_functions = 1;
    artifact.num_variables = 0;
    artifact.weights_size = artifact.device_weights_size = 0;
    artifact.state_size = 0;
    artifact.device_state_size = 0;
    artifact.init = nullptr;
    tinh::planning::DevicePlan planned = plan_of(artifact, function);
    tinh_device_plan_t plan = planned.view();
    function.device_plan = &plan;
    tinh_note_t note = {};
    note.version = TINH_ARTIFACT_VERSION;
    tinh_model_t model = {&note, &artifact, nullptr};
    tinh_module_t *module = nullptr;
    ASSERT_EQ(tinh_module_load_linked(&model, nullptr, &module), TINH_OK)
        << tinh_last_error();
    tinh_context_options_t options;
    tinh_context_options_init(&options);
    options.threads = 1 + seed % 4;
    if (seed % 5 == 4)
      options.parallel_for = one_by_one;
    tinh_context_t *context = nullptr;
    ASSERT_EQ(tinh_context_create(module, &options, &context), TINH_OK)
        << tinh_last_error();
    constexpr size_t kRuns = 3;
    std::vector<std::vector<float>> in, out(kRuns);
    for (size_t i = 0; i < kRuns; ++i) {
      in.emplace_back(kCount);
      out[i].resize(kCount);
      for (size_t k = 0; k < kCount; ++k)
        in[i][k] = float(k) + float(40 * i) + 0.5f;
      tinh_buffer_t from = {in[i].data(), kBytes}, to = {out[i].data(), kBytes};
      ASSERT_EQ(tinh_context_submit(context, 0, &from, 1, &to, 1, nullptr, 0,
                                    nullptr),
                TINH_OK);
    }
    ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
    for (size_t i = 0; i < kRuns; ++i) {
      std::vector<float> expected = random.expected(in[i]);
      ASSERT_EQ(std::memcmp(out[i].data(), expected.data(), kBytes), 0)
          << "seed " << seed << ", run " << i;
    }
    tinh_context_release(context);
    tinh_module_release(module);
    ASSERT_STREQ(tinh_fake_cuda_leaks(), "");
    ASSERT_THAT(tinh_fake_cuda_log(),
                testing::Not(testing::HasSubstr("misuse")));
  }
}

} // namespace
