//===- OriginDialect.cpp - Registration, and checks of origins --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/origin/Origin.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh::origin;

#include "dialects/origin/OriginDialect.cpp.inc"
#include "dialects/origin/OriginEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/origin/OriginAttrs.cpp.inc"

LogicalResult
ConvolutionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        ArrayRef<Role> loops) {
  int64_t positions = llvm::count(loops, Role::Position),
          taps = llvm::count(loops, Role::Tap);
  if (positions != taps || positions == 0)
    return emitError() << "a convolution has a position and a tap for each "
                          "spatial dimension, found "
                       << positions << " and " << taps;
  for (Role role : {Role::Image, Role::Group, Role::Output, Role::Channel})
    if (int64_t count = llvm::count(loops, role); count > 1)
      return emitError() << "a convolution has one loop with the role '"
                         << stringifyRole(role) << "' at most, found " << count;
  return success();
}

/// Whether the loops of `op` can have these roles: taps and channels are what
/// it sums up.
static LogicalResult verifyLoops(linalg::GenericOp op,
                                 ConvolutionAttr convolution) {
  ArrayRef<Role> roles = convolution.getLoops();
  if (roles.size() != op.getNumLoops())
    return op.emitOpError() << "has " << op.getNumLoops() << " loops, but "
                            << roles.size() << " roles in " << convolution;
  for (auto [loop, role, iterator] :
       llvm::enumerate(roles, op.getIteratorTypesArray())) {
    bool isSummed = role == Role::Tap || role == Role::Channel;
    if (isSummed != (iterator == utils::IteratorType::reduction))
      return op.emitOpError()
             << "gives loop " << loop << ", which is "
             << stringifyIteratorType(iterator) << ", the role '"
             << stringifyRole(role) << "' in " << convolution
             << "; taps and channels are reductions, and nothing else is";
  }
  return success();
}

LogicalResult OriginDialect::verifyOperationAttribute(Operation *op,
                                                      NamedAttribute entry) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  Attribute value = entry.getValue();
  if (entry.getName() != kOp || !generic ||
      !isa<ConvolutionAttr, AttentionAttr, FiltersAttr>(value))
    return op->emitOpError()
           << "has '" << entry.getName().getValue() << "' = " << value
           << "; a linalg.generic may have '" << kOp
           << "', a #origin.convolution<…>, #origin.attention<…> "
              "or #origin.filters";
  auto convolution = dyn_cast<ConvolutionAttr>(value);
  return convolution ? verifyLoops(generic, convolution) : success();
}

void OriginDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/origin/OriginAttrs.cpp.inc"
      >();
}
