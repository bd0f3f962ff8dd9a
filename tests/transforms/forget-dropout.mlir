// What drops elements in training does nothing in a model that is run.
// RUN: graph-opt %s --forget-dropout | FileCheck %s
// Equal ones draw different numbers: they are not merged, but dead ones go.
// RUN: graph-opt %s --cse | FileCheck %s --check-prefix CSE

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[Y:.*]] = graph.add %arg0, %arg0
// CHECK-NEXT:    %[[Z:.*]] = graph.if %arg1
// CHECK-NEXT:      graph.yield %[[Y]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      graph.yield %arg0
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Z]]

// CSE-LABEL: func.func @main
// CSE-NEXT:    %[[A:.*]] = graph.dropout %arg0 ratio 5.000000e-01
// CSE-NEXT:    %[[B:.*]] = graph.dropout %arg0 ratio 5.000000e-01
// CSE-NEXT:    graph.add %[[A]], %[[B]]
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = graph.dropout %x ratio 0.5 : tensor<4xf32>
  %1 = graph.dropout %x ratio 0.5 : tensor<4xf32>
  %2 = graph.dropout %x ratio 0.5 : tensor<4xf32>
  %3 = graph.add %0, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %4 = graph.if %c : (tensor<4xf32>) {
    %5 = graph.dropout %3 ratio 0.1 : tensor<4xf32>
    graph.yield %5 : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  return %4 : tensor<4xf32>
}
