// Windows that slide: a thread has a vector of a few results side by side.
//
// RUN: graph-opt %s --split-input-file --place-kernels --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s

// Four results of a depthwise convolution: of each of the window's three lines
// six vectors are loaded, where they are not padding, and three of weights, which
// another kernel has copied to where channels lie side by side.

// CHECK-LABEL: gpu.func @conv_0_pack(
// CHECK-LABEL: gpu.func @conv_0(
// CHECK:         scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
// CHECK-COUNT-6:   vector.load %arg0[{{.*}}] : memref<1605632xf32>, vector<4xf32>
// CHECK-NOT:       vector.load %arg0
// CHECK:         vector.store
// CHECK-COUNT-3: vector.store
// CHECK-NOT:     vector.store

module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_80"]} {
  func.func @main(%x: tensor<8x56x56x64xf32> {graph.name = "x"}, %w: tensor<64x1x3x3xf32> {graph.name = "w"}) -> (tensor<8x56x56x64xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x, %b = %w) : (tensor<8x56x56x64xf32>, tensor<64x1x3x3xf32>) -> tensor<8x56x56x64xf32> {
      %c = graph.conv %a, %b strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 64 channels_last : tensor<8x56x56x64xf32>, tensor<64x1x3x3xf32> -> tensor<8x56x56x64xf32>
      graph.yield %c : tensor<8x56x56x64xf32>
    }
    return %0 : tensor<8x56x56x64xf32>
  }
}

// -----

// Strips of four do not fit into 57: the last one begins earlier, and stores
// what the one before it has not.

// CHECK-LABEL: gpu.func @max_pool_0(
// CHECK:         arith.minui %{{.*}}, %c53
// CHECK:         scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
// CHECK:         arith.cmpi uge
// CHECK-NEXT:    scf.if
// CHECK:           vector.store

module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_80"]} {
  func.func @main(%x: tensor<8x57x57x64xf32> {graph.name = "x"}) -> (tensor<8x57x57x64xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x) : (tensor<8x57x57x64xf32>) -> tensor<8x57x57x64xf32> {
      %c = graph.max_pool %a kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] channels_last : tensor<8x57x57x64xf32> -> tensor<8x57x57x64xf32>
      graph.yield %c : tensor<8x57x57x64xf32>
    }
    return %0 : tensor<8x57x57x64xf32>
  }
}
