//===- ImportOnnxErrorsTest.cpp - What is said of wrong ONNX models -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/import/ImportTestSupport.h"

#include <filesystem>

using namespace tinh::test;

namespace {

class ImportOnnxErrors : public ImportTest {};

const std::string kX23 = tensorInfo("input", "x", {2, 3});
const std::string kY = "output { name: \"y\" }\n";

std::string weight(const std::string &external) {
  return kX23 + kY + R"(
    initializer { name: "w" dims: 3 dims: 4 data_type: 1 data_location: EXTERNAL )" +
         external + R"( }
    node { op_type: "MatMul" input: "x" input: "w" output: "y" })";
}

std::string location(const std::string &value) {
  return "external_data { key: \"location\" value: \"" + value + "\" }";
}

TEST_F(ImportOnnxErrors, ListsAllUnsupportedOps) {
  EXPECT_EQ(importOnnx(R"(ir_version: 8 opset_import { version: 18 }
        opset_import { domain: "com.acme" version: 3 } graph { )" +
                       kX23 + kY + R"(
        node { name: "n1" op_type: "Frob" domain: "com.acme" input: "x" output: "a" }
        node { name: "n2" op_type: "Grok" input: "a" output: "b" }
        node { name: "n3" op_type: "Frob" domain: "com.acme" input: "b" output: "y" } })"),
            "error: the model has 3 nodes of 2 ops not supported:\n"
            "  com.acme.Frob (opset 3), 2 nodes: \"n1\", \"n3\"\n"
            "  ai.onnx.Grok (opset 18), 1 node: \"n2\"");
}

TEST_F(ImportOnnxErrors, NamesFileAndNode) {
  std::string path = writeOnnx(model(kX23 + kY + R"(
    node { name: "mm" op_type: "MatMul" input: "x" input: "x" output: "y" })"));
  EXPECT_EQ(import(path),
            "error: node \"mm\" (MatMul): graph.matmul: inner dimensions 3 and "
            "2 differ: a is 2x3xf32, b is 2x3xf32");
  expectContains(errorLocation, "\"mm\"");
  expectContains(errorLocation, path);
}

TEST_F(ImportOnnxErrors, Cycle) {
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    node { name: "p" op_type: "Add" input: "x" input: "b" output: "a" }
    node { name: "q" op_type: "Relu" input: "a" output: "b" }
    node { name: "r" op_type: "Relu" input: "b" output: "y" })")),
            "error: the graph has a cycle: node \"p\" (Add) needs node \"q\" "
            "(Relu) needs node \"p\" (Add)");
}

TEST_F(ImportOnnxErrors, Sequences) {
  auto messageOf = [this](const std::string &nodes) {
    return importOnnx(model(kX23 + kY + R"(
    initializer { name: "k" data_type: 7 int64_data: 3 }
    initializer { name: "none" data_type: 7 int64_data: 0 }
    initializer { name: "sizes" dims: 2 data_type: 7 int64_data: [2, 1] }
    node { name: "s" op_type: "SplitToSequence" input: "x" output: "s" })" +
                            nodes));
  };
  const std::string at = "error: node \"p\" (SequenceAt): ";
  EXPECT_EQ(messageOf(R"(
    node { name: "p" op_type: "SequenceAt" input: "s" input: "k" output: "y" })"),
            at + "there is no position 3 in a sequence of 2");
  EXPECT_EQ(messageOf(R"(
    node { name: "p" op_type: "SequenceAt" input: "x" input: "k" output: "y" })"),
            at + "input 0: expected a sequence of tensors, found 2x3xf32");
  // Wherever the sequence stands: Clip's last input is optional.
  const std::pair<std::string, std::string> kTakeTensors[] = {
      {"Relu", R"(input: "s")"},
      {"Flatten", R"(input: "s")"},
      {"Split", R"(input: "s")"},
      {"Gather", R"(input: "s" input: "k")"},
      {"Gather", R"(input: "x" input: "s")"},
      {"Concat", R"(input: "x" input: "s")"},
      {"SequenceConstruct", R"(input: "x" input: "s")"},
      {"SequenceAt", R"(input: "s" input: "s")"},
      {"Clip", R"(input: "x" input: "" input: "s")"}};
  for (const auto &[op, inputs] : kTakeTensors)
    EXPECT_EQ(messageOf("node { name: \"p\" op_type: \"" + op + "\" " + inputs +
                        " output: \"y\" }"),
              "error: node \"p\" (" + op +
                  "): \"s\" is a sequence of 2 tensors; a tensor is needed "
                  "here");
  const std::string split =
      "error: node \"p\" (SplitToSequence): cannot split ";
  EXPECT_EQ(messageOf(R"(
    node { name: "p" op_type: "SplitToSequence" input: "x" input: "none"
           output: "y" })"),
            split + "2 elements into pieces of 0");
  EXPECT_EQ(messageOf(R"(
    node { name: "p" op_type: "SplitToSequence" input: "x" input: "sizes"
           output: "y" })"),
            split + "2 elements into [2, 1]");
}

TEST_F(ImportOnnxErrors, MissingTensor) {
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    node { name: "p" op_type: "Add" input: "x" input: "b" output: "y" })")),
            "error: node \"p\" (Add): its input \"b\" is no input or constant "
            "of the graph and no node's output");
}

TEST_F(ImportOnnxErrors, TensorMadeTwice) {
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    node { name: "p" op_type: "Relu" input: "x" output: "y" }
    node { name: "q" op_type: "Exp" input: "x" output: "y" })")),
            "error: tensor \"y\" is made twice, by node \"p\" (Relu) and node "
            "\"q\" (Exp)");
}

TEST_F(ImportOnnxErrors, MissingOutput) {
  EXPECT_EQ(
      importOnnx(model(kX23 + "output { name: \"z\" }" +
                       R"(node { op_type: "Relu" input: "x" output: "y" })")),
      "error: output \"z\": tensor \"z\" is not defined");
}

TEST_F(ImportOnnxErrors, WrongNumberOfInputs) {
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    node { name: "p" op_type: "Add" input: "x" output: "y" })")),
            "error: node \"p\" (Add): expected 2 inputs, found 1");
}

TEST_F(ImportOnnxErrors, WrongAttributeType) {
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    node { name: "p" op_type: "Softmax" input: "x" output: "y"
           attribute { name: "axis" type: STRING s: "1" } })")),
            "error: node \"p\" (Softmax): attribute axis: expected INT, found "
            "STRING");
}

TEST_F(ImportOnnxErrors, AxisOutOfRange) {
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    node { name: "p" op_type: "Softmax" input: "x" output: "y"
           attribute { name: "axis" type: INT i: 2 } })")),
            "error: node \"p\" (Softmax): axis 2 is outside a tensor of rank "
            "2");
}

TEST_F(ImportOnnxErrors, NewOpset) {
  EXPECT_EQ(
      importOnnx(model(kX23 + kY + R"(
    node { name: "p" op_type: "Relu" input: "x" output: "y" })",
                       29)),
      "error: node \"p\" (Relu): operator set 29 is not supported; export "
      "the model for one from 1 to 28");
}

TEST_F(ImportOnnxErrors, OpenShape) {
  std::string text = model(R"(
    input { name: "x" type { tensor_type { elem_type: 1 shape {
      dim { dim_param: "batch" } dim { dim_value: 3 } } } } })" +
                           kY + R"(
    node { op_type: "Relu" input: "x" output: "y" })");
  EXPECT_EQ(importOnnx(text),
            "error: input \"x\" has the open shape [batch, 3]; give it a fixed "
            "one, as in --shape x=1x3");
  options.shapes["x"] = {2, 4};
  EXPECT_EQ(importOnnx(text),
            "error: input \"x\": the given shape [2, 4] has 4 in dimension 1, "
            "which the model fixes at 3");
  options.shapes.clear();
  options.shapes["z"] = {2, 3};
  expectContains(importOnnx(text),
                 "error: a shape was given for \"z\", but the "
                 "model's inputs are \"x\"\ninput \"x\" has");
}

TEST_F(ImportOnnxErrors, ValuesOfInputs) {
  std::string relu = R"(node { op_type: "Relu" input: "signal" output: "y" })";
  std::string floats = model(tensorInfo("input", "signal", {2, 2}) + kY + relu);
  options.inputValues["singal"] = "1";
  EXPECT_EQ(
      importOnnx(floats),
      "error: a value was given for \"singal\", but the model's inputs are "
      "\"signal\"; did you mean \"signal\"?");
  options.inputValues.clear();
  const std::string start = "error: input \"signal\": the given value ";
  auto messageOf = [&](const std::string &value) {
    options.inputValues["signal"] = value;
    return importOnnx(floats);
  };
  EXPECT_EQ(messageOf("1,2,3"), start + "has 3 elements; 2x2xf32 has 4");
  for (std::string wrong :
       {"", "one", "true", "\"inf\"", "1 2", "[1]", "1e999"})
    EXPECT_EQ(messageOf(wrong),
              start + "\"" + wrong + "\" is no element of 2x2xf32");
  EXPECT_EQ(messageOf("1,2,,4"), start + "\"\" is no element of 2x2xf32");
  floats = model(tensorInfo("input", "signal", {}, 7) + kY + relu);
  for (std::string wrong : {"0.5", "9223372036854775808", "inf"})
    EXPECT_EQ(messageOf(wrong),
              start + "\"" + wrong + "\" is no element of i64");
}

TEST_F(ImportOnnxErrors, ExternalDataOutsideTheFolder) {
  for (std::string path : {"../w.bin", "/etc/passwd", "a/../../w.bin"})
    EXPECT_EQ(importOnnx(model(weight(location(path)))),
              "error: node \"y\" (MatMul): tensor \"w\": external data \"" +
                  path +
                  "\" is outside the model's directory; only relative "
                  "paths without .. are read");
  std::filesystem::create_symlink("/etc/passwd", directory + "/link");
  EXPECT_EQ(importOnnx(model(weight(location("link")))),
            "error: node \"y\" (MatMul): tensor \"w\": external data \"link\" "
            "leads outside the model's directory by a symbolic link");
}

TEST_F(ImportOnnxErrors, ExternalDataMissingOrShort) {
  expectContains(importOnnx(model(weight(location("w.bin")))),
                 "w.bin does not exist");
  write("w.bin", std::string(47, 'a'));
  expectContains(importOnnx(model(weight(location("w.bin")))),
                 "its 48 bytes at 0 go beyond the end of ");
}

TEST_F(ImportOnnxErrors, SizesThatOverflow) {
  std::string huge = R"(initializer { name: "w" data_type: 1
      dims: 4611686018427387904 dims: 4 raw_data: "1234" })";
  EXPECT_EQ(importOnnx(model(kX23 + kY + huge + R"(
    node { op_type: "MatMul" input: "x" input: "w" output: "y" })")),
            "error: node \"y\" (MatMul): tensor \"w\": the shape "
            "[4611686018427387904, 4] is negative or beyond any memory");
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    initializer { name: "s" dims: 2 data_type: 7
                  int64_data: [4611686018427387904, 3] }
    node { name: "p" op_type: "Expand" input: "r" input: "s" output: "y" }
    node { name: "q" op_type: "ReduceSum" input: "x" output: "r" })")),
            "error: node \"p\" (Expand): the shape [4611686018427387904, 3] is "
            "negative or beyond any memory");
}

TEST_F(ImportOnnxErrors, TensorOfTheWrongSize) {
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    initializer { name: "w" dims: 3 data_type: 1 float_data: 1 }
    node { op_type: "Add" input: "x" input: "w" output: "y" })")),
            "error: node \"y\" (Add): tensor \"w\": expected 3 elements for "
            "3xf32, found 1");
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    initializer { name: "w" dims: 3 dims: 5 data_type: 22 raw_data: "1234567" }
    node { op_type: "Cast" input: "w" output: "y"
           attribute { name: "to" type: INT i: 1 } })")),
            "error: node \"y\" (Cast): tensor \"w\": expected 8 bytes for "
            "8xui8, found 7, as bytes hold 2 elements of INT4");
}

TEST_F(ImportOnnxErrors, FilesThatAreNoModels) {
  expectContains(import(directory + "/none.onnx"), "cannot read the file: ");
  EXPECT_EQ(import(write("empty.onnx", "")), "error: the file is empty");
  expectContains(import(write("random.onnx", "\xff\xfe random")),
                 "not a valid ONNX model");
  expectContains(import(write("other.onnx", std::string("\x08\x08", 2))),
                 "it holds no graph");
}

TEST_F(ImportOnnxErrors, ModelsTruncatedAnywhere) {
  std::string text = model(kX23 + kY + R"(
    initializer { name: "w" dims: 3 dims: 100 data_type: 1 raw_data: ")" +
                           std::string(1200, 'a') + R"(" }
    node { op_type: "MatMul" input: "x" input: "w" output: "y" })");
  std::string path = writeOnnx(text);
  uintmax_t size = std::filesystem::file_size(path);
  while (size-- > 0) {
    std::filesystem::resize_file(path, size);
    EXPECT_EQ(import(path).substr(0, 7), "error: ") << size << " bytes";
  }
}

TEST_F(ImportOnnxErrors, RecursiveFunction) {
  expectContains(importOnnx(R"(
    ir_version: 8 opset_import { version: 18 }
    functions { name: "F" domain: "l" input: "a" output: "b"
      opset_import { version: 18 }
      node { op_type: "F" domain: "l" input: "a" output: "b" } }
    graph { )" + kX23 + kY + R"(
      node { op_type: "F" domain: "l" input: "x" output: "y" } })"),
                 "node \"y\": function F calls itself; functions are expanded");
}

/// A function of the domain "l" with the nodes `nodes`, from a to b.
std::string function(const std::string &name, const std::string &nodes) {
  return "functions { name: \"" + name +
         "\" domain: \"l\" input: \"a\" output: \"b\" "
         "opset_import { version: 18 } opset_import { domain: \"l\" } " +
         nodes + "}\n";
}

std::string call(const std::string &name, const std::string &input,
                 const std::string &output) {
  return "node { op_type: \"" + name + "\" domain: \"l\" input: \"" + input +
         "\" output: \"" + output + "\" }\n";
}

/// Functions F0, F1, … of which each calls the one before it twice.
std::string doublingFunctions(int levels) {
  std::string text =
      "ir_version: 8 opset_import { version: 18 } " + function("F0", R"(
      node { op_type: "Sin" input: "a" output: "b" })");
  for (int i = 1; i < levels; ++i) {
    std::string before = "F" + std::to_string(i - 1);
    text += function("F" + std::to_string(i),
                     call(before, "a", "m") + call(before, "m", "b"));
  }
  return text + "graph { " + kX23 + kY +
         call("F" + std::to_string(levels - 1), "x", "y") + "}";
}

TEST_F(ImportOnnxErrors, FunctionsAreCountedBeforeTheyAreExpanded) {
  EXPECT_EQ(importOnnx(doublingFunctions(20)),
            "error: the model's functions expand to 524288 nodes; at most "
            "200000 are supported, as each call is a copy of the function: "
            "what is repeated can be the body of a Loop");
  expectContains(importOnnx(doublingFunctions(60)),
                 "expand to more than 1000000000 nodes");
  expectContains(importOnnx(doublingFunctions(65)),
                 "node \"y\": function F64 calls functions that call each "
                 "other more than 64 deep");
}

TEST_F(ImportOnnxErrors, FunctionsThatCallThemselvesFarAway) {
  // By way of another one, and in a branch.
  std::string branch = "attribute { name: \"NAME\" type: GRAPH g { output { "
                       "name: \"c\" } " +
                       call("F", "a", "c") + "} }";
  std::string branches = branch + branch;
  branches.replace(branches.find("NAME"), 4, "then_branch");
  branches.replace(branches.find("NAME"), 4, "else_branch");
  std::string wrong = importOnnx(
      "ir_version: 8 opset_import { version: 18 } " +
      function("F", call("G", "a", "b")) +
      function("G", "node { op_type: \"If\" input: \"a\" output: \"b\" " +
                        branches + " }") +
      "graph { " + kX23 + kY + call("F", "x", "y") + "}");
  expectContains(wrong, "function F calls itself, by way of G");
}

TEST_F(ImportOnnxErrors, GraphsThatFunctionsRepeat) {
  // Each level has two copies of the graph that it is given.
  std::string text = R"(node { op_type: "Sin" input: "x" output: "c" })";
  for (int i = 0; i < 18; ++i)
    text = R"(node { op_type: "F" domain: "l" input: "x" output: "c"
      attribute { name: "body" type: GRAPH
                  g { output { name: "c" } )" +
           text + "} } }";
  text.replace(text.find("output: \"c\""), 11, "output: \"y\"");
  std::string twice = R"(node { op_type: "If" input: "a" output: "b"
      attribute { name: "then_branch" type: GRAPH ref_attr_name: "body" }
      attribute { name: "else_branch" type: GRAPH ref_attr_name: "body" } })";
  expectContains(importOnnx("ir_version: 8 opset_import { version: 18 } "
                            "opset_import { domain: \"l\" } " +
                            function("F", twice) + "graph { " + kX23 + kY +
                            text + "}"),
                 "the model's functions expand to ");
}

TEST_F(ImportOnnxErrors, DefinedTwice) {
  std::string add = R"(
    node { op_type: "Add" input: "x" input: "w" output: "y" })";
  std::string w = R"(initializer { name: "w" dims: 1 data_type: 1
    float_data: 1 })";
  EXPECT_EQ(importOnnx(model(kX23 + kY + w + w + add)),
            "error: the model has two initializers \"w\"");
  EXPECT_EQ(
      importOnnx(model(kX23 + tensorInfo("input", "w", {4}) + kY + w + add)),
      "error: input \"w\" is declared as FLOAT [4], but its initializer "
      "is FLOAT [1]");
  EXPECT_EQ(
      importOnnx(model(kX23 + tensorInfo("input", "w", {1}, 7) + kY + w + add)),
      "error: input \"w\" is declared as INT64 [1], but its initializer "
      "is FLOAT [1]");
  std::string start = "ir_version: 8 opset_import { version: 18 } ";
  std::string graph = "graph { " + kX23 + kY + R"(
    node { op_type: "Relu" input: "x" output: "y" } })";
  EXPECT_EQ(
      importOnnx(start + R"(
      opset_import { domain: "ai.onnx" version: 17 } )" +
                 graph),
      "error: the model imports two versions of the operator set ai.onnx");
  EXPECT_EQ(importOnnx(start + R"(
      opset_import { domain: "ai.onnx" version: 18 } )" +
                       graph)
                .find("error"),
            std::string::npos);
  std::string function = R"(functions { name: "F" domain: "l" input: "a"
      output: "b" opset_import { version: 18 }
      node { op_type: "Relu" input: "a" output: "b" } } )";
  EXPECT_EQ(importOnnx(start + function + function + graph),
            "error: the model defines the function l.F twice");
}

} // namespace
