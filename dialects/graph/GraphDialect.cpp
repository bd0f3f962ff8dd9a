//===- GraphDialect.cpp - Registration and helpers --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh::graph;

#include "dialects/graph/GraphDialect.cpp.inc"
#include "dialects/graph/GraphEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.cpp.inc"

#include "dialects/graph/GraphAttrInterfaces.cpp.inc"
#include "dialects/graph/GraphInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.cpp.inc"

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/GraphOps.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed || typed.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, typed);
}

namespace tinh::graph {

std::optional<SmallVector<int64_t>>
broadcastShapes(ArrayRef<ArrayRef<int64_t>> shapes) {
  size_t rank = 0;
  for (ArrayRef<int64_t> shape : shapes)
    rank = std::max(rank, shape.size());
  SmallVector<int64_t> result(rank, 1);
  for (ArrayRef<int64_t> shape : shapes) {
    size_t lead = rank - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &extent = result[lead + i];
      if (shape[i] == 1 || shape[i] == extent)
        continue;
      if (extent != 1)
        return std::nullopt;
      extent = shape[i];
    }
  }
  return result;
}

std::string shapeToString(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t extent : tensor.getShape())
    os << extent << "x";
  os << tensor.getElementType();
  return text;
}

StringRef strategyName(Operation *kernel) {
  if (auto plan = kernel->getAttrOfType<KernelPlanInterface>(names::kPlan))
    return plan.getStrategy();
  return {};
}

StringRef nodeName(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName();
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return nodeName(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (StringRef name = nodeName(part); !name.empty())
        return name;
  return {};
}

llvm::StringSet<> namesOf(Operation *op) {
  llvm::StringSet<> names;
  names.insert(op->getName().stripDialect());
  op->getLoc()->walk([&](Location location) {
    if (auto node = dyn_cast<NameLoc>(location))
      names.insert(node.getName());
    return WalkResult::advance();
  });
  return names;
}

LogicalResult checkAxis(std::optional<Location> loc, StringRef op,
                        RankedTensorType x, int64_t axis) {
  if (axis >= 0 && axis < x.getRank())
    return success();
  return emitOptionalError(loc, op, ": axis ", axis,
                           " is outside the dimensions of ", shapeToString(x));
}

bool isStorageFloat(Type element) {
  return isa<Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type,
             Float8E5M2FNUZType, Float8E8M0FNUType, Float4E2M1FNType>(element);
}

Type storageType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(storageType(tensor.getElementType()));
  if (isStorageFloat(type))
    return IntegerType::get(type.getContext(), 8);
  if (isa<IntegerType>(type))
    return IntegerType::get(type.getContext(), type.getIntOrFloatBitWidth());
  return type;
}

int64_t elementSize(Type type) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

int64_t tensorSize(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * elementSize(tensor.getElementType());
}

} // namespace tinh::graph
