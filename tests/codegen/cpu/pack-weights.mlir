// RUN: graph-opt %s --lower-kernels --lay-out-weights=winograd=off --choose-strategies | FileCheck %s

// Weights that are no constants are packed each time: once, and not by each of
// several chunks.

// CHECK-LABEL: func.func @main
// CHECK:         %[[P:.*]] = graph.dispatch @conv_0_pack(%arg1) : (tensor<64x32x3x3xf32>) -> tensor<2x3x3x32x32xf32>
// CHECK:         graph.dispatch @conv_0(%arg0, %[[P]])

// Where each chunk reads columns of its own, it packs them itself.
// CHECK:         graph.dispatch @matmul_0(%arg2, %arg3)
// CHECK:       func.func private @conv_0(
// CHECK-SAME:    {cpu.layout = #cpu.panels<of = tensor<64x32x3x3xf32>, order = [2, 3, 1, 0], batch = 0, width = 32>}
// CHECK-SAME:    graph.plan = #cpu.contraction<
// CHECK:       func.func private @matmul_0(
// CHECK-NOT:     cpu.layout
// CHECK-SAME:    graph.plan = #cpu.contraction<

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<4x9x9x32xf32> {graph.name = "x"}, %w: tensor<64x32x3x3xf32> {graph.name = "w"},
                  %a: tensor<8x64xf32> {graph.name = "a"}, %b: tensor<64x64xf32> {graph.name = "b"})
      -> (tensor<4x9x9x64xf32> {graph.name = "y"}, tensor<8x64xf32> {graph.name = "z"}) {
    %0 = graph.kernel (%p = %x, %q = %w) : (tensor<4x9x9x32xf32>, tensor<64x32x3x3xf32>) -> tensor<4x9x9x64xf32> {
      %y = graph.conv %p, %q strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last
          : tensor<4x9x9x32xf32>, tensor<64x32x3x3xf32> -> tensor<4x9x9x64xf32>
      graph.yield %y : tensor<4x9x9x64xf32>
    }
    %1 = graph.kernel (%p = %a, %q = %b) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> {
      %y = graph.matmul %p, %q : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
      graph.yield %y : tensor<8x64xf32>
    }
    return %0, %1 : tensor<4x9x9x64xf32>, tensor<8x64xf32>
  }
}
