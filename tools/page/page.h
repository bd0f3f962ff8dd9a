//===- page.h - Reports as pages --------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One HTML file that needs nothing else: the program in page.html, style.css
// and the scripts beside it, with d3, and the data that it draws
// (docs/report.md describes it).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_PAGE_H
#define TINH_TOOLS_PAGE_H

#include <nlohmann/json.hpp>
#include <string>

namespace tinh::tools {

/// `data` as text that ends no script; what is no UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json &data);

/// The page that draws the data of that text. Whatever names are in it, they
/// stay text.
std::string make_page(const std::string &json);

/// Writes it to `path`, whole or not at all. False, and why, if that cannot be
/// done.
bool write_page(const std::string &path, const nlohmann::ordered_json &data,
                std::string *message);

/// The data of a page that was written, to be added to. False, and why, if the
/// file is none.
bool read_page(const std::string &path, nlohmann::ordered_json *data,
               std::string *message);

} // namespace tinh::tools

#endif // TINH_TOOLS_PAGE_H
