// RUN: graph-opt %s --split-input-file --fold-constants | FileCheck %s
// RUN: graph-opt %s --split-input-file --fold-constants=max-elements=1 | FileCheck %s --check-prefix=NONE

// CHECK-LABEL: func.func @small
// CHECK-NEXT: %[[C:.*]] = graph.constant dense<[4.000000e+00, 5.000000e+00]>
// CHECK-NEXT: graph.add %arg0, %[[C]]
// NONE-LABEL: func.func @small
// NONE: graph.add
// NONE: graph.add
func.func @small(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.constant dense<3.0> : tensor<f32>
  %2 = graph.add %0, %1 : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %3 = graph.add %x, %2 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// -----

// Constants in files stay in files.
// CHECK-LABEL: func.func @file
// CHECK: graph.constant #graph.external
// CHECK: graph.mul
func.func @file() -> tensor<2xf32> {
  %0 = graph.constant #graph.external<"w.bin", 0, 8> : tensor<2xf32>
  %1 = graph.mul %0, %0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// Also in bodies; what nothing reads there goes.
// CHECK-LABEL: func.func @bodies
// CHECK: graph.scan
// CHECK-NEXT: %[[C:.*]] = graph.constant dense<5.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[Y:.*]] = graph.mul %{{.*}}, %[[C]]
// CHECK-NEXT: graph.yield %[[Y]]
// NONE-LABEL: func.func @bodies
func.func @bodies(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.constant dense<2.0> : tensor<f32>
  %1 = graph.scan %i length 3 carry (%a = %x) : (tensor<2xf32>) -> (tensor<2xf32>) {
    %2 = graph.constant dense<3.0> : tensor<f32>
    %3 = graph.add %0, %2 : tensor<f32>, tensor<f32> -> tensor<f32>
    %4 = graph.mul %a, %3 : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
    %5 = graph.exp %a : tensor<2xf32>
    graph.yield %4 : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// -----

// What has no elements is known, whatever it is computed from.
// CHECK-LABEL: func.func @empty
// CHECK-NOT: graph.slice
// CHECK: %[[EMPTY:.*]] = graph.constant dense<> : tensor<7x0xf32>
// CHECK: return %[[EMPTY]]
// NONE-LABEL: func.func @empty
// NONE: graph.constant dense<> : tensor<7x0xf32>
func.func @empty(%x: tensor<10x0xf32>) -> tensor<7x0xf32> {
  %0 = graph.slice %x starts [0, 0] sizes [7, 0] steps [1, 1] : tensor<10x0xf32> -> tensor<7x0xf32>
  return %0 : tensor<7x0xf32>
}

// -----

// What takes much work for a small result is left to compiled code.
// CHECK-LABEL: func.func @work
// CHECK: graph.avg_pool
func.func @work() -> tensor<1x1x1x1xf32> {
  %0 = graph.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
  %1 = graph.avg_pool %0 kernel [100000, 100002] strides [1, 1] padding [49999, 50000, 50000, 50000]
      dilations [1, 1] channels_first : tensor<1x1x1x2xf32> -> tensor<1x1x1x1xf32>
  return %1 : tensor<1x1x1x1xf32>
}
