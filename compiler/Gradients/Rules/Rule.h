//===- Rule.h - How the rules of ops are written ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule is a function of the op and the gradients of its results:
//
//   static void differentiate(Vjp<graph::MulOp> &vjp) {
//     vjp.give(0, [&] { return vjp.ops.mul(vjp.dy(), vjp.op.getB()); });
//     vjp.give(1, [&] { return vjp.ops.mul(vjp.dy(), vjp.op.getA()); });
//   }
//   …
//   attachRules<differentiate>(context);
//
// What it builds must have rules itself, so that gradients have gradients.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_GRADIENTS_RULES_RULE_H
#define TINH_COMPILER_GRADIENTS_RULES_RULE_H

#include "compiler/Graph/GraphOps.h"
#include "dialects/graph/Graph.h"

namespace tinh::gradients {

/// The vector–Jacobian product of an op while it is being built.
class VjpBase {
public:
  VjpBase(mlir::Operation *op, GraphOps &ops,
          llvm::ArrayRef<mlir::Value> resultGradients,
          llvm::ArrayRef<bool> wanted)
      : ops(ops), operation(op), resultGradients(resultGradients),
        wanted(wanted), gradients(wanted.size()) {}

  GraphOps &ops;

  /// The gradient of a result; zeros if there is none.
  mlir::Value dy(unsigned result = 0);
  mlir::Value y(unsigned result = 0) { return operation->getResult(result); }
  /// Whether the gradient of operand `index` is asked for.
  bool wants(unsigned index) const { return wanted[index]; }
  /// Says what the gradient of operand `index` is; called if it is wanted. A
  /// gradient of the shape that the operand was broadcast to is summed up.
  void give(unsigned index, llvm::function_ref<mlir::Value()> build);

  llvm::ArrayRef<mlir::Value> result() const { return gradients; }

private:
  mlir::Operation *operation;
  llvm::ArrayRef<mlir::Value> resultGradients;
  llvm::ArrayRef<bool> wanted;
  llvm::SmallVector<mlir::Value> gradients;
};

template <typename Op> class Vjp : public VjpBase {
public:
  Vjp(Op op, GraphOps &ops, llvm::ArrayRef<mlir::Value> resultGradients,
      llvm::ArrayRef<bool> wanted)
      : VjpBase(op, ops, resultGradients, wanted), op(op) {}

  Op op;
};

/// Zeros of the type of `value`.
mlir::Value zerosLike(GraphOps &ops, mlir::Value value);

/// `value`, summed to `shape`, which broadcasts to its own.
mlir::Value sumToShape(GraphOps &ops, mlir::Value value,
                       llvm::ArrayRef<int64_t> shape);

template <typename Op, void (*rule)(Vjp<Op> &)>
struct RuleModel
    : graph::DifferentiableOpInterface::ExternalModel<RuleModel<Op, rule>, Op> {
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  buildGradients(mlir::Operation *op, mlir::OpBuilder &builder,
                 llvm::ArrayRef<mlir::Value> resultGradients,
                 llvm::ArrayRef<bool> wanted) const {
    GraphBuilder graph(builder, op->getLoc());
    GraphOps ops(graph);
    Vjp<Op> vjp(mlir::cast<Op>(op), ops, resultGradients, wanted);
    rule(vjp);
    if (ops.failed())
      return op->emitError() << "the gradient of " << op->getName()
                             << " cannot be built: " << ops.takeError();
    return llvm::SmallVector<mlir::Value>(vjp.result());
  }
};

template <auto rule, typename Op>
void attachRule(mlir::MLIRContext *context, void (* /*rule*/)(Vjp<Op> &)) {
  Op::template attachInterface<RuleModel<Op, rule>>(*context);
}
template <auto... rules> void attachRules(mlir::MLIRContext *context) {
  (attachRule<rules>(context, rules), ...);
}

// One for each family, in the file of its name.
void attachElementwiseRules(mlir::MLIRContext *context);
void attachReductionRules(mlir::MLIRContext *context);
void attachMovementRules(mlir::MLIRContext *context);
void attachIndexingRules(mlir::MLIRContext *context);
void attachContractionRules(mlir::MLIRContext *context);
void attachPoolingRules(mlir::MLIRContext *context);
void attachNormalizationRules(mlir::MLIRContext *context);
void attachControlFlowRules(mlir::MLIRContext *context);
void attachCollectiveRules(mlir::MLIRContext *context);

} // namespace tinh::gradients

#endif // TINH_COMPILER_GRADIENTS_RULES_RULE_H
