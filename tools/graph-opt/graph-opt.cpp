//===- graph-opt.cpp - Runs passes on MLIR files ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An mlir-opt with the dialects and passes of this project.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tinh::registerDialects(registry);
  tinh::registerPasses();
  return mlir::failed(
      mlir::MlirOptMain(argc, argv, "Tinh's pass driver\n", registry));
}
