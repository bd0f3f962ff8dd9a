//===- printable.cpp - Text that a terminal only shows ----------*- C++ -*-===//
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
#include "printable.h"

#include <cstdint>
#include <cstdio>

namespace tinh::tools {

namespace {

/// A character and its bytes; 0 bytes: there is none of UTF-8.
struct Character {
  uint32_t code = 0;
  size_t size = 0;
};

} // namespace

static Character decode(std::string_view text) {
  auto first = static_cast<unsigned char>(text[0]);
  size_t size = first < 0x80   ? 1
                : first < 0xc0 ? 0
                : first < 0xe0 ? 2
                : first < 0xf0 ? 3
                : first < 0xf8 ? 4
                               : 0;
  if (size <= 1)
    return {first, size};
  if (text.size() < size)
    return {};
  uint32_t code = first & (0x7fu >> size);
  for (char byte : text.substr(1, size - 1)) {
    if ((static_cast<unsigned char>(byte) & 0xc0) != 0x80)
      return {};
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[size] || is_surrogate || code > 0x10ffff)
    return {};
  return {code, size};
}

/// Controls, and what changes the direction of text or ends a line.
static bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
         (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

static std::string escape(uint32_t code, size_t size) {
  char text[16];
  std::snprintf(text, sizeof text, size > 1 ? "\\u{%04x}" : "\\x%02x", code);
  return text;
}

std::string printable(std::string_view text, bool has_lines) {
  std::string shown;
  while (!text.empty()) {
    auto [code, size] = decode(text);
    if (size == 0) {
      shown += escape(static_cast<unsigned char>(text[0]), 1);
      size = 1;
    } else if (is_control(code) && !(has_lines && code == '\n')) {
      shown += escape(code, size);
    } else {
      shown += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return shown;
}

} // namespace tinh::tools
