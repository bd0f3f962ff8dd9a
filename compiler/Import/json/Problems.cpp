//===- Problems.cpp - All that is wrong with a JSON model -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/Problems.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <iterator>

using namespace mlir;

namespace tinh::json {

//===----------------------------------------------------------------------===//
// Where values stand
//===----------------------------------------------------------------------===//

namespace {

/// A text that tells how far it has been read.
class WatchedText {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  WatchedText(const char *at, const char **behind) : at(at), behind(behind) {}
  reference operator*() const { return *at; }
  WatchedText &operator++() {
    *behind = ++at;
    return *this;
  }
  bool operator==(const WatchedText &other) const { return at == other.at; }
  bool operator!=(const WatchedText &other) const { return at != other.at; }

private:
  const char *at;
  const char **behind;
};

/// Parses a text again, beside the values that were made of it, and notes where
/// some of these begin.
class Locator : public nlohmann::json_sax<Json> {
public:
  Locator(StringRef text, const Json &root,
          llvm::DenseMap<const Json *, size_t> &places)
      : text(text), root(root), places(places), read(text.begin()),
        behind(text.begin()) {
    constexpr StringLiteral kByteOrderMark = "\xef\xbb\xbf";
    if (text.starts_with(kByteOrderMark))
      behind += kByteOrderMark.size();
  }

  void run() {
    Json::sax_parse(WatchedText(text.begin(), &read),
                    WatchedText(text.end(), &read), this);
  }

  bool null() override { return leaf(); }
  bool boolean(bool) override { return leaf(); }
  bool number_integer(number_integer_t) override { return leaf(); }
  bool number_unsigned(number_unsigned_t) override { return leaf(); }
  bool number_float(number_float_t, const string_t &) override {
    return leaf();
  }
  bool string(string_t &) override { return leaf(); }
  bool binary(binary_t &) override { return leaf(); }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t &name) override {
    open_.back().member = &open_.back().value->at(name);
    behind = read;
    return true;
  }
  bool parse_error(std::size_t, const std::string &,
                   const nlohmann::detail::exception &) override {
    return false;
  }

private:
  /// An object or array that has begun, and what is read of it next.
  struct Container {
    const Json *value;
    const Json *member = nullptr;
    size_t index = 0;
  };

  /// The value that the parser has come to. Behind a number it may have read
  /// the comma or bracket, too, which is between values in any case.
  const Json *visit() {
    const Json *value = &root;
    if (!open_.empty()) {
      Container &in = open_.back();
      value = in.value->is_array() ? &(*in.value)[in.index++] : in.member;
    }
    if (auto place = places.find(value); place != places.end())
      place->second =
          text.find_first_not_of(" \t\r\n,:", behind - text.begin());
    behind = read;
    return value;
  }
  bool leaf() { return visit() != nullptr; }
  bool open() {
    open_.push_back({visit()});
    return true;
  }
  bool close() {
    open_.pop_back();
    behind = read;
    return true;
  }

  StringRef text;
  const Json &root;
  llvm::DenseMap<const Json *, size_t> &places;
  const char *read;   ///< How far the parser has come.
  const char *behind; ///< The end of what it has told of.
  std::vector<Container> open_;
};

} // namespace

void Problems::report(StringRef path, StringRef text, const Json &root,
                      MLIRContext &context) const {
  if (list.empty())
    return;
  llvm::DenseMap<const Json *, size_t> places;
  for (const Problem &problem : list)
    places[problem.at] = 0;
  Locator(text, root, places).run();
  std::vector<std::pair<size_t, size_t>> order;
  for (auto [i, problem] : llvm::enumerate(list))
    order.emplace_back(places[problem.at], i);
  llvm::sort(order);
  auto file = StringAttr::get(&context, path);
  for (auto [position, index] : ArrayRef(order).take_front(kShownProblems)) {
    const Problem &problem = list[index];
    auto [line, column] = lineAndColumn(text, position);
    Location loc = FileLineColLoc::get(file, line, column);
    if (!problem.node.empty())
      loc = NameLoc::get(StringAttr::get(&context, problem.node), loc);
    emitError(loc) << problem.message;
  }
  if (list.size() > kShownProblems)
    emitError(FileLineColLoc::get(file, 0, 0))
        << describeRest(list.size() - kShownProblems);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

Scope Scope::within(const Twine &what, StringRef nodeName) const {
  Scope inner = *this;
  inner.prefix += (what + ": ").str();
  if (!nodeName.empty())
    inner.node = nodeName.str();
  return inner;
}

bool Scope::fail(const Json &at, const Twine &what) const {
  problems->add(at, node, prefix + what);
  return false;
}

bool Scope::checkKeys(const Json &object, ArrayRef<StringRef> known) const {
  bool all = true;
  for (const auto &[key, value] : object.items()) {
    if (llvm::is_contained(known, key))
      continue;
    std::string hint = suggest(key, known);
    if (hint.empty())
      hint = "; the keys are " + llvm::join(known, ", ");
    all = fail(value, "unknown key \"" + key + "\"" + hint);
  }
  return all;
}

std::string quote(const Json &value) {
  constexpr size_t kShown = 60;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > kShown ? text.substr(0, kShown) + "…" : text;
}

} // namespace tinh::json
