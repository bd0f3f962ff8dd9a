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

// -----

// What gradients run again is run once, with all results.
// CHECK-LABEL: func.func @repeated_scan
// CHECK:         %[[S:.*]]:4 = graph.scan %{{.*}} length 3 carry (%[[A:.*]] = %arg1) over (%[[X:.*]] = %arg0)
// CHECK-NEXT:      %[[M:.*]] = graph.mul %[[A]], %[[X]]
// CHECK-NEXT:      %[[N:.*]] = graph.sin %[[M]]
// CHECK-NEXT:      %[[E:.*]] = graph.exp %[[N]]
// CHECK-NEXT:      graph.yield %[[N]], %[[M]], %{{.*}}, %[[E]]
// CHECK-NOT:     graph.scan
// CHECK:         graph.mul %[[S]]#0, %[[S]]#0
// CHECK:         return %{{.*}}, %[[S]]#3, %[[S]]#1, %[[S]]#2
func.func @repeated_scan(%x: tensor<3x4xf32>, %h: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3xi1>) {
  %f:2 = graph.scan %i length 3 carry (%a = %h) over (%r = %x)
      : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
    %0 = graph.mul %a, %r : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = graph.sin %0 : tensor<4xf32>
    %2 = graph.exp %1 : tensor<4xf32>
    graph.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
  %true = graph.constant dense<true> : tensor<i1>
  %g:3 = graph.scan %i length 3 carry (%a = %h) over (%r = %x)
      : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<3xi1>) {
    %0 = graph.mul %a, %r : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %1 = graph.sin %0 : tensor<4xf32>
    %2 = graph.exp %1 : tensor<4xf32>
    graph.yield %1, %0, %true : tensor<4xf32>, tensor<4xf32>, tensor<i1>
  }
  %y = graph.mul %f#0, %g#0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %y, %f#1, %g#1, %g#2 : tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3xi1>
}

// -----

// CHECK-LABEL: func.func @repeated_branch
// CHECK:         %[[R:.*]]:2 = graph.if %arg1
// CHECK:         } else {
// CHECK:         }
// CHECK-NOT:     graph.if
// CHECK:         return %[[R]]#1, %[[R]]#0
func.func @repeated_branch(%x: tensor<4xf32>, %c: tensor<i1>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %y = graph.if %c : (tensor<4xf32>) {
    %0 = graph.exp %x : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  %zeros = graph.constant dense<0.0> : tensor<4xf32>
  %z = graph.if %c : (tensor<4xf32>) {
    %0 = graph.exp %x : tensor<4xf32>
    %1 = graph.sin %0 : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  } else {
    graph.yield %zeros : tensor<4xf32>
  }
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// Another start, another loop; and what depends on the first stays after it.
// CHECK-LABEL: func.func @different_scans
// CHECK-COUNT-3: graph.scan
func.func @different_scans(%x: tensor<4xf32>, %z: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %f = graph.scan %i length 3 carry (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.sin %a : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  %g = graph.scan %i length 3 carry (%a = %z) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = graph.sin %a : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  %h, %r = graph.scan %i length 3 carry (%a = %x)
      : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
    %0 = graph.sin %a : tensor<4xf32>
    %1 = graph.add %0, %f : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    graph.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  %s = graph.reduce sum %r axes [0] : tensor<3x4xf32> -> tensor<4xf32>
  return %g, %h, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
