//===- Strategy.h - How a kernel's loop nest is made ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strategy decides, for a kernel function over linalg, how its work is cut
// into chunks and what code computes a chunk. `chooseStrategy` records the
// decision in the function's attributes; `emitKernel` follows it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_STRATEGY_H
#define TINH_CODEGEN_CPU_STRATEGY_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Pull.h"
#include "compiler/Codegen/Kernel/Stages.h"
#include "dialects/graph/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tinh::cpu {

using namespace codegen; // What all devices have in common.

/// A kernel function while code for it is being emitted: its operands as flat
/// memory, the worker's scratch memory and the chunks to compute.
struct EmittedKernel {
  mlir::func::FuncOp source;
  mlir::func::FuncOp function;
  mlir::Value scratch, begin, end;

  /// Memory of the kernel's operand `i`: its inputs, then its results.
  Buffer operand(unsigned i);
  /// A buffer of `shape` at `offset` bytes of the scratch memory.
  Buffer scratchBuffer(mlir::OpBuilder &b, int64_t offset,
                       llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// Lets `pull` see the kernel's inputs.
  void bindInputs(Pull &pull);
  /// Emits the loop over the units of the chunks to compute, `perChunk` of
  /// `units` in each, and leaves `b` in it. Returns the unit's number.
  mlir::Value loopOverUnits(mlir::OpBuilder &b, int64_t units,
                            int64_t perChunk);
};

/// Stores the kernel's results at `at`, pulled on what `pull` has in registers.
mlir::LogicalResult storeResults(EmittedKernel &kernel, Pull &pull,
                                 const Indices &at);

/// Rounds up to the alignment of buffers.
inline int64_t alignBytes(int64_t bytes) { return (bytes + 63) & ~63; }

//===----------------------------------------------------------------------===//
// rows: every kernel. Leading dimensions are cut into chunks; within one,
// reductions that are read more than once go to scratch memory, and results are
// pulled with lanes along their last dimension.
//===----------------------------------------------------------------------===//

struct RowsPlan {
  llvm::SmallVector<WrittenValue> written;
  mlir::RankedTensorType resultType(size_t i) const {
    return written[i].type();
  }
  /// As many of the last dimensions of all results are one for the lanes: the
  /// index of the last one runs over all of them.
  int64_t merged = 1;
  llvm::SmallVector<int64_t> mergedShape(llvm::ArrayRef<int64_t> shape) const;
  /// Leading dimensions that all of the kernel's tensors share.
  int64_t rank = 0;
  /// The dimension of the one result that lanes lie along, if that is not the
  /// last of each result; else -1.
  int64_t lane = -1;
  /// Generics that go to scratch memory, in order.
  llvm::SmallVector<mlir::linalg::GenericOp> stages;
  /// How many elements each result is reduced from, without stages.
  int64_t reduced = 1;
  /// Products of the shared dimensions, and blocks of the last one.
  int64_t rows = 1, blocks = 1, blockSize = 0;
  int64_t unitsPerChunk = 1, chunks = 1;
  /// Bytes for the stages' results, and with what products among them need.
  int64_t stagesScratch = 0, scratch = 0;
};
RowsPlan planRows(mlir::func::FuncOp kernel);
/// How many of the last dimensions of these results of a kernel without stages
/// are better one.
int64_t mergedDimensions(llvm::ArrayRef<WrittenValue> written);
mlir::LogicalResult emitRows(EmittedKernel &kernel, const Target &target);

//===----------------------------------------------------------------------===//
// contraction: matrix products and dense convolutions. The right-hand side is
// read as [panels][k…][panel width]: constant weights are packed so when the
// artifact is written, other operands in scratch memory by each chunk.
//===----------------------------------------------------------------------===//

struct Contraction {
  mlir::linalg::GenericOp op;
  mlir::Value result;       // The product, maybe with dimensions merged.
  mlir::Value input;        // The activations, and
  mlir::AffineMap inputMap; // how the loops index them.
  mlir::Value weights;      // The other operand of the product.
  mlir::AffineMap weightsMap;
  unsigned n;                        // The loop along the weights' outputs.
  llvm::SmallVector<unsigned> batch; // Loops that index both operands.
  llvm::SmallVector<unsigned> m,
      k; // The other parallel and the reduction loops.
  llvm::SmallVector<int64_t> extents;

  /// The type of the sums, f32 or f64, in which everything is computed.
  mlir::Type element() const {
    return mlir::getElementTypeOrSelf(op->getResult(0).getType());
  }
  int64_t elementBytes() const { return element().isF64() ? 8 : 4; }
  int64_t lanes(const Target &target) const {
    return target.vectorBytes / elementBytes();
  }
  /// The number of iterations of these loops together.
  int64_t extentOf(llvm::ArrayRef<unsigned> loops) const {
    int64_t product = 1;
    for (unsigned loop : loops)
      product *= extents[loop];
    return product;
  }
};
/// What the kernel reads of the result of `op`: a reshape in which the groups
/// of a convolution are merged with their channels, either of the two in panels
/// of its last dimension, or the result itself.
mlir::Value mergedResult(mlir::linalg::GenericOp op);
/// The indices in `result`, a `mergedResult`, of what stands at `at` of the
/// product.
Indices indicesInResult(Pull &pull, mlir::Value product, mlir::Value result,
                        Indices at);
/// The columns of all panels of `result`, a `mergedResult`; nothing if it has
/// none.
std::optional<int64_t> columnsOfPanels(mlir::Value result);
/// Whether no vector of so many columns lies across panels of `result`.
bool hasWholeVectors(mlir::Value result, int64_t lanes);

/// The plan of a kernel whose one reduction is a sum of products, followed by
/// what is element-wise: `assignRoles(op, input)` says what each loop is to it
/// if that input has the first role, or nothing; `first` is tried first.
template <typename Plan>
std::optional<Plan> matchProducts(
    mlir::func::FuncOp kernel, unsigned first,
    std::optional<Plan> (*assignRoles)(mlir::linalg::GenericOp, unsigned)) {
  mlir::linalg::GenericOp found = onlyReduction(kernel);
  if (!found || !isSumOfProducts(found))
    return std::nullopt;
  mlir::Value result = mergedResult(found);
  if (!resultsFollowElementwise(kernel, result))
    return std::nullopt;
  for (unsigned input : {first, 1 - first})
    if (std::optional<Plan> plan = assignRoles(found, input)) {
      plan->result = result;
      return plan;
    }
  return std::nullopt;
}
/// The kernel's one contraction if this strategy can compute the kernel.
std::optional<Contraction> matchContraction(mlir::func::FuncOp kernel);
/// Whether register tiles pay where the weights are not packed: so many rows
/// read them, or they are read where they lie.
bool isWorthTiling(const Contraction &contraction);
/// Width of a panel of packed weights.
int64_t panelWidth(const Contraction &contraction, const Target &target);

struct ContractionPlan {
  int64_t tileRows; // Rows of a register tile.
  int64_t panels, panelWidth;
  int64_t outer;                // Products of all but the last two m loops.
  int64_t lines, linesPerBlock; // The last but one m loop, cut into blocks.
  int64_t tiles, tilesPerBlock; // Register tiles along the last m loop.
  int64_t panelsPerGroup;
  bool staged; // The input is copied to scratch memory first.
  llvm::SmallVector<int64_t> slab; // Its shape there.
  bool readsWeights;               // Those that are not packed, where they lie.
  /// Iterations of the outermost loop over k that are summed at a time. Sums
  /// wait in scratch memory in between.
  int64_t depthPerBlock;
  int64_t sumsPerBlock() const {
    return panelsPerGroup * linesPerBlock * tilesPerBlock * tileRows *
           panelWidth;
  }
  // In scratch memory: of the slab, the chunk's own panels and its sums.
  int64_t slabOffset = 0, weightsOffset = 0, sumsOffset = 0;
  int64_t chunks, scratch;
};
/// `packed`: the weights are a packed operand of the kernel.
ContractionPlan planContraction(const Contraction &contraction,
                                const Target &target, bool packed);
/// Whether weights that are no constants are better packed once before than by
/// each chunk.
bool isWorthPackingBefore(const Contraction &contraction, const Target &target);
mlir::LogicalResult emitContraction(EmittedKernel &kernel,
                                    const Target &target);

/// A product that is one stage of a kernel of rows, as in attention.
std::optional<Contraction> matchContractionStage(mlir::linalg::GenericOp op);
/// Bytes of scratch memory that such a stage needs.
int64_t contractionStageScratch(const Contraction &contraction);
/// How the whole of it is computed, with scratch memory from `scratchOffset`
/// on.
ContractionPlan planContractionStage(const Contraction &contraction,
                                     const Target &target,
                                     int64_t scratchOffset);
/// Computes the product at the batch indices `row` into `result`.
mlir::LogicalResult
emitContractionStage(EmittedKernel &kernel, const Contraction &contraction,
                     const llvm::DenseMap<mlir::Value, Buffer> &buffers,
                     const Indices &row, int64_t scratchOffset,
                     const Buffer &result, const Target &target,
                     mlir::OpBuilder &b);

//===----------------------------------------------------------------------===//

/// Chunks of a kernel, and bytes of scratch memory that a worker needs.
struct Division {
  int64_t chunks, scratch;
};
/// How `strategy` divides `kernel`; nothing if it cannot compute it.
std::optional<Division> divideKernel(mlir::func::FuncOp kernel,
                                     llvm::StringRef strategy,
                                     const Target &target);

/// Emits `@name(operands…, scratch, begin, end)` over flat memrefs for the
/// kernel function `kernel`, whose strategy has been chosen, into `module`.
mlir::FailureOr<mlir::func::FuncOp> emitKernel(mlir::func::FuncOp kernel,
                                               mlir::ModuleOp module,
                                               const Target &target);

/// The target that the module's `graph.cpu` names.
mlir::FailureOr<Target> targetOf(mlir::ModuleOp module);

/// Packs constant weights that `dispatch` hands to `kernel`, which it alone
/// uses, as the kernel's strategy wants them: the packing becomes a dispatch.
void packWeights(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                 mlir::func::FuncOp kernel, graph::DispatchOp dispatch,
                 const Target &target);

/// The strategy that computes `kernel` best.
llvm::StringRef chooseStrategy(mlir::func::FuncOp kernel);

/// Lets variables lie as the products that read them want them; returns how
/// many do. Each kernel function is named by one dispatch.
int64_t layOutVariables(mlir::ModuleOp module, const Target &target);

/// Chooses strategies for all kernel functions of a module at phase `kernels`,
/// packs the weights of contractions, and sets the kernels' attributes.
mlir::LogicalResult chooseStrategies(mlir::ModuleOp module,
                                     const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_STRATEGY_H
