//===- table.cpp - Tables for a terminal ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "table.h"

#include "printable.h"

#include <algorithm>

namespace tinh::tools {

/// Whether a byte is the first one of a character.
static bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

static size_t width_of(const std::string &text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_character));
}

/// Where character `index` begins.
static size_t byte_of(const std::string &text, size_t index) {
  size_t byte = 0;
  for (; byte < text.size(); ++byte)
    if (begins_character(text[byte]) && index-- == 0)
      break;
  return byte;
}

std::string shortened(const std::string &text, size_t width) {
  size_t whole = width_of(text);
  if (whole <= width)
    return text;
  size_t begin = (width - 1) / 2, end = width - 1 - begin;
  return text.substr(0, byte_of(text, begin)) + "…" +
         text.substr(byte_of(text, whole - end));
}

static void append(std::string &line, const std::string &cell, size_t width,
                   Table::Align align) {
  std::string space(width - width_of(cell), ' ');
  line += align == Table::Align::left ? cell + space : space + cell;
}

void Table::add(std::vector<std::string> cells) {
  for (std::string &cell : cells)
    cell = printable(cell);
  lines.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> rows(lines.size() + 1);
  for (size_t column = 0; column < columns.size(); ++column) {
    auto is_empty = [&](const auto &line) { return line[column].empty(); };
    if (std::ranges::all_of(lines, is_empty))
      continue;
    std::vector<std::string> cells = {columns[column].heading};
    for (const auto &line : lines)
      cells.push_back(is_empty(line) && &line != &lines.back() ? "-"
                                                               : line[column]);
    size_t width = 0;
    for (const std::string &cell : cells)
      width = std::max(width, width_of(cell));
    for (size_t row = 0; row < rows.size(); ++row) {
      rows[row] += rows[row].empty() ? "" : "  ";
      append(rows[row], cells[row], width, columns[column].align);
    }
  }
  std::string text;
  for (const std::string &row : rows)
    text += row.substr(0, row.find_last_not_of(' ') + 1) + '\n';
  return text;
}

} // namespace tinh::tools
