//===- Contraction.h - Products in register tiles ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `contraction`: matrix products and dense convolutions. The right
// factor is read as [panels][k…][panel width]: packed when the artifact is
// written or by a kernel before, copied so to scratch memory by each chunk, or
// used as it lies.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_CONTRACTION_H
#define TINH_CODEGEN_CPU_CONTRACTION_CONTRACTION_H

#include "compiler/Codegen/CPU/Contraction/QuantizedWeights.h"
#include "compiler/Codegen/CPU/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Forms/Product.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// What matches
//===----------------------------------------------------------------------===//

/// The orders of a group's four bytes that pair them in all ways: in one of
/// them, the products of both pairs may fit into 16 bits.
inline constexpr int64_t kBytePairings[][4] = {
    {0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}};

/// A product whose right factor, the weights, has one loop of columns, the last
/// one of the result. The last loop of rows is the one that tiles lie along.
/// A product of bytes multiplies unsigned left by signed right ones, both of
/// which lie side by side along the last loop that is summed over. One of bf16
/// is summed in pairs where its panels have those side by side.
struct Contraction : Product {
  static constexpr int64_t kGroupBytes = 4; // Of a lane of sums.

  /// The kernel's operand that holds the weights in panels, of so many columns.
  std::optional<unsigned> packed;
  int64_t packedWidth = 0, packedGroup = 1;
  /// The operand that has the order of the panels' groups of bytes
  /// (Layouts/GroupOrder.cpp).
  std::optional<unsigned> groupOrder;
  /// Set if that holds integers of which the product makes floats.
  std::optional<QuantizedWeights> quantized;

  int64_t lanes(const Target &target) const {
    return target.vectorBytes / elementBytes();
  }
  /// Neighbours along the last loop over k whose products an instruction sums.
  int64_t group() const { return isOfBytes() ? 4 : packedGroup; }
  /// Whether vectors multiply bytes as numbers of 16 bits.
  bool extendsBytes(const Target &target) const {
    return isOfBytes() && !target.hasByteDots();
  }
  /// The steps of tiles over all of k.
  int64_t steps() const {
    int64_t last = extents[depth.back()];
    return extentOf(depth) / last * llvm::divideCeil(last, group());
  }
  /// Of a panel's line in the order of groups: how many there are up to each
  /// pairing, and their numbers.
  int64_t orderLength() const { return std::size(kBytePairings) + steps(); }
  /// What tiles read of both factors, and its bytes.
  mlir::Type factorElement() const {
    return group() > 1 ? mlir::getElementTypeOrSelf(right.value) : element();
  }
  int64_t factorBytes() const {
    return group() > 1 ? kGroupBytes / group() : elementBytes();
  }
  /// Whether the panels hold narrower floats, of which FMAs take f32.
  bool hasNarrowPanels() const {
    return packed && !quantized && group() == 1 &&
           mlir::getElementTypeOrSelf(right.value) != element();
  }
  /// Whether they hold what is to become floats, maybe in scratch memory.
  bool isUnpacked() const { return quantized || hasNarrowPanels(); }
  /// Elements of the panels' memory that so many weights take.
  int64_t inPanels(int64_t weights) const {
    return quantized ? weights * quantized->bits / 8 : weights;
  }
  /// The bytes of a weight in memory.
  double weightBytes() const {
    if (quantized)
      return quantized->bits / 8.0;
    return hasNarrowPanels() ? 2 : double(factorBytes());
  }
  /// Steps of k that tiles do at a time.
  int64_t stepsTogether() const {
    return quantized ? quantized->perWord() : group();
  }
  /// Of the last loop over k, whole groups.
  int64_t lastDepthBytes() const {
    return kGroupBytes * llvm::divideCeil(extents[depth.back()], group());
  }
  unsigned column() const { return right.loops.back(); }
  int64_t columns() const { return extents[column()]; }
  /// The rows of a line, and the lines that the last but one loop has.
  int64_t rowsOfLine() const { return extents[left.loops.back()]; }
  int64_t lines() const {
    return left.loops.size() > 1 ? extents[left.loops[left.loops.size() - 2]]
                                 : 1;
  }
};
/// The neighbours along k that panels should have side by side: as many as the
/// product's instructions take, or pairs of bf16 where those pay on `target`.
int64_t groupOfPanels(const Contraction &contraction, const Target &target);
/// A product that is one stage of a kernel of rows, as in attention.
Match<Contraction> matchContractionStage(mlir::linalg::GenericOp op);

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// How a product is cut: what its plan says, and what follows from that.
struct ContractionPlan : Division {
  int64_t tileRows, panelWidth; // Of a register tile.
  int64_t tileLines = 1;        // Each of so many rows; of AMX maybe several.
  int64_t linesPerBlock, tilesPerBlock, panelsPerGroup;
  /// Iterations of the outermost loop over k that are summed at a time. Sums
  /// wait in scratch memory in between.
  int64_t depthPerBlock;
  LeftAccess left;
  RightAccess right;
  Multiplier multiplier = Multiplier::Vectors;

  int64_t panels;
  int64_t outer;                   // Products of all but the last two m loops.
  int64_t lines;                   // The last but one m loop, cut into blocks.
  int64_t tiles;                   // Register tiles along the last m loop.
  llvm::SmallVector<int64_t> slab; // The staged input's shape.
  // In scratch memory: of the slab, of a panel in order, of the chunk's own
  // panels and its sums, or those of a register tile that AMX has summed.
  int64_t slabOffset, groupsOffset, weightsOffset, sumsOffset;

  bool usesAmx() const { return multiplier == Multiplier::Amx; }
  /// Whether the left factor is copied to scratch memory.
  bool stages() const { return left != LeftAccess::InPlace; }

  int64_t sumsPerBlock() const {
    return panelsPerGroup * linesPerBlock * tilesPerBlock * tileRows *
           panelWidth;
  }
  ContractionPlanAttr attribute(mlir::MLIRContext *context) const;
};

/// What follows from `plan`, with scratch memory from `scratchOffset` on; an
/// error if it is not for this product.
mlir::FailureOr<ContractionPlan> expandPlan(const Contraction &contraction,
                                            ContractionPlanAttr plan,
                                            EmitError emitError,
                                            int64_t scratchOffset = 0);

/// Products one after the other: all but the last two loops over rows.
int64_t outerProducts(const Contraction &contraction);
/// What a block of the plan's reads of the left factor, and its bytes.
llvm::SmallVector<int64_t> slabOf(const Contraction &contraction,
                                  const ContractionPlan &plan);
int64_t slabBytes(const Contraction &contraction, llvm::ArrayRef<int64_t> slab);
/// Tiles of AMX that the rows of a register tile may be in.
int64_t mostRowTiles(const ContractionPlan &plan);
/// What tiles of AMX go through one step after the other: so many bytes of each
/// row, along the innermost loops over k that lie side by side in it.
struct TileDepth {
  size_t level; // The first one of these loops.
  int64_t bytes;
};
TileDepth tileDepth(const Contraction &contraction,
                    llvm::function_ref<int64_t(unsigned loop)> leftStride);
/// The same where the left factor lies as the plan says.
TileDepth tileDepth(const Contraction &contraction,
                    const ContractionPlan &plan);
/// Where a slab of extended bytes has numbers of 16 bits for those at even and
/// at odd positions: behind the bytes themselves, if the product knows the
/// order of its groups and reads these, too.
struct ExtendedBytes {
  int64_t even, odd, end;
};
ExtendedBytes extendedBytes(const Contraction &contraction,
                            const ContractionPlan &plan);
/// Fills in what follows from the decisions of `plan`.
void divide(const Contraction &contraction, ContractionPlan &plan,
            int64_t scratchOffset);

/// The width of a panel of weights that are to be packed.
int64_t panelWidth(const Contraction &contraction, const Target &target);
/// Whether steps of k are a multiple of a page apart in the left factor where
/// it lies, and are more than a set of the first-level cache has lines.
bool hasAliasingSteps(const Contraction &contraction, const Target &target);

/// The plan of least cost; with `packed`, of weights in panels.
ContractionPlan planContraction(const Contraction &contraction,
                                const Target &target, bool packed);
/// Cycles to multiply a register tile of AMX of so many lines by a panel, all
/// of the depth.
double amxCycles(const Contraction &contraction, const ContractionPlan &plan,
                 int64_t lines, const Target &target);
/// Instructions that a line's tiles take for a step of k.
int64_t stepCost(const Contraction &contraction, const ContractionPlan &plan,
                 const Target &target);
/// Whether register tiles pay where the weights are not packed: so many rows
/// read them, or they are read where they lie.
bool isWorthTiling(const Contraction &contraction);
/// Whether weights that are no constants are better packed once before than by
/// each chunk.
bool isWorthPackingBefore(const Contraction &contraction, const Target &target);

/// The plan of a product within a kernel of rows: `rows` at a time, whole tiles
/// of them or all, times all columns, from copies of both factors.
ContractionPlanAttr
planContractionStage(const Contraction &contraction, const Target &target,
                     std::optional<int64_t> rows = std::nullopt);
/// What follows from it, with scratch memory from `scratchOffset` on.
mlir::FailureOr<ContractionPlan>
expandStagePlan(const Contraction &contraction, ContractionPlanAttr plan,
                int64_t rows, int64_t scratchOffset, EmitError emitError);

/// Whether a factor that is read where it lies has vectors along `loop`.
bool hasVectors(const Factor &factor, unsigned loop);
/// Whether a factor can be read where it lies: whole groups of it.
bool isInPlace(const Contraction &contraction, const Factor &factor);
/// Whether the weights can be read where they lie.
bool hasVectorsInPlace(const Contraction &contraction);
/// Whether the CPU's tiles can multiply the factors.
bool hasTilesFor(const Contraction &contraction, const Target &target);
/// Whether vectors of the right factor's columns can be copied.
bool canPackColumns(const Contraction &contraction, LaneAnalysis &analysis);
/// Whether vectors of the left factor can.
bool canStage(const Contraction &contraction, LaneAnalysis &analysis);
/// Whether that is so of what the plan copies, and what follows the product can
/// be computed in vectors.
bool hasVectors(const Contraction &contraction, const ContractionPlan &plan,
                int64_t lanes);

//===----------------------------------------------------------------------===//
// The strategy
//===----------------------------------------------------------------------===//

struct ContractionStrategy
    : Functions<Contraction, ContractionPlanAttr, ContractionPlan> {
  /// The kernel's one contraction if this strategy can compute the kernel.
  static MatchFunction match;
  static PlansFunction plans;
  static ExpandFunction expand;
  static CostFunction cost;
  static EmitFunction emit;
};

/// What a product within a kernel of rows costs for all rows, in cycles.
double stageCycles(const Contraction &contraction, const ContractionPlan &plan,
                   const Target &target);
} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_CONTRACTION_H
