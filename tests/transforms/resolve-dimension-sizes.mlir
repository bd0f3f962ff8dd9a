// Ops on tensors of which a part is used become ops on whole tensors.
// RUN: graph-opt %s --split-input-file --resolve-dimension-sizes | FileCheck %s

// Sizes that results have become further results, once each.
// CHECK-LABEL: func.func @interface
// CHECK-SAME:    -> (tensor<8x4xf32> {graph.name = "y", graph.sizes = ["y.size0", ""]}
// CHECK-SAME:        tensor<4x8xf32> {graph.name = "t", graph.sizes = ["", "y.size0"]}
// CHECK-SAME:        tensor<i64> {graph.name = "n"}
// CHECK-SAME:        tensor<i64> {graph.name = "y.size0"})
// CHECK-NEXT:    %[[Y:.*]] = graph.relu %arg0
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[Y]] [1, 0]
// CHECK-NEXT:    return %[[Y]], %[[T]], %arg1, %arg1
func.func @interface(%x: tensor<8x4xf32>, %n: tensor<i64>)
    -> (tensor<8x4xf32> {graph.name = "y"}, tensor<4x8xf32> {graph.name = "t"},
        tensor<i64> {graph.name = "n"}) {
  %0 = graph.set_dimension_size %x, %n dimension 0 : tensor<8x4xf32>
  %1 = graph.relu %0 : tensor<8x4xf32>
  %2 = graph.transpose %1 [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %3 = graph.dimension_size %2 dimension 1 : tensor<4x8xf32>
  return %1, %2, %3 : tensor<8x4xf32>, tensor<4x8xf32>, tensor<i64>
}

// -----

// What is reduced is masked; a mean is divided by what is used.
// CHECK-LABEL: func.func @reduce
// CHECK:         %[[USED:.*]] = graph.compare less
// CHECK:         %[[M:.*]] = graph.where %{{.*}}, %arg0,
// CHECK:         graph.mul %arg1,
// CHECK:         graph.reduce sum %[[M]] axes [0, 1]
// CHECK:         graph.div
func.func @reduce(%x: tensor<8x4xf32>, %n: tensor<i64>)
    -> (tensor<f32> {graph.name = "y"}) {
  %0 = graph.set_dimension_size %x, %n dimension 0 : tensor<8x4xf32>
  %1 = graph.reduce mean %0 axes [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Parts of a concatenation move together.
// CHECK-LABEL: func.func @concat
// CHECK-SAME:    graph.sizes = ["y.size0"]
// CHECK:         %[[ALL:.*]] = graph.concat
// CHECK:         graph.gather %[[ALL]], %{{.*}} axis 0
func.func @concat(%x: tensor<8xf32>, %n: tensor<i64>)
    -> (tensor<16xf32> {graph.name = "y"}) {
  %0 = graph.set_dimension_size %x, %n dimension 0 : tensor<8xf32>
  %1 = graph.concat %0, %x axis 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// -----

// Branches yield the sizes of what they yield.
// CHECK-LABEL: func.func @branches
// CHECK:         %[[IF:.*]]:2 = graph.if %arg2 : (tensor<8xf32>, tensor<i64>)
// CHECK-NEXT:      graph.yield %arg0, %arg1
// CHECK:         } else {
// CHECK:           %[[ALL:.*]] = graph.constant dense<8>
// CHECK:           graph.yield %arg0, %[[ALL]]
// CHECK:         return %[[IF]]#0, %[[IF]]#1
func.func @branches(%x: tensor<8xf32>, %n: tensor<i64>, %c: tensor<i1>)
    -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.set_dimension_size %x, %n dimension 0 : tensor<8xf32>
  %1 = graph.if %c : (tensor<8xf32>) {
    graph.yield %0 : tensor<8xf32>
  } else {
    graph.yield %x : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}
