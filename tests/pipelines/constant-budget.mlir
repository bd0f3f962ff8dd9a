// Constants that ask for 4 GB, of which the model has 16 bytes, are computed in
// each run: the artifact has no such weights.

// RUN: split-file %s %t
// RUN: graph-compile %t/large.mlir --emit=kernels --cpu=x86-64-v3 | FileCheck %s
// CHECK-LABEL: func.func @main
// CHECK: graph.dispatch @broadcast{{.*}} -> tensor<268435456x4xf32>

// What two functions compute of the same constants is computed once, and counts
// once: twice it would be too much.
// RUN: graph-compile %t/shared.mlir --emit=kernels --cpu=x86-64-v3 | FileCheck %s --check-prefix=SHARED
// SHARED-LABEL: func.func @init
// SHARED: graph.dispatch @broadcast
// SHARED-NOT: graph.dispatch
// SHARED-LABEL: func.func @main
// SHARED-NOT: graph.dispatch @broadcast
// SHARED-LABEL: func.func @other
// SHARED-NOT: graph.dispatch @broadcast

//--- large.mlir
func.func @main(%x: tensor<f32> {graph.name = "x"})
    -> (tensor<268435456x4xf32> {graph.name = "y"},
        tensor<f32> {graph.name = "z"}) {
  %0 = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = graph.broadcast %0 : tensor<4xf32> to tensor<268435456x4xf32>
  return %1, %x : tensor<268435456x4xf32>, tensor<f32>
}

//--- shared.mlir
func.func @main(%x: tensor<f32> {graph.name = "x"})
    -> (tensor<9830400x4xf32> {graph.name = "y"}, tensor<f32> {graph.name = "z"}) {
  %0 = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = graph.broadcast %0 : tensor<4xf32> to tensor<9830400x4xf32>
  return %1, %x : tensor<9830400x4xf32>, tensor<f32>
}
func.func @other(%x: tensor<f32> {graph.name = "x"})
    -> (tensor<9830400x4xf32> {graph.name = "y"}, tensor<f32> {graph.name = "z"}) {
  %0 = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = graph.broadcast %0 : tensor<4xf32> to tensor<9830400x4xf32>
  return %1, %x : tensor<9830400x4xf32>, tensor<f32>
}
