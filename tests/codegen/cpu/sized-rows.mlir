// RUN: graph-opt %s --split-input-file --lower-sized-rows --emit-kernels --canonicalize --cse | FileCheck %s
// RUN: graph-opt %s --split-input-file --lower-sized-rows | FileCheck %s --check-prefix=LINALG

// A function of a row is compiled for rows of any length, with sizes and strides
// in the first operand. Lanes lie along the row; one element for all of it is
// read from the stack. Other strides are left to scalar code.

// LINALG-LABEL: func.func @exp(
// LINALG-SAME:    %[[X:.*]]: tensor<?xf32>) -> tensor<?xf32>
// LINALG:         %[[N:.*]] = tensor.dim %[[X]]
// LINALG:         tensor.empty(%[[N]]) : tensor<?xf32>

// CHECK-LABEL: func.func @exp(
// CHECK-SAME:    %[[SIZES:.*]]: memref<{{.*}}xindex>, %[[X:.*]]: memref<{{.*}}xf32>, %[[Y:.*]]: memref<{{.*}}xf32>, %{{.*}}: memref<{{.*}}xi8>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK:         memref.alloca()
// CHECK:         %[[N:.*]] = memref.load %[[SIZES]][%c0]
// CHECK:         scf.if
// CHECK-NEXT:      scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:             vector.broadcast
// CHECK:             vector.load
// CHECK-NEXT:        math.exp {{.*}} : vector<16xf32>
// CHECK:             vector.store
// CHECK:             vector.create_mask
// CHECK:             vector.maskedload
// CHECK:             vector.maskedstore
// CHECK:         else
// CHECK-NOT:       vector
// CHECK:           math.exp {{.*}} : f32

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @exp(%x: tensor<64xf32>) -> tensor<64xf32>
      attributes {graph.plan = #cpu.sized_rows<lanes = along_columns, vector = 64, registers = 4>, graph.scratch = 0 : i64} {
    %y = graph.exp %x : tensor<64xf32>
    return %y : tensor<64xf32>
  }
}

// -----

// What is cheap is done with four registers at a time, each with a sum of its
// own; unsigned elements stay so in linalg.

// CHECK-LABEL: func.func @sum(
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (vector<64xi32>)
// CHECK:           arith.extui {{.*}} : vector<64xi8> to vector<64xi32>
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (vector<16xi32>)
// CHECK:           arith.select
// CHECK:         vector.reduction <add>, {{.*}} : vector<64xi32> into i32
// CHECK:         vector.reduction <add>, {{.*}} : vector<16xi32> into i32
// CHECK:         arith.addi {{.*}} : i32
// CHECK-NEXT:    memref.store

module attributes {graph.cpu = "x86-64-v4"} {
  func.func @sum(%x: tensor<64xui8>, %init: tensor<i32>) -> tensor<i32>
      attributes {graph.plan = #cpu.sized_rows<lanes = along_columns, vector = 64, registers = 4>, graph.scratch = 0 : i64} {
    %0 = graph.cast %x : tensor<64xui8> to tensor<64xi32>
    %1 = graph.reduce sum %0 axes [0] : tensor<64xi32> -> tensor<i32>
    %2 = graph.add %init, %1 : tensor<i32>, tensor<i32> -> tensor<i32>
    return %2 : tensor<i32>
  }
}

// -----

// The exponentials are computed once, by the pass that sums them, and kept.

// CHECK-LABEL: func.func @softmax(
// CHECK:         memref.view %{{.*}} : memref<{{.*}}xi8> to memref<{{.*}}xf32>
// CHECK:         vector.reduction <maximumf>
// CHECK:         math.exp
// CHECK:         vector.store
// CHECK:         math.exp
// CHECK:         vector.maskedstore
// CHECK:         vector.reduction <add>
// CHECK-NOT:     math.exp
// CHECK:         arith.divf
// CHECK:         else

module attributes {graph.cpu = "x86-64-v3"} {
  func.func @softmax(%x: tensor<64xf32>) -> tensor<64xf32>
      attributes {graph.plan = #cpu.sized_rows<lanes = along_columns, vector = 32, registers = 4>, graph.scratch = 8 : i64} {
    %y = graph.softmax %x axis 0 : tensor<64xf32>
    return %y : tensor<64xf32>
  }
}

// -----

// With lanes across the rows, each has a reduction of its own.

// CHECK-LABEL: func.func @max(
// CHECK:         scf.if
// CHECK:           scf.for
// CHECK:             scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf32>)
// CHECK:             vector.store {{.*}} vector<32xf32>
// CHECK:           scf.for
// CHECK:             vector.create_mask
// CHECK:             scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>)
// CHECK:             vector.maskedstore
// CHECK-NOT:       vector.reduction
// CHECK:         else

module attributes {graph.cpu = "x86-64-v3"} {
  func.func @max(%x: tensor<64xf32>) -> tensor<f32>
      attributes {graph.plan = #cpu.sized_rows<lanes = across_rows, vector = 32, registers = 4>, graph.scratch = 0 : i64} {
    %y = graph.reduce max %x axes [0] : tensor<64xf32> -> tensor<f32>
    return %y : tensor<f32>
  }
}
