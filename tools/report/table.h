//===- table.h - Tables for a terminal --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_TABLE_H
#define TINH_TOOLS_TABLE_H

#include <cstddef>
#include <string>
#include <vector>

namespace tinh::tools {

/// Lines of cells, whose columns are as wide as they have to be. Texts are
/// UTF-8, of characters that are one column wide.
class Table {
public:
  enum class Align { left, right };
  struct Column {
    std::string heading;
    Align align;
  };
  explicit Table(std::vector<Column> columns) : columns(std::move(columns)) {}

  /// A line; a cell for each column, of which controls are escaped.
  void add(std::vector<std::string> cells);

  /// All lines below the headings. A column of empty cells is left out, and an
  /// empty one among others is a dash, but not in the last line.
  std::string text() const;

private:
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> lines;
};

/// `text`, or its beginning and its end with "…" between them, `width`
/// characters in all.
std::string shortened(const std::string &text, size_t width);

} // namespace tinh::tools

#endif // TINH_TOOLS_TABLE_H
