// What is said for gradients alone goes.
// RUN: graph-opt %s --split-input-file --forget-gradients | FileCheck %s

// CHECK-LABEL: func.func @stop
// CHECK-NEXT:    %[[Y:.*]] = graph.mul %arg0, %arg0
// CHECK-NEXT:    return %[[Y]]
func.func @stop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.stop_gradient %x : tensor<4xf32>
  %1 = graph.stop_gradient %0 : tensor<4xf32>
  %y = graph.mul %1, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The first region takes the op's place; one within another does, too.
// CHECK-LABEL: func.func @custom
// CHECK-NEXT:    %[[R:.*]] = graph.round %arg0
// CHECK-NEXT:    %[[E:.*]] = graph.exp %[[R]]
// CHECK-NEXT:    %[[M:.*]] = graph.mul %[[E]], %arg1
// CHECK-NEXT:    return %[[M]], %[[R]]
func.func @custom(%x: tensor<4xf32>, %z: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %y:2 = graph.custom_gradient (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %0 = graph.round %a : tensor<4xf32>
    %1 = graph.custom_gradient (%0) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %2 = graph.exp %b : tensor<4xf32>
      graph.yield %2 : tensor<4xf32>
    } gradient {
    ^bb0(%b: tensor<4xf32>, %c: tensor<4xf32>, %dc: tensor<4xf32>):
      graph.yield %dc : tensor<4xf32>
    }
    %3 = graph.mul %1, %z : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    graph.yield %3, %0 : tensor<4xf32>, tensor<4xf32>
  } gradient {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>,
       %db: tensor<4xf32>, %dc: tensor<4xf32>):
    graph.yield %dc : tensor<4xf32>
  }
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}
