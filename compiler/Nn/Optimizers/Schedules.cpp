//===- Schedules.cpp - Learning rates over time -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Nn/OptionReader.h"
#include "tinh/optim.h"

#include <cmath>
#include <numbers>

using namespace tinh;
using namespace tinh::optim;

/// What a number of steps must be.
static void requireSteps(const char *schedule, const char *what, int64_t steps,
                         At at) {
  if (steps < 1)
    eager::fail({schedule, at}, what, " is ", steps, "; it must be 1 or more");
}

Schedule optim::step_schedule(int64_t stepSize, double gamma, At at) {
  requireSteps("optim::step_schedule", "step_size", stepSize, at);
  return [stepSize, gamma](double initial, int64_t step) {
    return initial * std::pow(gamma, step / stepSize);
  };
}

Schedule optim::multi_step_schedule(std::vector<int64_t> milestones,
                                    double gamma) {
  return [milestones, gamma](double initial, int64_t step) {
    auto passed = std::count_if(milestones.begin(), milestones.end(),
                                [&](int64_t at) { return at <= step; });
    return initial * std::pow(gamma, passed);
  };
}

Schedule optim::exponential_schedule(double gamma) {
  return step_schedule(1, gamma);
}

Schedule optim::cosine_schedule(int64_t steps, double minimum, At at) {
  requireSteps("optim::cosine_schedule", "steps", steps, at);
  return [steps, minimum](double initial, int64_t step) {
    double part = double(step) / double(steps);
    double share = (1 + std::cos(std::numbers::pi * std::min(part, 1.0))) / 2;
    return minimum + (initial - minimum) * share;
  };
}

Schedule optim::linear_schedule(int64_t steps, double startFactor,
                                double endFactor, At at) {
  requireSteps("optim::linear_schedule", "steps", steps, at);
  return [=](double initial, int64_t step) {
    double part = double(step) / double(steps);
    return initial * std::lerp(startFactor, endFactor, std::min(part, 1.0));
  };
}

Schedule optim::chained_schedule(std::vector<Schedule> schedules) {
  return [schedules](double initial, int64_t step) {
    for (const Schedule &schedule : schedules)
      initial = schedule(initial, step);
    return initial;
  };
}

Schedule optim::sequential_schedule(std::vector<Schedule> schedules,
                                    std::vector<int64_t> milestones, At at) {
  if (schedules.size() != milestones.size() + 1 ||
      !std::is_sorted(milestones.begin(), milestones.end()))
    eager::fail({"optim::sequential_schedule", at}, schedules.size(),
                " schedules need ", schedules.size() - 1,
                " milestones, in order");
  return [schedules, milestones](double initial, int64_t step) {
    size_t i = 0;
    int64_t begin = 0;
    while (i < milestones.size() && step >= milestones[i])
      begin = milestones[i++];
    return schedules[i](initial, step - begin);
  };
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

using nn::OptionReader;

static Schedule makeStep(OptionReader &options, At at) {
  int64_t size = options.integer("step_size");
  return step_schedule(size, options.number("gamma", 0.1), at);
}
static Schedule makeMultiStep(OptionReader &options, At) {
  std::vector<int64_t> milestones = options.integers("milestones");
  return multi_step_schedule(milestones, options.number("gamma", 0.1));
}
static Schedule makeExponential(OptionReader &options, At) {
  return exponential_schedule(options.number("gamma", 0.9));
}
static Schedule makeCosine(OptionReader &options, At at) {
  int64_t steps = options.integer("steps");
  return cosine_schedule(steps, options.number("minimum", 0), at);
}
static Schedule makeLinear(OptionReader &options, At at) {
  int64_t steps = options.integer("steps");
  double start = options.number("start_factor", 1.0 / 3);
  return linear_schedule(steps, start, options.number("end_factor", 1), at);
}
static Schedule makeConstant(OptionReader &, At) {
  return [](double initial, int64_t) { return initial; };
}

using Maker = Schedule (*)(OptionReader &options, At at);
static const std::vector<std::pair<std::string, Maker>> kSchedules = {
    {"constant", makeConstant},    {"step", makeStep},
    {"multi_step", makeMultiStep}, {"exponential", makeExponential},
    {"cosine", makeCosine},        {"linear", makeLinear},
};

Schedule optim::make_schedule(std::string_view name, const Options &options,
                              At at) {
  eager::Call call{"optim::make_schedule", at};
  Maker maker = nn::entryOf(kSchedules, name, "schedule", call);
  OptionReader reader(name, options, call);
  Schedule schedule = maker(reader, at);
  int64_t warmup = reader.integer("warmup", 0);
  reader.finish();
  if (warmup <= 0)
    return schedule;
  double first = 1 / double(warmup);
  int64_t rising = std::max<int64_t>(warmup - 1, 1);
  return sequential_schedule({linear_schedule(rising, first, 1, at), schedule},
                             {warmup}, at);
}

//===----------------------------------------------------------------------===//
// Scheduler
//===----------------------------------------------------------------------===//

Scheduler::Scheduler(Optimizer &optimizer, Schedule schedule)
    : optimizer(optimizer), schedule(std::move(schedule)) {
  for (size_t i = 0; i < optimizer.num_groups(); ++i)
    initial.push_back(optimizer.learning_rate(i).item<double>());
  set_step(0);
}

void Scheduler::set_step(int64_t step) {
  count = step;
  for (size_t i = 0; i < initial.size(); ++i)
    optimizer.set_learning_rate(schedule(initial[i], step), i);
}
