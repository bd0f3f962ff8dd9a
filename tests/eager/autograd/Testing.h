//===- Testing.h - What the tests of gradients share ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_AUTOGRAD_TESTING_H
#define TINH_TESTS_EAGER_AUTOGRAD_TESTING_H

#include "tinh/autograd.h"

#include "gtest/gtest.h"

#endif
