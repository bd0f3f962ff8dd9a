//===- ImportJsonControlFlowTest.cpp - if, while, scan in JSON --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/import/ImportTestSupport.h"

using namespace tinh::test;

namespace {

class ImportJsonControlFlow : public ImportTest {
protected:
  /// A graph from x: f32[2, 3], c: bool[], m: i64[] to y.
  std::string graph(const std::string &nodes) {
    return importJson(R"({"tinh": 1, "inputs": [
      {"name": "x", "dtype": "f32", "shape": [2, 3]},
      {"name": "c", "dtype": "bool", "shape": []},
      {"name": "m", "dtype": "i64", "shape": []}],
      "weights": [{"name": "w", "dtype": "f32", "shape": [3], "data": 2}],
      "nodes": [)" + nodes +
                      R"(], "outputs": ["y"]})");
  }
  /// A scan that carries [3] over the rows of x.
  std::string scan(const std::string &keys, const std::string &body) {
    return graph(R"({"op": "scan", "name": "s", "inputs": ["w", "x"],
      "outputs": ["last", "y"], )" +
                 keys + R"(, "body": {"inputs":
      ["i", "a", "r"], "nodes": [
        {"op": "add", "inputs": ["a", "r"], "outputs": ["b"]}], )" +
                 body + "}}");
  }
};

const std::string kIf = R"({"op": "if", "inputs": ["c"], "outputs": ["y"],
  "then": {"nodes": [{"op": "mul", "inputs": ["x", "w"], "outputs": ["a"]}],
           "outputs": ["a"]},
  "else": {"nodes": [], "outputs": ["x"]}})";

TEST_F(ImportJsonControlFlow, BranchesReadTensorsFromAround) {
  expectContains(graph(kIf),
                 R"(    %0 = graph.constant dense<2.000000e+00> : tensor<3xf32>
    %1 = graph.if %arg1 : (tensor<2x3xf32>) {
      %2 = graph.mul %arg0, %0 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
      graph.yield %2 : tensor<2x3xf32>
    } else {
      graph.yield %arg0 : tensor<2x3xf32>
    })");
}

TEST_F(ImportJsonControlFlow, SameAsTheEqualOnnxModel) {
  EXPECT_EQ(graph(kIf), importOnnx(model(tensorInfo("input", "x", {2, 3}) +
                                         tensorInfo("input", "c", {}, 9) +
                                         tensorInfo("input", "m", {}, 7) + R"(
    output { name: "y" }
    initializer { name: "w" dims: 3 data_type: 1 float_data: [2, 2, 2] }
    node { op_type: "If" input: "c" output: "y"
      attribute { name: "then_branch" type: GRAPH g {
        node { op_type: "Mul" input: "x" input: "w" output: "a" }
        output { name: "a" } } }
      attribute { name: "else_branch" type: GRAPH g {
        output { name: "x" } } } })")));
  EXPECT_EQ(scan(R"("attributes": {"length": 2, "carry": 1})",
                 R"("outputs": ["b", "b"])"),
            importOnnx(model(tensorInfo("input", "x", {2, 3}) +
                             tensorInfo("input", "c", {}, 9) +
                             tensorInfo("input", "m", {}, 7) + R"(
    output { name: "y" }
    initializer { name: "w" dims: 3 data_type: 1 float_data: [2, 2, 2] }
    node { op_type: "Scan" input: "w" input: "x" output: "last" output: "y"
      attribute { name: "num_scan_inputs" type: INT i: 1 }
      attribute { name: "body" type: GRAPH g {
        input { name: "a" } input { name: "r" }
        node { op_type: "Add" input: "a" input: "r" output: "b" }
        output { name: "b" } output { name: "b" } } } })")));
}

TEST_F(ImportJsonControlFlow, WhileCarriesValues) {
  std::string ir = graph(R"(
    {"op": "while", "inputs": ["m", "x"], "outputs": ["count", "y"],
     "condition": {"inputs": ["i", "a"], "outputs": ["go"], "nodes": [
       {"op": "compare", "inputs": ["i", "m"], "outputs": ["go"],
        "attributes": {"predicate": "less"}}]},
     "body": {"inputs": ["i", "a"], "outputs": ["i", "b"], "nodes": [
       {"op": "mul", "inputs": ["a", "w"], "outputs": ["b"]}]}})");
  expectContains(
      ir,
      R"(graph.while (%arg3 = %arg2, %arg4 = %arg0) : (tensor<i64>, tensor<2x3xf32>) {
      %2 = graph.compare less %arg3, %arg2 : tensor<i64>, tensor<i64> -> tensor<i1>
      graph.condition %2
    } do (%arg3, %arg4) {
      %2 = graph.mul %arg4, %0 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
      graph.yield %arg3, %2 : tensor<i64>, tensor<2x3xf32>)");
}

TEST_F(ImportJsonControlFlow, ScanTakesAndMakesRows) {
  std::string attributes = R"("attributes": {"length": 2, "carry": 1})";
  expectContains(
      scan(attributes, R"("outputs": ["b", "b"])"),
      R"(graph.scan %arg3 length 2 carry (%arg4 = %0) over (%arg5 = %arg0) : (tensor<3xf32>, tensor<2x3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>) {
      %2 = graph.add %arg4, %arg5 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
      graph.yield %2, %2 : tensor<3xf32>, tensor<3xf32>)");
  expectContains(scan(attributes + R"(, "trip_count": "m", "while": "c")",
                      R"("outputs": ["c", "b", "b"])"),
                 "length 2 trip_count %arg2 while %arg1 carry");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(ImportJsonControlFlow, GraphsThatAreMissingOrTooMany) {
  EXPECT_EQ(graph(R"({"op": "if", "inputs": ["c"], "outputs": ["y"]})"),
            "error: node 0 (if): \"then\" is missing or is not a graph\n"
            "node 0 (if): \"else\" is missing or is not a graph");
  EXPECT_EQ(
      graph(R"({"op": "if", "inputs": ["c"], "outputs": ["y"],
                      "then": {"nodes": [], "outputs": ["x"], "inputs": []}})"),
      "error: node 0 (if): \"else\" is missing or is not a graph\n"
      "node 0 (if): \"then\": unknown key \"inputs\"; the keys are nodes, "
      "outputs, comment");
  EXPECT_EQ(
      graph(R"({"op": "relu", "inputs": ["x"], "outputs": ["y"],
                      "body": {}})"),
      "error: node 0 (relu): unknown key \"body\"; the keys are op, name, "
      "inputs, outputs, attributes, comment");
  EXPECT_EQ(graph(R"({"op": "scan", "inputs": ["x"], "outputs": ["y"],
                      "body": {"inputs": ["i"], "outputs": []}})"),
            "error: node 0 (scan): \"body\": \"nodes\" is missing or is not a "
            "list");
  EXPECT_EQ(graph(R"({"op": "scan", "inputs": ["x"], "outputs": ["y"],
                      "while": 1,
                      "body": {"inputs": ["i"], "nodes": [], "outputs": []}})"),
            "error: node 0 (scan): \"while\" is not the name of a tensor");
}

TEST_F(ImportJsonControlFlow, BranchesOfDifferentTypes) {
  EXPECT_EQ(
      graph(R"({"op": "if", "inputs": ["c"], "outputs": ["y"],
                      "then": {"nodes": [], "outputs": ["x"]},
                      "else": {"nodes": [], "outputs": ["w"]}})"),
      "error: node \"y\" (if): 'graph.if' op what the second branch yields "
      "must have the types ('tensor<2x3xf32>'), found ('tensor<3xf32>')");
  EXPECT_EQ(graph(R"({"op": "if", "inputs": ["x"], "outputs": ["y"],
                      "then": {"nodes": [], "outputs": ["x"]},
                      "else": {"nodes": [], "outputs": ["x"]}})"),
            "error: node \"y\" (if): 'graph.if' op operand #0 must be "
            "tensor<i1>, but got 'tensor<2x3xf32>'");
}

TEST_F(ImportJsonControlFlow, NumbersOfInputsAndOutputs) {
  EXPECT_EQ(graph(R"({"op": "if", "inputs": ["c"], "outputs": ["y", "z"],
                      "then": {"nodes": [], "outputs": ["x"]},
                      "else": {"nodes": [], "outputs": ["x"]}})"),
            "error: node \"y\" (if): it has 1 outputs, found 2 names");
  EXPECT_EQ(
      scan(R"("attributes": {"length": 2, "carry": 0})",
           R"("outputs": ["b", "b"])"),
      "error: node \"s\" (scan): 'graph.scan' op tensor 0 must hold 2 rows "
      "of 'tensor<f32>', found 'tensor<3xf32>'");
  EXPECT_EQ(
      scan(R"("attributes": {"length": 2, "carry": 3})",
           R"("outputs": ["b", "b"])"),
      "error: node \"s\" (scan): attribute carry: there are only 2 inputs");
  EXPECT_EQ(
      scan(R"("attributes": {"length": 3, "carry": 1})",
           R"("outputs": ["b", "b"])"),
      "error: node \"s\" (scan): 'graph.scan' op tensor 0 must hold 3 rows "
      "of 'tensor<3xf32>', found 'tensor<2x3xf32>'");
  EXPECT_EQ(
      scan(R"("attributes": {"length": 2, "carry": 1})", R"("outputs": [])"),
      "error: node \"s\" (scan): \"body\": expected 1 outputs or more, "
      "found 0");
  EXPECT_EQ(scan(R"("attributes": {"carry": 1})", R"("outputs": ["b", "b"])"),
            "error: node \"s\" (scan): attribute length is missing or is no "
            "count");
  EXPECT_EQ(
      graph(R"({"op": "while", "inputs": ["x"], "outputs": ["y"],
      "condition": {"inputs": [], "nodes": [], "outputs": ["c"]},
      "body": {"inputs": ["b"], "nodes": [], "outputs": ["b"]}})"),
      "error: node \"y\" (while): \"condition\": expected 1 inputs, found "
      "0");
}

TEST_F(ImportJsonControlFlow, ConditionsThatAreNone) {
  EXPECT_EQ(
      graph(R"({"op": "while", "inputs": ["x"], "outputs": ["y"],
      "condition": {"inputs": ["a"], "nodes": [], "outputs": ["a"]},
      "body": {"inputs": ["b"], "nodes": [], "outputs": ["b"]}})"),
      "error: node \"y\" (while): 'graph.condition' op operand #0 must be "
      "tensor<i1>, but got 'tensor<2x3xf32>'");
  EXPECT_EQ(scan(R"("while": "c", "attributes": {"length": 2, "carry": 1})",
                 R"("outputs": ["b", "b", "b"])"),
            "error: node \"s\" (scan): 'graph.scan' op the next condition must "
            "have the types ('tensor<i1>'), found ('tensor<3xf32>')");
}

TEST_F(ImportJsonControlFlow, NamesOfTensors) {
  EXPECT_EQ(graph(R"({"op": "if", "inputs": ["c"], "outputs": ["y"],
                      "then": {"nodes": [], "outputs": ["gone"]},
                      "else": {"nodes": [], "outputs": ["x"]}})"),
            "error: node \"y\" (if): \"then\": output \"gone\" is no input or "
            "constant of the graph and no node's output");
  EXPECT_EQ(scan(R"("attributes": {"length": 2, "carry": 1})",
                 R"("outputs": ["y", "b"])"),
            "error: the graph has a cycle: node \"s\" (scan) needs node \"s\" "
            "(scan)");
  EXPECT_EQ(
      graph(R"({"op": "while", "name": "n", "inputs": ["x"], "outputs": ["y"],
      "condition": {"inputs": ["x"], "nodes": [], "outputs": ["c"]},
      "body": {"inputs": ["b"], "nodes": [], "outputs": ["b"]}})"),
      "error: node \"n\" (while): another tensor is called \"x\", too");
}

TEST_F(ImportJsonControlFlow, UnknownOpsOfBodiesAreReportedWithOthers) {
  EXPECT_EQ(scan(R"("attributes": {"length": 2, "carry": 1})",
                 R"("outputs": ["b", "b"])")
                .substr(0, 6),
            "module");
  EXPECT_EQ(
      graph(R"({"op": "foo", "inputs": ["x"], "outputs": ["f"]},
    {"op": "if", "inputs": ["c"], "outputs": ["y"],
     "then": {"nodes": [{"op": "foo", "inputs": ["x"], "outputs": ["g"]}],
              "outputs": ["g"]},
     "else": {"nodes": [{"op": "condition", "inputs": ["c"], "outputs": ["h"]}],
              "outputs": ["x"]}})"),
      "error: unknown op \"foo\" of nodes \"f\", \"g\"; docs/ops.md lists "
      "those that there are\n"
      "unknown op \"condition\" of node \"h\"; docs/ops.md lists those that "
      "there are");
}

} // namespace
