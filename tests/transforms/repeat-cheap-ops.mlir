// RUN: graph-opt %s --split-input-file --repeat-cheap-ops | FileCheck %s

// Each reader computes the distance from the mean.
// CHECK-LABEL: func.func @distances
// CHECK-COUNT-2: graph.sub %arg0, %arg1
// CHECK-NOT: graph.sub
func.func @distances(%x: tensor<64x32xf32>, %m: tensor<32xf32>, %s: tensor<32xf32>) -> (tensor<32xf32>, tensor<64x32xf32>) {
  %0 = graph.sub %x, %m : tensor<64x32xf32>, tensor<32xf32> -> tensor<64x32xf32>
  %1 = graph.mul %0, %s : tensor<64x32xf32>, tensor<32xf32> -> tensor<64x32xf32>
  %2 = graph.reduce sum %0 axes [0] : tensor<64x32xf32> -> tensor<32xf32>
  return %2, %1 : tensor<32xf32>, tensor<64x32xf32>
}

// -----

// Not what is dear, what reads two large tensors, what follows from a product
// in registers, or what a product reads.
// CHECK-LABEL: func.func @once
// CHECK-COUNT-1: graph.exp
// CHECK-NOT: graph.exp
// CHECK-COUNT-1: graph.mul
// CHECK-NOT: graph.mul
// CHECK-COUNT-1: graph.relu
// CHECK-NOT: graph.relu
// CHECK-COUNT-1: graph.neg
// CHECK-NOT: graph.neg
func.func @once(%x: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
  %0 = graph.exp %x : tensor<64x64xf32>
  %1 = graph.mul %0, %x : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = graph.matmul %x, %x : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %3 = graph.relu %2 : tensor<64x64xf32>
  %4 = graph.neg %x : tensor<64x64xf32>
  %5 = graph.add %1, %3 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %6 = graph.reduce sum %0 axes [0] : tensor<64x64xf32> -> tensor<64xf32>
  %7 = graph.reduce sum %1 axes [0] : tensor<64x64xf32> -> tensor<64xf32>
  %8 = graph.reduce sum %3 axes [1] : tensor<64x64xf32> -> tensor<64xf32>
  %9 = graph.matmul %4, %5 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %10 = graph.add %9, %4 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %6, %7, %8, %10 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
}

// -----

// A cast to wider floats is repeated for all that can compute it, however many;
// the product reads a tensor in memory.
// CHECK-LABEL: func.func @widening
// CHECK: %[[X:.*]] = graph.matmul {{.*}} -> tensor<16x16xbf16>
// CHECK-COUNT-6: graph.cast %[[X]]
// CHECK-NOT: graph.cast
func.func @widening(%a: tensor<16x16xbf16>, %b: tensor<16x16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %x = graph.matmul %a, %a : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
  %0 = graph.cast %x : tensor<16x16xbf16> to tensor<16x16xf32>
  %1 = graph.reduce sum %0 axes [0] : tensor<16x16xf32> -> tensor<16xf32>
  %2 = graph.reduce sum %0 axes [1] : tensor<16x16xf32> -> tensor<16xf32>
  %3 = graph.reduce max %0 axes [0] : tensor<16x16xf32> -> tensor<16xf32>
  %4 = graph.reduce max %0 axes [1] : tensor<16x16xf32> -> tensor<16xf32>
  %5 = graph.exp %0 : tensor<16x16xf32>
  %6 = graph.matmul %0, %b : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return %1, %2, %3, %4, %5, %6 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Each product rounds the weights where it reads them, but not in a loop.
// CHECK-LABEL: func.func @rounding
// CHECK: %[[W:.*]] = graph.cast %arg0
// CHECK: graph.scan
// CHECK: graph.matmul {{.*}}, %[[W]]
// CHECK: %[[A:.*]] = graph.cast %arg0
// CHECK-NEXT: %[[Y:.*]] = graph.matmul %{{.*}}, %[[A]]
// CHECK-NEXT: %[[B:.*]] = graph.cast %arg0
// CHECK-NEXT: graph.matmul %[[Y]], %[[B]]
// CHECK-NOT: graph.cast
func.func @rounding(%w: tensor<16x16xf32>, %x: tensor<16x16xbf16>) -> tensor<16x16xbf16> {
  %0 = graph.cast %w : tensor<16x16xf32> to tensor<16x16xbf16>
  %1 = graph.scan %i length 3 carry (%h = %x) : (tensor<16x16xbf16>) -> tensor<16x16xbf16> {
    %4 = graph.matmul %h, %0 : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    graph.yield %4 : tensor<16x16xbf16>
  }
  %2 = graph.matmul %1, %0 : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
  %3 = graph.matmul %2, %0 transpose_b : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
  return %3 : tensor<16x16xbf16>
}
