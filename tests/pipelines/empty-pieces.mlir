// A concatenation of pieces one of which has no elements, and so no place.

// RUN: graph-compare %s --runs=1 --verify --json | FileCheck %s
// CHECK: "max_abs_error": 0.0

func.func @main(%x: tensor<2x0x4xi32> {graph.name = "x"},
                %y: tensor<2x3x4xi32> {graph.name = "y"})
    -> (tensor<2x3x4xi32> {graph.name = "z"}) {
  %0 = graph.cumsum %x axis 2 : tensor<2x0x4xi32>
  %1 = graph.cumsum %y axis 1 : tensor<2x3x4xi32>
  %2 = graph.concat %0, %1 axis 1 : (tensor<2x0x4xi32>, tensor<2x3x4xi32>) -> tensor<2x3x4xi32>
  %3 = graph.transpose %2 [0, 2, 1] : tensor<2x3x4xi32> -> tensor<2x4x3xi32>
  %4 = graph.reshape %3 : tensor<2x4x3xi32> to tensor<2x3x4xi32>
  return %4 : tensor<2x3x4xi32>
}
