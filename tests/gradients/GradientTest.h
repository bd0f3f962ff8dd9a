//===- GradientTest.h - Gradients against finite differences ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A case is ops as text, whose gradient is compared with central differences in
// f64 on the reference interpreter, and whose gradient's gradient as well. More
// cases are lines in the table of their family (Cases.h).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_GRADIENTS_GRADIENTTEST_H
#define TINH_TESTS_GRADIENTS_GRADIENTTEST_H

#include "compiler/Reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tinh::test {

using Values = std::vector<double>;

/// How a case is tried; what is said is f64's, and of an ordinary function.
struct Trial {
  /// Inputs are random in between. Their elements, of all inputs together, keep
  /// a distance from each other and, if low = -high, from 0: from the kinks of
  /// max, abs and sorting.
  double low = -2, high = 2;
  /// 2: the gradient of the gradient is tried, too.
  int order = 2;
  /// Of the finite differences.
  double step = 1e-5;
  /// Largest difference, as a part of the largest gradient or of 1.
  double tolerance = 1e-6;
};

struct GradientCase {
  std::string name;
  /// Shapes of the inputs, "2x3" for tensor<2x3xf64>, "" for a scalar; another
  /// element type is said in full: "2x3xf32". `ops` name the inputs %0, %1 …
  /// and their types !t0, !t1 …
  std::vector<std::string> inputs;
  /// The shape of the result, %y, whose type is !y.
  std::string result;
  /// One op in a line.
  std::string ops;
  Trial trial = {};
};

void PrintTo(const GradientCase &gradientCase, std::ostream *stream);

class GradientTest : public testing::Test {
protected:
  GradientTest();

  /// Compares gradients of the function with finite differences.
  void check(const std::string &function, const Trial &trial);
  void check(const GradientCase &gradientCase);

  /// The gradient of Σ result · seed by each input, as values; for what finite
  /// differences cannot see, such as ties.
  std::vector<Values> gradients(const GradientCase &gradientCase,
                                const std::vector<Values> &inputs,
                                const Values &seed);

  /// The module of `function`, "(%x: …) -> … { … }", which is @main there. Null
  /// after a failure.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &function);
  /// Adds @main's gradient to the module: a function of its arguments and of a
  /// gradient for each of its results that is a float, which returns the
  /// gradients of its float arguments. Null after a diagnostic.
  mlir::func::FuncOp differentiate(mlir::func::FuncOp function);

  mlir::MLIRContext context;
  /// The last diagnostic.
  std::string message;
};

/// The text of the case's function, from its parameters on.
std::string functionOf(const GradientCase &gradientCase);

} // namespace tinh::test

#endif // TINH_TESTS_GRADIENTS_GRADIENTTEST_H
