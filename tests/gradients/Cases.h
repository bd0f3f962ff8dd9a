//===- Cases.h - The ops whose gradients are tried --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_GRADIENTS_CASES_H
#define TINH_TESTS_GRADIENTS_CASES_H

#include "tests/gradients/GradientTest.h"

namespace tinh::test {

// One for each file of rules. What is new is called in allCases(), too.
std::vector<GradientCase> elementwiseCases();
std::vector<GradientCase> reductionCases();
std::vector<GradientCase> movementCases();
std::vector<GradientCase> contractionCases();
std::vector<GradientCase> poolingCases();
std::vector<GradientCase> normalizationCases();
std::vector<GradientCase> controlFlowCases();
/// Of several ops.
std::vector<GradientCase> functionCases();

/// All of them.
std::vector<GradientCase> allCases();

/// Functions of ops that several ranks compute together.
std::vector<std::string> collectiveFunctions();

} // namespace tinh::test

#endif // TINH_TESTS_GRADIENTS_CASES_H
