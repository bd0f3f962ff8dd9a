// Branches and loops are run eagerly, too; more dimensions than tensors have
// are refused, and floats of 8 bits.

// RUN: split-file %s %t
// RUN: graph-compare %t/loop.mlir --runs=1 --verify --json | FileCheck %s
// CHECK: "max_abs_error": 0.0
// CHECK: "max_rel_error": 0.0

// RUN: sh -c 'graph-compare %t/dimensions.mlir --runs=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=DIMENSIONS
// DIMENSIONS: error: node 'wide' (graph.{{.*}}): eager execution is for tensors of at most 8 dimensions, not 9

// RUN: sh -c 'graph-compare %t/float8.mlir --runs=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=FLOAT8
// FLOAT8: error: node 'narrow' (graph.cast): eager execution has no floats of 8 or 4 bits, found 2xf8E5M2; compile the model

// RUN: sh -c 'graph-compare %t/input.mlir --runs=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: error: input 'x': eager execution has no floats of 8 or 4 bits, found 2xf8E5M2; compile the model

//--- float8.mlir
func.func @main(%x: tensor<2xf32> {graph.name = "x"})
    -> (tensor<2xf32> {graph.name = "y"}) {
  %0 = graph.cast %x saturate : tensor<2xf32> to tensor<2xf8E5M2> loc("narrow")
  %1 = graph.cast %0 : tensor<2xf8E5M2> to tensor<2xf32>
  return %1 : tensor<2xf32>
}

//--- input.mlir
func.func @main(%x: tensor<2xf8E5M2> {graph.name = "x"})
    -> (tensor<2xf8E5M2> {graph.name = "y"}) {
  return %x : tensor<2xf8E5M2>
}

//--- loop.mlir
func.func @main(%x: tensor<2xf32> {graph.name = "x"})
    -> (tensor<2xf32> {graph.name = "y"}) {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %three = graph.constant dense<3> : tensor<i64>
  %0:2 = graph.while (%i = %zero, %y = %x) : (tensor<i64>, tensor<2xf32>) {
    %more = graph.compare less %i, %three : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.condition %more
  } do (%i, %y) {
    %next = graph.add %i, %one : tensor<i64>, tensor<i64> -> tensor<i64>
    %twice = graph.add %y, %y : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    graph.yield %next, %twice : tensor<i64>, tensor<2xf32>
  }
  return %0#1 : tensor<2xf32>
}

//--- dimensions.mlir
func.func @main(%x: tensor<2xf32> {graph.name = "x"})
    -> (tensor<1x1x1x1x1x1x1x2xf32> {graph.name = "y"}) {
  %0 = graph.broadcast %x : tensor<2xf32> to tensor<1x1x1x1x1x1x1x3x2xf32> loc("wide")
  %1 = graph.exp %0 : tensor<1x1x1x1x1x1x1x3x2xf32> loc("wide")
  %2 = graph.reduce max %1 axes [7] : tensor<1x1x1x1x1x1x1x3x2xf32> -> tensor<1x1x1x1x1x1x1x2xf32>
  return %2 : tensor<1x1x1x1x1x1x1x2xf32>
}
