// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies | FileCheck %s
// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT
// RUN: graph-opt %s --lower-kernels --lay-out-weights=winograd=off --choose-strategies | FileCheck %s --check-prefix=OFF
// RUN: graph-opt %s --lower-kernels --lay-out-weights=winograd=fast --choose-strategies | FileCheck %s --check-prefix=FAST

// Gradients with respect to 3 x 3 filters are sums of products of 16 numbers of each tile
// of 2 x 2 positions, or of more where more may be lost. Where that makes few chunks,
// parts of the sums do so.

// CHECK:       func.func private @conv_weight_gradient_0_parts(
// CHECK-SAME:    cpu.transforms = array<i64: 2>
// CHECK-SAME:    graph.plan = #cpu.winograd_gradient<positions = 2,
// CHECK:       func.func private @conv_weight_gradient_0(
// CHECK-NOT:     cpu.transforms
// CHECK-SAME:    graph.plan = #cpu.rows<

// FAST:        func.func private @conv_weight_gradient_0_parts(
// FAST-SAME:     cpu.transforms = array<i64: 2, 4, 6>
// FAST-SAME:     graph.plan = #cpu.winograd_gradient<positions = {{[46]}},

// OFF-NOT:     cpu.transforms
// OFF-NOT:     winograd_gradient
// OFF:         graph.plan = #cpu.outer_products<

// The products of a number, and at the end its sums become taps.
// EMIT-LABEL:  func.func @conv_weight_gradient_0_parts(
// EMIT:          scf.for %{{.*}} = %c0 to %c16 step %c1
// EMIT:            vector.fma {{.*}} : vector<16xf32>
// EMIT-COUNT-16: vector.load {{.*}} vector<16xf32>
// EMIT-COUNT-9:  vector.store {{.*}} vector<16xf32>

// Every other position is another convolution.
// CHECK:       func.func private @conv_weight_gradient_1_parts(
// CHECK-NOT:     cpu.transforms
// CHECK-SAME:    graph.plan = #cpu.outer_products<

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<16x56x56x64xf32> {graph.name = "x"}, %dy: tensor<16x56x56x64xf32> {graph.name = "dy"},
                  %dz: tensor<16x28x28x64xf32> {graph.name = "dz"})
      -> (tensor<64x64x3x3xf32> {graph.name = "dw"}, tensor<64x64x3x3xf32> {graph.name = "dv"}) {
    %0 = graph.kernel (%a = %x, %b = %dy) : (tensor<16x56x56x64xf32>, tensor<16x56x56x64xf32>) -> tensor<64x64x3x3xf32> {
      %p = graph.conv_weight_gradient %a, %b kernel [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last
          : tensor<16x56x56x64xf32>, tensor<16x56x56x64xf32> -> tensor<64x64x3x3xf32>
      graph.yield %p : tensor<64x64x3x3xf32>
    }
    %1 = graph.kernel (%a = %x, %b = %dz) : (tensor<16x56x56x64xf32>, tensor<16x28x28x64xf32>) -> tensor<64x64x3x3xf32> {
      %p = graph.conv_weight_gradient %a, %b kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_last
          : tensor<16x56x56x64xf32>, tensor<16x28x28x64xf32> -> tensor<64x64x3x3xf32>
      graph.yield %p : tensor<64x64x3x3xf32>
    }
    return %0, %1 : tensor<64x64x3x3xf32>, tensor<64x64x3x3xf32>
  }
}
