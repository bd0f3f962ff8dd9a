// Rows of leading dimensions, for teams of threads.
//
// RUN: graph-opt %s --split-input-file --place-kernels --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s

// 250 vectors for 256 threads: those that have none repeat the last one and
// store nothing. Warps combine by five shuffles, and once through shared memory,
// for which they wait for each other; so for the sum. What is loaded last is
// what is stored.

// CHECK-LABEL: gpu.func @softmax_0(
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ult, %{{.*}}, %c250
// CHECK:         vector.load %{{.*}} : memref<64000xf32>, vector<4xf32>
// CHECK:         vector.reduction <maximumf>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK:         scf.if
// CHECK-NEXT:      memref.store %{{.*}} : memref<8xf32, #gpu.address_space<workgroup>>
// CHECK:         gpu.barrier
// CHECK-COUNT-8: memref.load %{{.*}} : memref<8xf32, #gpu.address_space<workgroup>>
// CHECK:         math.exp
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK:         gpu.barrier
// CHECK-COUNT-8: memref.load
// CHECK:         scf.if %[[EXISTS]]
// CHECK-NEXT:      vector.store %{{.*}} : memref<64000xf32>, vector<4xf32>
// CHECK-NOT:     gpu.barrier

module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_80"]} {
  func.func @main(%x: tensor<64x1000xf32> {graph.name = "x"}) -> (tensor<64x1000xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x) : (tensor<64x1000xf32>) -> tensor<64x1000xf32> {
      %c = graph.softmax %a axis 1 : tensor<64x1000xf32>
      graph.yield %c : tensor<64x1000xf32>
    }
    return %0 : tensor<64x1000xf32>
  }
}

// -----

// A part of a warp has a row of ten elements: shuffles stay within it, nobody
// waits.

// CHECK-LABEL: gpu.func @softmax_0(
// CHECK-NOT:     gpu.barrier
// CHECK-COUNT-8: gpu.shuffle xor
// CHECK-NOT:     gpu.shuffle
// CHECK-NOT:     gpu.barrier
// CHECK:         memref.store %{{.*}} : memref<50000xf32>

module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_80"]} {
  func.func @main(%x: tensor<5000x10xf32> {graph.name = "x"}) -> (tensor<5000x10xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x) : (tensor<5000x10xf32>) -> tensor<5000x10xf32> {
      %c = graph.softmax %a axis 1 : tensor<5000x10xf32>
      graph.yield %c : tensor<5000x10xf32>
    }
    return %0 : tensor<5000x10xf32>
  }
}

// -----

// A long sum with a small result, along a leading dimension: blocks sum parts,
// with lanes along the last one; then the parts are summed.

// CHECK-LABEL: gpu.func @reduce_0_parts(
// CHECK:         vector.load %{{.*}} : memref<6400000xf32>, vector<4xf32>
// CHECK:         gpu.shuffle xor
// CHECK:         gpu.barrier
// CHECK:         vector.store
// CHECK-LABEL: gpu.func @reduce_0(
// CHECK:         vector.load

module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_80"]} {
  func.func @main(%x: tensor<100000x64xf32> {graph.name = "x"}) -> (tensor<64xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x) : (tensor<100000x64xf32>) -> tensor<64xf32> {
      %c = graph.reduce sum %a axes [0] : tensor<100000x64xf32> -> tensor<64xf32>
      graph.yield %c : tensor<64xf32>
    }
    return %0 : tensor<64xf32>
  }
}

// -----

// A tile is read along one dimension and written along the other one; its rows
// are one element longer than they need, so that banks do not conflict.

// CHECK-LABEL:   gpu.func @transpose_0(
// CHECK-COUNT-4: memref.store %{{.*}} : memref<1056xf32, #gpu.address_space<workgroup>>
// CHECK:         gpu.barrier
// CHECK-COUNT-4: memref.load %{{.*}} : memref<1056xf32, #gpu.address_space<workgroup>>
// CHECK-NOT:     gpu.barrier

module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_80"]} {
  func.func @main(%x: tensor<64x1000xf32> {graph.name = "x"}) -> (tensor<1000x64xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x) : (tensor<64x1000xf32>) -> tensor<1000x64xf32> {
      %c = graph.transpose %a [1, 0] : tensor<64x1000xf32> -> tensor<1000x64xf32>
      graph.yield %c : tensor<1000x64xf32>
    }
    return %0 : tensor<1000x64xf32>
  }
}
