// RUN: graph-opt %s --decompose-variance --cse | FileCheck %s

// The mean that is there already is the one that the variance needs.
// CHECK-LABEL: func.func @statistics
// CHECK-SAME:      %[[X:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT:    %[[KEPT:.*]] = graph.reduce mean %[[X]] axes [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
// CHECK-NEXT:    %[[MEAN:.*]] = graph.reshape %[[KEPT]] : tensor<3xf32> to tensor<1x3x1xf32>
// CHECK-NEXT:    %[[DISTANCE:.*]] = graph.sub %[[X]], %[[MEAN]]
// CHECK-NEXT:    %[[SQUARE:.*]] = graph.mul %[[DISTANCE]], %[[DISTANCE]]
// CHECK-NEXT:    %[[VARIANCE:.*]] = graph.reduce mean %[[SQUARE]] axes [0, 2] : {{.*}} -> tensor<3xf32>
// CHECK-NEXT:    return %[[MEAN]], %[[VARIANCE]]
func.func @statistics(%x: tensor<2x3x4xf32>) -> (tensor<1x3x1xf32>, tensor<3xf32>) {
  %0 = graph.reduce mean %x axes [0, 2] keepdims : tensor<2x3x4xf32> -> tensor<1x3x1xf32>
  %1 = graph.variance %x axes [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  return %0, %1 : tensor<1x3x1xf32>, tensor<3xf32>
}
