// RUN: graph-opt %s --split-input-file --form-kernels | FileCheck %s

// A few bytes of a model ask for 8 GB: they are not kept, but made in each run.
// CHECK-LABEL: func.func @returned
// CHECK: %[[ALL:.*]] = graph.kernel () : () -> tensor<2147483648xf32> {
// CHECK-NEXT: graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: graph.broadcast
// CHECK: return %[[ALL]]
func.func @returned() -> tensor<2147483648xf32> {
  %0 = graph.constant dense<1.0> : tensor<2147483648xf32>
  return %0 : tensor<2147483648xf32>
}

// -----

// CHECK-LABEL: func.func @small
// CHECK-NEXT: graph.constant
// CHECK-NEXT: return
func.func @small() -> tensor<1024xf32> {
  %0 = graph.constant dense<1.0> : tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// -----

// What is too much to be kept is no constant for the kernels that read it.
// CHECK-LABEL: func.func @product
// CHECK: graph.kernel (%{{.*}} = %arg0) : (tensor<f32>) -> tensor<1048576x1048576xf32> {
// CHECK: graph.matmul
// CHECK-NEXT: graph.add
func.func @product(%x: tensor<f32>) -> tensor<1048576x1048576xf32> {
  %0 = graph.constant dense<1.0> : tensor<1048576x1xf32>
  %1 = graph.constant dense<2.0> : tensor<1x1048576xf32>
  %2 = graph.matmul %0, %1 : tensor<1048576x1xf32>, tensor<1x1048576xf32> -> tensor<1048576x1048576xf32>
  %3 = graph.add %2, %x : tensor<1048576x1048576xf32>, tensor<f32> -> tensor<1048576x1048576xf32>
  return %3 : tensor<1048576x1048576xf32>
}
