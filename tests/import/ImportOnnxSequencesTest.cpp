//===- ImportOnnxSequencesTest.cpp - Sequences and optionals --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/import/ImportTestSupport.h"

namespace tinh::test {

class ImportOnnxSequences : public ImportTest {
protected:
  static std::string sequenceInfo(const std::string &field,
                                  const std::string &name) {
    return field + " { name: \"" + name + "\" type { " + kSequence + " } }\n";
  }
  static std::string optionalInfo(const std::string &name,
                                  const std::string &type) {
    return "input { name: \"" + name +
           "\" type { optional_type { elem_type { " + type + " } } } }\n";
  }

  static const std::string kTensor, kSequence, kX23;
};

const std::string ImportOnnxSequences::kTensor =
    "tensor_type { elem_type: 1 shape { dim { dim_value: 2 } "
    "dim { dim_param: \"N\" } } }";
const std::string ImportOnnxSequences::kSequence =
    "sequence_type { elem_type { " + kTensor + " } }";
const std::string ImportOnnxSequences::kX23 = tensorInfo("input", "x", {2, 3});

TEST_F(ImportOnnxSequences, AreTensorsAtInterfaces) {
  options.lengths["s"] = 2;
  options.shapes["s"] = {2, 3};
  options.shapes["s.1"] = {2, 4};
  std::string ir = importOnnx(model(sequenceInfo("input", "s") + kX23 +
                                    sequenceInfo("output", "t") + R"(
    initializer { name: "front" data_type: 7 int64_data: 0 }
    node { op_type: "SequenceInsert" input: "s" input: "x" input: "front"
           output: "t" })"));
  expectContains(ir, R"(%arg0: tensor<2x3xf32> {graph.name = "s.0"})");
  expectContains(ir, R"(%arg1: tensor<2x4xf32> {graph.name = "s.1"})");
  expectContains(ir, R"((tensor<2x3xf32> {graph.name = "t.0"}, )"
                     R"(tensor<2x3xf32> {graph.name = "t.1"}, )"
                     R"(tensor<2x4xf32> {graph.name = "t.2"}))");
  expectContains(ir, "return %arg2, %arg0, %arg1");
}

TEST_F(ImportOnnxSequences, Edits) {
  std::string ir =
      importOnnx(model(kX23 + tensorInfo("output", "y", {2, 2, 3}) +
                       tensorInfo("output", "n", {}, 7) + R"(
    initializer { name: "back" data_type: 7 int64_data: -1 }
    node { op_type: "SequenceEmpty" output: "a" }
    node { op_type: "Relu" input: "x" output: "r" }
    node { op_type: "Exp" input: "x" output: "e" }
    node { op_type: "SequenceInsert" input: "a" input: "x" output: "b" }
    node { op_type: "SequenceInsert" input: "b" input: "r" output: "c" }
    node { op_type: "SequenceInsert" input: "c" input: "e" input: "back"
           output: "d" }
    node { op_type: "SequenceErase" input: "d" output: "f" }
    node { op_type: "SequenceLength" input: "f" output: "n" }
    node { op_type: "ConcatFromSequence" input: "f" output: "y"
           attribute { name: "axis" type: INT i: 0 }
           attribute { name: "new_axis" type: INT i: 1 } })"));
  expectContains(ir, "graph.constant dense<2> : tensor<i64>");
  // x, the one put before the last, which is erased.
  expectContains(ir, "graph.reshape %arg0 : tensor<2x3xf32> to "
                     "tensor<1x2x3xf32>");
  expectContains(ir, "graph.concat");
  EXPECT_EQ(ir.find("graph.relu"), std::string::npos);
}

TEST_F(ImportOnnxSequences, LoopsBecomeTheirIterations) {
  std::string ir = importOnnx(model(kX23 + sequenceInfo("output", "t") + R"(
    initializer { name: "three" data_type: 7 int64_data: 3 }
    initializer { name: "true" data_type: 9 int32_data: 1 }
    node { op_type: "SequenceEmpty" output: "a" }
    node { name: "loop" op_type: "Loop" input: "three" input: "true" input: "a"
           output: "t" attribute { name: "body" type: GRAPH g {
      input { name: "i" } input { name: "go" } input { name: "s" }
      node { op_type: "Cast" input: "i" output: "f"
             attribute { name: "to" type: INT i: 1 } }
      node { op_type: "Mul" input: "x" input: "f" output: "p" }
      node { op_type: "SequenceInsert" input: "s" input: "p" output: "s2" }
      output { name: "go" } output { name: "s2" } } } })"));
  expectContains(ir, R"({graph.name = "t.2"})");
  EXPECT_EQ(ir.find("graph.scan"), std::string::npos);
  EXPECT_EQ(ir.find("t.3"), std::string::npos);
}

TEST_F(ImportOnnxSequences, MapsGraphsOverPositions) {
  options.lengths["s"] = 2;
  options.shapes["s"] = {2, 3};
  const std::string map = R"(
    node { name: "map" op_type: "SequenceMap" input: "s" input: "x" output: "t"
           attribute { name: "body" type: GRAPH g {
      input { name: "a" } input { name: "b" }
      node { op_type: "Mul" input: "a" input: "b" output: "p" }
      output { name: "p" } } } })";
  std::string ir = importOnnx(model(sequenceInfo("input", "s") + kX23 +
                                    sequenceInfo("output", "t") + map));
  expectContains(ir, "graph.mul %arg0, %arg2");
  expectContains(ir, "graph.mul %arg1, %arg2");
  // All sequences have a tensor for each position.
  options.lengths["x"] = 3;
  options.shapes["x"] = {2, 3};
  EXPECT_EQ(
      importOnnx(model(sequenceInfo("input", "s") + sequenceInfo("input", "x") +
                       sequenceInfo("output", "t") + map)),
      "error: node \"map\" (SequenceMap): input 1: expected a tensor or "
      "a sequence of 2 as input 0 is, found a sequence of 3 tensors");
}

TEST_F(ImportOnnxSequences, BranchesMakeEqualOnes) {
  auto branches = [this](const std::string &inputs) {
    return importOnnx(model(kX23 + tensorInfo("input", "c", {}, 9) +
                            sequenceInfo("output", "t") + R"(
      node { name: "if" op_type: "If" input: "c" output: "t"
        attribute { name: "then_branch" type: GRAPH g {
          node { op_type: "Relu" input: "x" output: "r" }
          node { op_type: "SequenceConstruct" input: "x" input: "r"
                 output: "a" }
          output { name: "a" } } }
        attribute { name: "else_branch" type: GRAPH g {
          node { op_type: "SequenceConstruct" )" +
                            inputs + R"( output: "b" }
          output { name: "b" } } } })"));
  };
  std::string ir = branches(R"(input: "x" input: "x")");
  expectContains(ir, "graph.yield %arg0, %arg0");
  expectContains(ir, "return %0#0, %0#1");
  EXPECT_EQ(branches(R"(input: "x")"),
            "error: node \"if\" (If): output 0 (\"t\") is a sequence of 2 "
            "tensors in one branch and a sequence of 1 tensor in the other; "
            "the condition (input \"c\") must be a constant: shapes are fixed "
            "when the model is compiled");
}

TEST_F(ImportOnnxSequences, OptionalsAreThereOrNot) {
  std::string nodes = tensorInfo("output", "y", {2, 3}) + kX23 + R"(
    node { op_type: "OptionalHasElement" input: "o" output: "has" }
    node { name: "if" op_type: "If" input: "has" output: "y"
      attribute { name: "then_branch" type: GRAPH g {
        node { name: "get" op_type: "OptionalGetElement" input: "o"
               output: "e" }
        output { name: "e" } } }
      attribute { name: "else_branch" type: GRAPH g { output { name: "x" } } }
    })";
  std::string text = model(optionalInfo("o", kTensor) + nodes);
  options.shapes["o"] = {2, 3};
  options.lengths["o"] = 1;
  expectContains(importOnnx(text), "return %arg0");
  options.shapes.clear();
  options.lengths["o"] = ImportOptions::kAbsent;
  std::string ir = importOnnx(text);
  EXPECT_EQ(ir.find("graph.name = \"o\""), std::string::npos);
  expectContains(ir, "return %arg0");
  EXPECT_EQ(
      importOnnx(model(optionalInfo("o", kTensor) +
                       tensorInfo("output", "y", {2, 3}) + R"(
    node { name: "g" op_type: "OptionalGetElement" input: "o" output: "y" })")),
      "error: node \"g\" (OptionalGetElement): input 0 is an optional that has "
      "nothing");
}

TEST_F(ImportOnnxSequences, LengthsThatAreWrong) {
  std::string sequence = model(sequenceInfo("input", "s") + kX23 +
                               tensorInfo("output", "n", {}, 7) + R"(
    node { op_type: "SequenceLength" input: "s" output: "n" })");
  EXPECT_EQ(
      importOnnx(sequence),
      "error: input \"s\": it is a sequence; say how many tensors it has, "
      "as in --length s=2");
  options.lengths["s"] = 1;
  EXPECT_EQ(importOnnx(sequence),
            "error: input \"s.0\" has the open shape [2, ?]; give it a fixed "
            "one, as in --shape s.0=2x1");
  options.lengths["x"] = 2;
  expectContains(importOnnx(sequence), "a length was given for a tensor");
  options.lengths.erase("x");
  options.lengths["z"] = 2;
  expectContains(importOnnx(sequence), "a length was given for \"z\", but the "
                                       "model's inputs are \"s\", \"x\"");
  options.lengths.erase("z");
  options.lengths["s"] = ImportOptions::kAbsent;
  EXPECT_EQ(importOnnx(sequence), "error: input \"s\": a sequence is there, if "
                                  "it is not optional; give its length");
  options.lengths["s"] = -3;
  EXPECT_EQ(importOnnx(sequence),
            "error: input \"s\": there are no -3 tensors");
  options.lengths["s"] = 1000000;
  expectContains(importOnnx(sequence), "beyond any sequence");
  options.lengths.clear();
  std::string optional =
      model(optionalInfo("o", kTensor) + tensorInfo("output", "y", {}, 9) + R"(
    node { op_type: "OptionalHasElement" input: "o" output: "y" })");
  EXPECT_EQ(importOnnx(optional),
            "error: input \"o\": it is optional; say whether it is there, as "
            "in --length o=1, or =absent");
  options.lengths["o"] = 2;
  EXPECT_EQ(importOnnx(optional), "error: input \"o\": it is one tensor or "
                                  "none, and 2 were given as its length");
}

TEST_F(ImportOnnxSequences, ValuesOfTensors) {
  options.lengths["s"] = 2;
  options.shapes["s"] = {2, 1};
  options.inputValues["s.1"] = "7";
  std::string text =
      model(sequenceInfo("input", "s") + sequenceInfo("output", "t") + R"(
    node { op_type: "Identity" input: "s" output: "t" })");
  std::string ir = importOnnx(text);
  expectContains(ir,
                 R"(@main(%arg0: tensor<2x1xf32> {graph.name = "s.0"}) ->)");
  expectContains(ir, "graph.constant dense<7.000000e+00> : tensor<2x1xf32>");
  options.inputValues = {{"s", "8"}, {"s.1", "7"}};
  ir = importOnnx(text);
  expectContains(ir, "@main() ->");
  expectContains(ir, "graph.constant dense<8.000000e+00> : tensor<2x1xf32>");
  // There is no tensor of this name.
  options.inputValues = {{"s.2", "1"}};
  EXPECT_EQ(importOnnx(text), "error: a value was given for \"s.2\", but the "
                              "model's inputs are \"s\"");
}

TEST_F(ImportOnnxSequences, OfWhatIsUnknownAreUnknown) {
  // All that is wrong is said, and nothing of what reads it.
  EXPECT_EQ(importOnnx(model(sequenceInfo("input", "s") + kX23 +
                             sequenceInfo("output", "t") +
                             sequenceInfo("output", "u") + R"(
    node { name: "wrong" op_type: "Softmax" input: "x" output: "w"
           attribute { name: "axis" type: INT i: 7 } }
    node { op_type: "SequenceConstruct" input: "x" input: "w" output: "a" }
    node { op_type: "SequenceInsert" input: "a" input: "x" output: "t" }
    node { op_type: "SequenceInsert" input: "s" input: "x" output: "u" }
    node { name: "map" op_type: "SequenceMap" input: "b" output: "m"
           attribute { name: "body" type: GRAPH g { input { name: "e" }
      node { name: "inner" op_type: "Add" input: "e" output: "f" }
      output { name: "f" } } } }
    node { op_type: "SequenceConstruct" input: "x" input: "x" output: "b" }
    node { name: "sum" op_type: "Add" input: "x" input: "b" output: "c" })")),
            "error: input \"s\": it is a sequence; say how many tensors it "
            "has, as in --length s=2\n"
            "node \"wrong\" (Softmax): axis 7 is outside a tensor of rank 2\n"
            "node \"inner\" (Add): expected 2 inputs, found 1\n"
            "node \"sum\" (Add): \"b\" is a sequence of 2 tensors; a tensor is "
            "needed here");
}

TEST_F(ImportOnnxSequences, HaveDimensionsThatTheRunDecides) {
  std::string ir = importOnnx(model(kX23 + tensorInfo("input", "c", {}, 9) +
                                    "output { name: \"y\" }\n" + R"(
    node { op_type: "NonZero" input: "x" output: "n" }
    node { op_type: "If" input: "c" output: "t"
      attribute { name: "then_branch" type: GRAPH g {
        node { op_type: "SequenceConstruct" input: "n" output: "a" }
        output { name: "a" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { op_type: "SequenceConstruct" input: "n" output: "b" }
        output { name: "b" } } } }
    initializer { name: "zero" data_type: 7 int64_data: 0 }
    node { op_type: "SequenceAt" input: "t" input: "zero" output: "e" }
    node { op_type: "Shape" input: "e" output: "y" })"));
  // Its shape is no constant.
  expectContains(ir, "graph.dimension_size %");
}

TEST_F(ImportOnnxSequences, GraphsWithinHaveNamesOfTheirOwn) {
  // In the body, "a" is a tensor.
  std::string ir = importOnnx(model(kX23 + sequenceInfo("output", "t") + R"(
    node { op_type: "SequenceConstruct" input: "x" input: "x" output: "a" }
    node { op_type: "SequenceMap" input: "a" output: "t"
           attribute { name: "body" type: GRAPH g { input { name: "a" }
      node { op_type: "Identity" input: "a" output: "i" }
      output { name: "i" } } } })"));
  expectContains(ir, "return %arg0, %arg0");
}

TEST_F(ImportOnnxSequences, LoopsThatAreNotKnown) {
  auto loop = [this](const std::string &count, const std::string &goes) {
    return importOnnx(model(kX23 + tensorInfo("input", "m", {}, 7) +
                            tensorInfo("input", "c", {}, 9) +
                            sequenceInfo("output", "t") + R"(
    initializer { name: "many" data_type: 7 int64_data: 100000000 }
    initializer { name: "true" data_type: 9 int32_data: 1 }
    node { op_type: "SequenceEmpty" output: "a" }
    node { name: "l" op_type: "Loop" input: ")" +
                            count + R"(" input: "true" input: "a"
           output: "t" attribute { name: "body" type: GRAPH g {
      input { name: "i" } input { name: "go" } input { name: "s" }
      output { name: ")" + goes +
                            R"(" } output { name: "s" } } } })"));
  };
  EXPECT_EQ(loop("m", "go"),
            "error: node \"l\" (Loop): the trip count of a loop over sequences "
            "(input \"m\") must be a constant: shapes are fixed when the model "
            "is compiled");
  EXPECT_EQ(loop("many", "c"),
            "error: node \"l\" (Loop): whether a loop over sequences goes on "
            "must follow from constants");
  expectContains(loop("many", "go"), "more than 200000 nodes");
}

} // namespace tinh::test
