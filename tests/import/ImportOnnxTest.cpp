//===- ImportOnnxTest.cpp - What ONNX models become -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/import/ImportTestSupport.h"

using namespace tinh::test;

namespace {

class ImportOnnx : public ImportTest {};

const std::string kX23 = tensorInfo("input", "x", {2, 3});
const std::string kX1388 = tensorInfo("input", "x", {1, 3, 8, 8});
const std::string kY = "output { name: \"y\" }\n";

TEST_F(ImportOnnx, NamesInputsOutputsAndNodes) {
  std::string ir = importOnnx(
      model(kX23 + kY + R"(node { op_type: "Relu" input: "x" output: "y" })"));
  expectContains(ir, "@main(%arg0: tensor<2x3xf32> {graph.name = \"x\"}) -> "
                     "(tensor<2x3xf32> {graph.name = \"y\"})");
  expectContains(ir, "graph.relu %arg0 : tensor<2x3xf32>");
}

TEST_F(ImportOnnx, SortsNodes) {
  std::string ir = importOnnx(
      model(kX23 + kY + R"(node { op_type: "Exp" input: "r" output: "y" }
                           node { op_type: "Relu" input: "x" output: "r" })"));
  expectContains(ir, "%0 = graph.relu %arg0");
  expectContains(ir, "%1 = graph.exp %0");
}

TEST_F(ImportOnnx, RefersToLargeInitializers) {
  std::string graph = kX23 + kY + R"(
    initializer { name: "w" dims: 3 dims: 200 data_type: 1 raw_data: ")" +
                      std::string(2400, 'a') + R"(" }
    initializer { name: "b" dims: 1 data_type: 1 float_data: 2.5 }
    node { op_type: "Gemm" input: "x" input: "w" input: "b" output: "y" })";
  std::string ir = importOnnx(model(graph));
  expectContains(ir, "#graph.external<\"model.onnx\", ");
  expectContains(ir, ", 2400> : tensor<3x200xf32>");
  expectContains(ir, "graph.matmul");
  expectContains(ir, "dense<2.500000e+00> : tensor<1xf32>");
}

TEST_F(ImportOnnx, ReadsExternalData) {
  write("weights.bin", std::string(16, '\0') + std::string(2400, 'a'));
  std::string ir = importOnnx(model(kX23 + kY + R"(
    initializer { name: "w" dims: 3 dims: 200 data_type: 1 data_location: EXTERNAL
      external_data { key: "location" value: "weights.bin" }
      external_data { key: "offset" value: "16" }
      external_data { key: "length" value: "2400" } }
    node { op_type: "MatMul" input: "x" input: "w" output: "y" })"));
  expectContains(ir, "#graph.external<\"weights.bin\", 16, 2400> : "
                     "tensor<3x200xf32>");
}

TEST_F(ImportOnnx, FoldsShapeComputations) {
  std::string ir = importOnnx(model(kX1388 + kY + R"(
    initializer { name: "zero" dims: 1 data_type: 7 int64_data: 0 }
    initializer { name: "rest" dims: 1 data_type: 7 int64_data: -1 }
    node { op_type: "Shape" input: "x" output: "s" }
    node { op_type: "Gather" input: "s" input: "zero" output: "n" }
    node { op_type: "Concat" input: "n" input: "rest" output: "to"
           attribute { name: "axis" type: INT i: 0 } }
    node { op_type: "Reshape" input: "x" input: "to" output: "y" })"));
  expectContains(ir, "graph.reshape %arg0 : tensor<1x3x8x8xf32> to "
                     "tensor<1x192xf32>");
  EXPECT_EQ(ir.find("graph.constant"), std::string::npos) << ir;
}

TEST_F(ImportOnnx, FoldsNothingThatFollowsFromWeights) {
  std::string ir = importOnnx(model(kX23 + kY + R"(
    initializer { name: "w" dims: 3 data_type: 1 float_data: [1, 2, 3] }
    initializer { name: "two" data_type: 1 float_data: 2 }
    node { op_type: "Less" input: "w" input: "two" output: "small" }
    node { op_type: "Where" input: "small" input: "x" input: "w" output: "y"
         })"));
  expectContains(ir, "graph.compare less");
}

TEST_F(ImportOnnx, ConvolvesWithAutomaticPadding) {
  std::string ir = importOnnx(model(kX1388 + kY + R"(
    initializer { name: "w" dims: 2 dims: 3 dims: 2 dims: 2 data_type: 1
                  raw_data: ")" + std::string(96, 'a') +
                                    R"(" }
    initializer { name: "b" dims: 2 data_type: 1 float_data: [1, 2] }
    node { op_type: "Conv" input: "x" input: "w" input: "b" output: "y"
           attribute { name: "auto_pad" type: STRING s: "SAME_UPPER" }
           attribute { name: "strides" type: INTS ints: [1, 1] } })"));
  expectContains(ir, "strides [1, 1] padding [0, 0, 1, 1] dilations [1, 1] "
                     "groups 1 channels_first");
  expectContains(ir, "tensor<2xf32> to tensor<2x1x1xf32>");
}

TEST_F(ImportOnnx, PoolsInCeilMode) {
  std::string ir = importOnnx(model(kX1388 + kY + R"(
    node { op_type: "AveragePool" input: "x" output: "y"
           attribute { name: "kernel_shape" type: INTS ints: [3, 3] }
           attribute { name: "strides" type: INTS ints: [2, 2] }
           attribute { name: "ceil_mode" type: INT i: 1 } })"));
  expectContains(ir, "padding [0, 0, 1, 1]");
  expectContains(ir, "ceil_padding = array<i64: 1, 1>");
  expectContains(ir, "-> tensor<1x3x4x4xf32>");
}

TEST_F(ImportOnnx, CoercesOldSoftmaxToRows) {
  std::string graph = kX1388 + kY +
                      R"(node { op_type: "Softmax" input: "x" output: "y"
                                attribute { name: "axis" type: INT i: 1 } })";
  std::string old = importOnnx(model(graph, 12));
  expectContains(old, "graph.softmax %0 axis 1 : tensor<1x192xf32>");
  std::string ir = importOnnx(model(graph, 13));
  expectContains(ir, "graph.softmax %arg0 axis 1 : tensor<1x3x8x8xf32>");
}

TEST_F(ImportOnnx, ReadsAttributesOrInputsByOpset) {
  std::string attribute = importOnnx(
      model(kX1388 + kY + R"(node { op_type: "Squeeze" input: "x" output: "y"
              attribute { name: "axes" type: INTS ints: 0 } })",
            11));
  std::string input = importOnnx(model(kX1388 + kY + R"(
        initializer { name: "a" dims: 1 data_type: 7 int64_data: -4 }
        node { op_type: "Squeeze" input: "x" input: "a" output: "y" })",
                                       13));
  for (const std::string &ir : {attribute, input})
    expectContains(ir, "tensor<1x3x8x8xf32> to tensor<3x8x8xf32>");
}

TEST_F(ImportOnnx, SlicesBackwards) {
  std::string ir = importOnnx(model(kX23 + kY + R"(
    initializer { name: "s" dims: 1 data_type: 7 int64_data: -1 }
    initializer { name: "e" dims: 1 data_type: 7 int64_data: -9223372036854775808 }
    initializer { name: "a" dims: 1 data_type: 7 int64_data: 1 }
    node { op_type: "Slice" input: "x" input: "s" input: "e" input: "a" input: "s"
           output: "y" })"));
  expectContains(ir, "starts [0, 2] sizes [2, 3] steps [1, -1]");
}

TEST_F(ImportOnnx, TakesTensorsOutOfSequences) {
  const std::string at = R"(
    initializer { name: "one" data_type: 7 int64_data: 1 }
    initializer { name: "last" data_type: 7 int64_data: -1 }
    node { op_type: "SequenceAt" input: "s" input: "one" output: "a" }
    node { op_type: "SequenceAt" input: "s" input: "last" output: "y" }
    output { name: "a" })";
  const std::string axis = R"(attribute { name: "axis" type: INT i: 1 } })";
  std::string ir = importOnnx(model(kX23 + kY + at + R"(
    initializer { name: "two" data_type: 7 int64_data: 2 }
    node { op_type: "SplitToSequence" input: "x" input: "two" output: "s" )" +
                                    axis));
  expectContains(ir, "starts [0, 2] sizes [2, 1]");
  ir = importOnnx(model(kX23 + kY + at + R"(
    initializer { name: "sizes" dims: 2 data_type: 7 int64_data: [2, 1] }
    node { op_type: "SplitToSequence" input: "x" input: "sizes" output: "s" )" +
                        axis));
  expectContains(ir, "starts [0, 2] sizes [2, 1]");
  ir = importOnnx(model(kX23 + kY + at + R"(
    node { op_type: "SplitToSequence" input: "x" output: "s"
           attribute { name: "keepdims" type: INT i: 0 } )" +
                        axis));
  expectContains(ir, "starts [0, 2] sizes [2, 1]");
  expectContains(ir, "tensor<2x1xf32> to tensor<2xf32>");
  ir = importOnnx(model(kX23 + kY + at + R"(
    node { op_type: "SequenceConstruct" input: "x" input: "z" output: "s" }
    node { op_type: "Relu" input: "x" output: "z" })"));
  expectContains(ir, "return %0, %0");
}

TEST_F(ImportOnnx, InlinesFunctions) {
  std::string ir = importOnnx(R"(
    ir_version: 8 opset_import { version: 18 }
    opset_import { domain: "local" version: 1 }
    functions { name: "Scale" domain: "local" input: "a" output: "b"
      attribute: "alpha" opset_import { version: 18 }
      node { op_type: "LeakyRelu" input: "a" output: "t"
             attribute { name: "alpha" ref_attr_name: "alpha" type: FLOAT } }
      node { op_type: "Exp" input: "t" output: "b" } }
    graph { )" + kX23 + kY + R"(
      node { op_type: "Scale" domain: "local" input: "x" output: "t"
             attribute { name: "alpha" type: FLOAT f: 0.5 } }
      node { op_type: "Scale" domain: "local" input: "t" output: "y"
             attribute { name: "alpha" type: FLOAT f: 0.25 } } })");
  expectContains(ir, "dense<5.000000e-01>");
  expectContains(ir, "dense<2.500000e-01>");
  EXPECT_NE(ir.find("graph.exp"), ir.rfind("graph.exp")) << ir;
}

TEST_F(ImportOnnx, TakesTheKnownBranchOfAnIf) {
  std::string ir = importOnnx(model(kX23 + kY + R"(
    initializer { name: "c" data_type: 9 int32_data: 0 }
    node { op_type: "If" input: "c" output: "y"
      attribute { name: "then_branch" type: GRAPH g {
        node { op_type: "Exp" input: "x" output: "a" } output { name: "a" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { op_type: "Log" input: "x" output: "a" } output { name: "a" } } } })"));
  expectContains(ir, "graph.log %arg0");
  EXPECT_EQ(ir.find("graph.exp"), std::string::npos);
}

TEST_F(ImportOnnx, SettlesSymbolsForAllInputs) {
  options.shapes["a"] = {4, 3};
  std::string open = R"( type { tensor_type { elem_type: 1 shape {
      dim { dim_param: "n" } dim { dim_value: 3 } } } } })";
  std::string ir = importOnnx(
      model("input { name: \"a\"" + open + " input { name: \"b\"" + open + kY +
            R"(node { op_type: "Add" input: "a" input: "b" output: "y" })"));
  expectContains(ir, "%arg1: tensor<4x3xf32> {graph.name = \"b\"}");
}

TEST_F(ImportOnnx, InputsThatBecomeConstants) {
  std::string text = model(kX23 + tensorInfo("input", "rate", {1}, 7) + kY + R"(
    initializer { name: "k" dims: 1 data_type: 7 int64_data: 16000 }
    node { op_type: "Equal" input: "rate" input: "k" output: "c" }
    node { op_type: "If" input: "c" output: "y"
      attribute { name: "then_branch" type: GRAPH g { output { name: "t" }
        node { op_type: "Relu" input: "x" output: "t" } } }
      attribute { name: "else_branch" type: GRAPH g { output { name: "e" }
        node { op_type: "Exp" input: "x" output: "e" } } } })");
  options.inputValues["rate"] = "16000";
  std::string ir = importOnnx(text);
  expectContains(ir, "@main(%arg0: tensor<2x3xf32> {graph.name = \"x\"}) ->");
  expectContains(ir, "graph.relu %arg0");
  EXPECT_EQ(ir.find("graph.if"), std::string::npos);
  options.inputValues["rate"] = "8000";
  expectContains(importOnnx(text), "graph.exp %arg0");
  // IR has lists for tensors of any shape.
  options.inputValues.clear();
  std::string printed = importOnnx(
      model(kX23 + kY + R"(node { op_type: "Relu" input: "x" output: "y" })"));
  options.inputValues["x"] = "1,-2,3,inf,nan,6.5";
  expectContains(import(write("model.mlir", printed)),
                 "graph.constant dense<[[1.000000e+00, -2.000000e+00, "
                 "3.000000e+00], [0x7F800000, 0x7FC00000, 6.500000e+00]]>");
}

TEST_F(ImportOnnx, OperatorSetsBefore7) {
  std::string start =
      tensorInfo("input", "x", {2, 3, 4}) + kY + tensorInfo("input", "c", {3});
  auto importNode = [&](const std::string &node, int opset = 6) {
    return importOnnx(model(
        start + "node { input: \"x\" output: \"y\" " + node + " }", opset));
  };
  auto attribute = [](const std::string &name, int value) {
    return "attribute { name: \"" + name +
           "\" type: INT i: " + std::to_string(value) + " } ";
  };
  std::string add = "op_type: \"Add\" input: \"c\" ";
  std::string ir =
      importNode(add + attribute("broadcast", 1) + attribute("axis", 1), 1);
  expectContains(ir, "graph.reshape %arg1 : tensor<3xf32> to tensor<3x1xf32>");
  expectContains(ir, "graph.add %arg0");
  EXPECT_EQ(importNode(add),
            "error: node \"y\" (Add): the shapes [2, 3, 4] and [3] differ, and "
            "there is no attribute broadcast = 1");
  EXPECT_EQ(importNode(add + attribute("broadcast", 1) + attribute("axis", 3)),
            "error: node \"y\" (Add): axis 3 is outside a tensor of rank 3");
  expectContains(importNode("op_type: \"PRelu\" input: \"c\""),
                 "graph.reshape %arg1 : tensor<3xf32> to tensor<3x1xf32>");
  std::string norm = "op_type: \"BatchNormalization\" input: \"c\" "
                     "input: \"c\" input: \"c\" input: \"c\" ";
  expectContains(importNode(norm + attribute("is_test", 1)),
                 "graph.batch_norm %arg0, %arg1, %arg1, %arg1, %arg1");
  EXPECT_EQ(importNode(norm).find("graph.batch_norm"), std::string::npos);
  expectContains(importNode("op_type: \"Dropout\" " + attribute("is_test", 1)),
                 "graph.dropout %arg0");
  expectContains(importNode("op_type: \"Dropout\""), "graph.where");
  expectContains(importNode("op_type: \"Reshape\" attribute { name: \"shape\" "
                            "type: INTS ints: [6, -1] }",
                            4),
                 "graph.reshape %arg0 : tensor<2x3x4xf32> to tensor<6x4xf32>");
}

TEST_F(ImportOnnx, UnknownDimensionsAreOneForThemselves) {
  options.shapes["x"] = {4, 3};
  std::string ir = importOnnx(model(R"(input { name: "x" type { tensor_type {
      elem_type: 1 shape { dim { dim_param: "?" } dim { dim_param: "?" } } } } }
    node { op_type: "Relu" input: "x" output: "y" })" +
                                    kY));
  expectContains(ir, "%arg0: tensor<4x3xf32> {graph.name = \"x\"}");
}

TEST_F(ImportOnnx, PrintedIrIsReadAgain) {
  std::string path = writeOnnx(model(
      kX23 + kY + R"(node { op_type: "Softmax" input: "x" output: "y" })"));
  std::string ir = import(path);
  EXPECT_EQ(import(write("model.mlir", ir)), ir);
}

} // namespace
