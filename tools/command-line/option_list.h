//===- option_list.h - The options of a tool, one by one --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a command line says of its options, in words that do not depend on
// CLI11: what manual pages and completions are made of.
//
// The type of a value says what may stand there: words in lower case between
// bars are values, FILE.npz is a file with that ending, FILE and FOLDER are
// any. "random|zeros|FOLDER|FILE.npz" is all of these.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_OPTION_LIST_H
#define TINH_TOOLS_OPTION_LIST_H

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tinh::tools {

/// An option, or an argument that has a place and no dash.
struct ListedOption {
  /// No value, one that only follows an equals sign, or one that must be there.
  enum class Value { none, attached, needed };

  std::vector<std::string> names; ///< "-o" and "--output", or "MODEL".
  bool is_argument = false, is_required = false, repeats = false;
  Value value = Value::none;
  std::string type; ///< Of the value: "UINT", or its choices between bars.
  std::string default_value; ///< Empty: none that is known.
  std::string help;
  std::vector<std::string> choices; ///< Of values; there may be others.
  std::vector<std::string> endings; ///< ".npz", of the files that it takes.
  bool takes_files = false, takes_folders = false;
};

/// Those of `app`, in its order.
std::vector<ListedOption> list_options(const CLI::App &app);

} // namespace tinh::tools

#endif // TINH_TOOLS_OPTION_LIST_H
