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
//   cost(match, plan, target)
//                   the cycles that one core, or multiprocessor, would take,
//                   of which Device::idleCycles adds what sharing costs;
//   divide(match, plan, target, emitError)
//                   how many chunks the plan makes and what memory they need,
//                   or an error if the kernel cannot be computed so;
//   emit(kernel, match, plan, target)
//                   the code. It decides nothing.
//   split(b, symbols, kernel, dispatch, target)
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

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// A row of the table of a device, which has the types Target, Division and
/// EmittedKernel and the function idleCycles.
template <typename Device> struct Strategy {
  using Target = typename Device::Target;
  using Division = typename Device::Division;
  using EmittedKernel = typename Device::EmittedKernel;

  llvm::StringRef name;
  mlir::TypeID plan;
  Considered (*consider)(mlir::func::FuncOp, const Target &);
  llvm::FailureOr<Division> (*divide)(mlir::func::FuncOp, mlir::Attribute plan,
                                      const Target &);
  llvm::LogicalResult (*emit)(EmittedKernel &, mlir::Attribute plan,
                              const Target &);
  graph::DispatchOp (*split)(mlir::OpBuilder &, mlir::SymbolTable &,
                             mlir::func::FuncOp, graph::DispatchOp,
                             const Target &) = nullptr;
};

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
    for (typename S::Plan plan : S::plans(*match, target)) {
      double cycles = S::cost(*match, plan, target);
      auto division = S::divide(*match, plan, target, error);
      if (llvm::succeeded(division))
        considered.candidates.push_back(
            {plan, cycles, Device::idleCycles(cycles, *division)});
    }
    return considered;
  };
  row.divide =
      [](mlir::func::FuncOp kernel, mlir::Attribute plan,
         const Target &target) -> llvm::FailureOr<typename Row::Division> {
    auto match = S::match(kernel);
    if (!match)
      return kernel.emitError()
             << "cannot be computed as " << plan << ": it " << match.whyNot();
    auto error = [&] {
      return kernel.emitError() << "cannot be computed as " << plan << ": ";
    };
    return S::divide(*match, llvm::cast<typename S::Plan>(plan), target, error);
  };
  row.emit = [](typename Row::EmittedKernel &kernel, mlir::Attribute plan,
                const Target &target) -> llvm::LogicalResult {
    auto match = S::match(kernel.source);
    if (!match)
      return llvm::failure();
    return S::emit(kernel, *match, llvm::cast<typename S::Plan>(plan), target);
  };
  if constexpr (requires { &S::split; })
    row.split = S::split;
  return row;
}

/// The row that `plan` is one of; null if the device has no such strategy.
template <typename Device>
const Strategy<Device> *findStrategy(llvm::ArrayRef<Strategy<Device>> table,
                                     mlir::Attribute plan) {
  for (const Strategy<Device> &row : table)
    if (row.plan == plan.getTypeID())
      return &row;
  return nullptr;
}

/// What each strategy of the table says of the kernel.
template <typename Device>
llvm::SmallVector<Considered, 0>
considerAll(llvm::ArrayRef<Strategy<Device>> table, mlir::func::FuncOp kernel,
            const typename Device::Target &target) {
  llvm::SmallVector<Considered, 0> all;
  for (const Strategy<Device> &row : table)
    all.push_back(row.consider(kernel, target));
  return all;
}

/// The cheapest of all; of several the first. Null if there is none.
const Candidate *cheapest(llvm::ArrayRef<Considered> considered);

/// Says as remarks at the kernel what was considered, the cheapest plan first,
/// and why others were not.
void remark(mlir::func::FuncOp kernel, llvm::ArrayRef<Considered> considered);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_STRATEGY_H
