//===- RecordedTest.cpp - Tensors against PyTorch and NumPy -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// recorded.json has what these compute and print, by record.py.
//
//===----------------------------------------------------------------------===//
#include "RecordedOperations.h"
#include "RecordedTensors.h"
#include "TensorTesting.h"
#include "tinh/function.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

using namespace tinh;
using namespace tinh::test;
using nlohmann::json;

static const json &recorded() {
  static const json all = json::parse(std::ifstream(TINH_RECORDED));
  return all;
}

static Operation operationOf(const std::string &name) {
  if (name.starts_with("einsum "))
    return [equation = name.substr(7)](const Inputs &x) {
      return x.size() == 1   ? einsum(equation, {x[0]})
             : x.size() == 2 ? einsum(equation, {x[0], x[1]})
                             : einsum(equation, {x[0], x[1], x[2]});
    };
  auto found = recordedOperations().find(name);
  return found == recordedOperations().end() ? nullptr : found->second;
}

static Inputs inputsOf(const json &record) {
  Inputs inputs;
  for (const json &input : record["inputs"])
    inputs.push_back(tensorOf(input));
  return inputs;
}

TEST(Recorded, OperationsGiveWhatPyTorchAndNumPyGive) {
  std::set<std::string> seen;
  for (const json &record : recorded()["cases"]) {
    std::string name = record["name"];
    SCOPED_TRACE(name);
    seen.insert(name);
    Operation operation = operationOf(name);
    ASSERT_TRUE(operation) << "no operation of this name";
    expectNear(operation(inputsOf(record)), record["expected"]);
  }
  for (const auto &[name, operation] : recordedOperations())
    EXPECT_TRUE(seen.contains(name)) << "no record of " << name;
}

TEST(Recorded, TracedOperationsGiveTheSame) {
  if (&backendOfTests() != &eager::eagerBackend())
    GTEST_SKIP() << "functions run on the engine";
  // Their shapes depend on elements, which a graph cannot know.
  const std::set<std::string> refused = {"nonzero", "masked_select", "unique",
                                         "index_mask"};
  for (const json &record : recorded()["cases"]) {
    std::string name = record["name"];
    SCOPED_TRACE(name);
    Operation operation = operationOf(name);
    auto traced = function(name, [&](const Inputs &x) { return operation(x); });
    Inputs inputs = inputsOf(record);
    if (!refused.contains(name))
      expectNear(traced(inputs), record["expected"]);
    else
      EXPECT_NE(errorOf([&] { traced(inputs); }).find("not known"),
                std::string::npos);
  }
}

static Slice::Bound boundOf(const json &value) {
  return value.is_null() ? Slice::Bound(None)
                         : Slice::Bound(value.get<int64_t>());
}

static Index indexOf(const json &record) {
  if (record.contains("int"))
    return record["int"].get<int64_t>();
  if (record.contains("none"))
    return None;
  if (record.contains("ellipsis"))
    return Ellipsis;
  if (record.contains("tensor"))
    return tensorOf(record["tensor"]);
  const json &slice = record["slice"];
  return Slice(boundOf(slice[0]), boundOf(slice[1]), slice[2].get<int64_t>());
}

TEST(Recorded, IndicesPickWhatTheyDoInPython) {
  ASSERT_GE(recorded()["indexed"].size(), 100u);
  for (const json &record : recorded()["indexed"]) {
    SCOPED_TRACE(record.dump());
    Tensor x = tensorOf(record["x"]);
    std::vector<Index> indices;
    for (const json &index : record["index"])
      indices.push_back(indexOf(index));
    expectNear(x.index(indices), record["result"]);
  }
}

TEST(Recorded, TensorsPrintAsNumPyPrints) {
  for (const json &record : recorded()["printed"]) {
    std::string expected = record["text"];
    EXPECT_EQ(to_string(tensorOf(record["array"])), expected);
  }
}
