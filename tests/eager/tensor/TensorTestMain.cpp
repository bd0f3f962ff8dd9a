//===- TensorTestMain.cpp - Runs the tests on a backend ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tensor_test [--backend=engine|naive] [options of GoogleTest]
//
//===----------------------------------------------------------------------===//
#include "NaiveBackend.h"
#include "TensorTesting.h"

#include <gtest/gtest.h>
#include <iostream>
#include <optional>
#include <string_view>

static tinh::eager::Backend *chosen = nullptr;

tinh::eager::Backend &tinh::test::backendOfTests() {
  return chosen ? *chosen : eager::eagerBackend();
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  tinh::eager::NaiveBackend naive;
  std::optional<tinh::eager::BackendScope> scope;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--backend=naive") {
      scope.emplace(naive);
      chosen = &naive;
    } else if (argument != "--backend=engine") {
      std::cerr << "unknown argument " << argument << '\n';
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
