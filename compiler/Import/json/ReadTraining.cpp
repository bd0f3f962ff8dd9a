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

void readTraining(const Json &root, TrainingInfo &training,
                  const Scope &scope) {
  const Json *value = find(root, "training");
  if (!value)
    return;
  Scope inside = scope.within("\"training\"");
  if (!value->is_object()) {
    inside.fail(*value, "expected an object with \"loss\" and \"optimizer\"");
    return;
  }
  inside.checkKeys(*value, {"loss", "optimizer", "trainable", "precision",
                            "loss_scale", "keep_f32", "comment"});
  auto check = [&](const Json &at, bool right, const llvm::Twine &what) {
    if (!right)
      inside.fail(at, what);
  };
  for (auto [key, text] : {std::pair("loss", &training.loss),
                           std::pair("optimizer", &training.optimizer)})
    if (const Json *named = find(*value, key)) {
      auto read = readNamed(*named);
      check(*named, read.has_value(),
            "\"" + llvm::Twine(key) +
                "\" is not an object with a \"name\" and options that are "
                "numbers, booleans or strings");
      *text = read.value_or("");
    }
  if (const Json *scale = find(*value, "loss_scale")) {
    auto read = readLossScale(*scale);
    check(*scale, read.has_value(),
          "\"loss_scale\" is neither a number nor an object with a \"name\" "
          "and options");
    training.lossScale = read.value_or("");
  }
  for (auto [key, list] : {std::pair("trainable", &training.trainable),
                           std::pair("keep_f32", &training.keepF32)})
    if (const Json *patterns = find(*value, key))
      check(*patterns, readPatterns(*patterns, *list),
            "\"" + llvm::Twine(key) + "\" is not a list of patterns");
  if (const Json *precision = find(*value, "precision"))
    check(*precision, getString(*value, "precision", training.precision),
          "\"precision\" is not a string");
}

} // namespace tinh::json
