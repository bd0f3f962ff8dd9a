// RUN: graph-opt %s --lower-kernels | FileCheck %s

// A reduction over the updates: each element of the result looks for those whose
// position it is.
// CHECK-DAG: #[[UPDATES:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-DAG: #[[VALUES:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[RESULT:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func private @scatter_0(
// CHECK-SAME:      %[[X:.*]]: tensor<5x4xf32>, %[[I:.*]]: tensor<3xi32>, %[[U:.*]]: tensor<3x4xf32>)
// CHECK:         %[[POSITIONS:.*]] = linalg.generic {{.*}} ins(%[[I]] : tensor<3xi32>)
// CHECK:           arith.addi
// CHECK:           arith.maxsi
// CHECK:           arith.minsi
// CHECK:         linalg.generic {indexing_maps = [#[[UPDATES]], #[[VALUES]], #[[RESULT]]], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:      ins(%[[POSITIONS]], %[[U]] : tensor<3xi64>, tensor<3x4xf32>) outs(%[[X]] : tensor<5x4xf32>)
// CHECK:         ^bb0(%[[P:.*]]: i64, %[[VALUE:.*]]: f32, %[[OLD:.*]]: f32):
// CHECK:           %[[ROW:.*]] = linalg.index 0
// CHECK:           %[[HERE:.*]] = arith.index_cast %[[ROW]]
// CHECK:           %[[HIT:.*]] = arith.cmpi eq, %[[P]], %[[HERE]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[OLD]], %[[VALUE]]
// CHECK:           %[[NEW:.*]] = arith.select %[[HIT]], %[[SUM]], %[[OLD]]
// CHECK:           linalg.yield %[[NEW]]

// Indices that do not cover x are padded with a position that no element has.
// CHECK-LABEL: func.func private @scatter_elements_0(
// CHECK:         tensor.pad {{.*}} low[0, 0] high[2, 0]
// CHECK:           tensor.yield %c-1_i64
// CHECK:         tensor.pad {{.*}} low[0, 0] high[2, 0]

// A position for each dimension that tuples index.
// CHECK-LABEL: func.func private @scatter_nd_0(
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:           arith.cmpi eq
// CHECK:           arith.cmpi eq
// CHECK:           arith.andi

func.func @main(%x: tensor<5x4xf32> {graph.name = "x"}, %i: tensor<3xi32> {graph.name = "i"}, %u: tensor<3x4xf32> {graph.name = "u"},
                %j: tensor<3x2xi64> {graph.name = "j"}, %v: tensor<3xf32> {graph.name = "v"}, %w: tensor<3x2xf32> {graph.name = "w"})
    -> (tensor<5x4xf32> {graph.name = "a"}, tensor<5x4xf32> {graph.name = "b"}, tensor<5x4xf32> {graph.name = "c"}) {
  %0 = graph.kernel (%a = %x, %b = %i, %c = %u) : (tensor<5x4xf32>, tensor<3xi32>, tensor<3x4xf32>) -> tensor<5x4xf32> {
    %y = graph.scatter add %a, %b, %c axis 0 : tensor<5x4xf32>, tensor<3xi32>, tensor<3x4xf32>
    graph.yield %y : tensor<5x4xf32>
  }
  %1 = graph.kernel (%a = %x, %b = %j, %c = %w) : (tensor<5x4xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<5x4xf32> {
    %y = graph.scatter_elements assign %a, %b, %c axis 1 : tensor<5x4xf32>, tensor<3x2xi64>, tensor<3x2xf32>
    graph.yield %y : tensor<5x4xf32>
  }
  %2 = graph.kernel (%a = %x, %b = %j, %c = %v) : (tensor<5x4xf32>, tensor<3x2xi64>, tensor<3xf32>) -> tensor<5x4xf32> {
    %y = graph.scatter_nd max %a, %b, %c : tensor<5x4xf32>, tensor<3x2xi64>, tensor<3xf32>
    graph.yield %y : tensor<5x4xf32>
  }
  return %0, %1, %2 : tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>
}
