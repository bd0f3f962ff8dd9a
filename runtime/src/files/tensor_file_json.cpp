//===- tensor_file_json.cpp - JSON of the headers of tensor files ---------===//
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
#include "files/tensor_file_json.h"

#include "support/error.h"

namespace tinh::runtime {

void JsonReader::fail() const {
  throw_error(TINH_INVALID_FILE, {"malformed header at byte ", offset + at});
}

bool JsonReader::take(char expected) {
  if (at >= text.size() || text[at] != expected)
    return false;
  ++at;
  return true;
}

void JsonReader::expect(std::string_view word) {
  for (char c : word)
    if (!take(c))
      fail();
}

void JsonReader::skip_spaces() {
  while (take(' ') || take('\n') || take('\t') || take('\r'))
    ;
}

JsonReader::Kind JsonReader::read_value() {
  skip_spaces();
  is_first = false;
  switch (peek()) {
  case '{':
  case '[':
    is_first = true;
    return text[at++] == '{' ? Kind::object : Kind::array;
  case '"':
    read_string();
    return Kind::string;
  case 't':
    expect("true");
    return Kind::boolean;
  case 'f':
    expect("false");
    return Kind::boolean;
  case 'n':
    expect("null");
    return Kind::null;
  default:
    return read_number();
  }
}

/// Whether another key or element comes, up to which all is read.
bool JsonReader::next(char close) {
  skip_spaces();
  if (take(close)) {
    is_first = false; // What comes next is behind this object or array.
    return false;
  }
  if (!is_first)
    expect(",");
  skip_spaces();
  return true;
}

bool JsonReader::next_key() {
  if (!next('}'))
    return false;
  if (peek() != '"')
    fail();
  read_string();
  skip_spaces();
  expect(":");
  return true;
}

bool JsonReader::next_element() { return next(']'); }

void JsonReader::end() {
  skip_spaces();
  if (at != text.size())
    fail();
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// False if there is none.
bool JsonReader::take_digits() {
  size_t first = at;
  while (is_digit(peek()))
    ++at;
  return at != first;
}

JsonReader::Kind JsonReader::read_number() {
  bool is_negative = take('-'), is_fraction = false;
  size_t first = at;
  if (!take('0') && !take_digits())
    fail();
  std::string_view digits = text.substr(first, at - first);
  if (take('.')) {
    is_fraction = true;
    if (!take_digits())
      fail();
  }
  if (take('e') || take('E')) {
    is_fraction = true;
    if (!take('+'))
      take('-');
    if (!take_digits())
      fail();
  }
  if (is_fraction)
    return Kind::fraction;
  integer = 0;
  for (char c : digits)
    if (__builtin_mul_overflow(integer, 10, &integer) ||
        __builtin_add_overflow(integer, c - '0', &integer))
      return is_negative ? Kind::negative : Kind::large;
  return is_negative ? Kind::negative : Kind::integer;
}

size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  unsigned first = byte(0), second = byte(1);
  if (text.empty())
    return 0;
  if (first < 0x80)
    return 1;
  if (first < 0xc2 || first > 0xf4 || !follows(1))
    return 0;
  if (first < 0xe0)
    return 2;
  // What a shorter sequence has, surrogates, and what is beyond U+10FFFF.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f) ||
      !follows(2))
    return 0;
  if (first < 0xf0)
    return 3;
  return follows(3) ? 4 : 0;
}

/// At its quote.
void JsonReader::read_string() {
  string.clear();
  ++at;
  while (!take('"')) {
    if (take('\\')) {
      read_escape();
      continue;
    }
    size_t length = utf8_length(text.substr(at));
    if (length == 0 || static_cast<unsigned char>(text[at]) < 0x20)
      fail();
    string.append(text, at, length);
    at += length;
  }
}

uint32_t JsonReader::read_hex() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at) {
    char c = peek(), lower = static_cast<char>(c | 0x20);
    if (is_digit(c))
      value = value * 16 + static_cast<uint32_t>(c - '0');
    else if (lower >= 'a' && lower <= 'f')
      value = value * 16 + static_cast<uint32_t>(lower - 'a' + 10);
    else
      fail();
  }
  return value;
}

static void append_utf8(std::string &out, uint32_t code) {
  auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
  auto add_rest = [&](uint32_t shift) { add(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80)
    return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add_rest(6);
  } else {
    add(0xf0 | code >> 18);
    add_rest(12);
    add_rest(6);
  }
  add_rest(0);
}

/// What may stand behind a backslash, and what it means there.
static constexpr std::string_view kEscapes = "\"\\bfnrt/",
                                  kEscaped = "\"\\\b\f\n\r\t/";

/// Behind its backslash.
void JsonReader::read_escape() {
  if (size_t which = kEscapes.find(peek()); which != std::string_view::npos) {
    ++at;
    string += kEscaped[which];
    return;
  }
  expect("u");
  uint32_t code = read_hex();
  if (code >= 0xd800 && code < 0xdc00) { // The first of a pair.
    expect("\\u");
    uint32_t second = read_hex();
    if (second < 0xdc00 || second > 0xdfff)
      fail();
    code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
  } else if (code >= 0xdc00 && code <= 0xdfff) {
    fail();
  }
  append_utf8(string, code);
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    size_t length = utf8_length(text.substr(at));
    if (length == 0)
      throw_error(TINH_INVALID_ARGUMENT,
                  {"the text '", text, "' is not UTF-8"});
    char c = text[at];
    if (size_t which = kEscaped.find(c); which < kEscaped.find('/')) {
      out.append({'\\', kEscapes[which]});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out.append("\\u00").append({kHex[c >> 4], kHex[c & 15]});
    } else {
      out.append(text, at, length);
    }
    at += length;
  }
  return out + '"';
}

} // namespace tinh::runtime
