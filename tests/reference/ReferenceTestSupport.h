//===- ReferenceTestSupport.h - Evaluates graphs in text --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_REFERENCE_REFERENCETESTSUPPORT_H
#define TINH_TESTS_REFERENCE_REFERENCETESTSUPPORT_H

#include "compiler/Reference/Interpreter.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace tinh::test {

using Values = std::vector<double>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// An operand of an op: "2x3xf32" and its elements.
struct Operand {
  std::string type;
  Values values;
};

class ReferenceTest : public testing::Test {
protected:
  ReferenceTest();

  /// The elements of the first result of the function "(%x: …) -> … { … }".
  /// None after a diagnostic, which is then in `message`.
  Values evaluate(const std::string &function,
                  const std::vector<Values> &inputs);

  /// Evaluates one op on `operands`, which `op` names %0, %1 and so on, as in
  /// "graph.concat %0, %1 axis 0 : (t0, t1) -> ty", where t0, t1 and ty stand
  /// for the types of operands and result.
  Values evaluateOp(const std::string &op, const std::string &type,
                    const std::vector<Operand> &operands);

  /// The same on several ranks, from the operand of each, of type `operand`:
  /// the results by rank.
  std::vector<Values> evaluateOnRanks(const std::string &op,
                                      const std::string &operand,
                                      const std::string &type,
                                      const std::vector<Values> &ranks);

  mlir::MLIRContext context;
  std::string message;

private:
  std::vector<Values>
  evaluateFunctionOnRanks(const std::string &function,
                          const std::vector<std::vector<Values>> &inputs);
};

/// Compares elements; NaN is like NaN.
void expectNear(const Values &found, const Values &expected,
                double tolerance = 1e-6);

} // namespace tinh::test

#endif // TINH_TESTS_REFERENCE_REFERENCETESTSUPPORT_H
