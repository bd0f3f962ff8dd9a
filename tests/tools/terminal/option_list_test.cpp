//===- option_list_test.cpp - Tests of what is known of options -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "option_list.h"

#include <gmock/gmock.h>

using namespace tinh::tools;
using testing::ElementsAre;
using testing::IsEmpty;

/// What is known of the only option that is no --help.
static ListedOption only(const CLI::App &app) {
  std::vector<ListedOption> listed = list_options(app);
  EXPECT_EQ(listed.size(), 2u);
  EXPECT_THAT(listed.at(0).names, ElementsAre("-h", "--help"));
  return listed.at(1);
}

TEST(OptionList, TakesValuesAsTheyAre) {
  CLI::App app;
  unsigned jobs = 3;
  app.add_option("-j,--jobs", jobs, "threads")
      ->check(CLI::Range(0, 9))
      ->capture_default_str();
  ListedOption listed = only(app);
  EXPECT_THAT(listed.names, ElementsAre("-j", "--jobs"));
  EXPECT_EQ(listed.value, ListedOption::Value::needed);
  EXPECT_EQ(listed.type, "UINT");
  EXPECT_EQ(listed.default_value, "3");
  EXPECT_EQ(listed.help, "threads");
  EXPECT_THAT(listed.choices, IsEmpty());
  EXPECT_FALSE(listed.is_argument || listed.is_required || listed.repeats);
}

TEST(OptionList, FindsMembers) {
  CLI::App app;
  std::string mode;
  app.add_option("--mode", mode)->check(CLI::IsMember({"2:4", "fast"}));
  ListedOption listed = only(app);
  EXPECT_THAT(listed.choices, ElementsAre("2:4", "fast"));
  EXPECT_EQ(listed.type, "2:4|fast");
}

TEST(OptionList, ReadsTypes) {
  CLI::App app;
  std::vector<std::string> sources;
  app.add_option("--inputs", sources)
      ->type_name("random|FOLDER|FILE.npz|FILE.npy[,FILE.npy]");
  ListedOption listed = only(app);
  EXPECT_THAT(listed.choices, ElementsAre("random"));
  EXPECT_THAT(listed.endings, ElementsAre(".npz", ".npy"));
  EXPECT_TRUE(listed.takes_files && listed.takes_folders && listed.repeats);
}

TEST(OptionList, TellsArguments) {
  CLI::App app;
  std::string model;
  app.add_option("MODEL", model)->required()->type_name("FILE");
  ListedOption listed = only(app);
  EXPECT_THAT(listed.names, ElementsAre("MODEL"));
  EXPECT_TRUE(listed.is_argument && listed.is_required && listed.takes_files);
  EXPECT_THAT(listed.endings, IsEmpty());
}

TEST(OptionList, TellsFlagsFromFlagsWithValues) {
  CLI::App plain, negative, valued;
  bool flag = true;
  std::string value;
  plain.add_flag("--json", flag);
  negative.add_flag("!--no-fuse", flag);
  valued.add_flag("--profile{time}", value)
      ->check(CLI::IsMember({"time", "steps"}));
  EXPECT_EQ(only(plain).value, ListedOption::Value::none);
  EXPECT_EQ(only(negative).value, ListedOption::Value::none);
  EXPECT_EQ(only(valued).value, ListedOption::Value::attached);
  EXPECT_EQ(only(valued).default_value, "time");
  EXPECT_THAT(only(valued).names, ElementsAre("--profile"));
  EXPECT_THAT(only(valued).choices, ElementsAre("time", "steps"));
}
