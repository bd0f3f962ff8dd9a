// RUN: graph-opt %s --lower-kernels --choose-strategies | FileCheck %s
// RUN: graph-opt %s --lower-kernels --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// Lanes along the channels, a sum in a register for each tap. The last vector has
// 4 channels.

// CHECK:       func.func private @conv_weight_gradient_0(
// CHECK-SAME:    graph.plan = #cpu.depthwise_gradient<tile = [9, 16], level = 0, sums = 2>
// EMIT-LABEL:  func.func @conv_weight_gradient_0(
// EMIT:          vector.create_mask
// EMIT:          scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// EMIT-COUNT-9:  vector.fma {{.*}} : vector<16xf32>

// Two outputs a channel lie side by side, and channels do not.
// CHECK:       func.func private @conv_weight_gradient_1(
// CHECK-NOT:     depthwise_gradient
// CHECK-SAME:    graph.plan = #cpu.rows<

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<2x9x9x20xf32> {graph.name = "x"}, %dy: tensor<2x9x9x20xf32> {graph.name = "dy"},
                  %z: tensor<2x9x9x40xf32> {graph.name = "z"})
      -> (tensor<20x1x3x3xf32> {graph.name = "dw"}, tensor<40x1x3x3xf32> {graph.name = "dv"}) {
    %0 = graph.kernel (%a = %x, %b = %dy) : (tensor<2x9x9x20xf32>, tensor<2x9x9x20xf32>) -> tensor<20x1x3x3xf32> {
      %p = graph.conv_weight_gradient %a, %b kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 20 channels_last
          : tensor<2x9x9x20xf32>, tensor<2x9x9x20xf32> -> tensor<20x1x3x3xf32>
      graph.yield %p : tensor<20x1x3x3xf32>
    }
    %1 = graph.kernel (%a = %x, %b = %z) : (tensor<2x9x9x20xf32>, tensor<2x9x9x40xf32>) -> tensor<40x1x3x3xf32> {
      %p = graph.conv_weight_gradient %a, %b kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 20 channels_last
          : tensor<2x9x9x20xf32>, tensor<2x9x9x40xf32> -> tensor<40x1x3x3xf32>
      graph.yield %p : tensor<40x1x3x3xf32>
    }
    return %0, %1 : tensor<20x1x3x3xf32>, tensor<40x1x3x3xf32>
  }
}
