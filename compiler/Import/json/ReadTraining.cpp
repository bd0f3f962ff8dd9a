//===- ReadTraining.cpp - How a JSON model is trained -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/ReadTraining.h"

namespace tinh::json {

/// {"name": "adam", "lr": 0.001} as "adam,lr=0.001"; nothing if it is no such
/// object.
static std::optional<std::string> readNamed(const Json &value) {
  std::string text;
  if (!value.is_object() || !getString(value, "name", text) || text.empty())
    return std::nullopt;
  for (const auto &[key, option] : value.items()) {
    if (key == "name")
      continue;
    bool isText = option.is_string();
    if (!isText && !option.is_number() && !option.is_boolean())
      return std::nullopt;
    text +=
        "," + key + "=" + (isText ? option.get<std::string>() : option.dump());
  }
  return text;
}

/// 1024, or {"name": "dynamic", "growth_interval": 1000} as the option has it.
static std::optional<std::string> readLossScale(const Json &value) {
  return value.is_number() ? value.dump() : readNamed(value);
}

static bool readPatterns(const Json &list, std::vector<std::string> &patterns) {
  if (!list.is_array() || list.empty())
    return false;
  for (const Json &pattern : list) {
    if (!pattern.is_string() || pattern.get<std::string>().empty())
      return false;
    patterns.push_back(pattern.get<std::string>());
  }
  return true;
}

bool readTraining(const Json &root, TrainingInfo &training,
                  std::string &error) {
  const Json *value = find(root, "training");
  if (!value)
    return true;
  auto fail = [&](const llvm::Twine &what) {
    error = ("\"training\": " + what).str();
    return false;
  };
  if (!value->is_object())
    return fail("expected an object with \"loss\" and \"optimizer\"");
  std::string unknown =
      unknownKey(*value, {"loss", "optimizer", "trainable", "precision",
                          "loss_scale", "keep_f32", "comment"});
  if (!unknown.empty())
    return fail("unknown key \"" + unknown + "\"");
  for (auto [key, text] : {std::pair("loss", &training.loss),
                           std::pair("optimizer", &training.optimizer)}) {
    const Json *named = find(*value, key);
    if (!named)
      continue;
    auto read = readNamed(*named);
    if (!read)
      return fail("\"" + llvm::Twine(key) +
                  "\" is not an object with a \"name\" and options that are "
                  "numbers, booleans or strings");
    *text = *read;
  }
  if (const Json *scale = find(*value, "loss_scale")) {
    auto read = readLossScale(*scale);
    if (!read)
      return fail("\"loss_scale\" is neither a number nor an object with a "
                  "\"name\" and options");
    training.lossScale = *read;
  }
  for (auto [key, list] : {std::pair("trainable", &training.trainable),
                           std::pair("keep_f32", &training.keepF32)}) {
    const Json *patterns = find(*value, key);
    if (patterns && !readPatterns(*patterns, *list))
      return fail("\"" + llvm::Twine(key) + "\" is not a list of patterns");
  }
  if (find(*value, "precision") &&
      !getString(*value, "precision", training.precision))
    return fail("\"precision\" is not a string");
  return true;
}

} // namespace tinh::json
