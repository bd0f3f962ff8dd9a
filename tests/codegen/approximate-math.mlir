// RUN: graph-opt %s --lower-kernels --approximate-math | FileCheck %s
// RUN: graph-opt %s --lower-kernels | FileCheck %s --check-prefix=ACCURATE

// What code generation has two ways for says which it takes; what is exact anyway
// does not.
// CHECK-LABEL: func.func private @softmax_
// CHECK:         arith.subf %{{.*}}, %{{.*}} : f32
// CHECK:         math.exp %{{.*}} fastmath<afn> : f32
// CHECK:         arith.divf %{{.*}}, %{{.*}} : f32
// CHECK-LABEL: func.func private @gelu_
// CHECK:         math.erf %{{.*}} fastmath<afn> : f32
// CHECK-LABEL: func.func private @sqrt_
// CHECK:         math.sqrt %{{.*}} : f32

// ACCURATE-NOT: fastmath

module attributes {graph.cpu = "x86-64-v3"} {
  func.func @main(%x: tensor<4x20xf32> {graph.name = "x"})
      -> (tensor<4x20xf32> {graph.name = "y"}, tensor<4x20xf32> {graph.name = "z"},
          tensor<4x20xf32> {graph.name = "w"}) {
    %0 = graph.kernel (%a = %x) : (tensor<4x20xf32>) -> tensor<4x20xf32> {
      %p = graph.softmax %a axis 1 : tensor<4x20xf32>
      graph.yield %p : tensor<4x20xf32>
    }
    %1 = graph.kernel (%a = %x) : (tensor<4x20xf32>) -> tensor<4x20xf32> {
      %p = graph.gelu %a : tensor<4x20xf32>
      graph.yield %p : tensor<4x20xf32>
    }
    %2 = graph.kernel (%a = %x) : (tensor<4x20xf32>) -> tensor<4x20xf32> {
      %p = graph.sqrt %a : tensor<4x20xf32>
      graph.yield %p : tensor<4x20xf32>
    }
    return %0, %1, %2 : tensor<4x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>
  }
}
