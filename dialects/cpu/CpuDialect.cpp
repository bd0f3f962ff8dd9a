//===- CpuDialect.cpp - Registration, and checks of attributes --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/cpu/Cpu.h"
#include "dialects/graph/PlanChecks.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh::cpu;
using namespace tinh::graph;

#include "dialects/cpu/CpuDialect.cpp.inc"
#include "dialects/cpu/CpuEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/cpu/CpuAttrs.cpp.inc"

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Of a vector, of a register tile, and of the squares that registers turn.
static PlanRule vectorLanes() { return powerOf2(1, 64); }
static PlanRule tileColumns() { return within(1, 256); }
static PlanRule squareSides() { return powerOf2(1, 16); }

LogicalResult ContractionPlanAttr::verify(EmitError emitError,
                                          DenseI64ArrayAttr tile,
                                          DenseI64ArrayAttr block, int64_t,
                                          LeftAccess, RightAccess, Multiplier) {
  return checkNumbers(emitError,
                      {{"tile", tile, "rows, columns", tileColumns()},
                       {"block", block, "lines, tiles, panels", atLeast(1)}});
}

LogicalResult WinogradPlanAttr::verify(EmitError emitError, int64_t rows,
                                       DenseI64ArrayAttr block) {
  return checkNumbers(emitError,
                      {{"rows", rows, tileColumns()},
                       {"block", block, "tiles, panels", atLeast(1)}});
}

LogicalResult FilterTransformPlanAttr::verify(EmitError emitError,
                                              int64_t units) {
  return checkNumbers(emitError, {{"units", units, atLeast(1)}});
}

LogicalResult OuterProductsPlanAttr::verify(EmitError emitError, LanesOf,
                                            DenseI64ArrayAttr tile, int64_t,
                                            DenseI64ArrayAttr block, int64_t,
                                            int64_t, Multiplier) {
  return checkNumbers(emitError,
                      {{"tile", tile, "rows, columns", tileColumns()},
                       {"block", block, "rows, lanes", atLeast(1)}});
}

LogicalResult WinogradGradientPlanAttr::verify(EmitError emitError, int64_t,
                                               LanesOf, DenseI64ArrayAttr tile,
                                               DenseI64ArrayAttr block, int64_t,
                                               int64_t) {
  return checkNumbers(emitError,
                      {{"tile", tile, "rows, columns", tileColumns()},
                       {"block", block, "rows, lanes", atLeast(1)}});
}

LogicalResult DepthwiseGradientPlanAttr::verify(EmitError emitError,
                                                DenseI64ArrayAttr tile, int64_t,
                                                int64_t) {
  return checkNumbers(emitError,
                      {{"tile", tile, "taps, channels", tileColumns()}});
}

LogicalResult WindowsPlanAttr::verify(EmitError emitError, int64_t lanes,
                                      int64_t, int64_t, int64_t) {
  return checkNumbers(emitError, {{"lanes", lanes, vectorLanes()}});
}

LogicalResult TransposePlanAttr::verify(EmitError emitError, int64_t side,
                                        int64_t rows, int64_t units) {
  if (failed(checkNumbers(emitError, {{"side", side, squareSides()},
                                      {"units", units, atLeast(1)}})))
    return failure();
  return checkNumbers(
      emitError,
      {{"rows", rows, multipleOf(side).because(", as 'side' says")}});
}

LogicalResult ScatterPlanAttr::verify(EmitError emitError, int64_t,
                                      int64_t units) {
  return checkNumbers(emitError, {{"units", units, atLeast(1)}});
}

LogicalResult RowsPlanAttr::verify(EmitError emitError, int64_t, int64_t,
                                   int64_t, int64_t lanes, int64_t,
                                   int64_t units, ArrayAttr products) {
  if (failed(checkNumbers(emitError, {{"lanes", lanes, vectorLanes()},
                                      {"units", units, atLeast(1)}})))
    return failure();
  if (!products || llvm::all_of(products, llvm::IsaPred<ContractionPlanAttr>))
    return success();
  return emitError() << "'products' must be [#cpu.contraction<…>, …], found "
                     << products;
}

LogicalResult SizedRowsPlanAttr::verify(EmitError emitError, RowLanes,
                                        int64_t vector, int64_t registers) {
  // In bytes: a vector has room for the widest element.
  return checkNumbers(emitError, {{"vector", vector, powerOf2(8, 64)},
                                  {"registers", registers, powerOf2(1, 8)}});
}

LogicalResult SizedTransposePlanAttr::verify(EmitError emitError,
                                             int64_t side) {
  return checkNumbers(emitError, {{"side", side, squareSides()}});
}

LogicalResult SizedContractionPlanAttr::verify(EmitError emitError,
                                               DenseI64ArrayAttr rows,
                                               int64_t columns, int64_t row) {
  if (failed(checkNumbers(emitError, {{"rows", rows, "", within(2, 32)},
                                      {"columns", columns, tileColumns()},
                                      {"row", row, tileColumns()}})))
    return failure();
  ArrayRef<int64_t> tiles = rows.asArrayRef();
  if (llvm::adjacent_find(tiles, std::less_equal()) == tiles.end())
    return success();
  return emitError() << "'rows' must be numbers each less than the one before, "
                        "found ["
                     << tiles << "]";
}

//===----------------------------------------------------------------------===//
// Layouts of weights
//===----------------------------------------------------------------------===//

LogicalResult PanelsAttr::verify(EmitError emitError, RankedTensorType of,
                                 DenseI64ArrayAttr shape,
                                 DenseI64ArrayAttr order, int64_t batch,
                                 int64_t width, Type, int64_t group) {
  ArrayRef<int64_t> plain = shape ? shape.asArrayRef() : of.getShape();
  if (ShapedType::getNumElements(plain) != of.getNumElements())
    return emitError() << "'shape' must be a reshape of " << of << ", found ["
                       << plain << "]";
  SmallVector<int64_t> sorted(order.asArrayRef());
  llvm::sort(sorted);
  if (sorted.empty() || !llvm::equal(sorted, llvm::seq<int64_t>(plain.size())))
    return emitError() << "'order' must have each of the " << plain.size()
                       << " dimensions once, found [" << order.asArrayRef()
                       << "]";
  if (group > 1 && order.size() < 2)
    return emitError() << "'group' must be 1, as there is no k, found "
                       << group;
  return checkNumbers(emitError, {{"batch", batch, within(0, order.size() - 1)},
                                  {"width", width, atLeast(1)},
                                  {"group", group, powerOf2(1, 8)}});
}

bool PanelsAttr::isPadded() const {
  return getPanels() * getWidth() != getColumns() ||
         (getGroup() > 1 &&
          getGroups() * getGroup() != getPlain().getDimSize(getGrouped()));
}

RankedTensorType PanelsAttr::getPlain() const {
  return getShape() ? getOf().clone(getShape().asArrayRef()) : getOf();
}

RankedTensorType PanelsAttr::getPacked() const {
  SmallVector<int64_t> shape;
  for (int64_t dim : getOrder().asArrayRef().drop_back())
    shape.push_back(getPlain().getDimSize(dim));
  if (getGroup() > 1)
    shape.back() = getGroups();
  shape.insert(shape.begin() + getBatch(), getPanels());
  shape.push_back(getWidth());
  if (getGroup() > 1)
    shape.push_back(getGroup());
  return RankedTensorType::get(shape, getElement() ? getElement()
                                                   : getOf().getElementType());
}

PanelsAttr PanelsAttr::withElement(Type element) const {
  return get(getContext(), getOf().clone(element), getShape(), getOrder(),
             getBatch(), getWidth(), Type(), getGroup());
}

PanelsAttr PanelsAttr::withWidth(int64_t width) const {
  return get(getContext(), getOf(), getShape(), getOrder(), getBatch(), width,
             getElement(), getGroup());
}

PanelsAttr PanelsAttr::withGroup(int64_t group) const {
  return get(getContext(), getOf(), getShape(), getOrder(), getBatch(),
             getWidth(), getElement(), group);
}

PanelsAttr PanelsAttr::ofPlain() const {
  return get(getContext(), getPlain(), {}, getOrder(), getBatch(), getWidth(),
             getElement(), getGroup());
}

/// Whether `attribute` is a layout that makes `type` of what it is of.
static LogicalResult verifyLayout(Operation *op, NamedAttribute attribute,
                                  Type type) {
  auto panels = dyn_cast<PanelsAttr>(attribute.getValue());
  StringRef name = attribute.getName().getValue();
  if (name != tinh::cpu::names::kLayout)
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

/// Whether `type` can be an order of groups.
static LogicalResult verifyGroupOrder(Operation *op, NamedAttribute attribute,
                                      Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitError() << "'" << tinh::cpu::names::kGroupOrder
                           << "' must have no value, found "
                           << attribute.getValue();
  if (tensor && tensor.getRank() == 2 &&
      tensor.getElementType().isSignlessInteger(16))
    return success();
  return op->emitError() << "'" << tinh::cpu::names::kGroupOrder
                         << "' must be a matrix of i16, found " << type;
}

/// Whether `attribute` says of a kernel which transforms it may have.
static LogicalResult verifyTransforms(Operation *op, Attribute attribute) {
  if (!isa<FunctionOpInterface>(op))
    return op->emitError() << "'" << tinh::cpu::names::kTransforms
                           << "' is for kernels";
  auto transforms = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (transforms && llvm::all_of(transforms.asArrayRef(), [](int64_t outputs) {
        return outputs == 2 || outputs == 4 || outputs == 6;
      }))
    return success();
  return op->emitError() << "'" << tinh::cpu::names::kTransforms
                         << "' must be array<i64: …> of 2, 4 and 6, found "
                         << attribute;
}

LogicalResult CpuDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned argument,
                                                   NamedAttribute attribute) {
  Type type = cast<FunctionOpInterface>(op).getArgumentTypes()[argument];
  return attribute.getName() == tinh::cpu::names::kGroupOrder
             ? verifyGroupOrder(op, attribute, type)
             : verifyLayout(op, attribute, type);
}

LogicalResult CpuDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  if (attribute.getName() == tinh::cpu::names::kGroupOrder)
    return op->emitError() << "'" << tinh::cpu::names::kGroupOrder
                           << "' is for arguments of kernels";
  if (attribute.getName() == tinh::cpu::names::kTransforms)
    return verifyTransforms(op, attribute.getValue());
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
