// RUN: graph-opt %s --place-kernels --lower-kernels --lay-out-weights --choose-strategies --divide-kernels | FileCheck %s

// Sums over 1,024 rows of 2,048 columns, 16 blocks' worth of columns, are
// computed in parts that have 8,192 elements or more for each block.
// CHECK: graph.dispatch @reduce_reshape_mul_0_parts(%{{.*}}) : (tensor<1024x2048xf32>) -> tensor<16x2048xf32>
// CHECK: graph.dispatch @reduce_reshape_mul_0(%{{.*}}, %{{.*}}) : (tensor<f32>, tensor<16x2048xf32>)

// Those of 64 channels over few images, one block's worth, in a part for each
// line of the images.
// CHECK: graph.dispatch @reduce_0_parts(%{{.*}}) : (tensor<16x56x56x64xf32>) -> tensor<56x64xf32>

// What would leave a block little to do stays one kernel.
// CHECK: graph.dispatch @reduce_1(%{{.*}}) : (tensor<64x256xf32>) -> tensor<256xf32>

// CHECK: func.func private @reduce_reshape_mul_0_parts
// CHECK-SAME: graph.chunks = 256 : i64
module attributes {graph.cpu = "x86-64-v4", graph.cuda = ["sm_90a"]} {
  func.func @main(%dy: tensor<1024x2048xf32>, %rate: tensor<f32>, %x: tensor<16x56x56x64xf32>, %few: tensor<64x256xf32>) -> (tensor<1x2048xf32>, tensor<64xf32>, tensor<256xf32>) {
    %0 = graph.kernel (%a = %dy, %r = %rate) : (tensor<1024x2048xf32>, tensor<f32>) -> tensor<1x2048xf32> attributes {graph.device = "cuda"} {
      %s = graph.reduce sum %a axes [0] : tensor<1024x2048xf32> -> tensor<2048xf32>
      %t = graph.reshape %s : tensor<2048xf32> to tensor<1x2048xf32>
      %y = graph.mul %t, %r : tensor<1x2048xf32>, tensor<f32> -> tensor<1x2048xf32>
      graph.yield %y : tensor<1x2048xf32>
    }
    %1 = graph.kernel (%a = %x) : (tensor<16x56x56x64xf32>) -> tensor<64xf32> attributes {graph.device = "cuda"} {
      %y = graph.reduce sum %a axes [0, 1, 2] : tensor<16x56x56x64xf32> -> tensor<64xf32>
      graph.yield %y : tensor<64xf32>
    }
    %2 = graph.kernel (%a = %few) : (tensor<64x256xf32>) -> tensor<256xf32> attributes {graph.device = "cuda"} {
      %y = graph.reduce sum %a axes [0] : tensor<64x256xf32> -> tensor<256xf32>
      graph.yield %y : tensor<256xf32>
    }
    return %0, %1, %2 : tensor<1x2048xf32>, tensor<64xf32>, tensor<256xf32>
  }
}
