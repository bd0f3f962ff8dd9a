//===- ModelScanTest.cpp - The scan for large tensors -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ModelScan.h"
#include "compiler/Import/onnx/onnx.pb.h"

#include <gtest/gtest.h>

#include <random>

using tinh::onnx::scanModel;
using tinh::onnx::ScanResult;

namespace {

::onnx::ModelProto sampleModel() {
  ::onnx::ModelProto model;
  model.set_producer_name("test");
  auto *graph = model.mutable_graph();
  auto *large = graph->add_initializer();
  large->set_name("large");
  large->set_data_type(::onnx::TensorProto::FLOAT);
  large->add_dims(500);
  large->set_raw_data(std::string(2000, 'L'));
  auto *small = graph->add_initializer();
  small->set_name("small");
  small->set_raw_data("0123");
  auto *packed = graph->add_initializer();
  packed->set_name("packed");
  for (int i = 0; i < 600; ++i)
    packed->add_float_data(static_cast<float>(i));
  auto *attribute = graph->add_node()->add_attribute();
  attribute->mutable_t()->set_raw_data(std::string(3000, 'A'));
  return model;
}

TEST(ModelScan, TakesOutLargeTensorsAndSaysWhereTheyAre) {
  ::onnx::ModelProto model = sampleModel();
  std::string bytes = model.SerializeAsString();
  ScanResult result = scanModel(bytes, 1024);
  ASSERT_EQ(result.error, "");
  ::onnx::ModelProto scanned;
  ASSERT_TRUE(scanned.ParseFromString(result.model));
  EXPECT_LT(result.model.size(), 300u);
  EXPECT_EQ(scanned.producer_name(), "test");

  const auto &large = scanned.graph().initializer(0);
  EXPECT_EQ(large.name(), "large");
  EXPECT_FALSE(large.has_raw_data());
  EXPECT_EQ(bytes.substr(large.segment().begin(),
                         large.segment().end() - large.segment().begin()),
            std::string(2000, 'L'));
  EXPECT_EQ(scanned.graph().initializer(1).raw_data(), "0123");
  EXPECT_EQ(scanned.graph().initializer(2).float_data_size(), 0);
  const auto &packed = scanned.graph().initializer(2).segment();
  EXPECT_EQ(packed.end() - packed.begin(), 2400);
  const auto &inNode = scanned.graph().node(0).attribute(0).t().segment();
  EXPECT_EQ(bytes.substr(inNode.begin(), 3000), std::string(3000, 'A'));
}

TEST(ModelScan, RefusesModelsTruncatedAnywhereOrKeepsThemWhole) {
  std::string bytes = sampleModel().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ScanResult result =
        scanModel(llvm::StringRef(bytes).take_front(size), 1024);
    ::onnx::ModelProto model;
    // What is cut between two fields of the model is well-formed.
    EXPECT_TRUE(!result.error.empty() || model.ParseFromString(result.model));
  }
  EXPECT_NE(scanModel(llvm::StringRef(bytes).drop_back(), 1024).error, "");
}

TEST(ModelScan, SurvivesRandomBytes) {
  std::mt19937 random(1);
  std::string bytes = sampleModel().SerializeAsString();
  for (int round = 0; round < 2000; ++round) {
    std::string broken = bytes;
    for (int i = 0; i < 5; ++i)
      broken[random() % broken.size()] = static_cast<char>(random());
    ScanResult result = scanModel(broken, 1024);
    EXPECT_TRUE(result.error.empty() || result.model.empty());
  }
}

TEST(ModelScan, RefusesDeepNesting) {
  // By hand, as protobuf itself limits nesting.
  std::string graph;
  auto wrap = [](char field, const std::string &inner) {
    std::string out(1, static_cast<char>(field << 3 | 2));
    for (size_t n = inner.size();; n >>= 7) {
      out.push_back(static_cast<char>((n & 127) | (n > 127 ? 128 : 0)));
      if (n <= 127)
        break;
    }
    return out + inner;
  };
  for (int i = 0; i < 100; ++i)
    graph = wrap(1, wrap(5, wrap(6, graph)));
  EXPECT_NE(scanModel(wrap(7, graph), 1024)
                .error.find("graphs are nested more than 20 deep"),
            std::string::npos);
}

} // namespace
