//===- error.h - Failures inside the runtime --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the runtime a failure is a C++ exception of type Error; the C API
// turns it into a status and a message that the calling thread keeps.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_ERROR_H
#define TINH_RUNTIME_ERROR_H

#include "tinh/runtime.h"

#include <concepts>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace tinh::runtime {

class Error : public std::exception {
public:
  Error(tinh_status_t status, std::string message)
      : status_code(status), message(std::move(message)) {}

  tinh_status_t status() const { return status_code; }
  const char *what() const noexcept override { return message.c_str(); }

private:
  tinh_status_t status_code;
  std::string message;
};

/// A part of a message: a text, which must outlive it, or an integer.
class Part {
public:
  Part(std::string_view text) : text(text.data()), value(text.size()) {}
  Part(const std::string &text) : Part(std::string_view(text)) {}
  Part(const char *text) : Part(std::string_view(text)) {}
  Part(char) = delete; // A number, or a text?
  template <std::integral Number>
  Part(Number number)
      : value(static_cast<uint64_t>(number)), is_negative(number < 0) {}

  void append_to(std::string &message) const;

private:
  const char *text = nullptr; ///< Null for a number.
  uint64_t value;             ///< Of a text the size.
  bool is_negative = false;
};

std::string message_of(std::initializer_list<Part> parts);

/// Throws an Error with these parts as its message.
[[noreturn]] void throw_error(tinh_status_t status,
                              std::initializer_list<Part> parts);

/// Keeps `message` as the calling thread's last error and returns `status`.
tinh_status_t set_last_error(tinh_status_t status,
                             const char *message) noexcept;

/// The text for an errno value.
std::string errno_text(int error);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_ERROR_H
