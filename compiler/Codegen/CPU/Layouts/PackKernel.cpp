//===- PackKernel.cpp - Kernels that compute in panels ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that updates a matrix,
//
//   %0 = linalg.generic … -> tensor<1000x100xf32>          // the gradient
//   %1 = linalg.generic ins(%0, %w …) -> tensor<1000x100xf32>
//
// becomes one that updates it where it lies in panels:
//
//   %0 = linalg.generic … -> tensor<1000x100xf32>
//   %p = … -> tensor<4x1000x32xf32>                        // says how it does
//   %1 = linalg.generic ins(%p, %w …) -> tensor<4x1000x32xf32>
//
// What is element-wise runs along the panels; the columns that are none are
// computed, too, and mean nothing. A product makes its columns in their order.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/Packing.h"
#include "compiler/Codegen/Kernel/Conversions.h"
#include "compiler/Codegen/Kernel/Rewrites.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

class KernelPacker {
public:
  KernelPacker(OpBuilder &b, func::FuncOp kernel, PanelsAttr layout)
      : b(b), kernel(kernel), loc(kernel.getLoc()), layout(layout) {}

  LogicalResult run(const llvm::SmallBitVector &arguments);

private:
  Value pack(Value plain);
  Value packGeneric(linalg::GenericOp op);
  Value packProduct(Value result, linalg::GenericOp op);
  linalg::GenericOp reductionOf(Value value);
  Value packBroadcast(OpOperand &operand, linalg::GenericOp op);

  OpBuilder &b;
  func::FuncOp kernel;
  Location loc;
  PanelsAttr layout;
  llvm::DenseMap<Value, Value> packed;
};

/// Whether the elements of the result follow from those of the operands at the
/// same index, or at fewer of its dimensions.
bool isElementwise(linalg::GenericOp op) {
  if (op.getNumReductionLoops() > 0 || op.getNumResults() != 1 ||
      !outputMap(op).isIdentity() ||
      !op.getBody()->getOps<linalg::IndexOp>().empty() ||
      !op.getBody()->getOps<tensor::ExtractOp>().empty())
    return false;
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return map.isProjectedPermutation(/*allowZeroInResults=*/true);
  });
}

} // namespace

/// An operand of `op` with all dimensions of its result, in panels.
Value KernelPacker::packBroadcast(OpOperand &operand, linalg::GenericOp op) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  Type element = getElementTypeOrSelf(operand.get());
  Value whole = mapElements(b, loc, operand.get(), layout.getOf().getShape(),
                            map.getResults(), element);
  return packPanels(b, loc, whole, layout.withElement(element));
}

Value KernelPacker::packGeneric(linalg::GenericOp op) {
  int64_t rank = layout.getPacked().getRank();
  AffineMap identity = AffineMap::getMultiDimIdentityMap(rank, b.getContext());
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    bool isScalar = map.getNumResults() == 0;
    inputs.push_back(isScalar           ? operand->get()
                     : map.isIdentity() ? pack(operand->get())
                                        : packBroadcast(*operand, op));
    maps.push_back(isScalar ? AffineMap::get(rank, 0, b.getContext())
                            : identity);
  }
  maps.push_back(identity);
  Value init = pack(op.getDpsInits()[0]);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return cloneBody(b, op, inputs, init, maps, iterators);
}

/// `result`, what `op` reduces to, maybe reshaped: it is computed as columns,
/// so that panels are stored as they lie.
Value KernelPacker::packProduct(Value result, linalg::GenericOp op) {
  OpOperand *init = op.getDpsInitOperand(0);
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  PanelsAttr panels = layout.withElement(type.getElementType());
  auto fill = init->get().getDefiningOp<linalg::FillOp>();
  AffineMap output = op.getMatchingIndexingMap(init);
  if (op.getNumResults() != 1 || !fill || !output.isProjectedPermutation())
    return packPanels(b, loc, result, panels);
  Value product = reducePermuted(b, op, fill, layout.getOrder());
  auto columns = cast<RankedTensorType>(product.getType());
  auto order = llvm::to_vector(llvm::seq<int64_t>(columns.getRank()));
  panels = PanelsAttr::get(b.getContext(), columns, {},
                           b.getDenseI64ArrayAttr(order), layout.getBatch(),
                           layout.getWidth(), {}, /*group=*/1);
  return packPanels(b, loc, product, panels);
}

/// The reduction that `value` is the result of, in the shape that is packed;
/// null if there is none.
linalg::GenericOp KernelPacker::reductionOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto merged = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (type.getShape() != layout.getPlain().getShape() && merged)
    value = merged.getSrc();
  auto op = value.getDefiningOp<linalg::GenericOp>();
  bool isProduct = op && op.getNumReductionLoops() > 0 &&
                   cast<RankedTensorType>(value.getType()).getShape() ==
                       layout.getPlain().getShape();
  return isProduct ? op : linalg::GenericOp();
}

Value KernelPacker::pack(Value plain) {
  if (Value known = packed.lookup(plain))
    return known;
  Type element = getElementTypeOrSelf(plain);
  auto empty = [&]() -> Value {
    return tensor::EmptyOp::create(b, loc, layout.getPacked().getShape(),
                                   element);
  };
  Value result;
  Operation *op = plain.getDefiningOp();
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (generic && isElementwise(generic))
    result = packGeneric(generic);
  else if (auto reduction = reductionOf(plain))
    result = packProduct(plain, reduction);
  else if (auto fill = dyn_cast_or_null<linalg::FillOp>(op))
    result =
        linalg::FillOp::create(b, loc, fill.getInputs(), empty()).getResult(0);
  else if (isa_and_present<tensor::EmptyOp>(op))
    result = empty();
  else
    result = packPanels(b, loc, plain, layout.withElement(element));
  return packed[plain] = result;
}

/// Lets the kernel return its results packed and read `arguments` packed; fails
/// if it reads one of these otherwise, too.
LogicalResult KernelPacker::run(const llvm::SmallBitVector &arguments) {
  Block &body = kernel.getBody().front();
  Operation *terminator = body.getTerminator();
  llvm::SmallPtrSet<Operation *, 4> unpacked;
  for (unsigned i : arguments.set_bits()) {
    BlockArgument argument = body.getArgument(i);
    PanelsAttr panels = layout.withElement(getElementTypeOrSelf(argument));
    changeArgument(b, argument, panels.getPacked(), [&](Value read) {
      Value plain = unpackPanels(b, loc, read, panels);
      packed[plain] = read;
      unpacked.insert(plain.getDefiningOp());
      return plain;
    });
  }
  b.setInsertionPoint(terminator);
  for (OpOperand &result : terminator->getOpOperands())
    result.set(pack(result.get()));
  eraseDead(body);
  updateType(kernel);
  return success(llvm::none_of(
      body, [&](Operation &op) { return unpacked.contains(&op); }));
}

LogicalResult packKernel(OpBuilder &b, func::FuncOp kernel, PanelsAttr layout,
                         const llvm::SmallBitVector &arguments) {
  return KernelPacker(b, kernel, layout).run(arguments);
}

} // namespace tinh::cpu
