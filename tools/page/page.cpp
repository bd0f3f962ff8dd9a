//===- page.cpp - Reports as pages ------------------------------*- C++ -*-===//
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
#include "page.h"

#include "output_file.h"
#include "regular_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

// The page without data: page.html with style, scripts and d3 in their places.
asm(".section .rodata\n"
    ".hidden tinh_page_begin, tinh_page_end\n"
    ".global tinh_page_begin, tinh_page_end\n"
    "tinh_page_begin: .incbin \"" TINH_PAGE "\"\n"
    "tinh_page_end: .byte 0\n"
    ".previous");
extern "C" const char tinh_page_begin[], tinh_page_end[];

namespace tinh::tools {

static constexpr std::string_view kMark = "/*DATA*/";
static constexpr std::string_view kDataBegin =
    R"(<script type="application/json" id="data">)";

// "<" appears in strings alone.
std::string json_text(const nlohmann::ordered_json &data) {
  auto replace = nlohmann::ordered_json::error_handler_t::replace;
  std::string text;
  for (char c : data.dump(-1, ' ', false, replace))
    c == '<' ? text += "\\u003c" : text += c;
  return text;
}

std::string make_page(const std::string &json) {
  std::string_view page(tinh_page_begin, tinh_page_end - tinh_page_begin);
  size_t mark = page.find(kMark);
  std::string text(page.substr(0, mark));
  text += json;
  return text.append(page.substr(mark + kMark.size()));
}

bool write_page(const std::string &path, const nlohmann::ordered_json &data,
                std::string *message) {
  if (is_no_regular_file(path)) {
    *message = "cannot write '" + path + "': " + kNoRegularFile;
    return false;
  }
  if (write_file(path, make_page(json_text(data))))
    return true;
  *message = "cannot write '" + path + "': " + std::strerror(errno);
  return false;
}

bool read_page(const std::string &path, nlohmann::ordered_json *data,
               std::string *message) {
  if (is_no_regular_file(path)) {
    *message = "cannot read '" + path + "': " + kNoRegularFile;
    return false;
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream stream;
  stream << file.rdbuf();
  if (!file) {
    *message = "cannot read '" + path + "': " + std::strerror(errno);
    return false;
  }
  std::string text = stream.str();
  size_t begin = text.find(kDataBegin);
  size_t end = text.find("</script>", begin);
  if (begin != std::string::npos && end != std::string::npos) {
    begin += kDataBegin.size();
    *data = nlohmann::ordered_json::parse(text.substr(begin, end - begin),
                                          nullptr, /*allow_exceptions=*/false);
    if (data->is_object() && data->contains("format") && (*data)["format"] == 1)
      return true;
  }
  *message = "'" + path + "' is no report of graph-compile --report";
  return false;
}

} // namespace tinh::tools
