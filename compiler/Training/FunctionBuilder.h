//===- FunctionBuilder.h - A function of a training artifact ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trace into which the model's @main is copied. The loss and the optimizer's
// rule are then called on tensors that stand for its values, as eager programs
// call them.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TRAINING_FUNCTIONBUILDER_H
#define TINH_TRAINING_FUNCTIONBUILDER_H

#include "compiler/Eager/Function/TraceBackend.h"
#include "compiler/Training/Training.h"
#include "tinh/autograd.h"
#include "tinh/losses.h"
#include "tinh/random.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace tinh::training {

/// `name`, or name.1, name.2 … where the model has it already.
std::string freeName(const llvm::Twine &name, const llvm::StringSet<> &taken);

/// "adam,lr=0.001" as a name and options; throws Error if it is neither.
std::pair<std::string, Options> parseNamed(const std::string &text);
/// The loss "cross_entropy,label_smoothing=0.1"; throws Error if there is none
/// such.
Loss makeLoss(const std::string &text);

/// A function while it is built: the model's inputs, what it is compared with,
/// and variables, as tensors.
class FunctionBuilder {
public:
  /// `ranks`, which must live as long, are those of a step; null: one.
  FunctionBuilder(mlir::func::FuncOp main, llvm::StringRef name,
                  const DataParallel *ranks = nullptr)
      : main(main), name(name), ranks(ranks), trace(main.getContext()),
        backend(trace), scope(backend) {}

  /// Declares the model's inputs and variables. With several `parts` inputs
  /// have so many batches of the model.
  mlir::LogicalResult declareArguments(int64_t parts = 1);
  /// Copies the model. In training its batch norms normalise by their batch,
  /// its dropouts are random, and gradients pass what is quantised.
  mlir::LogicalResult addModel(bool inTraining);
  /// Copies `teacher`, which reads the inputs of the model; gives its first
  /// output.
  Tensor addTeacher(mlir::func::FuncOp teacher);
  /// An input of the function, called target, of so many parts.
  Tensor addTarget(const Loss &loss, int64_t parts = 1);
  /// The loss of the model's first output and `target`.
  mlir::FailureOr<Tensor> addLoss(const Loss &loss, const Tensor &target);

  /// What is added up over the parts of a batch, for that part of the target.
  using PartBody =
      llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
          const Tensor &target)>;
  /// Repeats `build` for each of so many `parts` of the inputs and of `target`,
  /// in a loop. Gives the sums of what it gives, which are of `types`. Running
  /// statistics go on from part to part.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  sumOverParts(int64_t parts, const Tensor &target, mlir::TypeRange types,
               PartBody build);
  Tensor addInput(llvm::StringRef inputName, mlir::Type type);
  Tensor addVariable(mlir::StringAttr variable, mlir::Type type);
  /// What the model's result, or a value made of it, is.
  Tensor tensor(mlir::Value value);
  /// What a value of the model is here.
  mlir::Value copyOf(mlir::Value original) const {
    return mapping.lookup(original);
  }
  mlir::Value value(const Tensor &tensor) {
    return trace.read(*eager::TensorAccess::get(tensor));
  }
  /// Where `condition`, of rank 0, does not hold, variables keep the values
  /// that the function was given for them, but for the random generator.
  void keepVariablesUnless(const Tensor &condition);
  void addResult(llvm::StringRef resultName, const Tensor &tensor) {
    results.push_back(tensor);
    resultNames.push_back(resultName.str());
  }
  /// Gives a variable another value.
  void assign(const Tensor &variable, mlir::Value next) {
    trace.write(*eager::TensorAccess::get(variable), next);
  }
  mlir::OpBuilder &raw() { return trace.raw(); }
  /// What `body` adds, on tensors or to raw(), goes to the end of `block`.
  void record(mlir::Block &block, llvm::function_ref<void()> body) {
    trace.record(block, body);
  }
  /// Ends the function and puts it before @main.
  void finish();

  std::vector<Tensor> outputs; ///< Of the model.
  /// The model's variables, in the order of its arguments.
  std::vector<std::pair<mlir::StringAttr, Tensor>> variables;

private:
  mlir::LogicalResult addTrained(mlir::Operation &op);
  mlir::LogicalResult addNorm(graph::BatchNormOp norm);
  void addDropout(graph::DropoutOp op);
  mlir::LogicalResult addDequantize(graph::DequantizeOp op);
  void declareGenerator(int64_t parts, mlir::Block *body);
  mlir::Value meanOverRanks(mlir::Value value);
  struct Rows;
  Rows addRows(mlir::Block &body, mlir::Value input, int64_t parts);
  void nameArguments(mlir::func::FuncOp function);
  void dropPlaces(mlir::func::FuncOp function);

  struct Argument {
    mlir::StringAttr attribute; ///< graph.name or graph.variable, and
    mlir::StringAttr name;      ///< its value.
  };
  Tensor addArgument(llvm::StringRef attribute, mlir::StringAttr argumentName,
                     mlir::Type type);

  mlir::func::FuncOp main;
  llvm::StringRef name;
  const DataParallel *ranks;
  eager::Trace trace;
  eager::TraceBackend backend;
  eager::BackendScope scope;
  NoGrad noTape;
  Generator generator{0}; // A run's seed and counter are those of a variable.
  std::vector<Argument> arguments;
  std::vector<Tensor> results;
  std::vector<std::string> resultNames;
  mlir::IRMapping mapping; // From values of @main.
  bool isRepeated = false; // The model is the body of a loop.
};

} // namespace tinh::training

#endif // TINH_TRAINING_FUNCTIONBUILDER_H
