// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s

// Kernels are functions of flat memory, scratch memory and a range of chunks.

// Register tiles: the accumulators are values of the loop over k, and the bias is
// added to them before the one store of each.
// CHECK-LABEL: func.func @matmul_add_0(
// CHECK-SAME:    memref<512xf32>, %{{.*}}: memref<512xf32>, %{{.*}}: memref<16xf32>, %{{.*}}: memref<256xf32> {llvm.noalias}, %{{.*}}: memref<{{.*}}xi8>, %{{.*}}: index, %{{.*}}: index
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>
// CHECK:           vector.fma
// CHECK:         arith.addf {{.*}} : vector<16xf32>
// CHECK:         vector.store

// A row of softmax: lanes along the reduction, a masked tail, exp computed once.
// CHECK-LABEL: func.func @softmax_0(
// CHECK:         vector.reduction <maximumf>
// CHECK:         math.exp
// CHECK:         vector.maskedstore
// CHECK:         vector.reduction <add>
// CHECK-NOT:     math.exp
// CHECK:         arith.divf

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<16x32xf32> {graph.name = "x"}, %s: tensor<4x20xf32> {graph.name = "s"},
                  %w: tensor<32x16xf32> {graph.name = "w"}, %c: tensor<16xf32> {graph.name = "c"})
      -> (tensor<16x16xf32> {graph.name = "y"}, tensor<4x20xf32> {graph.name = "z"}) {
    %0 = graph.kernel (%a = %x, %b = %w, %d = %c) : (tensor<16x32xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<16x16xf32> {
      %p = graph.matmul %a, %b : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
      %q = graph.add %p, %d : tensor<16x16xf32>, tensor<16xf32> -> tensor<16x16xf32>
      graph.yield %q : tensor<16x16xf32>
    }
    %1 = graph.kernel (%a = %s) : (tensor<4x20xf32>) -> tensor<4x20xf32> {
      %p = graph.softmax %a axis 1 : tensor<4x20xf32>
      graph.yield %p : tensor<4x20xf32>
    }
    return %0, %1 : tensor<16x16xf32>, tensor<4x20xf32>
  }
}
