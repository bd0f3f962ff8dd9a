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
  b.setInsertionPointToStart(&function.front());
  Location loc = source.getLoc();
  Type stored = memoryType(element);
  int64_t bytes = count * graph::elementSize(stored);
  Value memory = memref::AllocaOp::create(
      b, loc, MemRefType::get({bytes}, b.getI8Type()), b.getI64IntegerAttr(64));
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  return memref::ViewOp::create(b, loc, anySize(stored), memory, zero,
                                ValueRange());
}

bool hasAnySize(func::FuncOp kernel, int64_t rank) {
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

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

/// A strategy for kernels of any size.
struct Row {
  TypeID plan;
  void (*addOperands)(SmallVectorImpl<Type> &);
  LogicalResult (*emit)(SizedKernel &, Attribute plan, const Target &);
};

} // namespace

/// Callers give as much scratch memory as the kernel says.
static LogicalResult checkScratch(func::FuncOp kernel, int64_t needed) {
  auto scratch = kernel->getAttrOfType<IntegerAttr>(graph::names::kScratch);
  if (scratch && scratch.getInt() == needed)
    return success();
  return kernel.emitError("its plan needs ")
         << needed << " bytes of scratch memory a column: expected "
         << graph::names::kScratch << " = " << needed;
}

template <typename S> static Row rowOf() {
  auto emit = [](SizedKernel &kernel, Attribute plan,
                 const Target &target) -> LogicalResult {
    auto match = S::match(kernel.source);
    if (!match)
      return kernel.source.emitError()
             << "cannot be computed as " << plan << ": it " << match.whyNot();
    auto own = cast<typename S::Plan>(plan);
    if (failed(checkScratch(kernel.source, S::scratch(*match, own))))
      return failure();
    return S::emit(kernel, *match, own, target);
  };
  return {TypeID::get<typename S::Plan>(), S::addOperands, emit};
}

static const Row *findRow(Attribute plan) {
  static const Row table[] = {rowOf<SizedContractionStrategy>(),
                              rowOf<SizedTransposeStrategy>(),
                              rowOf<SizedRowsStrategy>()};
  for (const Row &row : table)
    if (plan && row.plan == plan.getTypeID())
      return &row;
  return nullptr;
}

bool isForAnySize(Attribute plan) { return findRow(plan) != nullptr; }

FailureOr<func::FuncOp> emitSizedKernel(func::FuncOp kernel, ModuleOp module,
                                        const Target &target) {
  Attribute plan = kernel->getAttr(graph::names::kPlan);
  const Row &row = *findRow(plan);
  Builder b(kernel.getContext());
  SmallVector<Type> types{anySize(b.getIndexType())};
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    types.push_back(anySize(getElementTypeOrSelf(type)));
  row.addOperands(types);
  types.push_back(anySize(b.getI8Type()));
  types.append(2, b.getIndexType());
  SizedKernel emitted(kernel, types, module);
  if (succeeded(row.emit(emitted, plan, target)))
    return cast<func::FuncOp>(emitted.function.getOperation());
  emitted.function.erase();
  return failure();
}

} // namespace tinh::cpu
