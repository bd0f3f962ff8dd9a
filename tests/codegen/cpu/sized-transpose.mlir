// RUN: graph-opt %s --emit-kernels --canonicalize --cse | FileCheck %s

// Squares of 8 are turned in registers; the rest is copied by elements.

// CHECK-LABEL: func.func @transpose(
// CHECK-SAME:    %{{.*}}: memref<{{.*}}xindex>, %[[X:.*]]: memref<{{.*}}xi32>, %[[Y:.*]]: memref<{{.*}}xi32>
// CHECK-COUNT-8: vector.load %[[X]]
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: vector.store {{.*}} %[[Y]]
// CHECK-NOT:     vector.
// CHECK:         memref.store
// CHECK:         memref.store

module attributes {graph.cpu = "x86-64-v3"} {
  func.func @transpose(%x: tensor<?xi32>) -> tensor<?xi32>
      attributes {graph.plan = #cpu.sized_transpose<side = 8>, graph.scratch = 0 : i64} {
    return %x : tensor<?xi32>
  }
}
