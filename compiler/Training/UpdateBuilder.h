//===- UpdateBuilder.h - What a step does with gradients --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients are reduced over the ranks, if there are several, and by them the
// optimizer's rule updates parameters and its own variables.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TRAINING_UPDATEBUILDER_H
#define TINH_TRAINING_UPDATEBUILDER_H

#include "compiler/Training/FunctionBuilder.h"
#include "compiler/Training/Training.h"
#include "tinh/loss_scale.h"
#include "tinh/optim.h"

namespace tinh::training {

class StepCollectives;

/// A parameter, and the gradient of the loss with respect to it.
struct Parameter {
  mlir::StringAttr name;
  Tensor tensor, gradient;
};

/// The loss, and its gradients, of a batch.
struct Pass {
  Tensor loss;
  llvm::SmallVector<Parameter> parameters;
};

/// How the losses of parts of a batch make that of all: as those of examples
/// do.
graph::ReduceKind reductionOf(const std::string &loss);

class UpdateBuilder {
public:
  /// `scales` are what scales of quantised tensors, among the variables, begin
  /// with.
  UpdateBuilder(FunctionBuilder &function, mlir::func::FuncOp main,
                const TrainingOptions &options,
                const llvm::StringMap<mlir::TypedAttr> &scales);

  /// What the gradient of the loss is to be, a variable; undefined if it is 1.
  Tensor declareLossScale();
  /// Makes of the loss and its gradients on this rank those of all ranks or, if
  /// the optimizer's state is divided, this rank's parts of the gradients.
  void reduceOverRanks(Pass &pass);
  mlir::LogicalResult run(llvm::MutableArrayRef<Parameter> parameters);

private:
  Tensor declare(const llvm::Twine &name, mlir::Type type, double initial);
  Tensor declare(const llvm::Twine &name, mlir::DenseElementsAttr initial);
  mlir::Value onRanks(mlir::StringAttr name,
                      llvm::function_ref<mlir::Value(StepCollectives &)> build);
  Tensor areAllFinite(llvm::ArrayRef<Parameter> parameters);
  void clipGradients(llvm::MutableArrayRef<Parameter> parameters);
  Tensor sumOverRanks(const Tensor &own);
  bool isSharded() const {
    return options.dataParallel && options.dataParallel->shards != 0;
  }
  Tensor leastScale(const Tensor &now, mlir::TypedAttr initial);
  void updateParameter(const Parameter &parameter,
                       const std::vector<Tensor> &state,
                       const std::vector<Tensor> &common);
  void updateShard(const Parameter &parameter, const std::vector<Tensor> &state,
                   const std::vector<Tensor> &common);
  void updateParameters(llvm::MutableArrayRef<Parameter> parameters);
  mlir::LogicalResult checkMasters(llvm::ArrayRef<Parameter> parameters);
  void updateScaled(llvm::MutableArrayRef<Parameter> parameters);

  FunctionBuilder &function;
  mlir::func::FuncOp main;
  const TrainingOptions &options;
  const llvm::StringMap<mlir::TypedAttr> &scales;
  optim::Rule rule;
  std::optional<optim::LossScale> lossScale;
  Tensor scale;                 ///< What the loss is multiplied by.
  llvm::StringSet<> ofTheModel; ///< The names of its variables.
  mlir::Value rank; ///< If ranks have parts of the optimizer's state.
};

} // namespace tinh::training

#endif // TINH_TRAINING_UPDATEBUILDER_H
