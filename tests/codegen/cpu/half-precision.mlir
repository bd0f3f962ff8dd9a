// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// Weights of 16 bits are packed as they are, which is as good as f32 to load. The input is converted on its way to scratch memory, and the sums on
// their way to the result.

// CHECK-LABEL: func.func @init
// CHECK:         graph.dispatch @matmul_0_pack(%{{.*}}) : (tensor<40x32xf16>) -> tensor<1x40x32xf16>
// CHECK:         graph.dispatch @matmul_1_pack(%{{.*}}) : (tensor<40x32xbf16>) -> tensor<1x40x32xbf16>
// CHECK:       func.func private @matmul_0(
// CHECK-SAME:    graph.plan = #cpu.contraction<

// EMIT-LABEL: func.func @matmul_0(
// EMIT:         arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// EMIT:         vector.fma
// EMIT:         arith.truncf {{.*}} : vector<16xf32> to vector<16xf16>
// EMIT:         vector.store

// EMIT-LABEL: func.func @matmul_1(
// EMIT:         scf.for {{.*}} iter_args
// EMIT:         %[[W:.*]] = vector.load {{.*}} : memref<1280xbf16>, vector<16xbf16>
// EMIT:         %[[C:.*]] = arith.extf %[[W]] : vector<16xbf16> to vector<16xf32>
// EMIT:         vector.fma %{{.*}}, %[[C]], %{{.*}} : vector<16xf32>

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<32x40xf16> {graph.name = "x"}, %u: tensor<32x40xbf16> {graph.name = "u"})
      -> (tensor<32x32xf16> {graph.name = "y"}, tensor<32x32xbf16> {graph.name = "z"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 2560> : tensor<40x32xf16>
    %0 = graph.kernel (%a = %x, %b = %w) : (tensor<32x40xf16>, tensor<40x32xf16>) -> tensor<32x32xf16> {
      %p = graph.matmul %a, %b : tensor<32x40xf16>, tensor<40x32xf16> -> tensor<32x32xf16>
      graph.yield %p : tensor<32x32xf16>
    }
    %v = graph.constant #graph.external<"w.bin", 2560, 2560> : tensor<40x32xbf16>
    %1 = graph.kernel (%a = %u, %b = %v) : (tensor<32x40xbf16>, tensor<40x32xbf16>) -> tensor<32x32xbf16> {
      %p = graph.matmul %a, %b : tensor<32x40xbf16>, tensor<40x32xbf16> -> tensor<32x32xbf16>
      graph.yield %p : tensor<32x32xbf16>
    }
    return %0, %1 : tensor<32x32xf16>, tensor<32x32xbf16>
  }
}
