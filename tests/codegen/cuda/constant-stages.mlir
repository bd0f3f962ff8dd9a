// Kernels that are split from one on the GPU, and have constants only, are for
// @init, which the CPU computes. Their results are weights that the GPU reads.
//
// RUN: graph-compile %s --from=fused --emit=kernels --no-cache -o - | FileCheck %s
// RUN: graph-compile %s --from=fused --emit=plan --no-cache -o - | FileCheck %s --check-prefix=PLAN

// CHECK-LABEL: func.func @init(
// CHECK:         graph.dispatch @[[STAGE:.*_(stage|parts)]](
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     graph.dispatch @[[STAGE]](
// CHECK:       func.func private @[[STAGE]](
// CHECK-NOT:     graph.device
// CHECK:         return
// CHECK:       graph.device = "cuda"

// PLAN: reads(device[{{.*}}], device_weights[

module attributes {graph.cpu = "x86-64-v3", graph.cuda = ["sm_80"]} {
  func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    %c = graph.constant dense<0.5> : tensor<8x200000xf32>
    %0 = graph.kernel (%a = %x, %b = %c) : (tensor<8xf32>, tensor<8x200000xf32>) -> tensor<8xf32> {
      %1 = graph.reduce sum %b axes [1] : tensor<8x200000xf32> -> tensor<8xf32>
      %2 = graph.add %a, %1 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
      graph.yield %2 : tensor<8xf32>
    }
    return %0 : tensor<8xf32>
  }
}
