//===- check_artifact_test.cpp - Descriptors that make no sense -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test changes one thing in the descriptor of the toys' functions; what
// loads must still be refused.
//
//===----------------------------------------------------------------------===//
#include "artifact/check_artifact.h"

#include "artifact/module.h"
#include "toy.h"

#include <gtest/gtest.h>

using namespace tinh::runtime;

namespace {

enum Function { collatz, prefix, nested };

/// The same for the variables of the artifact that trains.
class CheckVariables : public testing::Test {
protected:
  template <typename Change> bool accepts(Change change) {
    artifact = module.artifact();
    variables.assign(artifact.variables,
                     artifact.variables + artifact.num_variables);
    kernels.assign(artifact.kernels, artifact.kernels + artifact.num_kernels);
    function = artifact.functions[0];
    inputs.assign(function.inputs, function.inputs + function.num_inputs);
    outputs.assign(function.outputs, function.outputs + function.num_outputs);
    change();
    artifact.variables = variables.data();
    artifact.kernels = kernels.data();
    function.inputs = inputs.data();
    function.outputs = outputs.data();
    artifact.functions = &function;
    artifact.num_functions = 1;
    return valid_artifact(artifact);
  }

  /// Stores "w", which is four floats, as panels: the two kernels behind all
  /// others make panels of it and the opposite.
  void store_in_panels() {
    static const int64_t shape[] = {4}, panels[] = {5, 4}, unit[] = {1},
                         rows[] = {4, 1};
    operands = {{TINH_DTYPE_F32, 0, 1, shape, unit},
                {TINH_DTYPE_F32, 1, 2, panels, rows},
                {TINH_DTYPE_F32, 0, 2, panels, rows},
                {TINH_DTYPE_F32, 1, 1, shape, unit}};
    uint32_t pack = artifact.num_kernels, unpack = pack + 1;
    for (uint32_t k : {pack, unpack}) {
      kernels.push_back(kernels[0]);
      kernels[k].num_operands = 2;
      kernels[k].operands = &operands[k == pack ? 0 : 2];
    }
    artifact.num_kernels += 2;
    variables[0].stored_size = 80;
    variables[0].pack = {pack, 1};
    variables[0].unpack = {unpack, 1};
    // What lies behind it makes room.
    for (size_t v = 1; v < variables.size(); ++v)
      variables[v].offset += 64;
    artifact.state_size += 64;
  }

  Toy toy{{}, false, TRAINER_ARTIFACT};
  Module module{toy.path()};
  tinh_artifact_t artifact;
  tinh_function_desc_t function;
  std::vector<tinh_variable_desc_t> variables;
  std::vector<tinh_kernel_desc_t> kernels;
  std::vector<tinh_operand_desc_t> operands; // Of those that turn "w".
  std::vector<tinh_tensor_desc_t> inputs, outputs;
};

class CheckArtifact : public testing::Test {
protected:
  /// Whether function `f` of the artifact is accepted after `change` has
  /// altered copies of its steps, and step `s` its buffers and strides.
  template <typename Change> bool accepts(Function f, Change change) {
    tinh_artifact_t artifact = module.artifact();
    function = artifact.functions[f];
    steps.assign(function.steps, function.steps + function.num_steps);
    kernels.assign(artifact.kernels, artifact.kernels + artifact.num_kernels);
    change();
    function.steps = steps.data();
    artifact.kernels = kernels.data();
    artifact.functions = &function;
    artifact.num_functions = 1;
    return valid_artifact(artifact);
  }

  /// Of the kernel of step `s`.
  std::vector<tinh_operand_desc_t> &operands_of(size_t s) {
    tinh_kernel_desc_t &kernel = kernels[steps[s].kernel];
    operands.assign(kernel.operands, kernel.operands + kernel.num_operands);
    kernel.operands = operands.data();
    return operands;
  }

  std::vector<tinh_buffer_ref_t> &buffers_of(size_t s) {
    buffers.assign(steps[s].buffers, steps[s].buffers + steps[s].num_buffers);
    steps[s].buffers = buffers.data();
    return buffers;
  }

  std::vector<tinh_stride_t> &strides_of(size_t s) {
    strides.assign(steps[s].strides, steps[s].strides + steps[s].num_strides);
    steps[s].strides = strides.data();
    return strides;
  }

  explicit CheckArtifact(const char *library = CONTROL_ARTIFACT)
      : toy({}, false, library) {}

  Toy toy;
  Module module{toy.path()};
  tinh_function_desc_t function;
  std::vector<tinh_step_t> steps;
  std::vector<tinh_buffer_ref_t> buffers;
  std::vector<tinh_stride_t> strides;
  std::vector<tinh_kernel_desc_t> kernels;
  std::vector<tinh_operand_desc_t> operands;
};

/// Of the artifact for a GPU.
class CheckDevices : public CheckArtifact {
protected:
  CheckDevices() : CheckArtifact(CUDA_ARTIFACT) {}

  /// The same for one of its functions, by number.
  template <typename Change> bool takes(int f, Change change) {
    return accepts(static_cast<Function>(f), change);
  }
};

} // namespace

TEST_F(CheckDevices, WeightsOnTheGpuAreSomeOfThem) {
  tinh_artifact_t artifact = module.artifact();
  EXPECT_TRUE(valid_artifact(artifact));
  artifact.device_weights_size -= 4;
  EXPECT_FALSE(valid_artifact(artifact));
  artifact.device_weights_size = artifact.weights_size + 4;
  EXPECT_FALSE(valid_artifact(artifact));
}

TEST(CheckWithoutGpu, ItStandsInForTheOther) {
  Toy toy({}, false, BOTH_ARTIFACT);
  Module module(toy.path());
  auto accepts = [&](auto change) {
    tinh_artifact_t artifact = module.artifact(), other = *artifact.without_gpu;
    std::vector<tinh_function_desc_t> functions(
        other.functions, other.functions + other.num_functions);
    std::vector<tinh_variable_desc_t> variables(
        other.variables, other.variables + other.num_variables);
    std::vector<tinh_tensor_desc_t> inputs(
        functions[2].inputs, functions[2].inputs + functions[2].num_inputs);
    functions[2].inputs = inputs.data();
    other.functions = functions.data();
    other.variables = variables.data();
    artifact.without_gpu = &other;
    change(artifact, other, functions.data(), variables.data(), inputs.data());
    return valid_artifact(artifact);
  };
  using Artifact = tinh_artifact_t;
  using Functions = tinh_function_desc_t *;
  using Variables = tinh_variable_desc_t *;
  using Inputs = tinh_tensor_desc_t *;
  EXPECT_TRUE(
      accepts([](Artifact &, Artifact &, Functions, Variables, Inputs) {}));
  const std::function<void(Artifact &, Artifact &, Functions, Variables,
                           Inputs)>
      changes[] = {
          [](Artifact &, Artifact &b, auto...) { b.version += 1; },
          [](Artifact &, Artifact &b, auto...) { b.num_kernels -= 1; },
          [](Artifact &, Artifact &b, auto...) { b.kernels += 1; },
          [](Artifact &, Artifact &b, auto...) { b.num_functions -= 1; },
          [](Artifact &, Artifact &b, auto...) { b.num_variables -= 1; },
          [](Artifact &, Artifact &b, auto...) { b.weights_size -= 64; },
          [](Artifact &, Artifact &b, auto...) { b.state_size -= 64; },
          [](Artifact &a, Artifact &b, auto...) { b.init = a.init; },
          [](Artifact &, Artifact &b, auto...) { b.without_gpu = &b; },
          [](Artifact &, Artifact &b, auto...) { b.device_weights_size = 64; },
          [](Artifact &, Artifact &b, auto...) { b.device_state_size = 64; },
          [](Artifact &a, Artifact &, Functions f, auto...) {
            f[0] = a.functions[0]; // Of the GPU.
          },
          [](Artifact &, Artifact &, Functions f, auto...) { f[0].name = "f"; },
          [](Artifact &, Artifact &, Functions f, auto...) {
            f[0].name = nullptr;
          },
          [](Artifact &, Artifact &, Functions f, auto...) {
            f[2].num_inputs = 2;
          },
          [](Artifact &, Artifact &, Functions f, auto...) {
            f[0].device_arena_size = 64;
          },
          [](Artifact &, Artifact &, Functions, Variables v, Inputs) {
            std::swap(v[0], v[1]);
          },
          [](Artifact &, Artifact &, Functions, Variables v, Inputs) {
            v[0].trainable = 0;
          },
          [](Artifact &, Artifact &, Functions, Variables v, Inputs) {
            v[0].device = TINH_DEVICE_CUDA;
          },
          [](Artifact &, Artifact &, Functions, Variables, Inputs i) {
            i[0].name = "z";
          },
          [](Artifact &, Artifact &, Functions, Variables, Inputs i) {
            i[0].dtype = TINH_DTYPE_I32;
          },
          [](Artifact &, Artifact &, Functions, Variables, Inputs i) {
            i[0].dims[0] = 512;
          },
          [](Artifact &, Artifact &, Functions, Variables, Inputs i) {
            std::swap(i[1], i[2]);
          }};
  for (size_t i = 0; i < std::size(changes); ++i)
    EXPECT_FALSE(accepts(changes[i])) << i;
}

TEST_F(CheckDevices, KernelsHaveCodeForTheirDevice) {
  EXPECT_TRUE(takes(0, [] {}));
  enum { kCpuKernel = 0, kGpuKernel = 2 };
  for (uint32_t threads : {0u, 16u, 33u, 1056u})
    EXPECT_FALSE(takes(0, [&] { kernels[kGpuKernel].threads = threads; }));
  EXPECT_TRUE(takes(0, [&] { kernels[kGpuKernel].threads = 1024; }));
  EXPECT_FALSE(takes(0, [&] { kernels[kGpuKernel].image = nullptr; }));
  EXPECT_FALSE(
      takes(0, [&] { kernels[kGpuKernel].scratch_size = 1ull << 31; }));
  EXPECT_FALSE(takes(0, [&] { kernels[kGpuKernel].device = 2; }));
  EXPECT_FALSE(takes(0, [&] { kernels[kCpuKernel].function = nullptr; }));
  EXPECT_FALSE(takes(0, [&] { kernels[kCpuKernel].threads = 32; }));
}

TEST_F(CheckDevices, BuffersLieWhereTheirStepIsDone) {
  enum { kMain, kMixed, kTrain, kLoop, kWhile };
  auto put = [&](size_t step, size_t buffer, uint32_t space, uint32_t index) {
    return [=, this] { buffers_of(step)[buffer] = {space, index, 0}; };
  };
  EXPECT_FALSE(takes(kMain, put(1, 0, TINH_SPACE_INPUT, 0)));
  EXPECT_FALSE(takes(kMain, put(1, 0, TINH_SPACE_ARENA, 0)));
  EXPECT_FALSE(takes(kMain, put(1, 1, TINH_SPACE_WEIGHTS, 0)));
  EXPECT_FALSE(takes(kMain, put(0, 0, TINH_SPACE_WEIGHTS, 0)));
  EXPECT_TRUE(takes(kMain, put(0, 0, TINH_SPACE_DEVICE_WEIGHTS, 0)));
  EXPECT_FALSE(takes(kMixed, put(0, 0, TINH_SPACE_DEVICE, 0)));
  EXPECT_FALSE(takes(kMixed, put(0, 1, TINH_SPACE_DEVICE_WEIGHTS, 0)));
  EXPECT_TRUE(takes(kTrain, put(1, 1, TINH_SPACE_INPUT, 1)));
  EXPECT_FALSE(takes(kTrain, put(1, 1, TINH_SPACE_INPUT, 2)));
  EXPECT_FALSE(takes(kLoop, put(3, 1, TINH_SPACE_LOOP, 0)));
  EXPECT_FALSE(takes(kWhile, put(4, 0, TINH_SPACE_DEVICE, 0)));
}

TEST_F(CheckDevices, BuffersLieWithinTheArenaOnTheGpu) {
  EXPECT_TRUE(takes(0, [&] { function.device_arena_size = 3 * 4096; }));
  EXPECT_FALSE(takes(0, [&] { function.device_arena_size = 3 * 4096 - 1; }));
  EXPECT_FALSE(takes(0, [&] { buffers_of(1)[1].offset = 4; }));
  EXPECT_FALSE(takes(0, [&] { steps[1].num_chunks = 1ull << 31; }));
}

TEST_F(CheckDevices, VariablesLieInTheStateOfTheirDevice) {
  tinh_artifact_t artifact = module.artifact();
  artifact.device_state_size -= 64;
  EXPECT_FALSE(valid_artifact(artifact));
  artifact = module.artifact();
  artifact.state_size -= 64;
  EXPECT_FALSE(valid_artifact(artifact));
  artifact = module.artifact();
  tinh_function_desc_t init = *artifact.init;
  artifact.init = &init;
  EXPECT_TRUE(valid_artifact(artifact));
  init.steps = artifact.functions[0].steps; // Of the GPU.
  init.device_arena_size = artifact.functions[0].device_arena_size;
  EXPECT_FALSE(valid_artifact(artifact));
}

TEST_F(CheckArtifact, TakesWhatIsWhole) {
  for (Function f : {collatz, prefix, nested})
    EXPECT_TRUE(accepts(f, [] {})) << f;
}

TEST_F(CheckArtifact, SizesAreScalarOutputs) {
  int32_t size = 0;
  tinh_tensor_desc_t outputs[2] = {};
  auto with = [&](int32_t number, tinh_dtype_t dtype) {
    return accepts(collatz, [&] {
      size = number;
      outputs[0] = function.outputs[0];
      outputs[0].dtype = dtype;
      outputs[1] = {"y", TINH_DTYPE_I8, 1, {4}, 4, TINH_NOT_VARIABLE, &size};
      function.outputs = outputs;
      function.num_outputs = 2;
    });
  };
  EXPECT_TRUE(with(0, TINH_DTYPE_I64));
  EXPECT_TRUE(with(-1, TINH_DTYPE_I64));
  EXPECT_FALSE(with(0, TINH_DTYPE_F64));
  EXPECT_FALSE(with(1, TINH_DTYPE_I64)); // A vector.
  EXPECT_FALSE(with(2, TINH_DTYPE_I64));
  EXPECT_FALSE(with(-2, TINH_DTYPE_I64));
}

TEST_F(CheckArtifact, JumpsGoForwardAndOutOfOneLoopAtMost) {
  for (uint32_t target : {0u, 3u, 6u, 14u, UINT32_MAX})
    EXPECT_FALSE(accepts(collatz, [&] { steps[6].target = target; })) << target;
  for (uint32_t target : {7u, 11u, 12u, 13u})
    EXPECT_TRUE(accepts(collatz, [&] { steps[6].target = target; })) << target;
  // From before the loop into it, and out of both of two.
  EXPECT_FALSE(accepts(collatz, [&] {
    steps[1] = steps[8];
    steps[1].target = 4;
  }));
  auto jump = [&](uint32_t target) {
    return accepts(nested, [&] {
      steps[3] = {};
      steps[3].opcode = TINH_OP_JUMP;
      steps[3].wait_for = -1;
      steps[3].target = target;
    });
  };
  EXPECT_TRUE(jump(4));
  EXPECT_TRUE(jump(5));
  EXPECT_FALSE(jump(6));
}

TEST_F(CheckArtifact, LoopsNest) {
  EXPECT_FALSE(accepts(nested, [&] { steps[1].target = 5; }));
  EXPECT_FALSE(accepts(nested, [&] { steps[5].target = 3; }));
  EXPECT_FALSE(accepts(nested, [&] { std::swap(steps[4], steps[5]); }));
  EXPECT_FALSE(accepts(nested, [&] { --function.num_steps; }));
  EXPECT_FALSE(accepts(nested, [&] { steps[0] = steps[5]; }));
  EXPECT_FALSE(accepts(nested, [&] { steps[1].num_chunks = UINT64_MAX; }));
}

TEST_F(CheckArtifact, BuffersExistInEachIteration) {
  EXPECT_FALSE(
      accepts(nested, [&] { ++steps[1].num_chunks; })); // One too many.
  EXPECT_TRUE(accepts(nested, [&] { --steps[1].num_chunks; }));
  EXPECT_FALSE(accepts(nested, [&] { strides_of(3)[1].bytes *= 21; }));
  EXPECT_FALSE(accepts(nested, [&] { strides_of(3)[1].bytes = INT64_MAX; }));
  EXPECT_FALSE(accepts(nested, [&] { strides_of(3)[3].bytes = INT64_MIN; }));
  EXPECT_FALSE(accepts(nested, [&] { strides_of(3)[1].loop = 2; }));
  EXPECT_FALSE(accepts(nested, [&] { strides_of(3)[3].buffer = 4; }));
  EXPECT_FALSE(accepts(nested, [&] { strides_of(3)[0].buffer = 3; }));
  EXPECT_FALSE(accepts(nested, [&] { strides_of(3)[3].buffer = 2; }));
  EXPECT_FALSE(accepts(nested, [&] { buffers_of(3)[3].offset = 0; }));
  EXPECT_FALSE(accepts(nested, [&] { buffers_of(3)[2].index = 2; }));
  EXPECT_FALSE(accepts(nested, [&] { buffers_of(3)[2].space = 99; }));
  EXPECT_FALSE(accepts(collatz, [&] { buffers_of(4)[0].offset = 1 << 20; }));
}

TEST_F(CheckArtifact, OperandsLieInTheirBuffers) {
  static const int64_t longer[] = {17}, negative[] = {-1}, most[] = {INT64_MAX},
                       wide[] = {2};
  EXPECT_TRUE(accepts(nested, [&] { operands_of(3); }));
  EXPECT_FALSE(accepts(nested, [&] { operands_of(3)[0].dims = longer; }));
  EXPECT_FALSE(accepts(nested, [&] { operands_of(3)[0].dims = negative; }));
  EXPECT_FALSE(accepts(nested, [&] { operands_of(3)[0].dims = most; }));
  EXPECT_FALSE(accepts(nested, [&] { operands_of(3)[0].dims = nullptr; }));
  EXPECT_FALSE(accepts(nested, [&] { operands_of(3)[3].strides = wide; }));
  EXPECT_FALSE(accepts(nested, [&] { operands_of(3)[3].strides = negative; }));
  EXPECT_FALSE(accepts(nested, [&] { operands_of(3)[3].strides = most; }));
  EXPECT_FALSE(
      accepts(nested, [&] { operands_of(3)[3].dtype = TINH_DTYPE_F64; }));
  EXPECT_FALSE(accepts(nested, [&] { operands_of(3)[0].dtype = 99; }));
  EXPECT_FALSE(
      accepts(nested, [&] { --kernels[steps[3].kernel].num_operands; }));
  EXPECT_FALSE(
      accepts(nested, [&] { kernels[steps[3].kernel].operands = nullptr; }));
  EXPECT_FALSE(accepts(prefix, [&] { ++steps[1].size; }));
  EXPECT_FALSE(accepts(prefix, [&] { ++steps[5].size; }));
}

TEST_F(CheckArtifact, StepsHaveWhatTheyNeed) {
  EXPECT_FALSE(accepts(collatz, [&] { steps[4].num_buffers = 0; }));
  EXPECT_FALSE(accepts(collatz, [&] { steps[4].wait_for = 4; }));
  EXPECT_FALSE(accepts(collatz, [&] { steps[4].wait_for = -2; }));
  EXPECT_FALSE(accepts(collatz, [&] { steps[4].opcode = 9; }));
  EXPECT_FALSE(accepts(collatz, [&] { steps[7].kernel = 99; }));
  EXPECT_FALSE(accepts(collatz, [&] { steps[7].num_chunks = 0; }));
  EXPECT_FALSE(accepts(collatz, [&] { steps[12].num_buffers = 1; }));
  EXPECT_FALSE(accepts(collatz, [&] { steps[1].num_buffers = 2; }));
  EXPECT_FALSE(accepts(prefix, [&] { steps[3].num_buffers = 2; }));
  EXPECT_FALSE(accepts(collatz, [&] { function.num_steps = 1u << 29; }));
}

TEST_F(CheckVariables, HavePlacesOfTheirOwn) {
  EXPECT_TRUE(accepts([] {}));
  EXPECT_FALSE(accepts([&] { variables[1].name = variables[0].name; }));
  EXPECT_FALSE(accepts([&] { variables[1].name = nullptr; }));
  EXPECT_FALSE(accepts([&] { variables[1].offset = 0; }));
  EXPECT_FALSE(accepts([&] { variables[1].offset += 4; }));
  EXPECT_FALSE(accepts([&] { variables[1].offset = 256 + 64; }));
  EXPECT_FALSE(accepts([&] { variables[1].offset = UINT64_MAX - 63; }));
  EXPECT_FALSE(accepts([&] { variables[4].size = UINT64_MAX; }));
  EXPECT_FALSE(accepts([&] { variables[4].stored_size = UINT64_MAX; }));
  EXPECT_FALSE(accepts([&] { artifact.state_size -= 64; }));
  EXPECT_FALSE(accepts([&] { variables[0].initial_offset = 4096; }));
  EXPECT_TRUE(accepts([&] { variables[0].initial_offset = 4096 - 16; }));
  EXPECT_FALSE(accepts([&] { variables[0].dtype = 99; }));
}

TEST_F(CheckVariables, HaveKernelsForBothDirectionsOrNone) {
  auto accepts_after = [&](auto change) {
    return accepts([&] {
      store_in_panels();
      change(variables[0].pack, variables[0].unpack);
    });
  };
  using Conversion = tinh_conversion_t;
  auto both = [](uint64_t chunks) {
    return [=](Conversion &pack, Conversion &unpack) {
      pack.num_chunks = unpack.num_chunks = chunks;
    };
  };
  EXPECT_FALSE(accepts([&] { variables[0].stored_size += 16; }));
  EXPECT_TRUE(accepts_after(both(1)));
  EXPECT_FALSE(accepts_after(both(0)));
  EXPECT_FALSE(accepts_after(both(UINT64_MAX)));
  EXPECT_FALSE(accepts_after(
      [](Conversion &pack, auto &) { pack.kernel = TINH_NO_KERNEL; }));
  EXPECT_FALSE(accepts_after(
      [](auto &, Conversion &unpack) { unpack.kernel = TINH_NO_KERNEL; }));
  EXPECT_FALSE(accepts_after(
      [](auto &, Conversion &unpack) { ++unpack.kernel; })); // There is none.
  EXPECT_FALSE(accepts_after(
      [&](auto &, auto &) { variables[0].stored_size = 192; })); // Into "b".
}

TEST_F(CheckVariables, AreWhatTheirKernelsReadAndWrite) {
  auto accepts_after = [&](auto change) {
    return accepts([&] {
      store_in_panels();
      change(variables[0]);
    });
  };
  using Variable = tinh_variable_desc_t;
  // More room than is used is no fault, less is.
  EXPECT_TRUE(accepts_after([](Variable &w) { w.stored_size = 96; }));
  EXPECT_FALSE(accepts_after([](Variable &w) { w.stored_size = 76; }));
  EXPECT_FALSE(accepts_after([](Variable &w) { std::swap(w.pack, w.unpack); }));
  EXPECT_FALSE(accepts_after([&](Variable &w) {
    w.pack.kernel = 0; // Of five operands.
  }));
  EXPECT_FALSE(accepts_after(
      [&](Variable &w) { kernels[w.pack.kernel].num_operands = 1; }));
  EXPECT_FALSE(accepts_after(
      [&](Variable &w) { kernels[w.unpack.kernel].scratch_size = 64; }));
  static const int64_t longer[] = {5};
  for (size_t k : {0, 3})
    EXPECT_FALSE(accepts_after([&](Variable &) { operands[k].dims = longer; }));
  for (size_t k : {0, 1, 2, 3})
    EXPECT_FALSE(accepts_after([&](Variable &) { operands[k].written ^= 1; }));
  for (size_t k : {0, 1, 2, 3})
    EXPECT_FALSE(accepts_after([&](Variable &) { operands[k].dtype = 99; }));
}

TEST_F(CheckVariables, AreWhatFunctionsSay) {
  EXPECT_FALSE(accepts([&] { inputs[0].variable = 5; }));
  EXPECT_FALSE(accepts([&] { inputs[0].variable = -2; }));
  EXPECT_FALSE(accepts([&] { inputs[0].variable = 1; }));
  EXPECT_FALSE(accepts([&] { inputs[5].variable = 1; })); // Twice.
  EXPECT_FALSE(accepts([&] { inputs[0].dims[0] = 2; }));
  EXPECT_FALSE(accepts([&] { outputs[2].dtype = TINH_DTYPE_I32; }));
  EXPECT_FALSE(accepts([&] { function.mutates_state = 0; }));
  EXPECT_FALSE(accepts([&] {
    for (tinh_tensor_desc_t &output : outputs)
      output.variable = TINH_NOT_VARIABLE;
  }));
}
