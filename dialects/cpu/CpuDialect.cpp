//===- CpuDialect.cpp - Registration, and checks of attributes --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/cpu/Cpu.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh::cpu;

#include "dialects/cpu/CpuDialect.cpp.inc"
#include "dialects/cpu/CpuEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/cpu/CpuAttrs.cpp.inc"

using EmitError = function_ref<InFlightDiagnostic()>;

/// Whether a list of a plan has as many numbers as `what` says.
static LogicalResult checkList(EmitError emitError, StringRef name,
                               DenseI64ArrayAttr list, int64_t size,
                               StringRef what) {
  if (list.size() == size)
    return success();
  return emitError() << name << " has " << list.size() << " numbers; expected ["
                     << what << "]";
}

LogicalResult ContractionPlanAttr::verify(EmitError emitError,
                                          DenseI64ArrayAttr tile,
                                          DenseI64ArrayAttr block, int64_t,
                                          LeftAccess, RightAccess) {
  if (failed(checkList(emitError, "tile", tile, 2, "rows, columns")))
    return failure();
  return checkList(emitError, "block", block, 3, "lines, tiles, panels");
}

LogicalResult OuterProductsPlanAttr::verify(EmitError emitError, LanesOf,
                                            DenseI64ArrayAttr tile, int64_t,
                                            DenseI64ArrayAttr block, int64_t,
                                            int64_t) {
  if (failed(checkList(emitError, "tile", tile, 2, "rows, columns")))
    return failure();
  return checkList(emitError, "block", block, 2, "rows, lanes");
}

LogicalResult DepthwiseGradientPlanAttr::verify(EmitError emitError,
                                                DenseI64ArrayAttr tile, int64_t,
                                                int64_t) {
  return checkList(emitError, "tile", tile, 2, "taps, channels");
}

LogicalResult RowsPlanAttr::verify(EmitError emitError, int64_t, int64_t,
                                   int64_t, int64_t, int64_t, int64_t,
                                   ArrayAttr products) {
  if (!products || llvm::all_of(products, llvm::IsaPred<ContractionPlanAttr>))
    return success();
  return emitError() << "products = " << products
                     << "; expected [#cpu.contraction<…>, …]";
}

/// Whether a number of a plan is a power of two up to `most`.
static LogicalResult checkPowerOf2(EmitError emitError, StringRef name,
                                   int64_t value, int64_t most) {
  if (llvm::isPowerOf2_64(value) && value <= most)
    return success();
  return emitError() << name << " = " << value
                     << "; expected a power of two up to " << most;
}

LogicalResult SizedRowsPlanAttr::verify(EmitError emitError, RowLanes,
                                        int64_t vector, int64_t registers) {
  // Not less than the widest element has.
  if (vector < 8)
    return emitError() << "vector = " << vector << "; expected 8 bytes or more";
  if (failed(checkPowerOf2(emitError, "vector", vector, 64)))
    return failure();
  return checkPowerOf2(emitError, "registers", registers, 8);
}

LogicalResult SizedTransposePlanAttr::verify(EmitError emitError,
                                             int64_t side) {
  return checkPowerOf2(emitError, "side", side, 16);
}

LogicalResult SizedContractionPlanAttr::verify(EmitError emitError,
                                               DenseI64ArrayAttr rows,
                                               int64_t columns, int64_t row) {
  constexpr int64_t kMostRows = 32, kMostColumns = 256;
  int64_t most = kMostRows;
  for (int64_t tile : rows.asArrayRef()) {
    if (tile < 2 || tile > most)
      return emitError() << "rows = [" << rows.asArrayRef()
                         << "]; expected numbers from " << kMostRows
                         << " to 2, each less than the one before";
    most = tile - 1;
  }
  for (int64_t width : {columns, row})
    if (width < 1 || width > kMostColumns)
      return emitError() << (width == columns ? "columns" : "row") << " = "
                         << width << "; expected 1 to " << kMostColumns;
  return success();
}

//===----------------------------------------------------------------------===//
// Layouts of weights
//===----------------------------------------------------------------------===//

LogicalResult PanelsAttr::verify(EmitError emitError, RankedTensorType of,
                                 DenseI64ArrayAttr shape,
                                 DenseI64ArrayAttr order, int64_t batch,
                                 int64_t width, Type) {
  ArrayRef<int64_t> plain = shape ? shape.asArrayRef() : of.getShape();
  if (ShapedType::getNumElements(plain) != of.getNumElements())
    return emitError() << "shape = " << shape << " is no reshape of " << of;
  SmallVector<int64_t> sorted(order.asArrayRef());
  llvm::sort(sorted);
  if (sorted.empty() || !llvm::equal(sorted, llvm::seq<int64_t>(plain.size())))
    return emitError() << "order = " << order << "; expected each of the "
                       << plain.size() << " dimensions once";
  if (batch < 0 || batch >= order.size())
    return emitError() << "batch = " << batch << "; expected 0 to "
                       << order.size() - 1;
  if (width < 1)
    return emitError() << "width = " << width << "; expected at least 1";
  return success();
}

RankedTensorType PanelsAttr::getPlain() const {
  return getShape() ? getOf().clone(getShape().asArrayRef()) : getOf();
}

RankedTensorType PanelsAttr::getPacked() const {
  SmallVector<int64_t> shape;
  for (int64_t dim : getOrder().asArrayRef().drop_back())
    shape.push_back(getPlain().getDimSize(dim));
  shape.insert(shape.begin() + getBatch(), getPanels());
  shape.push_back(getWidth());
  return RankedTensorType::get(shape, getElement() ? getElement()
                                                   : getOf().getElementType());
}

PanelsAttr PanelsAttr::withElement(Type element) const {
  return get(getContext(), getOf().clone(element), getShape(), getOrder(),
             getBatch(), getWidth(), Type());
}

PanelsAttr PanelsAttr::withWidth(int64_t width) const {
  return get(getContext(), getOf(), getShape(), getOrder(), getBatch(), width,
             getElement());
}

PanelsAttr PanelsAttr::ofPlain() const {
  return get(getContext(), getPlain(), {}, getOrder(), getBatch(), getWidth(),
             getElement());
}

/// Whether `attribute` is a layout that makes `type` of what it is of.
static LogicalResult verifyLayout(Operation *op, NamedAttribute attribute,
                                  Type type) {
  auto panels = dyn_cast<PanelsAttr>(attribute.getValue());
  StringRef name = attribute.getName().getValue();
  if (name != names::kLayout)
    return op->emitError() << "'" << name
                           << "' is no attribute of the cpu dialect";
  if (!panels)
    return op->emitError() << "'" << name << "' must be #cpu.panels<…>, found "
                           << attribute.getValue();
  if (panels.getPacked() == type)
    return success();
  return op->emitError() << "lies as " << type << ", but " << panels << " is "
                         << panels.getPacked();
}

LogicalResult CpuDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned argument,
                                                   NamedAttribute attribute) {
  return verifyLayout(
      op, attribute,
      cast<FunctionOpInterface>(op).getArgumentTypes()[argument]);
}

LogicalResult CpuDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  auto variable = dyn_cast<tinh::graph::VariableOp>(op);
  if (!variable)
    return op->emitError() << "'" << attribute.getName().getValue()
                           << "' is for variables and arguments of kernels";
  return verifyLayout(op, attribute, variable.getStoredType());
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void CpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/cpu/CpuAttrs.cpp.inc"
      >();
}
