//===- option_list.cpp - The options of a tool, one by one ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "option_list.h"

#include <algorithm>

namespace tinh::tools {

static std::vector<std::string> split(const std::string &text, char between) {
  return CLI::detail::split(text, between);
}

/// "-o" and "--output", or the name of an argument.
static std::vector<std::string> names_of(const CLI::Option &option) {
  if (option.get_positional())
    return {option.get_name(/*positional=*/true)};
  std::vector<std::string> names;
  for (const std::string &name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  return names;
}

/// What a flag stands for that is given without a value; empty if it never has
/// one. "!--no-fuse" only turns something off.
static std::string value_of_flag(const CLI::Option &option) {
  if (option.get_fnames().empty())
    return "";
  std::string value = option.get_flag_value(option.get_fnames().front(), "");
  return value == "false" ? "" : value;
}

/// What CLI::IsMember accepts: it says so in braces behind the type.
static std::string members_of(const std::string &type) {
  size_t begin = type.find(":{"), end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos)
    return "";
  std::string members = type.substr(begin + 2, end - begin - 2);
  std::replace(members.begin(), members.end(), ',', '|');
  return members;
}

static bool is_choice(const std::string &part) {
  return !part.empty() &&
         part.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                                "0123456789_.,:-") == std::string::npos;
}

/// Takes one of the things that a value may be.
static void add_part(ListedOption &listed, const std::string &part) {
  if (is_choice(part))
    listed.choices.push_back(part);
  else if (part == "FOLDER")
    listed.takes_folders = true;
  else if (part.rfind("FILE", 0) == 0) {
    listed.takes_files = true;
    if (size_t dot = part.find('.'); dot != std::string::npos)
      listed.endings.push_back(part.substr(dot, part.find('[') - dot));
  }
}

static void set_value(ListedOption &listed, const CLI::Option &option) {
  std::string of_flag = value_of_flag(option), type = option.get_type_name();
  if (option.get_items_expected_max() > 0)
    listed.value = ListedOption::Value::needed;
  else if (!of_flag.empty())
    listed.value = ListedOption::Value::attached;
  else
    return;
  listed.default_value = of_flag.empty() ? option.get_default_str() : of_flag;
  std::string members = members_of(type);
  listed.type = members.empty() ? type.substr(0, type.find(':')) : members;
  if (listed.type.empty())
    listed.type = "VALUE";
  for (const std::string &part : split(listed.type, '|'))
    add_part(listed, part);
}

std::vector<ListedOption> list_options(const CLI::App &app) {
  std::vector<ListedOption> listed;
  for (const CLI::Option *option : app.get_options()) {
    ListedOption &last = listed.emplace_back();
    last.names = names_of(*option);
    last.is_argument = option->get_positional();
    last.is_required = option->get_required();
    last.repeats =
        option->get_expected_max() == CLI::detail::expected_max_vector_size;
    last.help = option->get_description();
    set_value(last, *option);
  }
  return listed;
}

} // namespace tinh::tools
