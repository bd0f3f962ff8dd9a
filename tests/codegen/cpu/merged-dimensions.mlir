// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels | FileCheck %s

// A last dimension of three elements would leave vectors mostly empty: lanes go
// through all that is contiguous, 512 · 9 elements of a row.
module attributes {graph.cpu = "x86-64-v4"} {

func.func @main(%w: tensor<64x512x3x3xf32> {graph.name = "w"}, %m: tensor<64x512x3x3xf32> {graph.name = "m"}, %b: tensor<512x1x1xf32> {graph.name = "b"})
    -> (tensor<64x512x3x3xf32> {graph.name = "y"}, tensor<64x512x3x3xf32> {graph.name = "z"}) {
  // CHECK-LABEL: func.func @add_0
  // CHECK:       %[[END:.*]] = arith.constant 4608 : index
  // CHECK:       scf.for %{{.*}} = %{{.*}} to %[[END]]
  // CHECK-NOT:   mask
  // CHECK:       vector.store
  // CHECK-NOT:   vector.mask
  %0 = graph.kernel (%a = %w, %c = %m) : (tensor<64x512x3x3xf32>, tensor<64x512x3x3xf32>) -> tensor<64x512x3x3xf32> {
    %1 = graph.add %a, %c : tensor<64x512x3x3xf32>, tensor<64x512x3x3xf32> -> tensor<64x512x3x3xf32>
    graph.yield %1 : tensor<64x512x3x3xf32>
  }
  // Nine elements share what is broadcast.
  // CHECK-LABEL: func.func @mul_0
  // CHECK:       vector.constant_mask [9]
  // CHECK:       vector.maskedstore
  %2 = graph.kernel (%a = %w, %c = %b) : (tensor<64x512x3x3xf32>, tensor<512x1x1xf32>) -> tensor<64x512x3x3xf32> {
    %3 = graph.mul %a, %c : tensor<64x512x3x3xf32>, tensor<512x1x1xf32> -> tensor<64x512x3x3xf32>
    graph.yield %3 : tensor<64x512x3x3xf32>
  }
  return %0, %2 : tensor<64x512x3x3xf32>, tensor<64x512x3x3xf32>
}

}
