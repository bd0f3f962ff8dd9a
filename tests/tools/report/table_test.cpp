//===- table_test.cpp - Tables for a terminal -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "table.h"

#include <gtest/gtest.h>

using namespace tinh::tools;

TEST(Table, AlignsItsColumns) {
  using enum Table::Align;
  Table table({{"step", right}, {"time", right}, {"none", left}, {"of", left}});
  table.add({"7", "12.5 µs", "", "conv"});
  table.add({"12", "", "", ""});
  table.add({"", "12.5 µs", "", "all"});
  EXPECT_EQ(table.text(), "step     time  of\n"
                          "   7  12.5 µs  conv\n"
                          "  12        -  -\n"
                          "      12.5 µs  all\n");
}

TEST(Table, EscapesControls) {
  using enum Table::Align;
  Table table({{"node", left}, {"time", right}});
  table.add({"a\x1b[31m\u202eé", "1"});
  EXPECT_EQ(table.text(), "node                time\n"
                          "a\\x1b[31m\\u{202e}é     1\n");
}

TEST(Table, ShortensTextsInTheMiddle) {
  EXPECT_EQ(shortened("/layer1/conv", 12), "/layer1/conv");
  EXPECT_EQ(shortened("/layer1/conv1", 12), "/laye…/conv1");
  EXPECT_EQ(shortened("/layer1/conv1", 5), "/l…v1");
  EXPECT_EQ(shortened("über/öäüß", 4), "ü…üß");
  EXPECT_EQ(shortened("über/öäüß", 9), "über/öäüß");
}
