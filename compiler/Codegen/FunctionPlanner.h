//===- FunctionPlanner.h - The steps of a function --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a function in phase `kernels` to steps and a problem of planning, of
// which each step and each buffer has a number. PlanMemory.cpp makes a
// plan.function of them and of the solution.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_FUNCTIONPLANNER_H
#define TINH_CODEGEN_FUNCTIONPLANNER_H

#include "compiler/Codegen/Devices.h"
#include "compiler/Codegen/Layouts.h"
#include "compiler/Planning/MemoryPlan.h"
#include "dialects/plan/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace tinh::codegen {

/// Of `function`: has next values of variables computed as soon as nothing
/// reads the old ones any more, so that they can be written in their place.
void hoistUpdates(mlir::func::FuncOp function);

/// Where a value lies, and its buffer in the problem (-1: never changes).
struct Place {
  plan::Space space = plan::Space::Arena;
  uint32_t index = 0;
  /// In the space; of the arena in the buffer.
  int64_t offset = 0;
  int64_t buffer = -1;
  /// By loop, the outermost first: how much further each iteration finds it.
  llvm::SmallVector<int64_t> strides;

  bool operator==(const Place &) const = default;
};

/// Where a step finds the bytes of a value.
struct Operand {
  Place place;
  graph::Rows rows;
};

/// A step before its memory is planned. A branch, a loop that is left and the
/// number of iterations are read.
struct PlannedStep {
  enum class Kind {
    Dispatch,
    Copy,
    Zero,
    Start,
    Await,
    If,
    Else,
    EndIf,
    Loop,
    Leave,
    EndLoop
  };
  Kind kind;
  mlir::Location location;
  mlir::func::FuncOp kernel;
  llvm::SmallVector<Operand> reads, writes;
  std::optional<int64_t> length;        ///< Of a loop.
  bool alone = false;                   ///< The same: planning::Control::alone.
  plan::CollectiveAttr collective = {}; ///< Of a start.
  uint32_t start = 0;                   ///< Of an await: its number.
};

/// The arenas of the problem, each in the memory of a device.
inline constexpr uint32_t kHostArena = 0, kDeviceArena = 1, kNumArenas = 2;

/// Pairs (input, result) of `kernel` that may share memory.
llvm::SmallVector<std::pair<int64_t, int64_t>>
inplacePairs(mlir::func::FuncOp kernel);

class FunctionPlanner {
public:
  FunctionPlanner(mlir::func::FuncOp function, const Devices &devices);

  /// Finds steps and problem; fails after a diagnostic.
  mlir::LogicalResult run();
  /// Puts loops next to each other (planning::gatherLoops).
  void gatherLoops();

  std::vector<PlannedStep> steps;
  planning::Problem problem;

private:
  using Kind = PlannedStep::Kind;
  /// A value that is copied to where another one lies.
  struct Move {
    mlir::Value source;
    Operand from, to;
  };

  uint32_t addBuffer(int64_t size, bool external, bool onCuda);
  mlir::LogicalResult findLayouts();
  int64_t bufferOf(mlir::Value value);
  Operand operandOf(mlir::Value value, bool onCuda);
  Operand operandOf(mlir::Value value) {
    return operandOf(value, devices.isOnCuda(value));
  }
  bool isOnCuda(const Operand &operand) const;
  void placeArguments();
  Operand outputOf(unsigned index);
  void placeOutputs();
  mlir::LogicalResult addBlock(mlir::Block &block);
  mlir::LogicalResult addOp(mlir::Operation &op);
  mlir::LogicalResult addWeight(graph::WeightOp weight);
  mlir::LogicalResult addDispatch(graph::DispatchOp dispatch);
  mlir::LogicalResult addTransfer(graph::TransferOp transfer);
  void addStep(PlannedStep step);

  // PlanCollectives.cpp
  mlir::LogicalResult addCollective(mlir::Operation *op);
  void awaitOperands(mlir::Operation *op);
  void await(mlir::Value result);

  // PlanControlFlow.cpp
  bool placeAt(mlir::Value value, const Operand &target, mlir::Block &block);
  bool mayReplace(mlir::Value old, mlir::Value value);
  void placeInitial(mlir::Block &block);
  mlir::LogicalResult addMoves(llvm::SmallVector<Move> moves,
                               mlir::Location location);
  mlir::LogicalResult addYielding(mlir::Block &block,
                                  llvm::SmallVector<Move> moves);
  mlir::LogicalResult addIf(graph::IfOp op);
  mlir::LogicalResult addWhile(graph::WhileOp op);
  mlir::LogicalResult addScan(graph::ScanOp op);
  void carry(mlir::ValueRange arguments, mlir::ValueRange results);
  mlir::LogicalResult addScanBody(graph::ScanOp op, const Operand *flag);
  void beginLoop(mlir::Location location, std::optional<int64_t> length,
                 mlir::Value count);
  void endLoop(mlir::Location location);
  bool isOnePiece(const PlannedStep &step) const;

  mlir::func::FuncOp function;
  const Devices &devices;
  mlir::SymbolTable symbols;
  llvm::StringMap<plan::WeightOp> weights;
  Layouts layouts;
  /// Of the values that lie in no other one, and the buffers of all.
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Value, int64_t> buffers;
  /// By buffer the carried value of a loop that lies there in an iteration, or
  /// the variable in a run, till the next one is written.
  llvm::DenseMap<int64_t, mlir::Value> carried;
  llvm::SmallVector<uint32_t> loops; ///< The open ones, by their step.
  /// By the result of a collective that is not awaited yet the step that starts
  /// it.
  llvm::SmallMapVector<mlir::Value, uint32_t, 4> started;
  /// What no dispatch writes to its output.
  llvm::SmallVector<Move> copies;
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_FUNCTIONPLANNER_H
