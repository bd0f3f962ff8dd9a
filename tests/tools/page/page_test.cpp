//===- page_test.cpp - Reports as pages -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "page.h"

#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>

using namespace tinh::tools;
using testing::HasSubstr;
using testing::Not;

namespace {

using Json = nlohmann::ordered_json;

std::string temporary(const char *name) { return testing::TempDir() + name; }

} // namespace

TEST(PageTest, NamesEndNoScript) {
  Json data = {{"format", 1}, {"model", "</script><script>alert(1)"}};
  std::string page = make_page(json_text(data));
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
}

TEST(PageTest, NamesThatAreNoUtf8AreReplaced) {
  EXPECT_THAT(json_text({{"model", "a\xff"}}), HasSubstr("a\xef\xbf\xbd"));
}

TEST(PageTest, NothingIsLeftToFill) {
  std::string page = make_page("{}");
  for (const char *mark : {"/*STYLE*/", "/*D3*/", "/*SCRIPT*/", "/*DATA*/"})
    EXPECT_THAT(page, Not(HasSubstr(mark)));
  EXPECT_THAT(page, HasSubstr("d3js.org"));
}

TEST(PageTest, WhatIsWrittenIsRead) {
  std::string path = temporary("written.html"), message;
  Json data = {{"format", 1}, {"model", "<b>"}}, read;
  ASSERT_TRUE(write_page(path, data, &message)) << message;
  ASSERT_TRUE(read_page(path, &read, &message)) << message;
  EXPECT_EQ(read, data);
  std::remove(path.c_str());
}

TEST(PageTest, OtherFilesAreRefused) {
  std::string path = temporary("other.html"), message;
  std::ofstream(path) << "<html></html>";
  Json read;
  EXPECT_FALSE(read_page(path, &read, &message));
  EXPECT_THAT(message, HasSubstr("is no report"));
  EXPECT_FALSE(read_page(temporary("none.html"), &read, &message));
  EXPECT_THAT(message, HasSubstr("No such file"));
  std::remove(path.c_str());
}

TEST(PageTest, AFolderThatIsNotThereIsNamed) {
  std::string message;
  EXPECT_FALSE(write_page("/none/page.html", Json::object(), &message));
  EXPECT_THAT(message, HasSubstr("cannot write '/none/page.html'"));
}
