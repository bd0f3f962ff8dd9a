//===- mutation.cpp - Changes that keep the structure of an input *- C++
//-*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mutation.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <regex>

namespace tinh::fuzz {

int64_t Random::number() {
  static const int64_t known[] = {
      -1,    0,         1,         2,          3,         7,
      8,     16,        64,        127,        255,       1000,
      65536, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};
  return one_in(2) ? static_cast<int64_t>(below(12))
                   : known[below(std::size(known))];
}

size_t give(const std::string &content, uint8_t *data, size_t size,
            size_t max_size) {
  if (content.size() > max_size)
    return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, content.data(), content.size());
  return content.size();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace {

using Json = nlohmann::ordered_json;

void collect(Json &value, std::vector<Json *> &all) {
  all.push_back(&value);
  if (value.is_structured())
    for (Json &element : value)
      collect(element, all);
}

/// Another value of the same kind, or of any.
Json another(const Json &value, Random &random) {
  if (value.is_number() && !random.one_in(8))
    return random.number();
  if (value.is_boolean())
    return !value.get<bool>();
  switch (random.below(6)) {
  case 0:
    return Json::array();
  case 1:
    return Json::object();
  case 2:
    return "";
  case 3:
    return nullptr;
  case 4:
    return random.number() / 3.0;
  default:
    return random.number();
  }
}

void erase_any(Json &value, Random &random) {
  if (value.is_structured() && !value.empty())
    value.erase(std::next(value.begin(),
                          static_cast<ptrdiff_t>(random.below(value.size()))));
}

/// Gives an object the key of another one, or an array one more element.
void insert_any(Json &value, std::vector<Json *> &all, Random &random) {
  Json copy = *random.any(all);
  if (value.is_array()) {
    value.push_back(std::move(copy));
  } else if (value.is_object()) {
    Json *other = random.any(all);
    if (other->is_object() && !other->empty()) {
      auto item = std::next(
          other->begin(), static_cast<ptrdiff_t>(random.below(other->size())));
      std::string key = item.key();
      value[key] = std::move(copy);
    }
  }
}

} // namespace

bool mutate_json(std::string &text, Random &random) {
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    return false;
  do {
    std::vector<Json *> all;
    collect(document, all);
    Json &value = *random.any(all);
    switch (random.below(4)) {
    case 0: {
      Json copy = *random.any(all);
      value = std::move(copy);
      break;
    }
    case 1:
      erase_any(value, random);
      break;
    case 2:
      insert_any(value, all, random);
      break;
    default:
      value = another(value, random);
    }
  } while (random.one_in(3));
  text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  return true;
}

size_t mutate_safetensors(uint8_t *data, size_t size, size_t max_size,
                          unsigned seed) {
  Random random(seed);
  uint64_t length = 0;
  if (size >= sizeof length)
    std::memcpy(&length, data, sizeof length);
  if (size < sizeof length || length > size - sizeof length || random.one_in(5))
    return LLVMFuzzerMutate(data, size, max_size);
  const char *begin = reinterpret_cast<const char *>(data) + sizeof length;
  std::string header(begin, length),
      rest(begin + length, size - sizeof length - length);
  if (!mutate_json(header, random))
    return LLVMFuzzerMutate(data, size, max_size);
  length = header.size();
  std::string content(reinterpret_cast<const char *>(&length), sizeof length);
  return give(content + header + rest, data, size, max_size);
}

//===----------------------------------------------------------------------===//
// IR
//===----------------------------------------------------------------------===//

namespace {

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> lines(1);
  for (char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  return lines;
}

std::string join(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += (&line == &lines.front() ? "" : "\n") + line;
  return text;
}

std::vector<std::smatch> find_all(const std::string &text,
                                  const std::regex &pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern),
          std::sregex_iterator()};
}

/// Puts what `pattern` finds somewhere in `text`, or a number, in the place of
/// what it finds in `line`.
void replace(std::string &line, const std::string &text,
             const std::regex &pattern, bool is_number, Random &random) {
  std::vector<std::smatch> found = find_all(line, pattern);
  std::vector<std::smatch> choices = find_all(text, pattern);
  if (found.empty() || choices.empty()) // The line is not the text's any more.
    return;
  const std::smatch &old = random.any(found);
  std::string next = is_number && random.one_in(2)
                         ? std::to_string(random.number())
                         : random.any(choices).str();
  line.replace(static_cast<size_t>(old.position()),
               static_cast<size_t>(old.length()), next);
}

} // namespace

void mutate_ir(std::string &text, Random &random) {
  static const std::regex number("-?[0-9]+"), word("[A-Za-z_][A-Za-z0-9_.]*"),
      type("(tensor|vector|memref)<[^<>]*>"), value("%[A-Za-z0-9_#]+"),
      attribute("[a-z_.]+ = [^,}<>]*(, )?");
  std::vector<std::string> lines = split(text);
  do {
    std::string &line = random.any(lines);
    switch (random.below(9)) {
    case 0:
      lines.erase(lines.begin() +
                  static_cast<ptrdiff_t>(random.below(lines.size())));
      if (lines.empty())
        lines.emplace_back();
      break;
    case 1: {
      std::string copy = line;
      lines.insert(lines.begin() +
                       static_cast<ptrdiff_t>(random.below(lines.size())),
                   copy);
      break;
    }
    case 2:
      std::swap(line, random.any(lines));
      break;
    case 3:
      replace(line, text, word, false, random);
      break;
    case 4:
      replace(line, text, type, false, random);
      break;
    case 5:
      replace(line, text, value, false, random);
      break;
    case 6:
      replace(line, text, attribute, false, random);
      break;
    default:
      replace(line, text, number, true, random);
    }
  } while (random.one_in(3));
  text = join(lines);
}

} // namespace tinh::fuzz
