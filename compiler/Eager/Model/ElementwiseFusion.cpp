//===- ElementwiseFusion.cpp - Element-wise ops as one kernel -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Model/ElementwiseFusion.h"

#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Kernels/Sources.h"
#include "dialects/cpu/Cpu.h"
#include "dialects/graph/Graph.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace tinh::eager {

namespace {

/// The function of a row that an op and the inner ones before it are. Whatever
/// their shapes are, they compute one element of the op's result for one of
/// each input, or the only one that it has in a dimension.
class RowFunctionBuilder {
public:
  RowFunctionBuilder(mlir::Operation *root,
                     const llvm::DenseSet<mlir::Operation *> &inner)
      : root(root), inner(inner) {
    collect(root);
  }

  size_t numOps() const { return ops.size(); }
  ArrayRef<Value> inputs() const { return read.getArrayRef(); }
  ElementwiseFusion::Kernel build();

private:
  /// Operands before the op, so that `ops` are in an order to be computed in.
  void collect(mlir::Operation *op) {
    for (Value operand : op->getOperands()) {
      mlir::Operation *definition = operand.getDefiningOp();
      if (definition && inner.contains(definition)) {
        if (seen.insert(definition).second)
          collect(definition);
      } else if (!splatOf(operand)) {
        read.insert(operand);
      }
    }
    ops.push_back(op);
  }

  /// The number in all elements of a constant.
  static DenseElementsAttr splatOf(Value value) {
    auto constant = value.getDefiningOp<graph::ConstantOp>();
    auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                          : DenseElementsAttr();
    return dense && dense.isSplat() ? dense : DenseElementsAttr();
  }

  static RankedTensorType rowOf(Value value) {
    // The extent stands for any.
    return RankedTensorType::get({64}, getElementTypeOrSelf(value.getType()));
  }

  void clone(OpBuilder &b, mlir::Operation *op, IRMapping &mapping);

  mlir::Operation *root;
  const llvm::DenseSet<mlir::Operation *> &inner;
  llvm::DenseSet<mlir::Operation *> seen;
  SmallVector<mlir::Operation *> ops;
  llvm::SetVector<Value> read;
};

void RowFunctionBuilder::clone(OpBuilder &b, mlir::Operation *op,
                               IRMapping &mapping) {
  for (Value operand : op->getOperands())
    if (DenseElementsAttr splat = splatOf(operand);
        splat && !mapping.contains(operand)) {
      auto type = RankedTensorType::get({}, splat.getElementType());
      mapping.map(operand, graph::ConstantOp::create(b, b.getUnknownLoc(),
                                                     splat.resizeSplat(type)));
    }
  if (isa<graph::BroadcastOp>(op)) {
    mapping.map(op->getResult(0), mapping.lookup(op->getOperand(0)));
    return;
  }
  mlir::Operation *copy = b.clone(*op, mapping);
  bool isRow = llvm::any_of(copy->getOperandTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 1;
  });
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  copy->getResult(0).setType(isRow ? rowOf(op->getResult(0))
                                   : RankedTensorType::get({}, element));
}

ElementwiseFusion::Kernel RowFunctionBuilder::build() {
  MLIRContext *context = root->getContext();
  OpBuilder b(context);
  SmallVector<Type> types;
  for (Value input : read)
    types.push_back(rowOf(input));
  Type result = rowOf(root->getResult(0));
  context->getOrLoadDialect<cpu::CpuDialect>();
  Attribute plan = parseAttribute(
      rowsPlan(KernelLibrary::get().machine(), Lanes::AlongColumns), context);
  OwningOpRef<func::FuncOp> function = func::FuncOp::create(
      b.getUnknownLoc(), "fused", b.getFunctionType(types, result),
      ArrayRef<NamedAttribute>{
          b.getNamedAttr(graph::names::kPlan, plan),
          b.getNamedAttr(graph::names::kScratch, b.getI64IntegerAttr(0))});
  b.setInsertionPointToStart(function->addEntryBlock());
  IRMapping mapping;
  for (auto [input, argument] : llvm::zip_equal(read, function->getArguments()))
    mapping.map(input, argument);
  for (mlir::Operation *op : ops)
    clone(b, op, mapping);
  func::ReturnOp::create(b, b.getUnknownLoc(),
                         mapping.lookup(root->getResult(0)));
  std::string text;
  auto print = [&] {
    text.clear();
    llvm::raw_string_ostream stream(text);
    function->print(stream, OpPrintingFlags().useLocalScope());
    stream << "\n";
  };
  print();
  std::string symbol = "fused_" + llvm::utohexstr(llvm::xxh3_64bits(text));
  function->setName(symbol);
  print();
  return {symbol, text, SmallVector<Value>(read.getArrayRef())};
}

/// Whether an op may be computed in the kernel of one that uses it.
bool isElementwise(mlir::Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         (op->hasTrait<graph::ElementwiseOpTrait>() ||
          isa<graph::CastOp, graph::BroadcastOp>(op));
}

} // namespace

ElementwiseFusion::ElementwiseFusion(ArrayRef<mlir::Operation *> ops) {
  llvm::DenseSet<mlir::Operation *> fusable;
  for (mlir::Operation *op : llvm::reverse(ops)) {
    if (!isElementwise(op))
      continue;
    bool isUsedInside =
        !op->use_empty() &&
        llvm::all_of(op->getUsers(), [&](mlir::Operation *user) {
          return fusable.contains(user);
        });
    if (isUsedInside)
      inner.insert(op);
    // A broadcast that is read by other ops is a view.
    if (isUsedInside || !isa<graph::BroadcastOp>(op))
      fusable.insert(op);
  }
  for (mlir::Operation *op : ops) {
    if (!fusable.contains(op) || inner.contains(op))
      continue;
    RowFunctionBuilder builder(op, inner);
    if (builder.numOps() == 1)
      continue;
    if (builder.inputs().empty() ||
        builder.inputs().size() > kMaxElementwiseInputs) {
      // Its ops are computed one by one, and so are all others.
      inner.clear();
      kernels.clear();
      return;
    }
    kernels[op] = builder.build();
  }
}

} // namespace tinh::eager
