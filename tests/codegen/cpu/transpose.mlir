// RUN: graph-opt %s --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s

// Squares of 16 by 16: loaded as rows, turned in registers in four steps of 16
// shuffles, stored as columns. The eight columns that are left are loaded under
// masks, and what makes the other columns is not computed.

// CHECK-LABEL: func.func @transpose_0(
// CHECK:             scf.if
// CHECK-COUNT-16:      vector.maskedload
// CHECK:               vector.shuffle
// CHECK-COUNT-8:       vector.store
// CHECK:             } else {
// CHECK-COUNT-16:      vector.load
// CHECK-COUNT-64:      vector.shuffle
// CHECK-COUNT-16:      vector.store

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<2x32x40xf32> {graph.name = "x"}) -> (tensor<2x40x32xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x) : (tensor<2x32x40xf32>) -> tensor<2x40x32xf32> {
      %p = graph.transpose %a [0, 2, 1] : tensor<2x32x40xf32> -> tensor<2x40x32xf32>
      graph.yield %p : tensor<2x40x32xf32>
    }
    return %0 : tensor<2x40x32xf32>
  }
}
