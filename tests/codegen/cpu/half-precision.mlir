// RUN: graph-opt %s --lower-kernels --choose-strategies --outline-constants | FileCheck %s
// RUN: graph-opt %s --lower-kernels --choose-strategies --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// Weights of 16 bits are packed as f32, the input is converted on its way to
// scratch memory, and the sums on their way to the result.

// CHECK-LABEL: func.func @init
// CHECK:         graph.dispatch @matmul_0_pack(%{{.*}}) : (tensor<40x32xf16>) -> tensor<1x40x32xf32>
// CHECK:       func.func private @matmul_0(
// CHECK-SAME:    graph.strategy = "contraction"

// EMIT-LABEL: func.func @matmul_0(
// EMIT:         arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// EMIT:         vector.fma
// EMIT:         arith.truncf {{.*}} : vector<16xf32> to vector<16xf16>
// EMIT:         vector.store

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<32x40xf16> {graph.name = "x"}) -> (tensor<32x32xf16> {graph.name = "y"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 2560> : tensor<40x32xf16>
    %0 = graph.kernel (%a = %x, %b = %w) : (tensor<32x40xf16>, tensor<40x32xf16>) -> tensor<32x32xf16> {
      %p = graph.matmul %a, %b : tensor<32x40xf16>, tensor<40x32xf16> -> tensor<32x32xf16>
      graph.yield %p : tensor<32x32xf16>
    }
    return %0 : tensor<32x32xf16>
  }
}
