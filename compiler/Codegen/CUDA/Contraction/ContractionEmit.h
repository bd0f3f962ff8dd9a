//===- ContractionEmit.h - Code of products in tiles ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTIONEMIT_H
#define TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTIONEMIT_H

#include "compiler/Codegen/CUDA/Contraction/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tinh::cuda {

using Values = llvm::SmallVector<mlir::Value>;

/// What a plan says of one code of a product.
struct TileCode {
  Tile tile;
  int64_t rowTiles, columnTiles;
  int64_t depth; ///< Of the sum, that a step adds up.
  /// Elements of the rows' and the columns' factor that are loaded at a time,
  /// and results that are stored together.
  std::array<int64_t, 2> loads;
  int64_t stores;
};

/// The elements that shared memory has of one factor in a step of the depth.
struct SharedTile {
  Factor factor;
  int64_t lanes;     ///< Loaded at a time.
  int64_t extent;    ///< Of all of the factor's loops.
  int64_t elements;  ///< Along these in the tile.
  mlir::Value first; ///< The tile's first one.
  int64_t offset;    ///< In shared memory, in elements, from the step's start.
};

/// What all code of products has alike: a block brings steps of the depth to
/// shared memory, multiplies what is there, and stores what follows from sums.
class ContractionEmitter {
public:
  ContractionEmitter(EmittedKernel &kernel, const Product &p,
                     const TileCode &code, mlir::OpBuilder &builder,
                     int64_t stages = 2, int64_t ahead = 1)
      : kernel(kernel), p(p), code(code), tile(code.tile),
        stepDepth(code.depth), stages(stages), ahead(ahead), b(builder),
        loc(kernel.source.getLoc()), scalar(b, loc, 1) {}
  virtual ~ContractionEmitter() = default;
  mlir::LogicalResult emit();

protected:
  /// The type of elements in shared memory.
  virtual mlir::Type storedType() const { return p.element(); }
  /// Elements of shared memory for a step, and of all steps that it has at a
  /// time.
  virtual int64_t stepElements() const = 0;
  int64_t sharedElements() const { return stages * stepElements(); }
  /// Where the columns lie in a step.
  virtual int64_t columnsOffset() const = 0;
  /// What is asked for of the depth has an end that is a multiple of this.
  virtual int64_t depthUnit() const { return stepDepth; }
  /// Finds the thread's place in the tile.
  virtual void findThread() = 0;
  void findBlock();
  /// A thread's sums before the first step.
  virtual Values startSums() = 0;
  /// A thread's sums after the last one.
  virtual mlir::FailureOr<Values> emitSums();
  virtual mlir::LogicalResult emitResults(const Values &sums) = 0;

  /// What the thread has in registers of both factors.
  using Staged = std::array<Values, 2>;
  /// Starts to bring a step to shared memory; unless it is known to be one, if
  /// there is one.
  virtual mlir::FailureOr<Staged> fetch(mlir::Value step, bool isKnown);
  /// Stores what of it is in registers.
  void store(const Staged &staged, mlir::Value step);
  /// Begins the next group of copies.
  virtual void commit() {}
  /// Waits until all threads have brought the next step, and multiplied the one
  /// before it.
  virtual void awaitStep() { kernel.barrier(b); }
  /// Where a step lies in shared memory.
  mlir::Value baseOf(mlir::Value step);
  /// Adds the products of the step at `base` in shared memory.
  virtual Values multiply(mlir::Value base, mlir::ValueRange sums) = 0;
  virtual Values multiplyStep(mlir::Value step, mlir::ValueRange sums) {
    return multiply(baseOf(step), sums);
  }
  /// `sums` and those of a step, while one that comes `ahead` steps later is
  /// brought.
  mlir::FailureOr<Values> addStep(mlir::Value step, mlir::ValueRange sums);
  /// Whether the factor is copied without registers.
  virtual bool isCopied(const SharedTile &) { return false; }

  /// One element or vector that the thread loads of a tile in each step: where
  /// it lies from the tile's first one.
  struct Unit {
    mlir::Value row, depth;
  };
  Unit unitOf(const SharedTile &shared, int64_t number, int64_t lanes);
  /// Stores a unit to the step at `base` in shared memory.
  virtual void storeUnit(const SharedTile &shared, const Unit &unit,
                         mlir::Value value, mlir::Value base) = 0;
  /// The indices of the loops for a unit's first element, of the step from
  /// `first` on.
  Indices indicesOf(Pull &pull, const SharedTile &shared, const Unit &unit,
                    mlir::Value first);
  /// Whether a unit is within the depth; null if all are.
  mlir::Value isInside(const Unit &unit, mlir::Value first);
  /// All that the thread loads of a factor for the step from `first` on.
  mlir::FailureOr<Values> loadTile(const SharedTile &shared, mlir::Value first);
  /// Stores them to the step at `base` in shared memory.
  void storeTile(const SharedTile &shared, llvm::ArrayRef<mlir::Value> values,
                 mlir::Value base);

  /// The indices in the results of what follows from the sums from these on.
  virtual mlir::FailureOr<Indices> resultIndices(Pull &pull, mlir::Value row,
                                                 mlir::Value column);
  /// Stores what follows from a vector of sums, of a row and the columns from
  /// this one on.
  mlir::LogicalResult emitGroup(mlir::Value sums, mlir::Value row,
                                mlir::Value column);
  mlir::LogicalResult whenRow(mlir::Value row,
                              llvm::function_ref<mlir::LogicalResult()> body);
  int64_t steps() const {
    return llvm::divideCeil(p.extentOf(p.depth), stepDepth);
  }
  mlir::VectorType vectorType(int64_t lanes) const {
    return mlir::VectorType::get({lanes}, p.element());
  }
  mlir::Value minimum(mlir::Value x, int64_t most);
  /// Whether `x` is below `end`.
  mlir::Value isBelow(mlir::Value x, int64_t end);

  EmittedKernel &kernel;
  const Product &p;
  TileCode code;
  Tile tile;
  int64_t stepDepth;
  int64_t stages; ///< Steps that shared memory has at a time.
  int64_t ahead;  ///< So many before a step is multiplied it is brought.
  mlir::OpBuilder &b;
  mlir::Location loc;
  Pull scalar;
  SharedTile rows, columns;
  mlir::Value memory; ///< Shared.
  Indices batch;      ///< The loops' indices, as far as blocks have them.

private:
  mlir::FailureOr<mlir::Value> loadUnit(const SharedTile &shared,
                                        const Unit &unit, mlir::Value first);
  mlir::LogicalResult emitLanes(mlir::Value sums, mlir::Value row,
                                mlir::Value column, int64_t lanes);
  mlir::LogicalResult finish(Pull &pull, mlir::Value sums, mlir::Value row,
                             mlir::Value column);
};

/// Elements between lines of shared memory: vectors of columns stay aligned,
/// and stores along the depth meet different banks.
inline int64_t pitch(int64_t extent) { return extent + 4; }
/// Those of a step of both factors.
int64_t scalarElements(const Tile &tile, int64_t depth);

/// Emits a product with FFMA.
class ScalarEmitter : public ContractionEmitter {
public:
  using ContractionEmitter::ContractionEmitter;

protected:
  int64_t stepElements() const override {
    return scalarElements(tile, stepDepth);
  }
  int64_t columnsOffset() const override {
    return stepDepth * pitch(tile.rows);
  }
  void findThread() override;
  Values startSums() override;
  Values multiply(mlir::Value base, mlir::ValueRange sums) override;
  mlir::LogicalResult emitResults(const Values &sums) override;
  void storeUnit(const SharedTile &shared, const Unit &unit, mlir::Value value,
                 mlir::Value base) override;

  /// Group `group` of the elements that the thread multiplies at `depth` of the
  /// step at `base`.
  virtual mlir::Value sharedVector(const SharedTile &shared, mlir::Value base,
                                   int64_t depth, mlir::Value thread,
                                   int64_t group, int64_t groups);
  /// How far it goes to the next depth that is multiplied.
  virtual int64_t depthOfProduct() const { return 1; }
  /// `sums` and the products of the element `row` of `ofRows` by all of
  /// `ofColumns`.
  virtual mlir::Value multiplyGroup(mlir::Value ofRows, int64_t row,
                                    mlir::Value ofColumns, mlir::Value sums);

  mlir::Value threadRow, threadColumn;

private:
  mlir::LogicalResult emitRow(llvm::ArrayRef<mlir::Value> sums,
                              mlir::Value row);
};

/// Emits a product of bytes with dp4a, which multiplies four of them: those of
/// four neighbours of the depth lie side by side, as a word.
class ByteEmitter final : public ScalarEmitter {
public:
  using ScalarEmitter::ScalarEmitter;

private:
  mlir::Type storedType() const override { return b.getI8Type(); }
  void storeUnit(const SharedTile &shared, const Unit &unit, mlir::Value value,
                 mlir::Value base) override;
  mlir::Value sharedVector(const SharedTile &shared, mlir::Value base,
                           int64_t depth, mlir::Value thread, int64_t group,
                           int64_t groups) override;
  int64_t depthOfProduct() const override;
  mlir::Value multiplyGroup(mlir::Value ofRows, int64_t row,
                            mlir::Value ofColumns, mlir::Value sums) override;
  mlir::Value wordOf(mlir::Value bytes, int64_t number);
};

/// Emits one with products of warpgroups, which sm_90a has, of f16, bf16
/// or bytes.
mlir::LogicalResult emitWithWarpgroups(EmittedKernel &kernel, const Product &p,
                                       const TileCode &code,
                                       WarpgroupsAttr plan,
                                       mlir::OpBuilder builder);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTIONEMIT_H
