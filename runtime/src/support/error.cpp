//===- error.cpp - Failures inside the runtime ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last error of each thread, and names for statuses.
//
//===----------------------------------------------------------------------===//
#include "support/error.h"

#include "support/guarded.h"

#include <new>
#include <system_error>

namespace tinh::runtime {

static thread_local std::string last_error;

tinh_status_t set_last_error(tinh_status_t status,
                             const char *message) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

tinh_status_t keep_exception() noexcept {
  try {
    throw;
  } catch (const Error &error) {
    return set_last_error(error.status(), error.what());
  } catch (const std::bad_alloc &) {
    return set_last_error(TINH_OUT_OF_MEMORY, "out of memory");
  } catch (const std::system_error &error) {
    return set_last_error(TINH_OUT_OF_MEMORY, error.what());
  } catch (const std::exception &error) {
    return set_last_error(TINH_INTERNAL, error.what());
  }
}

void Part::append_to(std::string &message) const {
  if (text)
    message.append(text, value);
  else if (is_negative)
    message += std::to_string(static_cast<int64_t>(value));
  else
    message += std::to_string(value);
}

std::string message_of(std::initializer_list<Part> parts) {
  std::string message;
  for (const Part &part : parts)
    part.append_to(message);
  return message;
}

void throw_error(tinh_status_t status, std::initializer_list<Part> parts) {
  throw Error(status, message_of(parts));
}

std::string errno_text(int error) {
  return std::generic_category().message(error);
}

} // namespace tinh::runtime

const char *tinh_last_error(void) { return tinh::runtime::last_error.c_str(); }

const char *tinh_status_name(tinh_status_t status) {
  switch (status) {
  case TINH_OK:
    return "TINH_OK";
  case TINH_INVALID_ARGUMENT:
    return "TINH_INVALID_ARGUMENT";
  case TINH_NOT_FOUND:
    return "TINH_NOT_FOUND";
  case TINH_INVALID_ARTIFACT:
    return "TINH_INVALID_ARTIFACT";
  case TINH_INCOMPATIBLE:
    return "TINH_INCOMPATIBLE";
  case TINH_OUT_OF_MEMORY:
    return "TINH_OUT_OF_MEMORY";
  case TINH_IO_ERROR:
    return "TINH_IO_ERROR";
  case TINH_BUSY:
    return "TINH_BUSY";
  case TINH_CANCELLED:
    return "TINH_CANCELLED";
  case TINH_DEPENDENCY_FAILED:
    return "TINH_DEPENDENCY_FAILED";
  case TINH_ALREADY_STARTED:
    return "TINH_ALREADY_STARTED";
  case TINH_INTERNAL:
    return "TINH_INTERNAL";
  case TINH_INVALID_FILE:
    return "TINH_INVALID_FILE";
  case TINH_NOT_FINITE:
    return "TINH_NOT_FINITE";
  case TINH_NO_DEVICE:
    return "TINH_NO_DEVICE";
  case TINH_DEVICE_ERROR:
    return "TINH_DEVICE_ERROR";
  case TINH_COLLECTIVE_FAILED:
    return "TINH_COLLECTIVE_FAILED";
  }
  return "?";
}
