// RUN: graph-opt %s --emit-kernels --canonicalize --cse | FileCheck %s
// RUN: sed 's/rows = .6, 4, 2., columns = 8, row = 16/rows = [5], columns = 12, row = 4/' %s | graph-opt --emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=OTHER

// A product of any size: register tiles of 6 rows by two vectors for AVX2, then
// lower ones. Rows of B are found by a table of offsets. The sums start from a
// vector, from one value for each row, or from what is gathered on the stack.

// CHECK-LABEL: func.func @product(
// CHECK-SAME:    %[[SIZES:.*]]: memref<{{.*}}xindex>, %[[A:.*]]: memref<{{.*}}xf64>, %[[B:.*]]: memref<{{.*}}xf64>, %[[OFFSETS:.*]]: memref<{{.*}}xindex>, %[[INITIAL:.*]]: memref<{{.*}}xf64>, %[[C:.*]]: memref<{{.*}}xf64>,
// CHECK:         memref.alloca() {{.*}} : memref<384xi8>
// CHECK:         scf.for {{.*}} step %c6
// CHECK:           scf.for {{.*}} step %c8
// CHECK:             scf.if
// CHECK:               vector.broadcast
// CHECK:             else
// CHECK:               vector.maskedload %[[INITIAL]]
// CHECK:             %{{.*}}:14 = scf.for
// CHECK:               %[[AT:.*]] = memref.load %[[OFFSETS]]
// CHECK:               vector.load %[[B]]
// CHECK:               vector.load %[[B]]
// CHECK-COUNT-12:      vector.fma
// CHECK:             vector.maskedstore %[[C]]
// CHECK:         scf.for {{.*}} step %c4
// CHECK:         scf.for {{.*}} step %c2
// A single row has four vectors, and reads no more columns than there are.
// CHECK:         scf.for {{.*}} step %c16
// CHECK-COUNT-4:   vector.maskedload %[[B]]
// CHECK:           vector.fma

// The plan says which tiles there are.
// OTHER:         scf.for {{.*}} step %c5
// OTHER:           scf.for {{.*}} step %c12
// OTHER-COUNT-15:    vector.fma
// OTHER:         scf.for {{.*}} step %c4
// OTHER-COUNT-1:   vector.fma
// OTHER-NOT:       vector.fma

module attributes {graph.cpu = "x86-64-v3"} {
  func.func @product(%a: tensor<?x?xf64>, %b: tensor<?x?xf64>, %c: tensor<?x?xf64>) -> tensor<?x?xf64>
      attributes {graph.plan = #cpu.sized_contraction<rows = [6, 4, 2], columns = 8, row = 16>, graph.scratch = 0 : i64} {
    %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<?x?xf64>, tensor<?x?xf64>) outs(%c : tensor<?x?xf64>) {
    ^body(%x: f64, %y: f64, %z: f64):
      %1 = arith.mulf %x, %y : f64
      %2 = arith.addf %z, %1 : f64
      linalg.yield %2 : f64
    } -> tensor<?x?xf64>
    return %0 : tensor<?x?xf64>
  }
}
