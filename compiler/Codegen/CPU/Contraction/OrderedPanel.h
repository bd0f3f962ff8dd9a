//===- OrderedPanel.h - A panel of bytes in order ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_ORDEREDPANEL_H
#define TINH_CODEGEN_CPU_CONTRACTION_ORDEREDPANEL_H

#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/CPU/Contraction/Tile.h"

namespace tinh::cpu {

/// A copy of a panel in scratch memory: first the groups whose pairs can be
/// multiplied in 16 bits (Layouts/GroupOrder.cpp), pairing by pairing, then the
/// others, extended.
class OrderedPanel : TileEmitter {
public:
  OrderedPanel(const TileEmitter &tile, const Contraction &c,
               const ContractionPlan &plan, const Target &target)
      : TileEmitter(tile), c(c), plan(plan), target(target) {}

  /// Lists where the groups of a row lie in a block's slab, by their numbers.
  void listGroups(llvm::function_ref<int64_t(unsigned loop)> inputStride);
  /// Copies so many vectors of each group of the panel that begins at `from`,
  /// and whose line in `order` at `line`.
  void copy(Value panel, Value from, Value order, Value line, int64_t vectors);
  /// Adds the products of the panel and `rows` rows of the slab, each so far
  /// from the one before.
  mlir::FailureOr<Values> addProducts(Value input, Value inputAt, int64_t rows,
                                      int64_t rowStride, mlir::ValueRange sums);

  /// What is taken of scratch memory.
  static int64_t bytes(const Contraction &c, const ContractionPlan &plan);

private:
  /// Groups from one position on to before another: of a pairing, or extended.
  struct Part {
    Value begin, end;
    std::optional<size_t> pairing;
  };
  int64_t groupBytes() const { return plan.panelWidth * c.group(); }
  Value groupAt(const Part &part, Value position);
  void copyGroup(const Part &part, Value position, Value panel, Value source);
  Values loadGroup(Value at, mlir::VectorType type, int64_t first,
                   int64_t count);
  void multiplyGroup(const Part &part, Value position, Value input,
                     llvm::ArrayRef<Value> rowAt, Values &sums);

  const Contraction &c;
  const ContractionPlan &plan;
  const Target &target;
  Value places;                     // Of groups in a row, by their numbers,
  Value orderedPlaces;              // and in the panel's order.
  Value copied;                     // The groups of the panel, in
  llvm::SmallVector<Part, 4> parts; // these parts.
  int64_t vectors = 0;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_ORDEREDPANEL_H
