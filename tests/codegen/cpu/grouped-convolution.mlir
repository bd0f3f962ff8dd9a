// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --outline-constants | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// Each group has panels of its own, and the bias joins the sums in registers
// although groups and channels are one dimension by then.

// CHECK-LABEL: func.func @init
// CHECK:         graph.dispatch @conv_add_0_pack(%{{.*}}) : (tensor<40x8x3x3xf32>) -> tensor<2x1x3x3x8x32xf32>
// CHECK:       func.func private @conv_add_0(
// CHECK-SAME:    {cpu.layout = #cpu.panels<of = tensor<2x20x8x3x3xf32>, order = [0, 3, 4, 2, 1], batch = 1, width = 32>}
// CHECK-SAME:    graph.plan = #cpu.contraction<

// EMIT-LABEL: func.func @conv_add_0(
// EMIT:         vector.fma
// EMIT:         arith.addf {{.*}} : vector<16xf32>
// EMIT:         vector.maskedstore

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<1x9x9x16xf32> {graph.name = "x"}, %b: tensor<40xf32> {graph.name = "b"})
      -> (tensor<1x7x7x40xf32> {graph.name = "y"}) {
    %w = graph.constant #graph.external<"w.bin", 0, 11520> : tensor<40x8x3x3xf32>
    %0 = graph.kernel (%a = %x, %k = %w, %c = %b) : (tensor<1x9x9x16xf32>, tensor<40x8x3x3xf32>, tensor<40xf32>) -> tensor<1x7x7x40xf32> {
      %p = graph.conv %a, %k strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 2 channels_last
          : tensor<1x9x9x16xf32>, tensor<40x8x3x3xf32> -> tensor<1x7x7x40xf32>
      %q = graph.add %p, %c : tensor<1x7x7x40xf32>, tensor<40xf32> -> tensor<1x7x7x40xf32>
      graph.yield %q : tensor<1x7x7x40xf32>
    }
    return %0 : tensor<1x7x7x40xf32>
  }
}
