// RUN: graph-opt %s --split-input-file --lower-kernels | FileCheck %s

// Functions are named after their ops. A value that is passed or yielded twice
// is one operand or result; an unused one is none.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>, %{{.*}}: tensor<2xf32>)
// CHECK: %[[Y:.*]] = graph.dispatch @add_relu_0(%[[X]]) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK: %[[Z:.*]] = graph.dispatch @add_relu_1(%[[Y]])
// CHECK: return %[[Y]], %[[Y]], %[[Z]]
// CHECK: func.func private @add_relu_0(%[[A:.*]]: tensor<2xf32>) -> tensor<2xf32> {
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[A]] :
// CHECK: func.func private @add_relu_1
func.func @main(%x: tensor<2xf32>, %u: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %y:3 = graph.kernel (%a = %x, %b = %x, %c = %u) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %0 = graph.add %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %1 = graph.relu %0 : tensor<2xf32>
    graph.yield %1, %0, %1 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  %z = graph.kernel (%a = %y#0) : (tensor<2xf32>) -> tensor<2xf32> {
    %0 = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %1 = graph.relu %0 : tensor<2xf32>
    graph.yield %1 : tensor<2xf32>
  }
  return %y#0, %y#2, %z : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// A constant of one element moves into the formula; one of more elements and
// different values moves out, to an operand.

// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[C:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: graph.dispatch @mul_add_0(%{{.*}}, %[[C]])
// CHECK: func.func private @mul_add_0(%[[X:.*]]: tensor<2xf32>, %[[K:.*]]: tensor<2xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]] :
// CHECK: arith.constant 5.000000e-01
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[K]] :
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %y = graph.kernel (%a = %x, %h = %half) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {
    %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = graph.mul %a, %h : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
    %1 = graph.add %0, %c : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    graph.yield %1 : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}

// -----

// Elements are signless in the function, whose arithmetic is unsigned.

// CHECK-LABEL: func.func @main(
// CHECK: graph.dispatch @div_0(%{{.*}}, %{{.*}}) : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
// CHECK: func.func private @div_0(%{{.*}}: tensor<2xi8>, %{{.*}}: tensor<2xi8>) -> tensor<2xi8>
// CHECK: arith.divui
func.func @main(%x: tensor<2xui8>, %d: tensor<2xui8>) -> tensor<2xui8> {
  %y = graph.kernel (%a = %x, %b = %d) : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8> {
    %0 = graph.div %a, %b : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
    graph.yield %0 : tensor<2xui8>
  }
  return %y : tensor<2xui8>
}

// -----

// A kernel that nobody reads is gone; one that computes nothing copies.

// CHECK-LABEL: func.func @main(
// CHECK-NOT: @relu
// CHECK: graph.dispatch @copy_0
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %unused = graph.kernel (%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    %0 = graph.relu %a : tensor<2xf32>
    graph.yield %0 : tensor<2xf32>
  }
  %y = graph.kernel (%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    graph.yield %a : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}

// -----

// Kernels in bodies are dispatched there.

// CHECK-LABEL: func.func @main(
// CHECK: graph.while (%[[A:.*]] = %arg0)
// CHECK-NEXT: %[[C:.*]] = graph.dispatch @isnan_0(%[[A]])
// CHECK-NEXT: graph.condition %[[C]]
// CHECK-NEXT: } do (%[[B:.*]]) {
// CHECK-NEXT: %[[D:.*]] = graph.dispatch @add_0(%[[B]], %arg1)
// CHECK-NEXT: graph.yield %[[D]]
func.func @main(%x: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  %y = graph.while (%a = %x) : (tensor<f32>) {
    %c = graph.kernel (%b = %a) : (tensor<f32>) -> tensor<i1> {
      %0 = graph.isnan %b : tensor<f32>
      graph.yield %0 : tensor<i1>
    }
    graph.condition %c
  } do (%a) {
    %d = graph.kernel (%b = %a, %e = %z) : (tensor<f32>, tensor<f32>) -> tensor<f32> {
      %0 = graph.add %b, %e : tensor<f32>, tensor<f32> -> tensor<f32>
      graph.yield %0 : tensor<f32>
    }
    graph.yield %d : tensor<f32>
  }
  return %y : tensor<f32>
}
