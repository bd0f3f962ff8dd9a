// RUN: graph-compile %s --cpu=x86-64-v3 --loadable-weights --emit=plan -o - | FileCheck %s

// Weights lie in the artifact in the order in which steps read them, so that a run
// goes through the file once, from its beginning to its end: not in the order in
// which the model has them.
// CHECK:      plan.function @main
// CHECK:        plan.dispatch {{.*}}reads({{.*}}weights[0 to 4096]
// CHECK:        plan.dispatch {{.*}}reads({{.*}}weights[4096 to 12288]
// CHECK:        plan.dispatch {{.*}}reads({{.*}}weights[12288 to 20480]
func.func @main(%x: tensor<8x32xf32> {graph.name = "x"}) -> (tensor<8x24xf32> {graph.name = "y"}) {
  %last = graph.constant dense<0.25> : tensor<64x24xf32> loc("last")
  %second = graph.constant dense<0.5> : tensor<32x64xf32> loc("second")
  %first = graph.constant dense<0.125> : tensor<32x32xf32> loc("first")
  %0 = graph.matmul %x, %first : tensor<8x32xf32>, tensor<32x32xf32> -> tensor<8x32xf32>
  %1 = graph.matmul %0, %second : tensor<8x32xf32>, tensor<32x64xf32> -> tensor<8x64xf32>
  %2 = graph.matmul %1, %last : tensor<8x64xf32>, tensor<64x24xf32> -> tensor<8x24xf32>
  return %2 : tensor<8x24xf32>
}
