// RUN: graph-opt %s --split-input-file --lower-kernels --lay-out-weights --choose-strategies --divide-kernels --emit-kernels --canonicalize --cse | FileCheck %s

// A running sum along lanes: a vector is summed in steps of 1, 2, 4 and 8 lanes,
// and what it sums up to is carried. The ten elements that are left are a vector
// with a mask.

// CHECK-LABEL: func.func @cumsum_0(
// CHECK:       scf.for %{{.*}} iter_args(%[[CARRY:.*]] = %{{.*}}) -> (f32)
// CHECK:         vector.load
// CHECK-COUNT-4: vector.shuffle
// CHECK:         vector.extract %{{.*}}[15]
// CHECK:         vector.broadcast %[[CARRY]]
// CHECK:         vector.store
// CHECK:         scf.yield
// CHECK:       vector.maskedload
// CHECK-COUNT-4: vector.shuffle
// CHECK:       vector.maskedstore

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<3x74xf32> {graph.name = "x"}) -> (tensor<3x74xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x) : (tensor<3x74xf32>) -> tensor<3x74xf32> {
      %c = graph.cumsum %a axis 1 : tensor<3x74xf32>
      graph.yield %c : tensor<3x74xf32>
    }
    return %0 : tensor<3x74xf32>
  }
}

// -----

// Along another dimension, and without the element itself: each vector of sums
// is stored, then added to. In reverse, from the last row on.

// CHECK-LABEL: func.func @cumsum_0(
// CHECK:       scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK:         arith.subi %{{.*}}, %[[I]]
// CHECK:         %[[X:.*]] = vector.load
// CHECK:         %[[NEXT:.*]] = arith.addf %[[SUM]], %[[X]]
// CHECK:         vector.store %[[SUM]]
// CHECK:         scf.yield %[[NEXT]]
// CHECK-NOT:   vector.shuffle

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<9x32xf32> {graph.name = "x"}) -> (tensor<9x32xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x) : (tensor<9x32xf32>) -> tensor<9x32xf32> {
      %c = graph.cumsum %a axis 0 exclusive reverse : tensor<9x32xf32>
      graph.yield %c : tensor<9x32xf32>
    }
    return %0 : tensor<9x32xf32>
  }
}

// -----

// A running product begins with ones, and has ones in lanes that are no elements.

// CHECK-LABEL: func.func @cumprod_0(
// CHECK-DAG:   %[[ONES:.*]] = arith.constant dense<1.000000e+00> : vector<16xf32>
// CHECK:       scf.for
// CHECK-COUNT-4: vector.shuffle {{.*}}, %[[ONES]]
// CHECK:         arith.mulf
// CHECK:       vector.maskedload
// CHECK-COUNT-4: vector.shuffle
// CHECK-NOT:   arith.addf

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @main(%x: tensor<3x74xf32> {graph.name = "x"}) -> (tensor<3x74xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%a = %x) : (tensor<3x74xf32>) -> tensor<3x74xf32> {
      %c = graph.cumprod %a axis 1 : tensor<3x74xf32>
      graph.yield %c : tensor<3x74xf32>
    }
    return %0 : tensor<3x74xf32>
  }
}
