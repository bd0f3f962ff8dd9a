// Scatters: the block that owns positions looks for their updates.
//
// RUN: graph-opt %s --split-input-file --place-kernels --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s

// The gradient of an embedding: a thread has a vector of columns, and a block
// 60 rows. It writes zeros there; then warps vote which of as many updates as
// there are threads are for these rows, and the block combines them in order.
// The next positions are loaded before the barrier.

// CHECK-LABEL: gpu.func @scatter_0(
// CHECK-SAME:    known_block_size = array<i32: 192, 1, 1>
// CHECK:         scf.for
// CHECK:           vector.store %{{.*}} : memref<23440896xf32>, vector<4xf32>
// CHECK:         scf.for %{{.*}} iter_args
// CHECK:           memref.store %{{.*}} : memref<384xi32, #gpu.address_space<workgroup>>
// CHECK:           nvvm.vote.sync ballot
// CHECK:           memref.load %{{.*}} : memref<4096xi64>
// CHECK:           gpu.barrier
// CHECK-NOT:       gpu.barrier
// CHECK:           llvm.intr.cttz
// CHECK:           vector.load %{{.*}} : memref<3145728xf32>, vector<4xf32>
// CHECK:           %[[OLD:.*]] = vector.load %{{.*}} : memref<23440896xf32>, vector<4xf32>
// CHECK:           arith.addf %[[OLD]]

module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_80"]} {
  func.func @main(%i: tensor<4096xi64> {graph.name = "i"}, %u: tensor<4096x768xf32> {graph.name = "u"}) -> (tensor<30522x768xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %i, %b = %u) : (tensor<4096xi64>, tensor<4096x768xf32>) -> tensor<30522x768xf32> {
      %z = graph.constant dense<0.0> : tensor<30522x768xf32>
      %c = graph.scatter add %z, %a, %b axis 0 : tensor<30522x768xf32>, tensor<4096xi64>, tensor<4096x768xf32>
      graph.yield %c : tensor<30522x768xf32>
    }
    return %0 : tensor<30522x768xf32>
  }
}

// -----

// Positions that differ from line to line, of which there are many: a thread
// has one, and shares nothing.

// CHECK-LABEL: gpu.func @scatter_elements_0(
// CHECK-NOT:     gpu.barrier
// CHECK:         scf.for
// CHECK:           memref.store %{{.*}} : memref<1310720xf32>
// CHECK:         scf.for
// CHECK:           memref.store %{{.*}} : memref<1310720xf32>

module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_80"]} {
  func.func @main(%x: tensor<256x512x10xf32> {graph.name = "x"}, %i: tensor<256x512x3xi64> {graph.name = "i"}, %u: tensor<256x512x3xf32> {graph.name = "u"}) -> (tensor<256x512x10xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x, %b = %i, %c = %u) : (tensor<256x512x10xf32>, tensor<256x512x3xi64>, tensor<256x512x3xf32>) -> tensor<256x512x10xf32> {
      %d = graph.scatter_elements max %a, %b, %c axis 2 : tensor<256x512x10xf32>, tensor<256x512x3xi64>, tensor<256x512x3xf32>
      graph.yield %d : tensor<256x512x10xf32>
    }
    return %0 : tensor<256x512x10xf32>
  }
}
