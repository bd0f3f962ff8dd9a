//===- ImportJsonTest.cpp - JSON graphs, right and wrong --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/import/ImportTestSupport.h"

using namespace tinh::test;

namespace {

class ImportJson : public ImportTest {
protected:
  /// A graph from x: f32[2, 3] to y with these weights and nodes.
  std::string graph(const std::string &nodes, const std::string &weights = "") {
    return R"({"tinh": 1,
  "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}],
  "weights": [)" +
           weights + "],\n  \"nodes\": [" + nodes +
           "],\n  \"outputs\": [\"y\"]}";
  }
  std::string node(const std::string &op, const std::string &attributes = "") {
    return graph(R"({"op": ")" + op + R"(", "name": "n", "inputs": ["x"],
      "outputs": ["y"], "attributes": {)" +
                 attributes + "}}");
  }
};

TEST_F(ImportJson, ReadsAttributesByTheOpsDefinition) {
  expectContains(importJson(node("reduce", R"("kind": "mean", "axes": [1],
                                              "keepdims": true)")),
                 "graph.reduce mean %arg0 axes [1] keepdims");
  expectContains(
      importJson(graph(R"({"op": "scatter", "inputs": ["x", "i", "x"],
         "outputs": ["y"], "attributes": {"kind": "max", "axis": 0}})",
                       R"({"name": "i", "dtype": "i64",
         "shape": [2], "data": [0, 1]})")),
      "graph.scatter max %arg0, ");
  expectContains(importJson(node("softmax", R"("axis": 1)")),
                 "graph.softmax %arg0 axis 1");
  expectContains(importJson(node("reshape", R"("shape": [3, 2])")),
                 "tensor<2x3xf32> to tensor<3x2xf32>");
  expectContains(importJson(node("cast", R"("dtype": "f16")")),
                 "tensor<2x3xf32> to tensor<2x3xf16>");
  expectContains(importJson(node("gelu", R"("tanh_approximation": false)")),
                 "graph.gelu %arg0 : ");
  // A whole number is a float where the op has one.
  expectContains(
      importJson(
          graph(R"({"op": "layer_norm", "inputs": ["x", "s"],
         "outputs": ["y"], "attributes": {"axis": 1, "epsilon": 1}})",
                R"({"name": "s", "dtype": "f32", "shape": [3], "data": 1})")),
      "axis 1 epsilon 1.000000e+00");
}

TEST_F(ImportJson, WeightsOfOneNumberTakeNoMemory) {
  expectContains(importJson(graph(
                     R"({"op": "add", "inputs": ["x", "w"], "outputs": ["y"]})",
                     R"({"name": "w", "dtype": "f32",
                           "shape": [1000000000000, 2, 3], "data": 0})")),
                 "dense<0.000000e+00> : tensor<1000000000000x2x3xf32>");
}

TEST_F(ImportJson, DilationBeyondAnyTensor) {
  EXPECT_EQ(importJson(R"({"tinh": 1,
    "inputs": [{"name": "x", "dtype": "f32", "shape": [1, 3, 8, 8]},
               {"name": "w", "dtype": "f32", "shape": [4, 3, 3, 3]}],
    "nodes": [{"op": "conv", "inputs": ["x", "w"], "outputs": ["y"],
               "attributes": {"dilations": [9223372036854775807, 1]}}],
    "outputs": ["y"]})"),
            "error: node \"y\" (conv): graph.conv: extents, kernel, strides, "
            "dilations and padding must be at most 2147483648, found "
            "9223372036854775807");
}

TEST_F(ImportJson, ConvolutionHasDefaults) {
  std::string ir = importJson(R"({"tinh": 1,
    "inputs": [{"name": "x", "dtype": "f32", "shape": [1, 3, 8, 8]}],
    "weights": [{"name": "w", "dtype": "f32", "shape": [4, 3, 3, 3], "data": 0.5}],
    "nodes": [{"op": "conv", "inputs": ["x", "w"], "outputs": ["y"]}],
    "outputs": ["y"]})");
  expectContains(ir, "strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] "
                     "groups 1 channels_first");
}

TEST_F(ImportJson, InlineWeights) {
  auto add = [&](const std::string &weight) {
    return importJson(graph(
        R"({"op": "add", "inputs": ["x", "w"], "outputs": ["y"]})", weight));
  };
  expectContains(add(R"({"name": "w", "dtype": "f32", "shape": [3],
                         "data": [1, 2.5, "-inf"]})"),
                 "dense<[1.000000e+00, 2.500000e+00, 0xFF800000]>");
  EXPECT_EQ(add(R"({"name": "w", "dtype": "f32", "shape": [3], "data": [1]})"),
            "error: weight \"w\": expected 3 elements for 3xf32, found 1");
  EXPECT_EQ(
      add(R"({"name": "w", "dtype": "u8", "shape": [2], "data": [1, 256]})"),
      "error: weight \"w\": its element 1, 256, is no element of 2xui8");
  EXPECT_EQ(add(R"({"name": "w", "dtype": "f8", "shape": [], "data": 1})"),
            "error: weight \"w\": unknown dtype \"f8\"; there are f64 f32 f16 "
            "bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu f4e2m1fn i64 "
            "i32 i16 i8 u64 u32 u16 u8 bool");
  EXPECT_EQ(
      add(R"({"name": "w", "dtype": "f8e4m3fn", "shape": [], "data": 1000})"),
      "error: weight \"w\": its data 1000 is no element of f8E4M3FN");
  EXPECT_EQ(
      add(R"({"name": "w", "dtype": "f8e5m2fnuz", "shape": [], "data": "inf"})"),
      "error: weight \"w\": its data \"inf\" is no element of f8E5M2FNUZ");
  for (const char *data : {"7", "-6.5", "\"nan\"", "\"inf\""})
    EXPECT_EQ(
        add(R"({"name": "w", "dtype": "f4e2m1fn", "shape": [], "data": )" +
            std::string(data) + "}"),
        "error: weight \"w\": its data " + std::string(data) +
            " is no element of f4E2M1FN");
  for (const char *data : {"0", "-1", "\"inf\""})
    EXPECT_EQ(
        add(R"({"name": "w", "dtype": "f8e8m0fnu", "shape": [], "data": )" +
            std::string(data) + "}"),
        "error: weight \"w\": its data " + std::string(data) +
            " is no element of f8E8M0FNU");
}

TEST_F(ImportJson, StorageFloatsAndBits) {
  std::string ir = importJson(R"({"tinh": 1,
    "inputs": [{"name": "x", "dtype": "f32", "shape": [3]}],
    "weights": [{"name": "w", "dtype": "f4e2m1fn", "shape": [3],
                 "data": [0.5, -6, 3]}],
    "nodes": [
      {"op": "cast", "inputs": ["x"], "outputs": ["p"],
       "attributes": {"dtype": "f8e8m0fnu", "rounding": "up"}},
      {"op": "bitcast", "inputs": ["x"], "outputs": ["b"],
       "attributes": {"dtype": "i32"}},
      {"op": "cast", "inputs": ["w"], "outputs": ["y"],
       "attributes": {"dtype": "f32"}}],
    "outputs": ["p", "b", "y"]})");
  expectContains(ir, "graph.cast %arg0 rounding up : tensor<3xf32> to "
                     "tensor<3xf8E8M0FNU>");
  expectContains(ir, "graph.bitcast %arg0 : tensor<3xf32> to tensor<3xi32>");
  expectContains(ir, "dense<[5.000000e-01, -6.000000e+00, 3.000000e+00]> : "
                     "tensor<3xf4E2M1FN>");
}

const std::string kHeader =
    R"({"fc1": {"dtype": "F32", "shape": [3, 100], "data_offsets": [0, 1200]},
        "fc2": {"dtype": "F32", "shape": [100, 4], "data_offsets": [1200, 2800]}})";

TEST_F(ImportJson, SameAsTheEqualOnnxModel) {
  write("w.safetensors", safetensors(kHeader, std::string(2800, 'a')));
  std::string json = importJson(graph(R"(
    {"op": "matmul", "inputs": ["x", "fc1"], "outputs": ["h"]},
    {"op": "relu", "inputs": ["h"], "outputs": ["r"]},
    {"op": "matmul", "inputs": ["r", "fc2"], "outputs": ["y"]})",
                                      R"(
    {"name": "fc1", "file": "w.safetensors", "tensor": "fc1"},
    {"name": "fc2", "file": "w.safetensors", "tensor": "fc2"})"));
  auto external = [](int64_t offset) {
    return " data_type: 1 data_location: EXTERNAL "
           "external_data { key: \"location\" value: \"w.safetensors\" } "
           "external_data { key: \"offset\" value: \"" +
           std::to_string(8 + kHeader.size() + offset) + "\" } }";
  };
  std::string onnx = importOnnx(model(
      tensorInfo("input", "x", {2, 3}) + "output { name: \"y\" }" +
      "initializer { name: \"fc1\" dims: 3 dims: 100" + external(0) +
      "initializer { name: \"fc2\" dims: 100 dims: 4" + external(1200) + R"(
      node { op_type: "MatMul" input: "x" input: "fc1" output: "h" }
      node { op_type: "Relu" input: "h" output: "r" }
      node { op_type: "MatMul" input: "r" input: "fc2" output: "y" })"));
  EXPECT_EQ(json, onnx);
  expectContains(json, "#graph.external<\"w.safetensors\", ");
}

TEST_F(ImportJson, SafetensorsErrors) {
  std::string model =
      graph(R"({"op": "matmul", "inputs": ["x", "w"], "outputs": ["y"]})",
            R"({"name": "w", "file": "w.safetensors", "tensor": "fc1"})");
  auto with = [&](const std::string &bytes) {
    write("w.safetensors", bytes);
    return importJson(model);
  };
  expectContains(importJson(model), "w.safetensors does not exist");
  expectContains(with("1234"), "not a safetensors file: it has 4 bytes");
  expectContains(with(std::string(8, '\xff') + "{}"),
                 "its header would have 18446744073709551615 bytes");
  expectContains(with(safetensors("{\"fc1\": ", "")),
                 "malformed header at byte ");
  expectContains(with(safetensors(kHeader, std::string(2799, 'a'))),
                 "tensor \"fc2\": data_offsets [1200, 2800] lie outside the "
                 "2799 bytes of data");
  expectContains(with(safetensors(R"({"fc1": {"dtype": "F32", "shape": [3, 2],
                           "data_offsets": [0, 20]}})",
                                  std::string(20, 'a'))),
                 "expected 24 bytes for F32 [3, 2], found 20");
  expectContains(with(safetensors(R"({"a": {"dtype": "F32", "shape": [],
                           "data_offsets": [0, 4]}})",
                                  "aaaa")),
                 "error: weight \"w\": w.safetensors has no tensor \"fc1\"");
  // Cut at any length, nothing worse than a message comes of it.
  std::string whole = safetensors(kHeader, std::string(2800, 'a'));
  for (size_t size = 0; size < whole.size(); size += 7)
    EXPECT_EQ(with(whole.substr(0, size)).substr(0, 7), "error: ");
}

TEST_F(ImportJson, SyntaxErrorsHaveAPosition) {
  expectContains(importJson("{\"tinh\": 1,\n  \"inputs\": [}"),
                 "malformed JSON at byte 25: ");
  expectContains(errorLocation, "model.json\":2:14");
  expectContains(importJson("{\"tinh\": 1, \"tinh\": 1}"),
                 "the key \"tinh\" is given twice");
  expectContains(importJson(std::string(100000, '[')),
                 "nested more than 200 deep");
  std::string whole = node("relu");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(importJson(whole.substr(0, size)).substr(0, 7), "error: ");
}

TEST_F(ImportJson, WrongGraphs) {
  EXPECT_EQ(importJson("{}"), "error: not a Tinh graph: the key \"tinh\" with "
                              "the format's version, 1, is missing");
  EXPECT_EQ(importJson("{\"tinh\": 2}"),
            "error: the file has version 2 of the format, this program reads "
            "version 1");
  EXPECT_EQ(importJson(node("frob")),
            "error: unknown op \"frob\" of node \"n\"; docs/ops.md lists those "
            "that there are");
  EXPECT_EQ(importJson(node("sofmax")),
            "error: unknown op \"sofmax\" of node \"n\"; did you mean "
            "\"softmax\"?");
  EXPECT_EQ(importJson(node("softmax", R"("axes": 1)")),
            "error: node \"n\" (softmax): unknown attribute \"axes\"; did you "
            "mean \"axis\"?");
  EXPECT_EQ(importJson(node("softmax", R"("dimension": 1)")),
            "error: node \"n\" (softmax): unknown attribute \"dimension\"; it "
            "has axis");
  EXPECT_EQ(
      importJson(node("softmax", R"("axis": "1")")),
      "error: node \"n\" (softmax): attribute axis: found \"1\", expected "
      "an integer");
  EXPECT_EQ(
      importJson(node("reduce", R"("kind": "men", "axes": [0.5])")),
      "error: node \"n\" (reduce): attribute kind: found \"men\", expected "
      "one of sum, mean, prod, max, min; did you mean \"mean\"?\n"
      "node \"n\" (reduce): attribute axes: found [0.5], expected a list "
      "of integers");
  // A choice of another kind, which is the same number.
  EXPECT_EQ(importJson(node("reduce", R"("kind": "equal", "axes": [1])")),
            "error: node \"n\" (reduce): attribute kind: found \"equal\", "
            "expected one of sum, mean, prod, max, min");
  expectContains(importJson(node("softmax")), "requires attribute 'axis'");
  expectContains(importJson(node("softmax", R"("axis": 2)")),
                 "error: node \"n\" (softmax): graph.softmax: axis 2");
  expectContains(importJson(node("add")),
                 "graph.add: expected 2 inputs, found 1");
  expectContains(importJson(node("reshape", R"("shape": [7])")),
                 "error: node \"n\" (reshape): ");
}

/// What depends on something wrong is not said to be wrong, too.
TEST_F(ImportJson, EachMistakeIsReportedOnce) {
  EXPECT_EQ(
      importJson(graph(R"(
    {"op": "relu", "name": "a", "inputs": ["x"], "outputs": ["a"],
     "attributes": {"slope": 1}},
    {"op": "add", "name": "b", "inputs": ["a", "w"], "outputs": ["b"]},
    {"op": "matmul", "name": "c", "inputs": ["x", "x"], "outputs": ["c"]},
    {"op": "add", "name": "d", "inputs": ["b", "c"], "outputs": ["d"]},
    {"op": "reshape", "name": "e", "inputs": ["d"], "outputs": ["y"],
     "attributes": {"shpae": [6]}})",
                       R"({"name": "w", "dtype": "f32",
     "shape": [3], "data": "zero"})")),
      "error: weight \"w\": its data \"zero\" is no element of 3xf32\n"
      "node \"a\" (relu): unknown attribute \"slope\"; it has none\n"
      "node \"c\" (matmul): graph.matmul: inner dimensions 3 and 2 differ: "
      "a is 2x3xf32, b is 2x3xf32\n"
      "node \"e\" (reshape): unknown attribute \"shpae\"; did you mean "
      "\"shape\"?");
}

TEST_F(ImportJson, CycleAndMissingTensor) {
  EXPECT_EQ(importJson(graph(R"(
    {"op": "add", "inputs": ["x", "b"], "outputs": ["a"]},
    {"op": "relu", "inputs": ["a"], "outputs": ["b"]},
    {"op": "relu", "inputs": ["b"], "outputs": ["y"]})")),
            "error: the graph has a cycle: node \"a\" (add) needs node \"b\" "
            "(relu) needs node \"a\" (add)");
  EXPECT_EQ(importJson(graph(R"(
    {"op": "relu", "inputs": ["a"], "outputs": ["a"]},
    {"op": "relu", "inputs": ["y"], "outputs": ["y"]})")),
            "error: the graph has a cycle: node \"a\" (relu) needs node \"a\" "
            "(relu)\n"
            "the graph has a cycle: node \"y\" (relu) needs node \"y\" (relu)");
  EXPECT_EQ(
      importJson(graph(R"({"op": "relu", "inputs": ["z"], "outputs": ["y"]})")),
      "error: node \"y\" (relu): its input \"z\" is no input or constant "
      "of the graph and no node's output");
}

TEST_F(ImportJson, OpenShapes) {
  std::string text = R"({"tinh": 1,
    "inputs": [{"name": "x", "dtype": "f32", "shape": ["n", 3]}],
    "nodes": [{"op": "relu", "inputs": ["x"], "outputs": ["y"]}],
    "outputs": ["y"]})";
  EXPECT_EQ(
      importJson(text),
      "error: input \"x\" has the open shape [n, 3]; give it a fixed one, "
      "as in --shape x=1x3");
  options.shapes["x"] = {5, 3};
  expectContains(importJson(text), "graph.relu %arg0 : tensor<5x3xf32>");
}

TEST_F(ImportJson, InputsThatBecomeConstants) {
  std::string text = R"({"tinh": 1,
    "inputs": [{"name": "x", "dtype": "f32", "shape": [2]},
               {"name": "first", "dtype": "bool", "shape": []}],
    "nodes": [{"op": "if", "inputs": ["first"], "outputs": ["y"],
      "then": {"nodes": [{"op": "relu", "inputs": ["x"], "outputs": ["t"]}],
               "outputs": ["t"]},
      "else": {"nodes": [{"op": "exp", "inputs": ["x"], "outputs": ["e"]}],
               "outputs": ["e"]}}],
    "outputs": ["y"]})";
  options.inputValues["first"] = "true";
  std::string ir = importJson(text);
  expectContains(ir, "@main(%arg0: tensor<2xf32> {graph.name = \"x\"}) ->");
  expectContains(ir, "graph.constant dense<true> : tensor<i1>");
  options.inputValues["x"] = "1";
  expectContains(importJson(text), "graph.constant dense<1.000000e+00>");
  options.inputValues["first"] = "1";
  options.inputValues["z"] = "1";
  EXPECT_EQ(importJson(text),
            "error: a value was given for \"z\", but the model's inputs are "
            "\"x\", \"first\"\ninput \"first\": the given value \"1\" is no "
            "element of i1");
}

TEST_F(ImportJson, LengthsAreOfSequences) {
  std::string text = R"({"tinh": 1,
    "inputs": [{"name": "data", "dtype": "f32", "shape": [2]}],
    "nodes": [{"op": "relu", "inputs": ["data"], "outputs": ["y"]}],
    "outputs": ["y"]})";
  options.lengths["data"] = 2;
  EXPECT_EQ(importJson(text), "error: input \"data\": a length was given for a "
                              "tensor; its shape is given by --shape");
  options.lengths = {{"date", 2}};
  EXPECT_EQ(
      importJson(text),
      "error: a length was given for \"date\", but the model's inputs are "
      "\"data\"; did you mean \"data\"?");
}

} // namespace
