// Kernels that write and read parts of tensors.
// RUN: graph-opt %s --lower-kernels --form-views --lay-out-weights --choose-strategies --outline-constants | FileCheck %s
// RUN: graph-opt %s --lower-kernels --form-views --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=CODE

// Strategies are those of dense tensors, also where a product reads its operand
// where it lies: it needs no scratch memory.
// CHECK: func.func private @matmul_0(%{{[^)]*}}) -> (tensor<64x32xf32> {graph.strides = array<i64: 72, 1>})
// CHECK-SAME: graph.plan = #cpu.contraction<
// CHECK: func.func private @transpose_0(%{{[^)]*}}) -> (tensor<64x40xf32> {graph.strides = array<i64: 72, 1>})
// CHECK-SAME: graph.plan = #cpu.transpose<
// CHECK: func.func private @matmul_1(%{{[^)]*}}: tensor<64x32xf32> {graph.strides = array<i64: 72, 1>}
// CHECK-SAME: graph.plan = #cpu.contraction<{{.*}}left = in_place, right = packed>

// What is read in rows is not where a dense result could be.
// CHECK: func.func private @relu_0(%{{[^)]*}}: tensor<64x40xf32> {graph.strides = array<i64: 72, 1>}) -> tensor<64x40xf32> attributes {graph.estimate
// CHECK-NOT: graph.inplace

// Memory is as long as it is from the first element to the last. Each row begins
// 72 elements after the one before, and each square of 16.
// CODE-LABEL: func.func @matmul_0(%{{.*}}: memref<2560xf32>, %{{.*}}: memref<1280xf32>, %{{.*}}: memref<4568xf32> {llvm.noalias},
// CODE: arith.muli %{{.*}}, %c72
// CODE: vector.store %{{.*}} : memref<4568xf32>, vector<16xf32>
// CODE-LABEL: func.func @transpose_0(%{{.*}}: memref<2560xf32>, %{{.*}}: memref<4576xf32> {llvm.noalias},
// CODE: arith.muli %{{.*}}, %c1152
// CODE: vector.store %{{.*}} : memref<4576xf32>, vector<16xf32>
// CODE-LABEL: func.func @matmul_1(%{{.*}}: memref<4568xf32>,
// CODE: memref.load %{{.*}} : memref<4568xf32>
module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<64x40xf32> {graph.name = "x"}, %z: tensor<40x64xf32> {graph.name = "z"})
      -> (tensor<64x72xf32> {graph.name = "y"}, tensor<64x32xf32> {graph.name = "p"}, tensor<64x40xf32> {graph.name = "q"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 5120> : tensor<40x32xf32>
    %v = graph.constant #graph.external<"w.bin", 8192, 4096> : tensor<32x32xf32>
    %0 = graph.kernel (%a = %x, %b = %w) : (tensor<64x40xf32>, tensor<40x32xf32>) -> tensor<64x32xf32> {
      %p = graph.matmul %a, %b : tensor<64x40xf32>, tensor<40x32xf32> -> tensor<64x32xf32>
      graph.yield %p : tensor<64x32xf32>
    }
    %1 = graph.kernel (%a = %z) : (tensor<40x64xf32>) -> tensor<64x40xf32> {
      %p = graph.transpose %a [1, 0] : tensor<40x64xf32> -> tensor<64x40xf32>
      graph.yield %p : tensor<64x40xf32>
    }
    %2 = graph.kernel (%a = %0, %b = %1) : (tensor<64x32xf32>, tensor<64x40xf32>) -> tensor<64x72xf32> {
      %p = graph.concat %a, %b axis 1 : (tensor<64x32xf32>, tensor<64x40xf32>) -> tensor<64x72xf32>
      graph.yield %p : tensor<64x72xf32>
    }
    %3 = graph.kernel (%a = %0, %b = %v) : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32> {
      %p = graph.matmul %a, %b : tensor<64x32xf32>, tensor<32x32xf32> -> tensor<64x32xf32>
      graph.yield %p : tensor<64x32xf32>
    }
    %4 = graph.kernel (%a = %1) : (tensor<64x40xf32>) -> tensor<64x40xf32> {
      %p = graph.relu %a : tensor<64x40xf32>
      graph.yield %p : tensor<64x40xf32>
    }
    return %2, %3, %4 : tensor<64x72xf32>, tensor<64x32xf32>, tensor<64x40xf32>
  }
}
