//===- Strategy.h - What a table of strategies is made of -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device has a table of strategies, ways to make code of a kernel function
// over linalg. A strategy is a class S with
//
//   Plan            the attribute that holds its decisions;
//   match(kernel)   describes the kernel as the strategy sees it, or says why
//                   it is not for the strategy;
//   plans(match, target)
//                   the plans that are worth considering;
//   expand(match, plan, target, emitError)
//                   what follows from a plan: the Division that it makes, and
//                   what cost and code need beside, or an error if the kernel
//                   cannot be computed so;
//   cost(match, expanded, target)
//                   the cycles that one core, or multiprocessor, would take,
//                   of which Device::idleCycles adds what sharing costs;
//   emit(kernel, match, expanded, target)
//                   the code. It decides nothing.
//   split(dispatched, target)
//                   if it is there: makes two kernels of one where work could
//                   be shared among more workers then, and gives the dispatch
//                   of the new one.
//
// The cheapest plan of all is the kernel's, and from then on the plan alone
// says what the kernel's strategy is.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_STRATEGY_H
#define TINH_CODEGEN_KERNEL_STRATEGY_H

#include "dialects/graph/Graph.h"
#include "dialects/graph/PlanChecks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace tinh::codegen {

/// Why a kernel is not for a strategy: what would follow "it".
struct NoMatch {
  llvm::StringRef why;
};

/// What a strategy sees in a kernel, or why it is not for that.
template <typename T> class Match {
public:
  Match(T match) : match(std::move(match)) {}
  Match(NoMatch none) : none(none) {}
  explicit operator bool() const { return match.has_value(); }
  T &operator*() { return *match; }
  T *operator->() { return &*match; }
  llvm::StringRef whyNot() const { return none.why; }

private:
  std::optional<T> match;
  NoMatch none;
};

/// A way to compute a kernel, the cycles that it is estimated to take, and
/// those for which workers that share it wait for one another in the end.
struct Candidate {
  graph::KernelPlanInterface plan;
  double cycles, idle;
  double cost() const { return cycles + idle; }
};

/// What one strategy of a table has to say of a kernel.
struct Considered {
  llvm::StringRef strategy, whyNot;
  llvm::SmallVector<Candidate, 2> candidates;
};

using graph::checkNumbers, graph::EmitError, graph::within;

/// What a plan makes of a kernel.
struct Division {
  int64_t chunks = 1;  ///< Pieces of the work: blocks, on a GPU.
  int64_t threads = 0; ///< Of such a block.
  int64_t scratch = 0; ///< Bytes that a worker or block needs beside operands.
  bool operator==(const Division &) const = default;
};

/// A plan from which nothing follows but the division.
template <typename Plan> struct Divided : Plan, Division {};

/// A kernel function and the one op that dispatches it, in a module of these
/// symbols.
struct DispatchedKernel {
  mlir::SymbolTable &symbols;
  mlir::func::FuncOp kernel;
  graph::DispatchOp dispatch;
};

/// The types of the functions that a strategy declares: `Form` is what it sees
/// in a kernel, `Expanded` what follows from a plan, and `Given` how that is
/// passed on.
template <typename Target, typename EmittedKernel, typename Form,
          typename PlanAttr, typename Expanded, typename Given>
struct StrategyFunctions {
  using Plan = PlanAttr;
  using MatchFunction = Match<Form>(mlir::func::FuncOp kernel);
  using PlansFunction = llvm::SmallVector<Plan>(const Form &, const Target &);
  using ExpandFunction = llvm::FailureOr<Expanded>(const Form &, Plan,
                                                   const Target &, EmitError);
  using CostFunction = double(const Form &, Given, const Target &);
  using EmitFunction = llvm::LogicalResult(EmittedKernel &, const Form &, Given,
                                           const Target &);
  using SplitFunction = graph::DispatchOp(DispatchedKernel, const Target &);
};

/// A row of the table of a device, which has the types Target and
/// EmittedKernel, a name and the function idleCycles.
template <typename Device> struct Strategy {
  using Target = typename Device::Target;
  using EmittedKernel = typename Device::EmittedKernel;

  llvm::StringRef name;
  mlir::TypeID plan;
  Considered (*consider)(mlir::func::FuncOp, const Target &);
  std::optional<Candidate> (*candidate)(mlir::func::FuncOp,
                                        mlir::Attribute plan, const Target &);
  llvm::FailureOr<Division> (*divide)(mlir::func::FuncOp, mlir::Attribute plan,
                                      const Target &);
  llvm::LogicalResult (*emit)(EmittedKernel &, mlir::Attribute plan,
                              const Target &);
  graph::DispatchOp (*split)(DispatchedKernel, const Target &) = nullptr;
};

/// What `plan` would cost where S sees `match`; nothing, after a diagnostic, if
/// it cannot be computed so.
template <typename Device, typename S, typename T>
std::optional<Candidate> candidateOf(T &match, typename S::Plan plan,
                                     const typename Device::Target &target,
                                     EmitError error) {
  auto expanded = S::expand(match, plan, target, error);
  if (llvm::failed(expanded))
    return std::nullopt;
  double cycles = S::cost(match, *expanded, target);
  return Candidate{plan, cycles, Device::idleCycles(cycles, *expanded)};
}

/// The row of the class S.
template <typename Device, typename S> Strategy<Device> strategyOf() {
  using Row = Strategy<Device>;
  using Target = typename Row::Target;
  Row row;
  row.name = S::Plan::getMnemonic();
  row.plan = mlir::TypeID::get<typename S::Plan>();
  row.consider = [](mlir::func::FuncOp kernel, const Target &target) {
    Considered considered{S::Plan::getMnemonic(), {}, {}};
    auto match = S::match(kernel);
    considered.whyNot =
        match ? "could be computed so, but not well" : match.whyNot();
    if (!match)
      return considered;
    auto error = [&] { return kernel.emitError(); };
    for (typename S::Plan plan : S::plans(*match, target))
      if (auto candidate = candidateOf<Device, S>(*match, plan, target, error))
        considered.candidates.push_back(*candidate);
    return considered;
  };
  row.candidate = [](mlir::func::FuncOp kernel, mlir::Attribute plan,
                     const Target &target) -> std::optional<Candidate> {
    auto match = S::match(kernel);
    auto error = [&] { return kernel.emitError(); };
    return match ? candidateOf<Device, S>(*match,
                                          llvm::cast<typename S::Plan>(plan),
                                          target, error)
                 : std::nullopt;
  };
  row.divide = [](mlir::func::FuncOp kernel, mlir::Attribute plan,
                  const Target &target) -> llvm::FailureOr<Division> {
    auto match = S::match(kernel);
    if (!match)
      return kernel.emitError()
             << "cannot be computed as " << plan << ": it " << match.whyNot();
    auto error = [&] {
      return kernel.emitError() << "cannot be computed as " << plan << ": ";
    };
    auto expanded =
        S::expand(*match, llvm::cast<typename S::Plan>(plan), target, error);
    if (llvm::failed(expanded))
      return llvm::failure();
    return Division(*expanded);
  };
  row.emit = [](typename Row::EmittedKernel &kernel, mlir::Attribute plan,
                const Target &target) -> llvm::LogicalResult {
    auto match = S::match(kernel.source);
    if (!match)
      return llvm::failure();
    auto error = [&] { return kernel.source.emitError(); };
    auto expanded =
        S::expand(*match, llvm::cast<typename S::Plan>(plan), target, error);
    if (llvm::failed(expanded))
      return llvm::failure();
    return S::emit(kernel, *match, *expanded, target);
  };
  if constexpr (requires { &S::split; })
    row.split = S::split;
  return row;
}

/// The cheapest of all; nothing if there is none.
std::optional<Candidate> cheapest(llvm::ArrayRef<Considered> considered);

/// Says as remarks at the kernel what was considered, the cheapest plan first,
/// and why others were not.
void remark(mlir::func::FuncOp kernel, llvm::ArrayRef<Considered> considered);

/// A device's strategies; the cheapest wins, of several the first.
template <typename Device> class StrategyTable {
public:
  using Target = typename Device::Target;
  using EmittedKernel = typename Device::EmittedKernel;
  StrategyTable(llvm::ArrayRef<Strategy<Device>> rows) : rows(rows) {}

  /// The row of the kernel's plan; an error if it has none for this device.
  llvm::FailureOr<const Strategy<Device> *>
  strategyOf(mlir::func::FuncOp kernel) const {
    mlir::Attribute plan = kernel->getAttr(graph::names::kPlan);
    if (!plan)
      return kernel.emitError("no plan has been chosen for this kernel");
    if (const Strategy<Device> *row = find(plan))
      return row;
    return kernel.emitError() << "is on " << Device::kName << ", for which "
                              << plan << " is no plan";
  }

  /// The cheapest plan of the kernel, whatever it has; nothing if none can
  /// compute it. With `remarks`, says what was considered.
  std::optional<Candidate> cheapest(mlir::func::FuncOp kernel,
                                    const Target &target,
                                    bool remarks = false) const {
    llvm::SmallVector<Considered, 0> all;
    for (const Strategy<Device> &row : rows)
      all.push_back(row.consider(kernel, target));
    if (remarks)
      remark(kernel, all);
    return codegen::cheapest(all);
  }

  /// What the kernel would cost by `plan`; nothing, maybe after a diagnostic,
  /// if it cannot be computed so.
  std::optional<Candidate> candidate(mlir::func::FuncOp kernel,
                                     mlir::Attribute plan,
                                     const Target &target) const {
    const Strategy<Device> *row = find(plan);
    return row ? row->candidate(kernel, plan, target) : std::nullopt;
  }

  /// All plans that the device's strategies have for the kernel.
  llvm::SmallVector<Candidate> candidates(mlir::func::FuncOp kernel,
                                          const Target &target) const {
    llvm::SmallVector<Candidate> all;
    for (const Strategy<Device> &row : rows)
      llvm::append_range(all, row.consider(kernel, target).candidates);
    return all;
  }

  /// What the kernel's plan makes of it; an error if it cannot be computed so.
  llvm::FailureOr<Division> divide(mlir::func::FuncOp kernel,
                                   const Target &target) const {
    auto row = strategyOf(kernel);
    if (failed(row))
      return mlir::failure();
    return (*row)->divide(kernel, kernel->getAttr(graph::names::kPlan), target);
  }

  /// The code of the kernel in `emitted`, which has been divided.
  llvm::LogicalResult emit(EmittedKernel &emitted, const Target &target) const {
    mlir::Attribute plan = emitted.source->getAttr(graph::names::kPlan);
    if (llvm::succeeded(find(plan)->emit(emitted, plan, target)))
      return mlir::success();
    return emitted.source.emitError(
               "internal error: no code for this kernel as ")
           << plan;
  }

  /// The row that `plan` is one of; null if the device has no such strategy.
  const Strategy<Device> *find(mlir::Attribute plan) const {
    for (const Strategy<Device> &row : rows)
      if (row.plan == plan.getTypeID())
        return &row;
    return nullptr;
  }

private:
  llvm::ArrayRef<Strategy<Device>> rows;
};

/// The table of these classes, in this order.
template <typename Device, typename... Classes>
StrategyTable<Device> tableOf() {
  static const Strategy<Device> rows[] = {strategyOf<Device, Classes>()...};
  return llvm::ArrayRef(rows);
}

/// Sets as attributes of the kernel what its plan makes of it.
void setDivision(mlir::func::FuncOp kernel, const Division &division);
/// Whether these attributes say so: callers run as many chunks and give as much
/// memory.
mlir::LogicalResult checkDivision(mlir::func::FuncOp kernel,
                                  const Division &division);

/// The memory of the kernel's operands: its inputs, then its results.
llvm::SmallVector<mlir::Type> operandMemory(mlir::func::FuncOp kernel);

/// Makes a kernel what its strategy wants; returns the dispatches to look at
/// next, the last one first: those whose kernels are new or have changed.
using PrepareKernel =
    llvm::function_ref<llvm::SmallVector<graph::DispatchOp>(DispatchedKernel)>;

/// Prepares the kernels of all dispatches of `module` that are on the GPU, or
/// those that are not.
mlir::LogicalResult prepareKernels(mlir::ModuleOp module, bool onCuda,
                                   PrepareKernel prepare);

/// Says of a kernel with one result which of its inputs may share memory with
/// it: those of its shape and size, both dense, that `mayShare`.
void setInplace(mlir::func::FuncOp kernel,
                llvm::function_ref<bool(mlir::BlockArgument)> mayShare);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_STRATEGY_H
