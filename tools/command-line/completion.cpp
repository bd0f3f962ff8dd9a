//===- completion.cpp - Completions of the tools for shells -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "completion.h"

#include "option_list.h"

#include <algorithm>

namespace tinh::tools {

namespace {

using Value = ListedOption::Value;
using Texts = std::vector<std::string>;

std::string joined(const Texts &texts, const std::string &between) {
  return CLI::detail::join(texts, between);
}

/// `text` between single quotes, in which it ends where `quote` says how.
std::string quoted(const std::string &text, const std::string &quote) {
  return "'" + CLI::detail::find_and_replace(text, "'", quote) + "'";
}

/// The name of a function: "_graph_run" for graph-run.
std::string function_of(const std::string &tool) {
  std::string name = "_" + tool;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string first_line(const std::string &before, const std::string &tool,
                       const std::string &shell) {
  return before + "Completes " + tool + "; written by " + tool +
         " --completion " + shell + "\n";
}

//===----------------------------------------------------------------------===//
// bash
//===----------------------------------------------------------------------===//

/// Commands that complete a value, or an argument.
std::string bash_value(const ListedOption &option) {
  Texts commands;
  if (!option.choices.empty())
    commands.push_back("FUNCTION_words '" + joined(option.choices, " ") + "'");
  if (option.takes_files && !option.endings.empty())
    commands.push_back("FUNCTION_files " + joined(option.endings, " "));
  else if (option.takes_files || option.takes_folders)
    commands.push_back(option.takes_files ? "FUNCTION_files"
                                          : "FUNCTION_files /");
  return commands.empty() ? ":" : joined(commands, "; ");
}

/// Where the value of an option is completed: behind it, or behind it and an
/// equals sign.
std::string bash_case(const ListedOption &option) {
  Texts patterns;
  for (const std::string &each : option.names) {
    if (option.value == Value::needed)
      patterns.push_back(each);
    if (each.rfind("--", 0) == 0)
      patterns.push_back(each + "=");
  }
  return "  " + joined(patterns, " | ") + ") " + bash_value(option) + " ;;\n";
}

/// The words in capitals are replaced. FUNCTION_words and FUNCTION_files add
/// what may follow: words, and files with one of the endings that are given, or
/// all.
constexpr char kBashHelpers[] = R"(FUNCTION_words() {
  local found
  mapfile -t found < <(compgen -W "$1" -- "$word")
  COMPREPLY+=("${found[@]}")
}
FUNCTION_files() {
  local ending found
  compopt -o filenames 2> /dev/null
  for ending in "${@:-}"; do
    mapfile -t found < <(compgen -f -X "!*$ending" -- "$word")
    COMPREPLY+=("${found[@]}")
  done
  mapfile -t found < <(compgen -d -- "$word")
  COMPREPLY+=("${found[@]}")
}
FUNCTION() {
  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $word == = ]]; then
    option+== word=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}=
  fi
  COMPREPLY=()
  case $option in
)";

/// What follows the values of options.
constexpr char kBashWords[] = R"(  *) false ;;
  esac && return
  case $word in
  -*) FUNCTION_words 'NAMES' ;;
  *) ARGUMENT ;;
  esac
}
complete -F FUNCTION TOOL
)";

std::string bash(const std::vector<ListedOption> &options,
                 const std::string &tool) {
  std::string cases, argument;
  Texts names;
  for (const ListedOption &option : options) {
    if (option.is_argument)
      argument = bash_value(option);
    else
      names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.value != Value::none && !option.is_argument)
      cases += bash_case(option);
  }
  std::string script = kBashHelpers + cases + kBashWords;
  const std::pair<std::string, std::string> words[] = {
      {"ARGUMENT", argument},
      {"NAMES", joined(names, " ")},
      {"FUNCTION", function_of(tool)},
      {"TOOL", tool}};
  for (const auto &[word, meaning] : words)
    script = CLI::detail::find_and_replace(script, word, meaning);
  return first_line("# ", tool, "bash") + script;
}

//===----------------------------------------------------------------------===//
// zsh
//===----------------------------------------------------------------------===//

/// `text` where these characters would end it.
std::string zsh_text(std::string text, const Texts &special) {
  for (const std::string &each : special)
    text = CLI::detail::find_and_replace(text, each, "\\" + each);
  return text;
}

/// A pattern of files: a single ending in parentheses would be a qualifier.
std::string zsh_pattern(const Texts &endings) {
  return endings.size() == 1 ? "*" + endings[0]
                             : "*(" + joined(endings, "|") + ")";
}

/// What completes files.
std::string zsh_files(const ListedOption &option) {
  if (!option.endings.empty())
    return "_files -g \"" + zsh_pattern(option.endings) + "\"";
  return option.takes_files ? "_files" : "_files -/";
}

/// What _arguments does for a value.
std::string zsh_action(const ListedOption &option) {
  std::string words = joined(option.choices, " ");
  if (!option.takes_files && !option.takes_folders)
    return words.empty() ? " " : "(" + words + ")";
  return words.empty()
             ? zsh_files(option)
             : "{compadd -- " + words + "; " + zsh_files(option) + "}";
}

/// "(-o --output)": what need not be offered when one of them is there.
std::string zsh_exclusion(const ListedOption &option) {
  return option.repeats ? "*" : "(" + joined(option.names, " ") + ")";
}

std::string zsh_spec(const ListedOption &option, const std::string &name) {
  std::string value =
      ":" + zsh_text(option.type, {":"}) + ":" + zsh_action(option);
  if (option.is_argument)
    return "1:" + name + ":" + zsh_action(option);
  bool is_long = name.rfind("--", 0) == 0;
  std::string spec = zsh_exclusion(option) + name;
  if (option.value == Value::needed)
    spec += is_long ? "=" : "+";
  if (option.value == Value::attached)
    spec += "=-";
  spec += "[" + zsh_text(option.help, {"[", "]"}) + "]";
  return spec + (option.value == Value::none       ? ""
                 : option.value == Value::attached ? ":" + value
                                                   : value);
}

std::string zsh(const std::vector<ListedOption> &options,
                const std::string &tool) {
  std::string name = function_of(tool), specs;
  for (const ListedOption &option : options)
    for (const std::string &each : option.names)
      specs += " \\\n    " + quoted(zsh_spec(option, each), "'\\''");
  // The file is the function itself where zsh loads it, and else a script.
  return "#compdef " + tool + "\n" + first_line("# ", tool, "zsh") + name +
         "() {\n  _arguments" + specs +
         "\n}\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n  " +
         name + " \"$@\"\nelse\n  compdef " + name + " " + tool + "\nfi\n";
}

//===----------------------------------------------------------------------===//
// fish
//===----------------------------------------------------------------------===//

/// A function of fish's that lists what the word may become, without the option
/// that the word may begin with: "--report=FILE".
std::string fish_list(const std::string &function, const std::string &ending) {
  return "(" + function +
         " (commandline -ct | string replace -r \"^--[^=]*=\" \"\")" + ending +
         ")";
}

/// Options of `complete` for a value.
std::string fish_value(const ListedOption &option) {
  bool needs_value = !option.is_argument && option.value == Value::needed;
  std::string text = needs_value ? " -r" : "";
  text += option.takes_files && option.endings.empty() ? " -F" : " -f";
  if (!option.endings.empty())
    text += " -k"; // In this order: other files come last.
  Texts words = option.choices;
  for (const std::string &ending : option.endings)
    words.push_back(fish_list("__fish_complete_suffix", " " + ending));
  if (option.takes_folders && !option.takes_files)
    words.push_back(fish_list("__fish_complete_directories", ""));
  return words.empty() ? text : text + " -a '" + joined(words, " ") + "'";
}

std::string fish_names(const ListedOption &option) {
  std::string text;
  for (const std::string &name : option.names)
    text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2)
                                     : " -s " + name.substr(1);
  return text;
}

std::string fish(const std::vector<ListedOption> &options,
                 const std::string &tool) {
  std::string text = first_line("# ", tool, "fish");
  for (const ListedOption &option : options) {
    text += "complete -c " + tool;
    if (!option.is_argument)
      text += fish_names(option) + " -d " + quoted(option.help, "\\'");
    if (option.is_argument || option.value != Value::none)
      text += fish_value(option);
    text += "\n";
  }
  return text;
}

} // namespace

std::string completion(const CLI::App &app, const std::string &tool,
                       const std::string &shell) {
  std::vector<ListedOption> options = list_options(app);
  return shell == "bash"  ? bash(options, tool)
         : shell == "zsh" ? zsh(options, tool)
                          : fish(options, tool);
}

} // namespace tinh::tools
