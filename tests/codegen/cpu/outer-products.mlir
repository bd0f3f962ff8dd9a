// RUN: graph-opt %s --lower-kernels --lay-out-weights=winograd=off --choose-strategies | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights=winograd=off --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// Sums over more indices than the gradient of weights has, in register tiles.

// CHECK:       func.func private @conv_weight_gradient_0(
// CHECK-SAME:    graph.plan = #cpu.outer_products<
// EMIT-LABEL:  func.func @conv_weight_gradient_0(
// EMIT:          vector.fma {{.*}} : vector<16xf32>

// Groups of one channel have too little for a tile.
// CHECK:       func.func private @conv_weight_gradient_1(
// CHECK-SAME:    graph.plan = #cpu.depthwise_gradient<

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<2x9x9x16xf32> {graph.name = "x"}, %dy: tensor<2x9x9x40xf32> {graph.name = "dy"},
                  %z: tensor<2x9x9x16xf32> {graph.name = "z"})
      -> (tensor<40x16x3x3xf32> {graph.name = "dw"}, tensor<16x1x3x3xf32> {graph.name = "dv"}) {
    %0 = graph.kernel (%a = %x, %b = %dy) : (tensor<2x9x9x16xf32>, tensor<2x9x9x40xf32>) -> tensor<40x16x3x3xf32> {
      %p = graph.conv_weight_gradient %a, %b kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last
          : tensor<2x9x9x16xf32>, tensor<2x9x9x40xf32> -> tensor<40x16x3x3xf32>
      graph.yield %p : tensor<40x16x3x3xf32>
    }
    %1 = graph.kernel (%a = %x, %b = %z) : (tensor<2x9x9x16xf32>, tensor<2x9x9x16xf32>) -> tensor<16x1x3x3xf32> {
      %p = graph.conv_weight_gradient %a, %b kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 16 channels_last
          : tensor<2x9x9x16xf32>, tensor<2x9x9x16xf32> -> tensor<16x1x3x3xf32>
      graph.yield %p : tensor<16x1x3x3xf32>
    }
    return %0, %1 : tensor<40x16x3x3xf32>, tensor<16x1x3x3xf32>
  }
}
