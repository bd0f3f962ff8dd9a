//===- ImportOnnxProblemsTest.cpp - Models with several errors ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/import/ImportTestSupport.h"

using namespace tinh::test;

namespace {

class ImportOnnxProblems : public ImportTest {};

const std::string kX23 = tensorInfo("input", "x", {2, 3});
const std::string kY = "output { name: \"y\" }\n";

TEST_F(ImportOnnxProblems, AllProblemsInTheOrderOfTheFile) {
  // Nothing is said of what reads what is wrong, nor of the output.
  EXPECT_EQ(
      importOnnx(R"(ir_version: 8 opset_import { version: 18 }
    opset_import { domain: "l" }
    functions { name: "F" domain: "l" input: "a" output: "b"
      opset_import { version: 18 }
      node { op_type: "Relu" input: "a" output: "b" } }
    graph { )" + kX23 +
                 tensorInfo("input", "c", {2}, 14) + R"(
    input { name: "o" type { tensor_type { elem_type: 1 shape {
      dim { dim_param: "n" } } } } }
    initializer { name: "w" dims: 3 data_type: 1 float_data: 1 }
    initializer { name: "v" dims: 3 data_type: 99 }
    node { name: "late" op_type: "Softmax" input: "early" output: "l"
           attribute { name: "axis" type: INT i: 7 } }
    node { name: "attributes" op_type: "Softmax" input: "x" output: "s"
           attribute { name: "axis" type: STRING s: "1" }
           attribute { name: "axis" type: INT i: 1 } }
    node { name: "weights" op_type: "Gemm" input: "x" input: "w" input: "v"
           output: "g" }
    node { name: "again" op_type: "Add" input: "x" input: "w" output: "a" }
    node { name: "grok" op_type: "Grok" input: "x" output: "k" }
    node { name: "types" op_type: "Not" input: "x" output: "n" }
    node { name: "call" op_type: "F" domain: "l" input: "x" input: "x"
           output: "f" }
    node { name: "input" op_type: "Exp" input: "c" output: "e" }
    node { name: "missing" op_type: "Exp" input: "nothing" output: "m" }
    node { name: "same" op_type: "Exp" input: "nothing" output: "m2" }
    node { name: "after" op_type: "Sum" input: "s" input: "g" input: "f"
           input: "k" input: "o" output: "y" }
    node { name: "twice" op_type: "Exp" input: "x" output: "e" }
    node { name: "early" op_type: "Relu" input: "x" output: "early" })" +
                 kY + "output { name: \"z\" } }"),
      "error: input \"c\": element type COMPLEX64 is not supported\n"
      "input \"o\" has the open shape [n]; give it a fixed one, as in --shape "
      "o=1\n"
      "the model has 1 node of 1 op not supported:\n"
      "  ai.onnx.Grok (opset 18), 1 node: \"grok\"\n"
      "node \"late\" (Softmax): axis 7 is outside a tensor of rank 2\n"
      "node \"attributes\" (Softmax): attribute axis: expected INT, found "
      "STRING\n"
      "node \"attributes\" (Softmax): attribute axis is given twice\n"
      "node \"weights\" (Gemm): tensor \"w\": expected 3 elements for 3xf32, "
      "found 1\n"
      "node \"weights\" (Gemm): tensor \"v\": element type 99 is not "
      "supported\n"
      "node \"types\" (Not): input 0 (\"x\"): expected elements of BOOL, found "
      "FLOAT\n"
      "node \"call\" (F): the function has 1 inputs and 1 outputs, the node 2 "
      "and 1\n"
      "node \"missing\" (Exp): its input \"nothing\" is no input or constant "
      "of "
      "the graph and no node's output\n"
      "tensor \"e\" is made twice, by node \"input\" (Exp) and node \"twice\" "
      "(Exp)\n"
      "output \"z\": tensor \"z\" is not defined");
}

TEST_F(ImportOnnxProblems, ProblemsInGraphsWithinTheGraph) {
  std::string branches = R"(
      attribute { name: "then_branch" type: GRAPH g { output { name: "t" }
        node { name: "n1" op_type: "Softmax" input: "x" output: "t"
               attribute { name: "axis" type: INT i: 7 } }
        node { name: "n2" op_type: "Exp" input: "t" output: "u" } } }
      attribute { name: "else_branch" type: GRAPH g { output { name: "e" }
        output { name: "e2" }
        node { name: "n3" op_type: "Add" input: "x" output: "e" }
        node { name: "n4" op_type: "Exp" input: "x" output: "e2" } } })";
  std::string text = model(kX23 + tensorInfo("input", "c", {}, 9) + kY + R"(
    node { name: "if" op_type: "If" input: "c" output: "i" output: "j")" +
                           branches + R"( }
    node { name: "reads" op_type: "Add" input: "x" input: "i" output: "y" }
    node { name: "last" op_type: "MatMul" input: "x" input: "x" output: "z" })");
  const std::string then = "error: node \"if\" (If): attribute then_branch: "
                           "expected a graph of 2 outputs, found 1\n";
  const std::string last =
      "node \"last\" (MatMul): graph.matmul: inner dimensions 3 and 2 differ: "
      "a is 2x3xf32, b is 2x3xf32";
  EXPECT_EQ(importOnnx(text), then + last);
  // What both branches have is said; of the node that has them, nothing.
  text.replace(text.find("output { name: \"t\" }"), 22,
               "output { name: \"t\" } output { name: \"u\" }");
  EXPECT_EQ(importOnnx(text),
            "error: node \"n1\" (Softmax): axis 7 is outside a tensor of rank "
            "2\nnode \"n3\" (Add): expected 2 inputs, found 1\n" +
                last);
}

TEST_F(ImportOnnxProblems, CountsWhatIsNotShown) {
  auto messagesOf = [this](int count) {
    std::string nodes;
    for (int i = 0; i < count; ++i)
      nodes += "node { op_type: \"Add\" input: \"x\" output: \"n" +
               std::to_string(i) + "\" }\n";
    return importOnnx(model(kX23 + "output { name: \"n0\" }" + nodes));
  };
  std::string all = messagesOf(20);
  expectContains(all, "node \"n19\" (Add): expected 2 inputs, found 1");
  EXPECT_EQ(messagesOf(21), all + "\nthere is 1 more error");
  EXPECT_EQ(messagesOf(27), all + "\nthere are 7 more errors");
}

TEST_F(ImportOnnxProblems, CyclesLeaveTheRest) {
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    node { name: "p" op_type: "Add" input: "x" input: "b" output: "a" }
    node { name: "q" op_type: "Relu" input: "a" output: "b" }
    node { name: "r" op_type: "Relu" input: "b" output: "y" }
    node { name: "s" op_type: "Add" input: "x" output: "z" })")),
            "error: the graph has a cycle: node \"p\" (Add) needs node \"q\" "
            "(Relu) needs node \"p\" (Add)\n"
            "node \"s\" (Add): expected 2 inputs, found 1");
}

TEST_F(ImportOnnxProblems, AllCycles) {
  // Of b and a, and b depends on the next; of d and c, which are in two; and of
  // e alone.
  EXPECT_EQ(importOnnx(model(kX23 + kY + R"(
    node { name: "last" op_type: "Sum" input: "b" input: "d" input: "e"
           output: "y" }
    node { name: "a" op_type: "Relu" input: "b" output: "a" }
    node { name: "b" op_type: "Sum" input: "d" input: "a" output: "b" }
    node { name: "between" op_type: "Relu" input: "c" output: "m" }
    node { name: "c" op_type: "Relu" input: "d" output: "c" }
    node { name: "d" op_type: "Sum" input: "m" input: "c" output: "d" }
    node { name: "e" op_type: "Relu" input: "e" output: "e" })")),
            "error: the graph has a cycle: node \"b\" (Sum) needs node \"a\" "
            "(Relu) needs node \"b\" (Sum)\n"
            "the graph has a cycle: node \"d\" (Sum) needs node \"between\" "
            "(Relu) needs node \"c\" (Relu) needs node \"d\" (Sum)\n"
            "the graph has a cycle: node \"e\" (Relu) needs node \"e\" (Relu)");
}

} // namespace
