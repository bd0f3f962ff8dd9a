//===- ImportOnnxControlFlowTest.cpp - What If, Loop, Scan become ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/import/ImportTestSupport.h"

using namespace tinh::test;

namespace {

class ImportOnnxControlFlow : public ImportTest {
protected:
  /// A Loop over x, [2, 3], with a body of this text.
  std::string loop(const std::string &body, const std::string &count,
                   const std::string &condition,
                   const std::string &outputs = R"(output: "y")",
                   const std::string &declared = kY) {
    return importOnnx(model(kX + tensorInfo("input", "m", {}, 7) +
                            tensorInfo("input", "c", {}, 9) + declared + R"(
        initializer { name: "five" data_type: 7 int64_data: 5 }
        initializer { name: "many" data_type: 7 int64_data: 3000000000 }
        initializer { name: "billion" data_type: 7 int64_data: 1000000000 }
        initializer { name: "most" data_type: 7 int64_data: 9223372036854775807 }
        initializer { name: "true" data_type: 9 int32_data: 1 }
        node { name: "loop" op_type: "Loop" input: ")" +
                            count + R"(" input: ")" + condition +
                            R"(" input: "x" )" + outputs +
                            R"( attribute { name: "body" type: GRAPH g {
          input { name: "i" } input { name: "go" } input { name: "a" } )" +
                            body + "} } }"));
  }

  static const std::string kX, kY, kKeep, kAdd;
};

const std::string ImportOnnxControlFlow::kX = tensorInfo("input", "x", {2, 3});
const std::string ImportOnnxControlFlow::kY = "output { name: \"y\" }\n";
/// The condition as it comes.
const std::string ImportOnnxControlFlow::kKeep =
    R"(node { op_type: "Identity" input: "go" output: "go2" }
       output { name: "go2" } )";
/// The next value of `a`, with a tensor of the graph around.
const std::string ImportOnnxControlFlow::kAdd =
    R"(node { name: "sum" op_type: "Add" input: "a" input: "x" output: "b" }
       output { name: "b" } )";

TEST_F(ImportOnnxControlFlow, IfReadsTensorsFromAround) {
  std::string ir = importOnnx(model(kX + tensorInfo("input", "c", {1}, 9) + kY +
                                    R"(
    initializer { name: "w" data_type: 1 float_data: 2.5 }
    node { op_type: "If" input: "c" output: "t"
      attribute { name: "then_branch" type: GRAPH g {
        node { op_type: "Mul" input: "x" input: "w" output: "a" }
        output { name: "a" } } }
      attribute { name: "else_branch" type: GRAPH g { output { name: "x" } } } }
    node { op_type: "Add" input: "t" input: "w" output: "y" })"));
  expectContains(ir,
                 R"(    %0 = graph.reshape %arg1 : tensor<1xi1> to tensor<i1>
    %1 = graph.constant dense<2.500000e+00> : tensor<f32>
    %2 = graph.if %0 : (tensor<2x3xf32>) {
      %4 = graph.mul %arg0, %1 : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
      graph.yield %4 : tensor<2x3xf32>
    } else {
      graph.yield %arg0 : tensor<2x3xf32>
    }
    %3 = graph.add %2, %1)");
}

TEST_F(ImportOnnxControlFlow, LoopOfAKnownCountIsAScan) {
  std::string ir = loop(kKeep + kAdd, "five", "");
  expectContains(
      ir,
      R"(    %0 = graph.scan %arg3 length 5 carry (%arg4 = %arg0) : (tensor<2x3xf32>) -> (tensor<2x3xf32>) {
      %1 = graph.add %arg4, %arg0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
      graph.yield %1 : tensor<2x3xf32>
    })");
  EXPECT_EQ(loop(kKeep + kAdd, "five", "true"), ir);
}

TEST_F(ImportOnnxControlFlow, ConditionThatMayChangeEndsTheScan) {
  std::string ir = loop(R"(
    initializer { name: "three" data_type: 7 int64_data: 3 }
    node { op_type: "Less" input: "i" input: "three" output: "go2" }
    output { name: "go2" })" +
                            kAdd,
                        "five", "c");
  expectContains(ir, "length 5 while %arg2 carry (%arg4 = %arg0)");
  expectContains(ir, "graph.compare less %arg3, ");
  expectContains(ir, "graph.yield %2, %3 : tensor<i1>, tensor<2x3xf32>");
}

TEST_F(ImportOnnxControlFlow, LoopOfAnyCountIsAWhile) {
  std::string ir = loop(kKeep + kAdd, "m", "c");
  expectContains(
      ir,
      R"(%1:3 = graph.while (%arg3 = %0, %arg4 = %arg2, %arg5 = %arg0) : (tensor<i64>, tensor<i1>, tensor<2x3xf32>) {
      %2 = graph.compare less %arg3, %arg1 : tensor<i64>, tensor<i64> -> tensor<i1>
      %3 = graph.and %2, %arg4 : tensor<i1>, tensor<i1> -> tensor<i1>
      graph.condition %3
    } do (%arg3, %arg4, %arg5) {)");
  expectContains(ir, "return %1#2");
}

TEST_F(ImportOnnxControlFlow, LoopThatStacksRows) {
  std::string rows = R"(node { op_type: "Exp" input: "b" output: "r" }
                        output { name: "r" })";
  std::string outputs = R"(output: "" output: "y")";
  expectContains(loop(kKeep + kAdd + rows, "five", "", outputs),
                 "-> (tensor<2x3xf32>, tensor<5x2x3xf32>)");
  std::string ir = loop(kKeep + kAdd + rows, "m", "c", outputs,
                        tensorInfo("output", "y", {7, 2, 3}));
  expectContains(ir, "length 7 trip_count %arg1 while %arg2 carry");
  expectContains(ir, "tensor<7x2x3xf32>) {");
}

TEST_F(ImportOnnxControlFlow, LoopsThatDoNotRun) {
  for (const char *inputs :
       {R"(input: "zero" input: "")", R"(input: "m" input: "false")"}) {
    std::string ir =
        importOnnx(model(kX + tensorInfo("input", "m", {}, 7) + kY + R"(
      initializer { name: "zero" data_type: 7 int64_data: 0 }
      initializer { name: "false" data_type: 9 int32_data: 0 }
      node { op_type: "Loop" )" +
                         inputs +
                         R"( input: "x" output: "" output: "y"
        attribute { name: "body" type: GRAPH g {
          input { name: "i" } input { name: "go" } input { name: "a" } )" +
                         kKeep + kAdd + R"(output { name: "b" } } } })"));
    expectContains(ir, "length 0 carry (%arg3 = %arg0)");
    expectContains(ir, "-> (tensor<2x3xf32>, tensor<0x2x3xf32>)");
  }
}

TEST_F(ImportOnnxControlFlow, NestedBodiesReadFromAllAround) {
  std::string ir = loop(kKeep + R"(
    node { op_type: "If" input: "c" output: "b"
      attribute { name: "then_branch" type: GRAPH g {
        node { op_type: "Add" input: "a" input: "x" output: "t" }
        output { name: "t" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { op_type: "Exp" input: "a" output: "e" }
        output { name: "e" } } } }
    output { name: "b" })",
                        "five", "");
  expectContains(ir, "graph.if %arg2 : (tensor<2x3xf32>) {\n"
                     "        %2 = graph.add %arg4, %arg0");
}

TEST_F(ImportOnnxControlFlow, FunctionsInBodies) {
  std::string body =
      kKeep + R"(node { op_type: "F" domain: "l" input: "a" output: "b" }
                 output { name: "b" })";
  std::string ir = importOnnx(R"(
    ir_version: 8 opset_import { version: 18 } opset_import { domain: "l" version: 1 }
    functions { name: "F" domain: "l" input: "f" output: "g"
      opset_import { version: 18 }
      node { op_type: "Loop" input: "n" input: "" input: "f" output: "g"
        attribute { name: "body" type: GRAPH g {
          input { name: "i" } input { name: "go" } input { name: "a" }
          node { op_type: "Mul" input: "a" input: "f" output: "b" }
          output { name: "go" } output { name: "b" } } } }
      node { op_type: "Constant" output: "n"
        attribute { name: "value_int" type: INT i: 3 } } }
    graph { )" + kX + kY + R"(
      initializer { name: "five" data_type: 7 int64_data: 5 }
      node { op_type: "Loop" input: "five" input: "" input: "x" output: "y"
        attribute { name: "body" type: GRAPH g {
          input { name: "i" } input { name: "go" } input { name: "a" } )" +
                              body + "} } } }");
  expectContains(ir, "length 5 carry (%arg2 = %arg0)");
  expectContains(ir, "length 3 carry (%arg4 = %arg2)");
  expectContains(ir, "graph.mul %arg4, %arg2");
}

TEST_F(ImportOnnxControlFlow, ScanAlongAnyAxisBackwards) {
  std::string ir = importOnnx(model(kX + tensorInfo("input", "s", {2}) + kY +
                                    R"(
    node { op_type: "Scan" input: "s" input: "x" output: "" output: "y"
      attribute { name: "num_scan_inputs" type: INT i: 1 }
      attribute { name: "scan_input_axes" type: INTS ints: -1 }
      attribute { name: "scan_input_directions" type: INTS ints: 1 }
      attribute { name: "scan_output_axes" type: INTS ints: 1 }
      attribute { name: "scan_output_directions" type: INTS ints: 1 }
      attribute { name: "body" type: GRAPH g {
        input { name: "a" } input { name: "row" }
        node { op_type: "Add" input: "a" input: "row" output: "b" }
        output { name: "b" } output { name: "b" } } } })"));
  expectContains(
      ir,
      R"(%0 = graph.transpose %arg0 [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    %1 = graph.slice %0 starts [2, 0] sizes [3, 2] steps [-1, 1] : tensor<3x2xf32> -> tensor<3x2xf32>
    %2:2 = graph.scan %arg2 length 3 carry (%arg3 = %arg1) over (%arg4 = %1) : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
      %5 = graph.add %arg3, %arg4 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
      graph.yield %5, %5 : tensor<2xf32>, tensor<2xf32>
    }
    %3 = graph.slice %2#1 starts [2, 0] sizes [3, 2] steps [-1, 1] : tensor<3x2xf32> -> tensor<3x2xf32>
    %4 = graph.transpose %3 [1, 0])");
}

TEST_F(ImportOnnxControlFlow, ScanOfOperatorSet8HasABatch) {
  std::string ir =
      importOnnx(model(tensorInfo("input", "s", {4, 2}) +
                           tensorInfo("input", "x", {4, 3, 2}) + kY + R"(
    node { op_type: "Scan" input: "" input: "s" input: "x" output: "" output: "y"
      attribute { name: "num_scan_inputs" type: INT i: 1 }
      attribute { name: "body" type: GRAPH g {
        input { name: "a" } input { name: "row" }
        node { op_type: "Add" input: "a" input: "row" output: "b" }
        output { name: "b" } output { name: "b" } } } })",
                       8));
  expectContains(ir, "length 4 over (%arg3 = %arg0, %arg4 = %arg1) : "
                     "(tensor<4x2xf32>, tensor<4x3x2xf32>) -> "
                     "(tensor<4x2xf32>, tensor<4x3x2xf32>) {");
  expectContains(ir, "length 3 carry (%arg6 = %arg3) over (%arg7 = %arg4)");
}

/// The products with the inputs are taken out of the steps; a reverse layer
/// goes over reversed rows.
TEST_F(ImportOnnxControlFlow, RecurrentLayersAreScans) {
  std::string ir =
      importOnnx(model(tensorInfo("input", "x", {700, 2, 3}) +
                       tensorInfo("input", "w", {1, 16, 3}) +
                       tensorInfo("input", "r", {1, 16, 4}) + kY + R"(
    node { op_type: "LSTM" input: "x" input: "w" input: "r" output: "y"
           attribute { name: "direction" type: STRING s: "reverse" } })"));
  expectContains(ir, "transpose_b : tensor<1400x3xf32>");
  expectContains(ir, "graph.slice %6 starts [699, 0, 0] sizes [700, 2, 16] "
                     "steps [-1, 1, 1]");
  expectContains(ir, "length 700 carry (");
  expectContains(ir, ": (tensor<2x4xf32>, tensor<2x4xf32>, "
                     "tensor<700x2x16xf32>) -> (tensor<2x4xf32>, "
                     "tensor<2x4xf32>, tensor<700x2x4xf32>) {");
  EXPECT_EQ(ir.find("graph.sigmoid", ir.find("graph.yield")),
            std::string::npos);
}

TEST_F(ImportOnnxControlFlow, BranchesOfDifferentShapes) {
  std::string ir =
      importOnnx(model(kX + tensorInfo("input", "c", {}, 9) + kY + R"(
    node { name: "if" op_type: "If" input: "c" output: "y"
      attribute { name: "then_branch" type: GRAPH g { output { name: "x" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { op_type: "Transpose" input: "x" output: "t" }
        output { name: "t" } } } })"));
  expectContains(ir, "graph.pad %arg0, ");
  expectContains(ir, "low [0, 0] high [1, 0] constant");
  expectContains(ir, "dimension 0 : tensor<3x3xf32>");
  expectContains(ir, "low [0, 0] high [0, 1] constant");
  expectContains(ir, "dimension 1 : tensor<3x3xf32>");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(ImportOnnxControlFlow, BranchesOfDifferentRanks) {
  EXPECT_EQ(
      importOnnx(model(kX + tensorInfo("input", "c", {}, 9) + kY + R"(
    node { name: "if" op_type: "If" input: "c" output: "y"
      attribute { name: "then_branch" type: GRAPH g { output { name: "x" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { op_type: "Shape" input: "x" output: "s" }
        node { op_type: "Cast" input: "s" output: "t"
               attribute { name: "to" type: INT i: 1 } }
        output { name: "t" } } } })")),
      "error: node \"if\" (If): output 0 (\"y\") is 2x3xf32 in one branch "
      "and 2xf32 in the other; ranks and element types are fixed when the "
      "model is compiled");
}

TEST_F(ImportOnnxControlFlow, MissingBranchOrBody) {
  EXPECT_EQ(importOnnx(model(kX + tensorInfo("input", "c", {}, 9) + kY + R"(
    node { name: "if" op_type: "If" input: "c" output: "y" })")),
            "error: node \"if\" (If): attribute then_branch is missing");
  EXPECT_EQ(
      importOnnx(model(kX + tensorInfo("input", "c", {}, 9) + kY + R"(
    node { name: "if" op_type: "If" input: "c" output: "y"
      attribute { name: "then_branch" type: GRAPH g { } } })")),
      "error: node \"if\" (If): attribute then_branch: expected a graph of "
      "1 outputs, found 0");
  EXPECT_EQ(
      loop(kKeep, "five", ""),
      "error: node \"loop\" (Loop): attribute body: expected a graph of 2 "
      "outputs or more, found 1");
  EXPECT_EQ(importOnnx(model(kX + kY + R"(
    node { name: "s" op_type: "Scan" input: "x" output: "y"
      attribute { name: "num_scan_inputs" type: INT i: 1 }
      attribute { name: "body" type: GRAPH g { } } })")),
            "error: node \"s\" (Scan): attribute body: expected a graph of 1 "
            "inputs, found 0");
}

TEST_F(ImportOnnxControlFlow, ConditionsAndCountsOfOtherTypes) {
  EXPECT_EQ(importOnnx(model(kX + kY + R"(
    node { name: "if" op_type: "If" input: "x" output: "y" })")),
            "error: node \"if\" (If): the condition (input \"x\") must be one "
            "element of type i1, found 2x3xf32");
  EXPECT_EQ(loop(kKeep + kAdd, "x", ""),
            "error: node \"loop\" (Loop): the trip count (input \"x\") must be "
            "one element of type i64, found 2x3xf32");
  EXPECT_EQ(
      loop("output { name: \"a\" }" + kAdd, "five", ""),
      "error: node \"loop\" (Loop): the condition that its body makes must "
      "be one boolean, found 2x3xf32");
}

TEST_F(ImportOnnxControlFlow, CarriedShapesThatGrow) {
  EXPECT_EQ(
      loop(kKeep + R"(
    node { op_type: "Concat" input: "a" input: "x" output: "b"
           attribute { name: "axis" type: INT i: 0 } }
    output { name: "b" })",
           "five", ""),
      "error: node \"loop\" (Loop): carried value 0 is 2x3xf32 at first and "
      "4x3xf32 after an iteration; shapes are fixed when the model is "
      "compiled");
}

TEST_F(ImportOnnxControlFlow, LoopsWithoutAnEnd) {
  for (const char *count : {"", "most"})
    EXPECT_EQ(loop(kKeep + kAdd, count, ""),
              "error: node \"loop\" (Loop): it never ends: it has neither a "
              "trip count nor a condition that can become false");
}

TEST_F(ImportOnnxControlFlow, LargeTripCounts) {
  expectContains(loop(kKeep + kAdd, "many", ""),
                 "graph.scan %arg3 length 3000000000 carry");
  std::string ir = loop(kKeep + kAdd, "many", "c");
  expectContains(ir, "graph.while (%arg3 = ");
  EXPECT_EQ(ir.find("compare"), std::string::npos) << ir;
}

TEST_F(ImportOnnxControlFlow, FewerRowsThanIterations) {
  expectedWarning = "node \"loop\" (Loop) ends after 3 iterations, the rows "
                    "with which its output \"y\" is declared; its trip count "
                    "is 5";
  expectContains(loop(kKeep + kAdd + R"(output { name: "b" })", "five", "c",
                      R"(output: "" output: "y")",
                      tensorInfo("output", "y", {3, 2, 3})),
                 "length 3 trip_count ");
}

TEST_F(ImportOnnxControlFlow, RowsWhoseNumberIsNotKnown) {
  EXPECT_EQ(loop(kKeep + kAdd + R"(output { name: "b" })", "m", "",
                 R"(output: "" output: "y")"),
            "error: node \"loop\" (Loop): how many rows its output \"y\" has "
            "depends on the run; declare the output's shape in the model, with "
            "the largest number, for which rows beyond those that it makes are "
            "zeros");
}

TEST_F(ImportOnnxControlFlow, RowsOfManyIterationsThatMayNotRun) {
  EXPECT_EQ(loop(kKeep + kAdd + R"(output { name: "b" })", "billion", "c",
                 R"(output: "" output: "y")"),
            "error: node \"loop\" (Loop): it stacks rows, and the run decides "
            "how many: room for all of 1000000000 iterations would be "
            "24000000000 bytes. Give it a smaller trip count, or declare the "
            "output's shape in the model");
}

TEST_F(ImportOnnxControlFlow, RowsBeyondAnyMemory) {
  std::string info = tensorInfo("input", "x", {1 << 20, 1 << 10});
  EXPECT_EQ(importOnnx(model(info + kY + R"(
    initializer { name: "m" data_type: 7 int64_data: 2000000000 }
    node { name: "loop" op_type: "Loop" input: "m" input: "" input: "x"
      output: "" output: "y"
      attribute { name: "body" type: GRAPH g {
        input { name: "i" } input { name: "go" } input { name: "a" } )" +
                             kKeep + kAdd + R"(output { name: "b" } } } })")),
            "error: node \"loop\" (Loop): rows of the shape [2000000000, "
            "1048576, 1024] are beyond any memory");
}

TEST_F(ImportOnnxControlFlow, NodesOfBodiesAreNamed) {
  EXPECT_EQ(loop(kKeep + R"(
    node { name: "product" op_type: "MatMul" input: "a" input: "x" output: "b" }
    output { name: "b" })",
                 "five", "")
                .substr(0, 32),
            "error: node \"product\" (MatMul): ");
  expectContains(errorLocation, "loc(\"product\"(");
}

TEST_F(ImportOnnxControlFlow, UnsupportedOpsOfBodiesAreInTheOneList) {
  EXPECT_EQ(loop(kKeep + R"(
    node { name: "u" op_type: "ImageDecoder" input: "a" output: "b" }
    node { name: "if" op_type: "If" input: "c" output: "d"
      attribute { name: "then_branch" type: GRAPH g {
        node { name: "v" op_type: "ImageDecoder" input: "a" output: "e" }
        output { name: "e" } } }
      attribute { name: "else_branch" type: GRAPH g { output { name: "a" } } } }
    output { name: "b" })",
                 "five", ""),
            "error: the model has 2 nodes of 1 op not supported:\n"
            "  ai.onnx.ImageDecoder (opset 18), 2 nodes: \"u\", \"v\"");
}

/// What is not built need not be known.
TEST_F(ImportOnnxControlFlow, UnsupportedOpsOfBranchesThatAreNotTaken) {
  std::string branches = R"( output: "y"
      attribute { name: "then_branch" type: GRAPH g { output { name: "x" } } }
      attribute { name: "else_branch" type: GRAPH g {
        node { name: "u" op_type: "ImageDecoder" input: "x" output: "e" }
        output { name: "e" } } } })";
  std::string condition =
      R"(initializer { name: "k" data_type: 9 int32_data: 1 }
                             node { op_type: "If" input: "k")";
  expectContains(importOnnx(model(kX + kY + condition + branches)),
                 "return %arg0");
  EXPECT_EQ(importOnnx(model(kX + kY + tensorInfo("input", "c", {}, 9) +
                             R"(node { op_type: "If" input: "c")" + branches)),
            "error: the model has 1 node of 1 op not supported:\n"
            "  ai.onnx.ImageDecoder (opset 18), 1 node: \"u\"");
}

TEST_F(ImportOnnxControlFlow, ScansThatDoNotFit) {
  auto scan = [&](const std::string &inputs, const std::string &attributes) {
    return importOnnx(model(kX + tensorInfo("input", "z", {3, 3}) + kY + R"(
      node { name: "s" op_type: "Scan" )" +
                            inputs + R"( output: "y"
        attribute { name: "body" type: GRAPH g {
          input { name: "a" } input { name: "b" }
          node { op_type: "Add" input: "a" input: "b" output: "c" }
          output { name: "c" } } } )" +
                            attributes + "}"));
  };
  std::string both = R"(input: "x" input: "z")";
  EXPECT_EQ(
      scan(both, ""),
      "error: node \"s\" (Scan): attribute num_scan_inputs: expected 1 to "
      "2, found 0");
  std::string two = "attribute { name: \"num_scan_inputs\" type: INT i: 2 }";
  EXPECT_EQ(scan(both, two),
            "error: node \"s\" (Scan): the scanned tensors have 2 and 3 rows");
  EXPECT_EQ(scan(both, two + R"(
              attribute { name: "scan_input_axes" type: INTS ints: 2 ints: 0 })"),
            "error: node \"s\" (Scan): axis 2 is outside a tensor of rank 2");
  EXPECT_EQ(scan(both, two + R"(
              attribute { name: "scan_input_axes" type: INTS ints: 1 })"),
            "error: node \"s\" (Scan): attribute scan_input_axes: expected 2 "
            "numbers, found 1");
  EXPECT_EQ(
      importOnnx(model(kX + kY + tensorInfo("input", "n", {2}, 7) + R"(
      node { name: "s" op_type: "Scan" input: "n" input: "x" output: "y" })",
                       8)),
      "error: node \"s\" (Scan): input 0 (sequence_lens) is not supported");
}

} // namespace
