//===- Sized.cpp - Kernels whose sizes are arguments ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Sized/Sized.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cpu {

MemRefType anySize(Type element) {
  // Functions take static types as bare pointers. No code depends on this size.
  constexpr int64_t kAny = int64_t(1) << 40;
  return MemRefType::get({kAny}, memoryType(element));
}

Value SizedKernel::size(OpBuilder &b, int64_t i) {
  Location loc = source.getLoc();
  Value at = arith::ConstantIndexOp::create(b, loc, i);
  return memref::LoadOp::create(b, loc, sizes, at);
}

Value SizedKernel::stack(int64_t count, Type element) {
  OpBuilder b(function.getContext());
  b.setInsertionPointToStart(&function.getBody().front());
  Location loc = source.getLoc();
  Type stored = memoryType(element);
  int64_t bytes = count * graph::elementSize(stored);
  Value memory = memref::AllocaOp::create(
      b, loc, MemRefType::get({bytes}, b.getI8Type()), b.getI64IntegerAttr(64));
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  return memref::ViewOp::create(b, loc, anySize(stored), memory, zero,
                                ValueRange());
}

using EmitSized = LogicalResult (*)(SizedKernel &, const Target &);

static EmitSized findStrategy(StringRef name) {
  return llvm::StringSwitch<EmitSized>(name)
      .Case("sized-rows",
            [](SizedKernel &kernel, const Target &target) {
              return emitSizedRows(kernel, /*across=*/false, target);
            })
      .Case("sized-rows-across",
            [](SizedKernel &kernel, const Target &target) {
              return emitSizedRows(kernel, /*across=*/true, target);
            })
      .Case("sized-transpose", emitSizedTranspose)
      .Case("sized-contraction", emitSizedContraction)
      .Default(nullptr);
}

bool isSized(StringRef strategy) { return findStrategy(strategy) != nullptr; }

/// Whether all operands are of the given form: rows of any length and single
/// elements, or matrices. A model's kernels, whose sizes are known, never are.
static bool hasAnySize(func::FuncOp kernel, int64_t rank) {
  bool some = false;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.getElementType().isIntOrFloat() ||
        static_cast<int64_t>(tensor.getNumDynamicDims()) != tensor.getRank() ||
        (tensor.getRank() != rank && (rank != 1 || tensor.getRank() != 0)))
      return false;
  }
  for (Type type : kernel.getArgumentTypes())
    some |= cast<RankedTensorType>(type).getRank() == rank;
  auto computes = kernel.walk([](linalg::GenericOp op) {
    auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
    for (Operation &inner : *op.getBody())
      if (!llvm::all_of(inner.getResultTypes(), isNumber))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return some && kernel.getNumResults() > 0 && !computes.wasInterrupted();
}

/// The memory of each operand: of a contraction, the offsets of rows come after
/// its two matrices.
static SmallVector<Type> operandTypes(func::FuncOp kernel, StringRef strategy) {
  OpBuilder b(kernel.getContext());
  SmallVector<Type> types{anySize(b.getIndexType())};
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    types.push_back(anySize(getElementTypeOrSelf(type)));
  if (strategy == "sized-contraction")
    types.insert(types.begin() + 3, anySize(b.getIndexType()));
  types.push_back(anySize(b.getI8Type()));
  types.append(2, b.getIndexType());
  return types;
}

FailureOr<func::FuncOp> emitSizedKernel(func::FuncOp kernel, ModuleOp module,
                                        const Target &target) {
  auto strategy = kernel->getAttrOfType<StringAttr>(graph::names::kStrategy);
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  if (!hasAnySize(kernel, strategy.getValue() == "sized-contraction" ? 2 : 1))
    return kernel.emitError("strategy ")
           << strategy << " is for operands of any size only";
  SmallVector<Type> types = operandTypes(kernel, strategy.getValue());
  auto function = func::FuncOp::create(b, kernel.getLoc(), kernel.getName(),
                                       b.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  OpBuilder atEnd = OpBuilder::atBlockEnd(entry);
  func::ReturnOp::create(atEnd, kernel.getLoc());
  unsigned count = types.size();
  SizedKernel sized{kernel,
                    function,
                    entry->getArgument(0),
                    entry->getArgument(count - 3),
                    entry->getArgument(count - 2),
                    entry->getArgument(count - 1)};
  if (succeeded(findStrategy(strategy.getValue())(sized, target)))
    return function;
  function.erase();
  return kernel.emitError("strategy ")
         << strategy << " cannot generate code for this kernel";
}

} // namespace tinh::cpu
