// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s

// Constant weights are packed by a kernel of their own, which runs in @init; the
// contraction says in linalg what the packed operand holds.

// CHECK-LABEL: func.func @init
// CHECK:         graph.dispatch @matmul_relu_0_pack(%{{.*}}) : (tensor<40x10xf32>) -> tensor<1x40x16xf32>
// CHECK-LABEL: func.func @main
// CHECK:         graph.weight {{.*}} : tensor<1x40x16xf32>
// CHECK:         graph.dispatch @matmul_relu_0(

// CHECK:       func.func private @matmul_relu_0_pack
// CHECK-SAME:    graph.plan = #cpu.rows<
// CHECK:         tensor.pad

// CHECK:       func.func private @matmul_relu_0(
// CHECK-SAME:    %arg1: tensor<1x40x16xf32> {cpu.layout = #cpu.panels<of = tensor<40x10xf32>, order = [0, 1], batch = 0, width = 16>}
// CHECK-SAME:    graph.plan = #cpu.contraction<

// A sum may overwrite either operand.
// CHECK:       func.func private @add_0
// CHECK-SAME:    graph.inplace = [array<i64: 0, 0>, array<i64: 1, 0>]
// CHECK-SAME:    graph.plan = #cpu.rows<

// A transpose may not, and has a strategy of its own.
// CHECK:       func.func private @transpose_0
// CHECK-NOT:     graph.inplace
// CHECK-SAME:    graph.plan = #cpu.transpose<

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<32x40xf32> {graph.name = "x"}, %r: tensor<32x10xf32> {graph.name = "r"})
      -> (tensor<10x32xf32> {graph.name = "y"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 1600> : tensor<40x10xf32>
    %0 = graph.kernel (%a = %x, %b = %w) : (tensor<32x40xf32>, tensor<40x10xf32>) -> tensor<32x10xf32> {
      %p = graph.matmul %a, %b : tensor<32x40xf32>, tensor<40x10xf32> -> tensor<32x10xf32>
      %q = graph.relu %p : tensor<32x10xf32>
      graph.yield %q : tensor<32x10xf32>
    }
    %1 = graph.kernel (%a = %0, %b = %r) : (tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> {
      %p = graph.add %a, %b : tensor<32x10xf32>, tensor<32x10xf32> -> tensor<32x10xf32>
      graph.yield %p : tensor<32x10xf32>
    }
    %2 = graph.kernel (%a = %1) : (tensor<32x10xf32>) -> tensor<10x32xf32> {
      %p = graph.transpose %a [1, 0] : tensor<32x10xf32> -> tensor<10x32xf32>
      graph.yield %p : tensor<10x32xf32>
    }
    return %2 : tensor<10x32xf32>
  }
}
