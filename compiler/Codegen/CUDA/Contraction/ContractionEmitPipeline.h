//===- ContractionEmitPipeline.h - Factors on their way ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor cores take factors from shared memory as they lie in global memory.
// So asynchronous copies of 16 bytes bring them, several steps of the depth
// ahead, without registers between. A factor that is computed from what lies
// in memory goes through registers, as with FFMA.
//
// A step has lines: the elements of one row or column along the depth, or up to
// 128 bytes of the tile at one depth, as the factor lies in memory, if it is
// not of single bytes; these are in panels, of all lines of the step. The
// chunks of 16 bytes of a line are permuted by an exclusive or with the line's
// phase: so eight lines have the same chunk in different banks.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTIONEMITPIPELINE_H
#define TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTIONEMITPIPELINE_H

#include "compiler/Codegen/CUDA/Contraction/ContractionEmit.h"

namespace tinh::cuda {

/// Bytes of a panel's line. Chunks of a line have kChunkBytes.
inline constexpr int64_t kPanelBytes = 128;

class PipelinedEmitter : public ContractionEmitter {
public:
  PipelinedEmitter(EmittedKernel &kernel, const Product &p,
                   const TileCode &code, mlir::OpBuilder &builder,
                   int64_t stages, int64_t ahead)
      : ContractionEmitter(kernel, p, code, builder, stages, ahead) {}

protected:
  mlir::Type storedType() const override {
    return getElementTypeOrSelf(p.right.value);
  }
  int64_t stepElements() const override {
    return (tile.rows + tile.columns) * stepDepth;
  }
  int64_t columnsOffset() const override { return tile.rows * stepDepth; }
  mlir::FailureOr<Staged> fetch(mlir::Value step, bool isKnown) override;
  void commit() override;
  void awaitStep() override;
  bool isCopied(const SharedTile &shared) override {
    return copyBytes(shared) != 0;
  }
  void storeUnit(const SharedTile &shared, const Unit &unit, mlir::Value value,
                 mlir::Value base) override;

  /// Waits for all threads, and what has been brought to shared memory.
  virtual void barrier() { kernel.barrier(b); }
  /// The factor lies across the depth, and is read in words, not by ldmatrix:
  /// four lines then have neighbouring chunks in different banks.
  bool isReadInWords(const SharedTile &shared) const {
    return !shared.factor.alongDepth && storedType().isF32();
  }
  /// Whether a line has elements of one row or column. One of bytes always has:
  /// ldmatrix turns pairs of bytes, and no single ones.
  bool isInLines(const SharedTile &shared) const {
    return shared.factor.alongDepth || p.isOfBytes();
  }
  int64_t chunkElements() const { return kChunkBytes / bytesOf(p); }
  int64_t lineElements(const SharedTile &shared) const {
    return isInLines(shared)
               ? stepDepth
               : std::min(shared.elements, kPanelBytes / bytesOf(p));
  }
  /// Where a chunk lies in the factor's part of a step: the fixed one, if it
  /// has bits that the other one has not, of a line that is a multiple of eight
  /// further on.
  mlir::Value chunkAt(const SharedTile &shared, mlir::Value line,
                      mlir::Value chunk, int64_t fixedLine = 0,
                      int64_t fixedChunk = 0);

  /// Bytes of this factor's copies; 0 if it goes through registers.
  int64_t copyBytes(const SharedTile &shared);
  /// Brings the factor's elements of the step of the depth from `first` on to
  /// `base`: on their way, or stored, when this has been executed.
  mlir::LogicalResult bringTile(const SharedTile &shared, mlir::Value first,
                                mlir::Value base);

private:
  void copyUnit(const SharedTile &shared, const Unit &unit, int64_t bytes,
                mlir::Value first, mlir::Value base);
  void copyTile(const SharedTile &shared, mlir::Value first, mlir::Value base);
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value sourceIndex(const MemoryAccess &access, const Indices &dims);
  mlir::Value isInBounds(const MemoryAccess &access, const Indices &dims);
  mlir::Value placeOf(const SharedTile &shared, const Unit &unit);
  mlir::Value phaseOf(const SharedTile &shared, mlir::Value line);
  mlir::Value paddingAddress(mlir::IntegerAttr padding);

  bool hasCopies();
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTIONEMITPIPELINE_H
