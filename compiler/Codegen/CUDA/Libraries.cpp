//===- Libraries.cpp - Kernels that libraries can compute -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops of the product step through the memory of each operand. Where those of
// a role (Contraction.h) follow each other in all operands they have, they are
// one dimension of a matrix; else the kernel may still be a convolution.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Libraries.h"

#include "compiler/Codegen/CUDA/LibraryConvolution.h"

#include "dialects/graph/Layout.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// Where elements lie
//===----------------------------------------------------------------------===//

/// Whether a generic op only moves elements of its one input.
static bool isCopy(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getNumResults() == 1 &&
         op.getNumReductionLoops() == 0 &&
         op.getBody()->getTerminator()->getOperand(0) ==
             op.getBody()->getArgument(0) &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation();
}

/// Whether zeros are put around the source.
static bool padsWithZeros(tensor::PadOp pad) {
  Value value = pad.getConstantPaddingValue();
  return value && matchPattern(value, m_AnyZeroFloat()) &&
         !ShapedType::isDynamicShape(pad.getStaticLow()) &&
         !ShapedType::isDynamicShape(pad.getStaticHigh());
}

static AffineMap minus(AffineMap map, ArrayRef<int64_t> offsets) {
  SmallVector<AffineExpr> exprs;
  for (auto [expr, offset] : llvm::zip_equal(map.getResults(), offsets))
    exprs.push_back(expr - offset);
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

std::optional<MemoryAccess> accessMemory(Value value, AffineMap map) {
  if (auto strides = stridesInArgument(value)) {
    Value argument = value;
    while (Operation *reshape = argument.getDefiningOp())
      argument = reshape->getOperand(0);
    auto type = cast<RankedTensorType>(value.getType());
    return MemoryAccess{cast<BlockArgument>(argument).getArgNumber(),
                        llvm::to_vector(type.getShape()), *strides, map};
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return padsWithZeros(pad)
               ? accessMemory(pad.getSource(), minus(map, pad.getStaticLow()))
               : std::nullopt;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return accessMemory(expand.getSrc(), beforeExpansion(expand, map));
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || !isCopy(generic))
    return std::nullopt;
  AffineMap output =
      generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  OpOperand *input = generic.getDpsInputOperand(0);
  return accessMemory(input->get(), generic.getMatchingIndexingMap(input)
                                        .compose(inversePermutation(output))
                                        .compose(map));
}

int64_t MemoryAccess::coefficient(unsigned dim, unsigned loop) const {
  return loopCoefficient(map.getResult(dim), loop, map.getNumDims());
}

int64_t MemoryAccess::constant(unsigned dim) const {
  SmallVector<AffineExpr> zeros(map.getNumDims(),
                                getAffineConstantExpr(0, map.getContext()));
  return cast<AffineConstantExpr>(
             simplifyAffineExpr(map.getResult(dim).replaceDims(zeros), 0, 0))
      .getValue();
}

SmallVector<int64_t> MemoryAccess::steps() const {
  SmallVector<int64_t> steps(map.getNumDims(), 0);
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    for (unsigned loop = 0; loop < steps.size(); ++loop)
      steps[loop] += strides[dim] * coefficient(dim, loop);
  return steps;
}

bool MemoryAccess::staysInside(ArrayRef<int64_t> extents) const {
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    int64_t last = constant(dim);
    if (last != 0)
      return false;
    for (auto [loop, extent] : llvm::enumerate(extents)) {
      int64_t step = coefficient(dim, loop);
      if (step < 0)
        return false;
      last += step * (extent - 1);
    }
    if (last >= shape[dim])
      return false;
  }
  return true;
}

SmallVector<int64_t> stepsInProduct(const Product &p,
                                    ArrayRef<int64_t> strides) {
  SmallVector<int64_t> unmerged(strides);
  if (auto merge = p.result.getDefiningOp<tensor::CollapseShapeOp>()) {
    ArrayRef<int64_t> shape = merge.getSrcType().getShape();
    unmerged.assign(shape.size(), 0);
    for (auto [stride, group] :
         llvm::zip_equal(strides, merge.getReassociationIndices())) {
      int64_t each = stride;
      for (int64_t dim : llvm::reverse(group)) {
        unmerged[dim] = each;
        each *= shape[dim];
      }
    }
  }
  SmallVector<int64_t> steps(p.extents.size(), 0);
  for (auto [expr, stride] : llvm::zip_equal(p.output.getResults(), unmerged))
    steps[cast<AffineDimExpr>(expr).getPosition()] = stride;
  return steps;
}

graph::ViewAttr makeView(MLIRContext *context, unsigned operand,
                         ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  return graph::ViewAttr::get(context, operand,
                              DenseI64ArrayAttr::get(context, shape),
                              DenseI64ArrayAttr::get(context, strides));
}

//===----------------------------------------------------------------------===//
// Products of matrices
//===----------------------------------------------------------------------===//

/// The step of `loops` as one dimension, or nothing if they are none.
static std::optional<int64_t> stepOf(const Product &p, const Loops &loops,
                                     ArrayRef<int64_t> steps) {
  if (loops.empty())
    return 0;
  for (size_t i = 0; i + 1 < loops.size(); ++i)
    if (steps[loops[i]] != steps[loops[i + 1]] * p.extents[loops[i + 1]])
      return std::nullopt;
  return steps[loops.back()];
}

/// The view of an operand through which loops step so, as batch × the two
/// others; null if it is none.
static graph::ViewAttr matrixView(const Product &p, unsigned operand,
                                  const Loops &rows, const Loops &columns,
                                  ArrayRef<int64_t> steps,
                                  MLIRContext *context) {
  SmallVector<int64_t> shape, strides;
  for (const Loops *loops : {&p.batch, &rows, &columns}) {
    std::optional<int64_t> step = stepOf(p, *loops, steps);
    if (!step)
      return {};
    shape.push_back(p.extentOf(*loops));
    strides.push_back(*step);
  }
  return makeView(context, operand, shape, strides);
}

/// Whether elements of the rows, or of the columns, lie side by side.
static bool isMatrix(graph::ViewAttr view, bool columnsOnly = false) {
  auto follow = [&](unsigned dim, unsigned other) {
    int64_t extent = view.getShape()[dim], rest = view.getShape()[other];
    return (view.getStrides()[dim] == 1 || extent == 1) &&
           (view.getStrides()[other] >= extent || rest == 1);
  };
  return follow(2, 1) || (!columnsOnly && follow(1, 2));
}

graph::LibraryAttr ProductDescriber::product(const MemoryAccess &rows,
                                             const MemoryAccess &columns) {
  MLIRContext *context = kernel.getContext();
  if (!rows.staysInside(p.extents) || !columns.staysInside(p.extents))
    return {};
  auto left = matrixView(p, rows.argument, p.rows.loops, p.depth, rows.steps(),
                         context);
  auto right = matrixView(p, columns.argument, p.depth, p.columns.loops,
                          columns.steps(), context);
  auto view = [&](unsigned operand, ArrayRef<int64_t> strides) {
    return matrixView(p, operand, p.rows.loops, p.columns.loops,
                      stepsInProduct(p, strides), context);
  };
  auto result = view(kernel.getNumArguments(), graph::resultStrides(kernel, 0));
  if (!left || !right || !result || !isMatrix(left) || !isMatrix(right) ||
      !isMatrix(result, /*columnsOnly=*/true))
    return {};
  graph::ViewAttr bias, residual;
  for (const Addend &addend : epilogue.addends) {
    auto added = view(addend.argument, addend.strides);
    if (!added)
      return {};
    ArrayRef<int64_t> strides = added.getStrides();
    bool isBias = strides[0] == 0 && strides[1] == 0 && strides[2] == 1;
    if (!isBias && !isMatrix(added, /*columnsOnly=*/true))
      return {};
    if (std::exchange(isBias ? bias : residual, added))
      return {}; // Two of them.
  }
  return attribute(graph::LibraryKind::Product, left, right, result, bias,
                   residual, {});
}

graph::LibraryAttr
ProductDescriber::attribute(graph::LibraryKind kind, graph::ViewAttr left,
                            graph::ViewAttr right, graph::ViewAttr result,
                            graph::ViewAttr bias, graph::ViewAttr residual,
                            graph::WindowAttr window) {
  bool tf32 = target.allowTf32 && getElementTypeOrSelf(p.rows.value).isF32();
  return graph::LibraryAttr::get(kernel.getContext(), kind, left, right, result,
                                 bias, residual, window, epilogue.activation,
                                 tf32);
}

/// Whether libraries multiply such factors to such a result, adding its like.
static bool haveTypes(func::FuncOp kernel, const Product &p,
                      const LibraryEpilogue &epilogue) {
  Type factor = getElementTypeOrSelf(p.rows.value);
  Type result = getElementTypeOrSelf(kernel.getResultTypes()[0]);
  return p.element().isF32() &&
         (factor.isF32() || factor.isF16() || factor.isBF16()) &&
         getElementTypeOrSelf(p.columns.value) == factor &&
         (result == factor || result.isF32()) &&
         llvm::all_of(epilogue.addends, [&](const Addend &addend) {
           return getElementTypeOrSelf(
                      kernel.getArgumentTypes()[addend.argument]) == result;
         });
}

graph::LibraryAttr describeForLibrary(func::FuncOp kernel,
                                      const Target &target) {
  auto p = matchProduct(kernel);
  if (!p)
    return {};
  auto epilogue = matchEpilogue(kernel, p->result);
  if (!epilogue || !haveTypes(kernel, *p, *epilogue))
    return {};
  auto rows = accessMemory(p->rows.value, p->rows.map);
  auto columns = accessMemory(p->columns.value, p->columns.map);
  if (!rows || !columns)
    return {};
  ProductDescriber describer{kernel, target, *p, *epilogue};
  if (auto product = describer.product(*rows, *columns))
    return product;
  return describer.convolution(*rows, *columns);
}

} // namespace tinh::cuda
