//===- VerifyCpuFunctions.cpp - What runs where there is no GPU -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions are func.func or plan.function; both are looked at as lists of
// named tensors, and so are variables.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Verify/VerifyCpuFunctions.h"

#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tinh {

namespace {

/// An argument, a result or a variable.
struct Tensor {
  StringAttr name;
  Type type; // Null for an argument or result that is a variable.
  bool isVariable = false;
};

/// Functions or variables, those of the GPU and those that stand in for them.
struct Pairs {
  SmallVector<Operation *> originals, copies;

  void add(Operation *op) {
    bool isCopy = op->hasAttr(graph::names::kInsteadOf);
    (isCopy ? copies : originals).push_back(op);
  }
};

StringAttr nameOf(Operation *op) {
  return op->getAttrOfType<StringAttr>(
      isa<SymbolOpInterface>(op) ? SymbolTable::getSymbolAttrName() : "name");
}

SmallVector<Tensor> tensorsOf(func::FuncOp function, bool inputs) {
  SmallVector<Tensor> tensors;
  auto types = inputs ? function.getArgumentTypes() : function.getResultTypes();
  for (auto [i, type] : llvm::enumerate(types)) {
    DictionaryAttr attributes =
        inputs ? function.getArgAttrDict(i) : function.getResultAttrDict(i);
    auto get = [&](StringRef name) {
      return attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
    };
    if (StringAttr variable = get(graph::names::kVariable))
      tensors.push_back({variable, Type(), true});
    else
      tensors.push_back({get(graph::names::kName), type, false});
  }
  return tensors;
}

SmallVector<Tensor> tensorsOf(plan::FunctionOp function, bool inputs) {
  SmallVector<Tensor> tensors;
  ArrayAttr all = inputs ? function.getInputs() : function.getOutputs();
  for (auto tensor : all.getAsRange<plan::TensorAttr>()) {
    bool isVariable = static_cast<bool>(tensor.getVariable());
    tensors.push_back(
        {tensor.getName(), isVariable ? Type() : tensor.getType(), isVariable});
  }
  return tensors;
}

SmallVector<Tensor> tensorsOf(Operation *function, bool inputs) {
  if (auto planned = dyn_cast<plan::FunctionOp>(function))
    return tensorsOf(planned, inputs);
  return tensorsOf(cast<func::FuncOp>(function), inputs);
}

class Verifier {
public:
  explicit Verifier(ModuleOp module) : symbols(module) {
    for (Operation &op : *module.getBody()) {
      auto symbol = dyn_cast<SymbolOpInterface>(op);
      if (isa<graph::VariableOp, plan::VariableOp>(op))
        variables.add(&op);
      else if (isa<func::FuncOp, plan::FunctionOp>(op) &&
               graph::isEntry(symbol))
        functions.add(&op);
    }
  }

  LogicalResult run() {
    if (functions.copies.empty() && variables.copies.empty())
      return success();
    if (failed(verifyPairs(functions)) || failed(verifyPairs(variables)))
      return failure();
    for (auto [original, copy] :
         llvm::zip_equal(variables.originals, variables.copies)) {
      names[nameOf(copy)] = nameOf(original);
      if (failed(verifyVariable(original, copy)))
        return failure();
    }
    for (auto [original, copy] :
         llvm::zip_equal(functions.originals, functions.copies))
      if (failed(verifySignature(original, copy, /*inputs=*/true)) ||
          failed(verifySignature(original, copy, /*inputs=*/false)) ||
          failed(verifySteps(copy)))
        return failure();
    return success();
  }

private:
  InFlightDiagnostic fail(Operation *op) {
    return op->emitError() << nameOf(op) << " stands in for "
                           << op->getAttr(graph::names::kInsteadOf) << " ";
  }

  LogicalResult verifyPairs(const Pairs &pairs) {
    for (auto [i, copy] : llvm::enumerate(pairs.copies))
      if (i >= pairs.originals.size() ||
          nameOf(pairs.originals[i]) != copy->getAttr(graph::names::kInsteadOf))
        return fail(copy) << "where the GPU is missing, but is not in its "
                             "place among the others of its kind";
    if (pairs.copies.size() == pairs.originals.size())
      return success();
    return pairs.originals[pairs.copies.size()]->emitError()
           << nameOf(pairs.originals[pairs.copies.size()])
           << " has nothing that stands in for it where the GPU is missing, "
              "as others have";
  }

  LogicalResult verifyVariable(Operation *original, Operation *copy) {
    auto typeOf = [](Operation *op) -> Type {
      if (auto variable = dyn_cast<graph::VariableOp>(op))
        return variable.getType();
      return cast<plan::VariableOp>(op).getType();
    };
    if (typeOf(original) != typeOf(copy) ||
        original->hasAttr("trainable") != copy->hasAttr("trainable"))
      return fail(copy) << "as another type of variable";
    if (copy->hasAttr("device") || copy->hasAttr("on_device"))
      return fail(copy) << "on the CPU, but lies on the GPU";
    return success();
  }

  LogicalResult verifySignature(Operation *original, Operation *copy,
                                bool inputs) {
    SmallVector<Tensor> expected = tensorsOf(original, inputs),
                        found = tensorsOf(copy, inputs);
    auto equal = [&](const Tensor &a, const Tensor &b) {
      StringAttr name = b.isVariable ? names.lookup(b.name) : b.name;
      return a.name == name && a.type == b.type && a.isVariable == b.isVariable;
    };
    if (expected.size() == found.size() &&
        std::equal(expected.begin(), expected.end(), found.begin(), equal))
      return success();
    return fail(copy) << "with other " << (inputs ? "inputs" : "outputs");
  }

  /// Whether `op`, a step of a plan or what comes before it, is for the GPU.
  bool isForGpu(Operation *op) {
    if (auto dispatch = dyn_cast<graph::DispatchOp>(op)) {
      Operation *kernel = symbols.lookup(dispatch.getKernel());
      return kernel && graph::isOnCuda(kernel);
    }
    if (!isa_and_present<plan::PlanDialect>(op->getDialect()))
      return isa<graph::TransferOp>(op) ||
             ((isa<graph::KernelOp>(op) || graph::isCollective(op)) &&
              graph::isOnCuda(op));
    plan::StepAccess access = plan::accessOf(op);
    return llvm::any_of(
        llvm::concat<plan::BufferAttr>(access.reads, access.writes),
        [](plan::BufferAttr buffer) {
          return buffer.getSpace() == plan::Space::Device ||
                 buffer.getSpace() == plan::Space::DeviceWeights;
        });
  }

  LogicalResult verifySteps(Operation *copy) {
    auto result = copy->walk([&](Operation *op) -> WalkResult {
      if (op == copy || !isForGpu(op))
        return WalkResult::advance();
      return op->emitError()
             << "is for the GPU, but in @" << nameOf(copy).getValue()
             << ", which is for machines without one";
    });
    return failure(result.wasInterrupted());
  }

  SymbolTable symbols;
  Pairs functions, variables;
  /// By variable that stands in for one, that one.
  DenseMap<StringAttr, StringAttr> names;
};

} // namespace

LogicalResult verifyCpuFunctions(ModuleOp module) {
  return Verifier(module).run();
}

} // namespace tinh
