//===- LowerToLinalg.cpp - Graph ops as linalg on tensors -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "dialects/origin/Origin.h"

using namespace mlir;

void tinh::codegen::registerLowerToLinalgModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, graph::GraphDialect *) {
    context->loadDialect<origin::OriginDialect>();
    attachElementwiseLowerings(context);
    attachContractionLowerings(context);
    attachPoolingLowerings(context);
    attachReductionLowerings(context);
    attachNormalizationLowerings(context);
    attachMovementLowerings(context);
    attachGatherLowerings(context);
    attachScatterLowerings(context);
  });
}
