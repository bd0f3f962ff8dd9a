//===- VerifyAttributes.cpp - What graph.* attributes may be ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect's attributes on modules, on functions, their arguments and their
// results are checked here once, so that their readers can rely on them.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Library.h"
#include "dialects/graph/PlanChecks.h"
#include "dialects/graph/Strides.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tinh::graph;

namespace {

InFlightDiagnostic fail(Operation *op, NamedAttribute attribute) {
  return op->emitError() << "'" << attribute.getName().getValue() << "' ";
}

LogicalResult verifyString(Operation *op, NamedAttribute attribute) {
  if (isa<StringAttr>(attribute.getValue()))
    return success();
  return fail(op, attribute) << "must be a string";
}

LogicalResult verifyInteger(Operation *op, NamedAttribute attribute,
                            int64_t least) {
  auto value = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!value || !value.getType().isSignlessInteger(64) ||
      value.getInt() < least)
    return fail(op, attribute) << "must be an i64 of at least " << least;
  return success();
}

LogicalResult verifyStrings(Operation *op, NamedAttribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  if (list && !list.empty() && llvm::all_of(list, llvm::IsaPred<StringAttr>))
    return success();
  return fail(op, attribute) << "must be a list of strings, at least one";
}

LogicalResult verifyUnit(Operation *op, NamedAttribute attribute) {
  if (isa<UnitAttr>(attribute.getValue()))
    return success();
  return fail(op, attribute) << "has no value";
}

LogicalResult verifyDevice(Operation *op, NamedAttribute attribute) {
  auto device = dyn_cast<StringAttr>(attribute.getValue());
  if (device && device.getValue() == names::kOnCuda)
    return success();
  return fail(op, attribute) << "must be \"" << names::kOnCuda
                             << "\"; what is for the CPU has none";
}

LogicalResult verifyCollectives(Operation *op, NamedAttribute attribute) {
  auto library = dyn_cast<StringAttr>(attribute.getValue());
  if (library && library.getValue() == names::kNccl)
    return success();
  return fail(op, attribute) << "must be \"" << names::kNccl
                             << "\"; without it they are done by MPI";
}

LogicalResult verifyThreads(Operation *op, NamedAttribute attribute) {
  auto value = dyn_cast<IntegerAttr>(attribute.getValue());
  if (value && value.getType().isSignlessInteger(64) &&
      wholeWarps().allows(value.getInt()))
    return success();
  return fail(op, attribute) << "must be an i64, " << wholeWarps().text();
}

LogicalResult verifyAlignments(Operation *op, NamedAttribute attribute) {
  auto values = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  auto isPowerOfTwo = [](int64_t value) {
    return value > 0 && llvm::isPowerOf2_64(value);
  };
  if (values && llvm::all_of(values.asArrayRef(), isPowerOfTwo))
    return success();
  return fail(op, attribute) << "must be an array of powers of 2, in bytes";
}

LogicalResult verifyInplace(Operation *op, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  auto pairs = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!pairs || !function)
    return fail(op, attribute)
           << "must be a list of pairs (input, result), on a function";
  for (Attribute entry : pairs) {
    auto pair = dyn_cast<DenseI64ArrayAttr>(entry);
    if (!pair || pair.size() != 2)
      return fail(op, attribute) << "has the entry " << entry
                                 << "; expected array<i64: input, result>";
    auto within = [](int64_t index, int64_t count) {
      return index >= 0 && index < count;
    };
    if (!within(pair[0], function.getNumArguments()) ||
        !within(pair[1], function.getNumResults()))
      return fail(op, attribute)
             << "names input " << pair[0] << " and result " << pair[1]
             << " of a function with " << function.getNumArguments() << " and "
             << function.getNumResults();
  }
  return success();
}

LogicalResult verifyPlan(Operation *op, NamedAttribute attribute) {
  if (isa<KernelPlanInterface>(attribute.getValue()))
    return success();
  return fail(op, attribute) << "must be a plan of a device's dialect, such as "
                                "#cpu.contraction<…>, found "
                             << attribute.getValue();
}

/// From the first element of a tensor to behind the last one; 0 if that cannot
/// be said.
int64_t elementsWithin(Type type, ArrayRef<int64_t> strides) {
  auto tensor = cast<RankedTensorType>(type);
  if (!tensor.hasStaticShape() ||
      static_cast<size_t>(tensor.getRank()) != strides.size() ||
      tensor.getNumElements() == 0)
    return 0;
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip_equal(tensor.getShape(), strides))
    last += (extent - 1) * stride;
  return last + 1;
}

/// Of a kernel that is in the LLVM dialect already, operands are not known.
LogicalResult verifyLibrary(Operation *op, NamedAttribute attribute) {
  auto library = dyn_cast<LibraryAttr>(attribute.getValue());
  if (!library)
    return fail(op, attribute) << "must be a #graph.library<…>";
  auto kernel = dyn_cast<FunctionOpInterface>(op);
  if (!kernel)
    return success();
  SmallVector<int64_t> elements;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
    elements.push_back(isa<RankedTensorType>(type)
                           ? elementsWithin(type, argumentStrides(kernel, i))
                           : 0);
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
    elements.push_back(isa<RankedTensorType>(type)
                           ? elementsWithin(type, resultStrides(kernel, i))
                           : 0);
  return verifyViews(library, elements, [&] { return fail(op, attribute); });
}

LogicalResult verifyStrides(Operation *op, NamedAttribute attribute,
                            Type type) {
  auto strides = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!strides || !tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrFloat() ||
      strides.size() != tensor.getRank())
    return fail(op, attribute) << "must be a stride, array<i64: …>, for each "
                                  "dimension of a tensor, found "
                               << attribute.getValue() << " for " << type;
  if (!rowsOf(tensor, strides))
    return fail(op, attribute) << "must place the elements of " << type
                               << " in rows that follow one another, found "
                               << attribute.getValue();
  return success();
}

} // namespace

LogicalResult tinh::graph::verifyDimensionSizes(
    llvm::function_ref<InFlightDiagnostic()> emitError, Type type,
    Attribute sizes) {
  auto list = dyn_cast<ArrayAttr>(sizes);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (list && tensor && static_cast<int64_t>(list.size()) == tensor.getRank() &&
      llvm::all_of(list, llvm::IsaPred<StringAttr>))
    return success();
  return emitError() << "must be a list of strings, one for each dimension of "
                     << type << ", found " << sizes;
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == names::kCpu || name == names::kModel || name == names::kInsteadOf)
    return verifyString(op, attribute);
  if (name == names::kPlan)
    return verifyPlan(op, attribute);
  if (name == names::kEstimate)
    return verifyInteger(op, attribute, 0);
  if (name == names::kCuda || name == names::kPlace)
    return verifyStrings(op, attribute);
  if (name == names::kAllowTf32 || name == names::kAlsoCpu)
    return verifyUnit(op, attribute);
  if (name == names::kDevice)
    return verifyDevice(op, attribute);
  if (name == names::kCollectives)
    return verifyCollectives(op, attribute);
  if (name == names::kThreads)
    return verifyThreads(op, attribute);
  if (name == names::kAlignments)
    return verifyAlignments(op, attribute);
  if (name == names::kLibrary)
    return verifyLibrary(op, attribute);
  if (name == names::kChunks)
    return verifyInteger(op, attribute, 1);
  if (name == names::kScratch)
    return verifyInteger(op, attribute, 0);
  if (name == names::kInplace)
    return verifyInplace(op, attribute);
  return fail(op, attribute) << "is no attribute of the graph dialect";
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op,
                                                     unsigned regionIndex,
                                                     unsigned argument,
                                                     NamedAttribute attribute) {
  if (attribute.getName() == names::kName ||
      attribute.getName() == names::kVariable)
    return verifyString(op, attribute);
  Type type = cast<FunctionOpInterface>(op).getArgumentTypes()[argument];
  if (attribute.getName() == names::kStrides)
    return verifyStrides(op, attribute, type);
  if (attribute.getName() != names::kSource)
    return fail(op, attribute) << "is no attribute of an argument";
  auto value = dyn_cast<TypedAttr>(attribute.getValue());
  if (!value || value.getType() != type)
    return fail(op, attribute)
           << "of argument " << argument << " must be a value of " << type;
  return verifyConstant([&] { return fail(op, attribute); }, value);
}

LogicalResult
GraphDialect::verifyRegionResultAttribute(Operation *op, unsigned regionIndex,
                                          unsigned result,
                                          NamedAttribute attribute) {
  if (attribute.getName() == names::kName ||
      attribute.getName() == names::kVariable)
    return verifyString(op, attribute);
  Type type = cast<FunctionOpInterface>(op).getResultTypes()[result];
  if (attribute.getName() == names::kStrides)
    return verifyStrides(op, attribute, type);
  if (attribute.getName() == names::kSizes)
    return verifyDimensionSizes([&] { return fail(op, attribute); }, type,
                                attribute.getValue());
  return fail(op, attribute) << "is no attribute of a result";
}
