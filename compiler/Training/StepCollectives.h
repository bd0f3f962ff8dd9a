//===- StepCollectives.h - Training steps of several ranks ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a training step does together with those of other ranks, each of which
// has a part of the batch of one size (docs/data-parallel.md).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TRAINING_STEPCOLLECTIVES_H
#define TINH_TRAINING_STEPCOLLECTIVES_H

#include "compiler/Graph/GraphOps.h"
#include "compiler/Training/Training.h"

namespace tinh::training {

/// Collectives of one place in a training step. Values are null after a
/// failure, as those of GraphOps.
class StepCollectives {
public:
  StepCollectives(const DataParallel &options, GraphOps &ops)
      : options(options), ops(ops) {}

  mlir::Value reduce(graph::ReduceKind kind, mlir::Value x) {
    return reduce(kind, x, /*isGradient=*/false);
  }
  mlir::Value reduceGradient(graph::ReduceKind kind, mlir::Value x) {
    return reduce(kind, x, /*isGradient=*/true);
  }
  mlir::Value mean(mlir::Value x) { return reduce(graph::ReduceKind::Mean, x); }
  /// How many there are, a scalar of `element`.
  mlir::Value count(mlir::Type element);

  //===--- Parts of tensors, with shardOptimizer --------------------------===//

  /// Of a tensor of `type`, flat and filled up with zeros: what one rank has.
  mlir::RankedTensorType shardType(mlir::RankedTensorType type) const;
  /// The number of this rank, a tensor<i64>.
  mlir::Value rank();
  /// This rank's part of a tensor that all have alike.
  mlir::Value shard(mlir::Value x, mlir::Value rank);
  /// This rank's part of the reduction of all ranks' gradients.
  mlir::Value reduceScatter(graph::ReduceKind kind, mlir::Value gradient);
  /// The tensor of `type` of which `part` is this rank's part.
  mlir::Value gather(mlir::Value part, mlir::RankedTensorType type);

private:
  mlir::Value reduce(graph::ReduceKind kind, mlir::Value x, bool isGradient);
  mlir::Value filledUp(mlir::Value x);
  void addWire(llvm::SmallVectorImpl<mlir::NamedAttribute> &attributes,
               mlir::Value x);

  const DataParallel &options;
  GraphOps &ops;
};

} // namespace tinh::training

#endif // TINH_TRAINING_STEPCOLLECTIVES_H
