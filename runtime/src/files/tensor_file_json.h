//===- tensor_file_json.h - JSON of the headers of tensor files -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads JSON value by value, as RFC 8259 has it, for who knows what must come
// next. Nothing is kept and nothing recurses: how deep values nest is the
// caller's. Not for fractions, which headers have none of.
//
//   JsonReader json(text);
//   json.read_value();                 // JsonReader::Kind::object
//   while (json.next_key()) {
//     std::string key = json.take_text();
//     json.read_value();
//   }
//   json.end();
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_TENSOR_FILE_JSON_H
#define TINH_RUNTIME_TENSOR_FILE_JSON_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tinh::runtime {

class JsonReader {
public:
  /// `offset` is where the text begins in its file, for errors. The text must
  /// outlive the reader.
  JsonReader(std::string_view text, uint64_t offset)
      : text(text), offset(offset) {}

  enum class Kind {
    object, ///< Read up to its first key.
    array,  ///< Read up to its first element.
    string,
    integer,  ///< From 0 to INT64_MAX.
    negative, ///< An integer.
    large,    ///< An integer beyond INT64_MAX.
    fraction, ///< A number with a fraction or an exponent.
    boolean,
    null
  };

  /// Reads a value. Throws INVALID_FILE, as all that follows, if there is none.
  Kind read_value();
  /// The text of the last string or key; only once.
  std::string take_text() { return std::move(string); }
  /// The last integer.
  int64_t number() const { return integer; }

  /// Reads the next key of an object and what is before its value; false if the
  /// object has ended.
  bool next_key();
  /// Reads what is before the next element of an array; false if it has ended.
  bool next_element();
  /// Reads what is behind the last value: spaces.
  void end();

private:
  [[noreturn]] void fail() const;
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  bool take(char expected);
  void expect(std::string_view word);
  void skip_spaces();
  bool next(char close);
  bool take_digits();
  Kind read_number();
  void read_string();
  void read_escape();
  uint32_t read_hex();

  const std::string_view text;
  const uint64_t offset;
  size_t at = 0;
  bool is_first =
      false; ///< What comes next is the first in an object or array.
  std::string string;
  int64_t integer = 0;
};

/// The bytes of the UTF-8 character that `text` begins with; 0 if it begins
/// with none.
size_t utf8_length(std::string_view text);

/// `text` as a string of JSON; throws INVALID_ARGUMENT unless it is UTF-8.
std::string json_string(std::string_view text);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_TENSOR_FILE_JSON_H
