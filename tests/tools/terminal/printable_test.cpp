//===- printable_test.cpp - Text that a terminal only shows -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "printable.h"

#include <gtest/gtest.h>

using tinh::tools::printable;

TEST(Printable, KeepsText) {
  EXPECT_EQ(printable("/layer1/conv é 漢 😀"), "/layer1/conv é 漢 😀");
}

TEST(Printable, EscapesControls) {
  EXPECT_EQ(printable("a\x1b[31m\x07\x7f\t"), "a\\x1b[31m\\x07\\x7f\\x09");
  EXPECT_EQ(printable("a\u0085\u202e\u2066\u200b"),
            "a\\u{0085}\\u{202e}\\u{2066}\\u{200b}");
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");          // Not the shortest.
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // A surrogate.
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, LinesAreEscapedInNamesAlone) {
  EXPECT_EQ(printable("a\nb"), "a\\x0ab");
  EXPECT_EQ(printable("a\nb\r", /*has_lines=*/true), "a\nb\\x0d");
}
