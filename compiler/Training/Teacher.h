//===- Teacher.h - A model that another one learns from ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TRAINING_TEACHER_H
#define TINH_TRAINING_TEACHER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace tinh::training {

struct Teacher {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< As it is run.
  double temperature, weight;

  mlir::func::FuncOp main();
};

/// Reads "TEACHER.onnx,temperature=4,weight=0.5", whose inputs and first output
/// must fit those of `student`. Fails after a diagnostic; throws Error for
/// options that do not exist.
mlir::FailureOr<Teacher> readTeacher(const std::string &text,
                                     mlir::func::FuncOp student);

/// The number of the student's argument that is given to argument `index` of
/// the teacher: of the same name, or the only one.
std::optional<unsigned> studentArgument(mlir::func::FuncOp teacher,
                                        unsigned index,
                                        mlir::func::FuncOp student);

} // namespace tinh::training

#endif // TINH_TRAINING_TEACHER_H
