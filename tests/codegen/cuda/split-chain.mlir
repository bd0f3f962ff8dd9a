// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --merge-kernels | FileCheck %s

// Few queries of few heads are computed by kernels of their own. These do not
// say that they were attention: the softmax is the same kernel as any other, and
// a product in parts if it has few blocks.
// CHECK: %[[SCORES:.*]] = graph.dispatch @attention_0_product(%arg0, %arg1)
// CHECK: %[[WEIGHTS:.*]] = graph.dispatch @[[SOFTMAX:.*]](%[[SCORES]])
// CHECK: %[[PARTS:.*]] = graph.dispatch @attention_0_parts(%arg2, %[[WEIGHTS]])
// CHECK: graph.dispatch @attention_0(%[[PARTS]])
// CHECK: graph.dispatch @[[SOFTMAX]](%arg3)
// CHECK-NOT: origin.op
module attributes {graph.cpu = "x86-64-v4", graph.cuda = ["sm_80"]} {
  func.func @main(%q: tensor<1x2x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>, %s: tensor<1x2x256x256xf32>) -> (tensor<1x2x256x64xf32>, tensor<1x2x256x256xf32>) {
    %0 = graph.kernel (%a = %q, %b = %k, %c = %v) : (tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x2x256x64xf32> attributes {graph.device = "cuda"} {
      %y = graph.attention %a, %b, %c scale 1.250000e-01 : tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>
      graph.yield %y : tensor<1x2x256x64xf32>
    }
    %1 = graph.kernel (%a = %s) : (tensor<1x2x256x256xf32>) -> tensor<1x2x256x256xf32> attributes {graph.device = "cuda"} {
      %y = graph.softmax %a axis 3 : tensor<1x2x256x256xf32>
      graph.yield %y : tensor<1x2x256x256xf32>
    }
    return %0, %1 : tensor<1x2x256x64xf32>, tensor<1x2x256x256xf32>
  }
}
