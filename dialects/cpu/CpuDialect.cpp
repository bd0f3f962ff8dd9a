//===- CpuDialect.cpp - Registration, and checks of plans -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/cpu/Cpu.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh::cpu;

#include "dialects/cpu/CpuDialect.cpp.inc"
#include "dialects/cpu/CpuEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/cpu/CpuAttrs.cpp.inc"

void CpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/cpu/CpuAttrs.cpp.inc"
      >();
}
