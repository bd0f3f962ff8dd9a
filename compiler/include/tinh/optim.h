//===- tinh/optim.h - Optimizers, clipping, schedules -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimizer changes parameters by their gradients:
//
//   namespace optim = tinh::optim;
//   optim::Optimizer optimizer(model->parameters(), optim::adam({.lr = 1e-3}));
//   optimizer.zero_grad();
//   tinh::backward(loss);
//   optimizer.step();
//
// What it does to one parameter is an UpdateRule: a function over tensors, with
// the state that it declares. The same rules run eagerly, in traced functions
// and in compiled training steps. The formulas and the names of the state are
// PyTorch's; Lion is that of its paper.
//
// The learning rate is a tensor of rank 0, so that a traced step sees it
// change. All other options are numbers: they are constants of a traced step.
// All are finite in float32, and factors of averages from 0 to below 1.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_OPTIM_H
#define TINH_OPTIM_H

#include "tinh/options.h"
#include "tinh/state_dict.h"
#include "tinh/tensor.h"

#include <functional>
#include <memory>

namespace tinh::optim {

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

/// A tensor that an optimizer keeps.
struct StateSpec {
  std::string name;   ///< As in PyTorch: "exp_avg".
  double initial = 0; ///< What all elements are before the first step.
};

class UpdateRule {
public:
  virtual ~UpdateRule() = default;

  /// As make() knows it: "adam".
  virtual std::string name() const = 0;
  /// The learning rate to begin with.
  virtual double learning_rate() const = 0;
  /// For each parameter, of its shape and dtype.
  virtual std::vector<StateSpec> state() const = 0;
  /// Numbers that follow from the steps so far, of rank 0, in lr's dtype.
  /// Parameters that were always updated together share them.
  virtual std::vector<StateSpec> scalar_state() const { return {}; }

  /// What the updates of all parameters in a step have in common, of rank 0, in
  /// lr's dtype: from the learning rate and the number of the step, which is 1
  /// in the first. Both have rank 0 and the same dtype, that of the parameters
  /// if they are float64, else float32. Changes `scalars`, tensors as
  /// scalar_state() declares them, in place.
  virtual std::vector<Tensor>
  prepare(const Tensor &lr, const Tensor &step,
          std::span<const Tensor> scalars) const = 0;
  /// Changes the parameter and its state, tensors as state() declares them, in
  /// place. `common` is what prepare() gave for this step. The gradient is not
  /// changed. To be called where nothing is recorded (NoGrad).
  virtual void update(const Tensor &parameter, const Tensor &gradient,
                      std::span<const Tensor> state,
                      std::span<const Tensor> common) const = 0;
};

using Rule = std::shared_ptr<const UpdateRule>;

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};
Rule sgd(const SGDOptions &options = {}, At at = At::current());

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
};
Rule adam(const AdamOptions &options = {}, At at = At::current());

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
};
/// Adam whose weight decay is apart from the gradient.
Rule adamw(const AdamWOptions &options = {}, At at = At::current());

struct AdamaxOptions {
  double lr = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};
/// Adam by the largest of the gradients, which fades, in the place of their
/// mean square: arXiv:1412.6980, section 7.1.
Rule adamax(const AdamaxOptions &options = {}, At at = At::current());

struct NAdamOptions {
  double lr = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false; ///< As AdamW's.
};
/// Adam with Nesterov's momentum: Dozat, Incorporating Nesterov Momentum into
/// Adam.
Rule nadam(const NAdamOptions &options = {}, At at = At::current());

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
};
Rule adagrad(const AdagradOptions &options = {}, At at = At::current());

struct RMSPropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
};
Rule rmsprop(const RMSPropOptions &options = {}, At at = At::current());

struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
};
/// arXiv:2302.06675
Rule lion(const LionOptions &options = {}, At at = At::current());

/// "sgd", "adam", "adamw", "adamax", "nadam", "adagrad", "rmsprop" or "lion",
/// with options by the names of the fields above: make("adam", {{"lr",
/// 0.001}}).
Rule make(std::string_view name, const Options &options = {},
          At at = At::current());
/// The names of all.
std::vector<std::string> names();

//===----------------------------------------------------------------------===//
// The optimizer
//===----------------------------------------------------------------------===//

/// Parameters that are updated by one rule, with one learning rate.
struct ParameterGroup {
  std::vector<Tensor> parameters;
  Rule rule;
};

/// Keeps the state of its parameters. Its tensors are made when it is, so that
/// step() may be traced as any function over tensors. A parameter without a
/// gradient is left as it is, and its count of steps, too.
class Optimizer {
public:
  explicit Optimizer(std::vector<ParameterGroup> groups, At at = At::current());
  Optimizer(std::vector<Tensor> parameters, Rule rule, At at = At::current());

  void step(At at = At::current());
  /// The same where `condition`, boolean and of rank 0, holds. Otherwise all
  /// stays as it is; the host need not know.
  void step_if(const Tensor &condition, At at = At::current());
  /// Forgets the gradients of all parameters.
  void zero_grad(At at = At::current());

  size_t num_groups() const { return groups.size(); }
  const std::vector<Tensor> &parameters(size_t group = 0) const;
  const UpdateRule &rule(size_t group = 0) const;
  /// Of rank 0; what is written to it counts from the next step on.
  const Tensor &learning_rate(size_t group = 0) const;
  void set_learning_rate(double lr, size_t group = 0) const;

  /// The state by parameter, in the order of the groups: "state.0.exp_avg",
  /// "state.0.step"; and "param_groups.0.lr".
  StateDict state_dict() const;
  /// Copies the values; the keys must be those of state_dict().
  void load_state_dict(const StateDict &state, At at = At::current());

private:
  struct Clock {
    Tensor step; ///< Steps so far.
    std::vector<Tensor> scalars;

    Clock clone() const;
  };
  struct Slot {
    Tensor parameter;
    std::vector<Tensor> state;
    size_t clock; ///< Which of `clocks` counts its steps.
  };
  struct Group {
    std::vector<Tensor> parameters;
    Rule rule;
    Tensor lr;
    std::vector<Slot> slots;
    /// Those parameters share one that were always updated together.
    std::vector<Clock> clocks;
  };
  const Group &groupAt(size_t index) const;
  static void stepGroup(Group &group, const Tensor &condition, At at);
  static void separateClocks(Group &group, const std::vector<Tensor> &grads);
  static void loadClocks(Group &group, const StateDict &state, size_t &index);

  std::vector<Group> groups;
};

//===----------------------------------------------------------------------===//
// Clipping
//===----------------------------------------------------------------------===//

/// Scales the tensors in place so that the norm of all elements together, which
/// it returns, is at most max_norm; p may be infinite.
Tensor clip_norm_(std::span<const Tensor> gradients, double max_norm,
                  double p = 2, At at = At::current());
/// The same of the gradients of `parameters` that have one.
Tensor clip_grad_norm_(std::span<const Tensor> parameters, double max_norm,
                       double p = 2, At at = At::current());
/// Clamps all elements of the gradients to [-limit, limit], in place.
void clip_grad_value_(std::span<const Tensor> parameters, double limit,
                      At at = At::current());

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// The learning rate from that of the beginning, after so many steps (of
/// whatever Scheduler::step() is called for: epochs, batches).
using Schedule = std::function<double(double initial, int64_t step)>;

/// · gamma every `step_size` steps.
Schedule step_schedule(int64_t step_size, double gamma = 0.1,
                       At at = At::current());
/// · gamma at each of the milestones.
Schedule multi_step_schedule(std::vector<int64_t> milestones,
                             double gamma = 0.1);
Schedule exponential_schedule(double gamma);
/// From the initial rate to `minimum` in half a cosine over `steps`.
Schedule cosine_schedule(int64_t steps, double minimum = 0,
                         At at = At::current());
/// From initial · start_factor to initial · end_factor over `steps`, and on so.
Schedule linear_schedule(int64_t steps, double start_factor = 1.0 / 3,
                         double end_factor = 1, At at = At::current());
/// Each schedule begins with the rate that the one before gives.
Schedule chained_schedule(std::vector<Schedule> schedules);
/// One after the other: the i-th begins anew, with the initial rate, at
/// milestones[i - 1].
Schedule sequential_schedule(std::vector<Schedule> schedules,
                             std::vector<int64_t> milestones,
                             At at = At::current());

/// "constant", "step" (step_size, gamma), "multi_step" (milestones: "30:60",
/// gamma), "exponential" (gamma), "cosine" (steps, minimum) or "linear" (steps,
/// start_factor, end_factor); all with `warmup`: steps of a linear rise from
/// initial / warmup before.
Schedule make_schedule(std::string_view name, const Options &options = {},
                       At at = At::current());

/// Sets the learning rates of an optimizer by a schedule.
class Scheduler {
public:
  /// The optimizer's rates are the initial ones; sets those of step 0. The
  /// optimizer must live as long.
  Scheduler(Optimizer &optimizer, Schedule schedule);

  /// To be called after Optimizer::step.
  void step() { set_step(count + 1); }
  int64_t current_step() const { return count; }
  /// Goes on from that step, as when training is resumed.
  void set_step(int64_t step);

private:
  Optimizer &optimizer;
  Schedule schedule;
  std::vector<double> initial;
  int64_t count = 0;
};

} // namespace tinh::optim

#endif // TINH_OPTIM_H
