//===- man_page.cpp - Manual pages of the tools -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "man_page.h"

#include "option_list.h"
#include "tinh/runtime.h"

#include <cctype>
#include <cstdio>

namespace tinh::tools {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// The code point that begins at `at` in UTF-8, and where the next one does.
static uint32_t next_code_point(const std::string &text, size_t &at) {
  auto first = static_cast<unsigned char>(text[at++]);
  int more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  uint32_t code = more ? first & (0x3fu >> more) : first;
  for (; more && at < text.size(); --more)
    code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3fu);
  return code;
}

/// How troff writes a character that would be something else, or no ASCII.
static std::string escaped(uint32_t code) {
  switch (code) {
  case '\\':
    return "\\e";
  case '-':
    return "\\-"; // And no hyphen, which could not be pasted.
  case '\'':
    return "\\(aq";
  case '`':
    return "\\(ga";
  case '^':
    return "\\(ha";
  case '~':
    return "\\(ti";
  case '"':
    return "\\(dq";
  default:
    char name[16];
    std::snprintf(name, sizeof name, "\\[u%04X]", code);
    return code < 0x80 ? std::string(1, static_cast<char>(code)) : name;
  }
}

/// `text` as it reads.
static std::string plain(const std::string &text) {
  std::string result;
  for (size_t at = 0; at < text.size();)
    result += escaped(next_code_point(text, at));
  return result;
}

/// Lines of whole words, none of which is taken for a request.
static std::string filled(const std::string &text) {
  constexpr size_t kWidth = 72;
  std::string result, line;
  for (const std::string &word : CLI::detail::split(text, ' ')) {
    if (!line.empty() && line.size() + word.size() >= kWidth) {
      result += line + "\n";
      line.clear();
    }
    if (line.empty())
      line = (word[0] == '.' ? "\\&" : "") + word;
    else
      line += " " + word;
  }
  return result + line + "\n";
}

static std::string bold(const std::string &text) {
  return "\\fB" + plain(text) + "\\fR";
}
static std::string italic(const std::string &text) {
  return "\\fI" + plain(text) + "\\fR";
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// "-o, --output FILE", with `between` names.
static std::string head_of(const ListedOption &option, const char *between) {
  if (option.is_argument)
    return italic(option.names[0]);
  std::string head;
  for (const std::string &name : option.names)
    head += (head.empty() ? "" : between) + bold(name);
  if (option.value == ListedOption::Value::needed)
    head += " " + italic(option.type);
  if (option.value == ListedOption::Value::attached)
    head += "[=" + italic(option.type) + "]";
  return head;
}

static std::string entry_of(const ListedOption &option) {
  std::string text = plain(option.help);
  if (!option.default_value.empty())
    text += option.value == ListedOption::Value::attached
                ? "; without a value " + italic(option.default_value)
                : "; by default " + italic(option.default_value);
  text += option.repeats ? "; may be repeated" : "";
  return ".TP\n" + head_of(option, ", ") + "\n" + filled(text);
}

/// How the tool is called: what must be there, and where the rest goes.
static std::string synopsis(const std::vector<ListedOption> &options,
                            const std::string &tool) {
  std::string required, arguments;
  for (const ListedOption &option : options)
    if (option.is_required || option.is_argument)
      (option.is_argument ? arguments : required) += " " + head_of(option, "|");
  return bold(tool) + " [" + italic("OPTION") + "...]" + required + arguments +
         "\n";
}

static std::string entries(const std::vector<ListedOption> &options,
                           bool of_arguments) {
  std::string text;
  for (const ListedOption &option : options)
    if (option.is_argument == of_arguments)
      text += entry_of(option);
  return text;
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

/// The first sentence of a description as what follows a name and a dash.
static std::string summary(const std::string &description) {
  std::string first = description.substr(0, description.find(". "));
  if (!first.empty() && first.back() == '.')
    first.pop_back();
  if (!first.empty())
    first[0] = static_cast<char>(std::tolower(first[0]));
  return first;
}

/// ExitCode, in words.
static constexpr char kExitStatus[] =
    ".SH EXIT STATUS\n"
    ".TP\n0\neverything was done\n"
    ".TP\n1\nsomething that was given, such as a file, is wrong or missing\n"
    ".TP\n2\nthe command line is wrong\n"
    ".TP\n3\nan internal error\n";

static std::string upper(std::string text) {
  for (char &letter : text)
    letter = static_cast<char>(std::toupper(letter));
  return text;
}

static std::string heading(const std::string &tool) {
  return ".TH " + plain(upper(tool)) + " 1 \"\" \"Tinh " +
         plain(tinh_runtime_version()) + "\"\n";
}

std::string man_page(const CLI::App &app, const std::string &tool) {
  std::vector<ListedOption> options = list_options(app);
  std::string description = app.get_description();
  return heading(tool) + ".SH NAME\n" + plain(tool) + " \\- " +
         plain(summary(description)) + "\n.SH SYNOPSIS\n" +
         synopsis(options, tool) + ".SH DESCRIPTION\n" +
         filled(plain(description)) + entries(options, /*of_arguments=*/true) +
         ".SH OPTIONS\n" + entries(options, /*of_arguments=*/false) +
         kExitStatus;
}

} // namespace tinh::tools
