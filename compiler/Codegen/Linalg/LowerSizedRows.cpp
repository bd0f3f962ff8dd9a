//===- LowerSizedRows.cpp - Functions of a row become linalg ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   func.func @softmax(%x: tensor<64xf32>) -> tensor<64xf32>
//       attributes {graph.plan = #cpu.sized_rows<…>, …} {
//     %y = graph.softmax %x axis 0 : tensor<64xf32>
//     return %y : tensor<64xf32>
//   }
// becomes linalg on tensor<?xf32>. Ops of the graph have static shapes, so a
// row is written with some length that stands for any. An op whose code
// depended on it (a mean) has no place in such a function.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Rewrites.h"
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "compiler/Codegen/Passes.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_LOWERSIZEDROWS
#include "compiler/Codegen/Passes.h.inc"

/// The length that all rows of `function` have; 0 if they do not agree, or it
/// takes none.
static int64_t rowLength(func::FuncOp function) {
  int64_t length = 0;
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                            function.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() > 1)
      return 0;
    if (tensor.getRank() == 0)
      continue;
    if (length && length != tensor.getDimSize(0))
      return 0;
    length = tensor.getDimSize(0);
  }
  bool takesRow = llvm::any_of(function.getArgumentTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 1;
  });
  // An extent of 1 would broadcast.
  return takesRow && length > 1 ? length : 0;
}

/// A row of any length.
static Type anyLength(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 1)
    return type;
  return RankedTensorType::get(ShapedType::kDynamic, tensor.getElementType());
}

/// Lowers the ops of `function` into `lowered`, whose tensors are as they are
/// stored.
static LogicalResult lowerOps(func::FuncOp function, func::FuncOp lowered) {
  Block &block = function.getBody().front(), *body = lowered.addEntryBlock();
  llvm::DenseMap<Value, Value> values;
  for (auto [from, to] :
       llvm::zip_equal(block.getArguments(), body->getArguments()))
    values[from] = to;
  auto valueOf = [&](Value value) { return values.at(value); };
  OpBuilder b = OpBuilder::atBlockEnd(body);
  for (Operation &op : block.without_terminator())
    if (failed(lowerOp(op, b, values)))
      return failure();
  Operation *terminator = block.getTerminator();
  func::ReturnOp::create(
      b, terminator->getLoc(),
      llvm::map_to_vector(terminator->getOperands(), valueOf));
  eraseDead(*body);
  return success();
}

/// Gives all rows of `function`, in linalg, any length.
static void makeLengthDynamic(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    argument.setType(anyLength(argument.getType()));
  auto row = llvm::find_if(block.getArguments(), [](Value argument) {
    return cast<RankedTensorType>(argument.getType()).getRank() == 1;
  });
  OpBuilder b = OpBuilder::atBlockBegin(&block);
  Location loc = function.getLoc();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value length = tensor::DimOp::create(b, loc, *row, zero);
  function.walk([&](Operation *op) {
    for (Value result : op->getResults())
      result.setType(anyLength(result.getType()));
    auto empty = dyn_cast<tensor::EmptyOp>(op);
    if (empty && !empty.getType().hasStaticShape())
      empty.getDynamicSizesMutable().assign(length);
  });
  updateType(function);
}

static FailureOr<func::FuncOp> lowerRow(func::FuncOp function) {
  if (!rowLength(function))
    return function.emitError("must take and give rows of one length, of two "
                              "elements at least, and single elements");
  OpBuilder b(function);
  auto plain = [](TypeRange types) {
    return llvm::map_to_vector(types, storageType);
  };
  auto lowered =
      func::FuncOp::create(b, function.getLoc(), function.getName(),
                           b.getFunctionType(plain(function.getArgumentTypes()),
                                             plain(function.getResultTypes())));
  lowered->setDiscardableAttrs(function->getDiscardableAttrDictionary());
  if (failed(lowerOps(function, lowered))) {
    lowered.erase();
    return failure();
  }
  makeLengthDynamic(lowered);
  function.erase();
  return lowered;
}

LogicalResult lowerSizedRows(ModuleOp module) {
  auto isOfGraph = [](Operation &op) {
    return isa<graph::GraphDialect>(op.getDialect());
  };
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function->hasAttr(graph::names::kPlan) && !function.isExternal() &&
        llvm::any_of(function.getBody().front(), isOfGraph) &&
        failed(lowerRow(function)))
      return failure();
  return success();
}

namespace {

struct LowerSizedRows : impl::LowerSizedRowsBase<LowerSizedRows> {
  void runOnOperation() override {
    if (failed(lowerSizedRows(getOperation())))
      signalPassFailure();
  }
};

} // namespace

} // namespace tinh::codegen
