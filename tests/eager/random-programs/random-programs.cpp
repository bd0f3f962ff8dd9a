//===- random-programs.cpp - Ways of running a program, compared *- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   random-programs [--first N] [--count N] [--steps N] [--eager-only]
//
// Runs programs over tensors, made from seeds, with the asynchronous engine and
// 1 and 2 workers, several of them from several threads at the same time, with
// the synchronous engine, as traced and compiled functions, and traced and
// evaluated by the reference interpreter. All must agree: eager ones to the
// bit. So must their gradients, by the tape and in compiled functions.
//
//===----------------------------------------------------------------------===//
#include "Gradients.h"
#include "Program.h"

#include "compiler/Eager/Function/FunctionImpl.h"
#include "compiler/Reference/Interpreter.h"
#include "tinh/engine.h"
#include "tinh/function.h"

#include "mlir/Parser/Parser.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <thread>

using namespace tinh;
using tinh::test::Program;

namespace {

/// What a program left, as bytes.
struct Outcome {
  std::vector<Shape> shapes;
  std::vector<std::vector<double>> values;
  std::vector<DType> dtypes;
};

Outcome read(std::span<const Tensor> tensors) {
  Outcome outcome;
  for (const Tensor &tensor : tensors) {
    outcome.shapes.push_back(tensor.shape());
    outcome.dtypes.push_back(tensor.dtype());
    outcome.values.push_back(tensor.to_vector<double>());
  }
  return outcome;
}

Outcome runEagerly(const Program &program) {
  return read(program.run(test::makeInputs(program.seed)));
}

/// What `run` gives on a GPU, where the inputs lie and all is created.
template <typename Run> Outcome onGpu(const Program &program, Run run) {
  std::vector<Tensor> inputs;
  for (const Tensor &input : test::makeInputs(program.seed))
    inputs.push_back(input.to(Device::cuda()));
  DeviceScope scope(Device::cuda());
  std::vector<Tensor> results = run(program, inputs);
  for (const Tensor &result : results)
    if (!result.device().is_cuda() && result.dim() > 0)
      throw Error(TINH_INTERNAL, "a result is not on the GPU");
  return read(results);
}

Outcome runCompiled(const Program &program) {
  auto compiled = function("program", [&](const std::vector<Tensor> &inputs) {
    return program.run(inputs);
  });
  return read(compiled(test::makeInputs(program.seed)));
}

Outcome differentiateEagerly(const Program &program) {
  return read(test::gradientsOf(program, test::makeInputs(program.seed)));
}

Outcome differentiateCompiled(const Program &program) {
  auto compiled = function("program", [&](const std::vector<Tensor> &inputs) {
    return test::gradientsOf(program, inputs);
  });
  return read(compiled(test::makeInputs(program.seed)));
}

Outcome runReference(const Program &program) {
  std::vector<Tensor> inputs = test::makeInputs(program.seed);
  auto graph = eager::traceFunction(
      [&](std::span<const Tensor> traced) { return program.run(traced); },
      inputs, {"program", std::source_location::current()});
  auto main = graph->module->lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<reference::Tensor> arguments;
  size_t next = 0;
  for (auto [i, argument] : llvm::enumerate(main.getArguments())) {
    auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
    std::vector<char> bytes(static_cast<size_t>(graph::tensorSize(type)));
    if (const auto &generator = graph->generators[i].state) {
      uint64_t state[] = {generator->seed, generator->counter};
      std::memcpy(bytes.data(), state, sizeof state);
    } else {
      inputs[next++].copy_to(bytes.data());
    }
    arguments.push_back(reference::fromBytes(type, bytes));
  }
  auto results = reference::evaluate(main, arguments, [](graph::ExternalAttr) {
    return llvm::createStringError("no files here");
  });
  if (mlir::failed(results))
    graph->context.fail("the reference cannot evaluate the program:");
  Outcome outcome;
  for (size_t i = 0; i < graph->results.size(); ++i) {
    const reference::Tensor &result = (*results)[i];
    outcome.dtypes.push_back(graph->results[i].first);
    outcome.shapes.push_back(Shape(std::span<const int64_t>(
        result.shape().data(), result.shape().size())));
    std::vector<double> values = result.floats;
    for (reference::Integer value : result.integers)
      values.push_back(static_cast<double>(value));
    outcome.values.push_back(std::move(values));
  }
  return outcome;
}

double tolerance(DType dtype) {
  if (!dtype.is_floating_point())
    return 0;
  return dtype == float16 ? 2e-2 : 1e-4;
}

/// By how much gradients may differ, relative to the largest: those of values
/// that the program keeps in f16 are rounded to it, and go on in wider ones.
double gradientTolerance(const Outcome &values, const Outcome &gradients) {
  double scale = 1, relative = 0;
  for (const std::vector<double> &of : gradients.values)
    for (double value : of)
      if (std::isfinite(value))
        scale = std::max(scale, std::abs(value));
  for (DType dtype : values.dtypes)
    relative = std::max(relative, tolerance(dtype));
  return relative * scale;
}

constexpr double kExactly = 0;

/// Prints the first tensor in which the two differ by more than `allowed`, for
/// which nothing stands for the rounding of each tensor's dtype.
bool agree(const Program &program, const char *name, const Outcome &found,
           const Outcome &expected, std::optional<double> allowed = {}) {
  for (size_t i = 0; i < expected.values.size(); ++i) {
    if (!(found.shapes[i] == expected.shapes[i]) ||
        found.dtypes[i] != expected.dtypes[i]) {
      std::printf("%s: tensor %zu has another shape or dtype\n%s", name, i,
                  program.describe().c_str());
      return false;
    }
    for (size_t j = 0; j < expected.values[i].size(); ++j) {
      double x = found.values[i][j], y = expected.values[i][j];
      double most = allowed.value_or(tolerance(expected.dtypes[i]));
      if ((std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= most)
        continue;
      std::printf("%s: element %zu of tensor %zu is %.9g, not %.9g\n%s", name,
                  j, i, x, y, program.describe().c_str());
      return false;
    }
  }
  return true;
}

void setEngine(EngineMode mode, uint32_t workers) {
  EngineOptions options;
  options.mode = mode;
  options.workers = workers;
  configure(options);
}

/// Runs neighbouring programs from three threads at the same time.
bool runTogether(const std::vector<Program> &programs,
                 const std::vector<Outcome> &expected) {
  std::vector<Outcome> found(programs.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t; i < programs.size(); i += 3)
        found[i] = runEagerly(programs[i]);
    });
  for (std::thread &thread : threads)
    thread.join();
  bool right = true;
  for (size_t i = 0; i < programs.size(); ++i)
    right &=
        agree(programs[i], "several threads", found[i], expected[i], kExactly);
  return right;
}

/// What `compare` says; false if it throws.
bool succeeds(const Program &program, const std::function<bool()> &compare) {
  try {
    return compare();
  } catch (const Error &error) {
    std::printf("%s\n%s", error.what(), program.describe().c_str());
    return false;
  }
}

/// The gradients of programs that have some: eager ones are the same in all
/// modes, and from several threads.
bool agreeInGradients(const std::vector<Program> &programs,
                      const std::vector<Outcome> &values, bool graphs) {
  std::vector<const Program *> differentiable;
  std::vector<Outcome> expected;
  std::vector<double> tolerances;
  setEngine(EngineMode::Synchronous, 1);
  for (size_t i = 0; i < programs.size(); ++i)
    if (test::hasGradients(programs[i])) {
      differentiable.push_back(&programs[i]);
      expected.push_back(differentiateEagerly(programs[i]));
      tolerances.push_back(gradientTolerance(values[i], expected.back()));
    }
  setEngine(EngineMode::Asynchronous, 2);
  std::vector<Outcome> found(expected.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t; i < found.size(); i += 3)
        found[i] = differentiateEagerly(*differentiable[i]);
    });
  for (std::thread &thread : threads)
    thread.join();
  bool right = differentiable.size() * 4 > programs.size();
  for (size_t i = 0; i < found.size(); ++i) {
    const Program &program = *differentiable[i];
    right &= agree(program, "gradients", found[i], expected[i], kExactly);
    if (graphs)
      right &= succeeds(program, [&] {
        return agree(program, "compiled gradients",
                     differentiateCompiled(program), expected[i],
                     tolerances[i]);
      });
  }
  std::printf("%zu of %zu programs have gradients\n", differentiable.size(),
              programs.size());
  return right;
}

bool agreeAsGraphs(const Program &program, const Outcome &expected) {
  return succeeds(program, [&] {
    bool right = agree(program, "reference", runReference(program), expected);
    right &= agree(program, "compiled", runCompiled(program), expected);
    return right;
  });
}

/// All ways of running programs on the CPU against the first one.
bool agreeOnCpu(const std::vector<Program> &programs,
                const std::vector<Outcome> &expected, bool graphs) {
  bool right = true;
  for (uint32_t workers : {1u, 2u}) {
    setEngine(EngineMode::Asynchronous, workers);
    for (size_t i = 0; i < programs.size(); ++i)
      right &= agree(programs[i], workers == 1 ? "one worker" : "two workers",
                     runEagerly(programs[i]), expected[i], kExactly);
  }
  right &= runTogether(programs, expected);
  for (size_t i = 0; graphs && i < programs.size(); ++i)
    right &= agreeAsGraphs(programs[i], expected[i]);
  return right & agreeInGradients(programs, expected, graphs);
}

/// Operations on a GPU against those on the CPU.
bool agreeOnGpu(const Program &program, const Outcome &expected) {
  auto run = [](const Program &program, std::span<const Tensor> inputs) {
    return program.run(inputs);
  };
  return succeeds(program, [&] {
    bool right = agree(program, "GPU", onGpu(program, run), expected);
    if (test::hasGradients(program)) {
      Outcome gradients = differentiateEagerly(program);
      right &= agree(program, "gradients on the GPU",
                     onGpu(program, test::gradientsOf), gradients,
                     gradientTolerance(expected, gradients));
    }
    return right;
  });
}

} // namespace

int main(int argc, char **argv) {
  uint64_t first = 0, count = 50;
  size_t steps = 25;
  bool graphs = true, gpu = false;
  CLI::App app("Compares ways of running random programs over tensors.");
  app.add_option("--first", first, "the first seed");
  app.add_option("--count", count, "how many programs");
  app.add_option("--steps", steps, "steps of a program");
  app.add_flag("!--eager-only", graphs, "leave tracing out");
  app.add_flag("--gpu", gpu, "compare with the first GPU alone");
  CLI11_PARSE(app, argc, argv);

  bool right = true;
  std::vector<Program> programs;
  std::vector<Outcome> expected;
  setEngine(EngineMode::Synchronous, 1);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    programs.push_back(test::makeProgram(seed, steps));
    expected.push_back(runEagerly(programs.back()));
  }
  if (gpu) {
    setEngine(EngineMode::Asynchronous, 2);
    for (size_t i = 0; i < programs.size(); ++i)
      right &= agreeOnGpu(programs[i], expected[i]);
  } else {
    right = agreeOnCpu(programs, expected, graphs);
  }
  std::printf("%zu programs %s\n", programs.size(), right ? "agree" : "differ");
  return right ? 0 : 1;
}
