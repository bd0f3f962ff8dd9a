// RUN: graph-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(rematerialise{limit=40000}))" | FileCheck %s
// RUN: graph-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(rematerialise{limit=100000}))" | FileCheck %s --check-prefix=LARGE
// RUN: graph-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(rematerialise{limit=40000 fuse=false}))" | FileCheck %s --check-prefix=APART

// Tensors of 16384 bytes: two may be live. %0 waits for the last op.
// CHECK-LABEL: func.func @waiting
// CHECK-NEXT: %[[A:.*]] = graph.relu %arg0
// CHECK-NEXT: %[[B:.*]] = graph.matmul %[[A]], %arg1
// CHECK-NEXT: %[[C:.*]] = graph.softmax %[[B]]
// CHECK-NEXT: %[[D:.*]] = graph.softmax %[[C]]
// CHECK-NEXT: %[[E:.*]] = graph.relu %arg0
// CHECK-NEXT: %[[F:.*]] = graph.matmul %[[D]], %[[E]]
// CHECK-NEXT: return %[[F]]
// LARGE-LABEL: func.func @waiting
// LARGE-COUNT-1: graph.relu
// LARGE-NOT: graph.relu
// LARGE: return
func.func @waiting(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = graph.relu %x : tensor<64x64xf32>
  %1 = graph.matmul %0, %w : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = graph.softmax %1 axis 1 : tensor<64x64xf32>
  %3 = graph.softmax %2 axis 1 : tensor<64x64xf32>
  %4 = graph.matmul %3, %0 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}

// -----

// What is gone is computed again, too, and views are of what is there now.
// CHECK-LABEL: func.func @chain
// CHECK-COUNT-2: graph.matmul %arg0, %arg1
// CHECK: %[[E:.*]] = graph.exp
// CHECK-NEXT: %[[F:.*]] = graph.reshape %[[E]]
// CHECK-NEXT: %[[V:.*]] = graph.reshape %[[F]]
// CHECK-NEXT: graph.matmul %{{.*}}, %[[V]]
func.func @chain(%x: tensor<64x8xf32>, %w: tensor<8x64xf32>, %v: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = graph.matmul %x, %w : tensor<64x8xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
  %1 = graph.exp %0 : tensor<64x64xf32>
  %2 = graph.reshape %1 : tensor<64x64xf32> to tensor<4096xf32>
  %3 = graph.reshape %2 : tensor<4096xf32> to tensor<64x64xf32>
  %4 = graph.softmax %3 axis 1 : tensor<64x64xf32>
  %5 = graph.matmul %4, %v : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %6 = graph.softmax %5 axis 1 : tensor<64x64xf32>
  %7 = graph.matmul %6, %3 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %7 : tensor<64x64xf32>
}

// -----

// A variable has its old value till its last reader is done.
// CHECK-LABEL: func.func @step
// CHECK: graph.matmul %arg0, %arg1
// CHECK: graph.matmul %arg0, %arg1
// CHECK: graph.sub %arg1
func.func @step(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {graph.variable = "w"}) -> (tensor<64xf32>, tensor<64x64xf32> {graph.variable = "w"}) {
  %0 = graph.matmul %x, %w : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = graph.softmax %0 axis 1 : tensor<64x64xf32>
  %2 = graph.softmax %1 axis 0 : tensor<64x64xf32>
  %3 = graph.softmax %2 axis 1 : tensor<64x64xf32>
  %4 = graph.mul %3, %0 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %5 = graph.reduce sum %4 axes [0] : tensor<64x64xf32> -> tensor<64xf32>
  %6 = graph.sub %w, %5 : tensor<64x64xf32>, tensor<64xf32> -> tensor<64x64xf32>
  return %5, %6 : tensor<64xf32>, tensor<64x64xf32>
}

// -----

// Regions read what is there now.
// CHECK-LABEL: func.func @branch
// CHECK: graph.softmax
// CHECK: %[[A:.*]] = graph.relu %arg0
// CHECK: graph.if
// CHECK: graph.matmul %{{.*}}, %[[A]]
func.func @branch(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %c: tensor<i1>) -> tensor<64x64xf32> {
  %0 = graph.relu %x : tensor<64x64xf32>
  %1 = graph.matmul %0, %w : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = graph.softmax %1 axis 1 : tensor<64x64xf32>
  %3 = graph.softmax %2 axis 1 : tensor<64x64xf32>
  %4 = graph.reduce sum %3 axes [0] : tensor<64x64xf32> -> tensor<64xf32>
  %5 = graph.if %c : (tensor<64x64xf32>) {
    %6 = graph.matmul %w, %0 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    graph.yield %6 : tensor<64x64xf32>
  } else {
    graph.yield %w : tensor<64x64xf32>
  }
  %7 = graph.add %5, %4 : tensor<64x64xf32>, tensor<64xf32> -> tensor<64x64xf32>
  return %7 : tensor<64x64xf32>
}

// -----

// Without fusion %0 and %1 are both in memory; otherwise one is.
// CHECK-LABEL: func.func @fused
// CHECK-COUNT-1: graph.exp
// CHECK-NOT: graph.exp
// APART-LABEL: func.func @fused
// APART-COUNT-2: graph.exp
func.func @fused(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = graph.exp %x : tensor<64x64xf32>
  %1 = graph.neg %0 : tensor<64x64xf32>
  %2 = graph.abs %0 : tensor<64x64xf32>
  %3 = graph.matmul %1, %w : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %4 = graph.add %3, %2 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}
