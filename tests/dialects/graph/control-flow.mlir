// Branches and loops are printed as they are read, and MLIR's own passes know
// them.
// RUN: graph-opt %s | graph-opt | FileCheck %s
// RUN: graph-opt %s --mlir-print-op-generic | graph-opt | FileCheck %s
// RUN: graph-opt %s --cse --loop-invariant-code-motion --cse \
// RUN:   | FileCheck %s --check-prefix=MLIR

// CHECK-LABEL: func.func @branch
// CHECK:       %[[Y:.*]]:2 = graph.if %arg1 : (tensor<4xf32>, tensor<i64>) {
// CHECK-NEXT:    %[[R:.*]] = graph.relu %arg0 : tensor<4xf32>
// CHECK-NEXT:    graph.yield %[[R]], %arg2 : tensor<4xf32>, tensor<i64>
// CHECK-NEXT:  } else {
// CHECK-NEXT:    graph.yield %arg0, %arg2 : tensor<4xf32>, tensor<i64>
// CHECK-NEXT:  }
// CHECK:       graph.if %arg1 {
// CHECK-NEXT:  } else {
// CHECK-NEXT:  }
// MLIR-LABEL: func.func @branch
// MLIR:       graph.relu
// MLIR-NOT:   graph.if %arg1 {
func.func @branch(%x: tensor<4xf32>, %c: tensor<i1>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<i64>) {
  %y:2 = graph.if %c : (tensor<4xf32>, tensor<i64>) {
    %0 = graph.relu %x : tensor<4xf32>
    graph.yield %0, %n : tensor<4xf32>, tensor<i64>
  } else {
    graph.yield %x, %n : tensor<4xf32>, tensor<i64>
  }
  graph.if %c {
    graph.yield
  } else {
    graph.yield
  }
  return %y#0, %y#1 : tensor<4xf32>, tensor<i64>
}

// CHECK-LABEL: func.func @loop
// CHECK:       graph.while (%[[A:.*]] = %arg1, %[[B:.*]] = %arg0) : (tensor<i64>, tensor<4xf32>) {
// CHECK-NEXT:    %[[GO:.*]] = graph.compare less %[[A]], %arg1
// CHECK-NEXT:    graph.condition %[[GO]]
// CHECK-NEXT:  } do (%[[C:.*]], %[[D:.*]]) {
// CHECK:         graph.yield %[[C]], %{{.*}} : tensor<i64>, tensor<4xf32>
// CHECK-NEXT:  }
// What does not change is computed once, before the loop.
// MLIR-LABEL: func.func @loop
// MLIR-NEXT:  graph.exp %arg0
// MLIR-NEXT:  graph.add
// MLIR-NEXT:  graph.while
// MLIR-NOT:   graph.exp
func.func @loop(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %y:2 = graph.while (%a = %n, %b = %x) : (tensor<i64>, tensor<4xf32>) {
    %go = graph.compare less %a, %n : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.condition %go
  } do (%a, %b) {
    %0 = graph.exp %x : tensor<4xf32>
    %1 = graph.exp %x : tensor<4xf32>
    %2 = graph.add %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = graph.mul %b, %2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    graph.yield %a, %3 : tensor<i64>, tensor<4xf32>
  }
  return %y#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @scan
// MLIR-LABEL: func.func @scan
// CHECK:       graph.scan %[[I:.*]] length 3 trip_count %arg2 while %arg1 carry (%[[A:.*]] = %arg3) over (%[[R:.*]] = %arg0) : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
// CHECK:         graph.yield %arg1, %[[B:.*]], %[[B]] : tensor<i1>, tensor<4xf32>, tensor<4xf32>
// CHECK:       graph.scan %[[I:.*]] length 3 over (%[[R:.*]] = %arg0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>) {
// CHECK:       graph.scan %[[I:.*]] length 2 : () -> (tensor<2xi64>) {
// CHECK-NEXT:    graph.yield %[[I]] : tensor<i64>
func.func @scan(%xs: tensor<3x4xf32>, %c: tensor<i1>, %n: tensor<i64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<2xi64>) {
  %y:2 = graph.scan %i length 3 trip_count %n while %c carry (%a = %x) over (%r = %xs) : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
    %0 = graph.add %a, %r : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    graph.yield %c, %0, %0 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  %z = graph.scan %i length 3 over (%r = %xs) : (tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %0 = graph.exp %r : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  %w = graph.scan %i length 2 : () -> (tensor<2xi64>) {
    graph.yield %i : tensor<i64>
  }
  return %y#0, %y#1, %z, %w : tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<2xi64>
}
