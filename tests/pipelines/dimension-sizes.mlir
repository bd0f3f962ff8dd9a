// Where sizes of dimensions stand in each phase, and what is wrong with them.
// RUN: rm -rf %t && split-file %s %t
// RUN: graph-compile %t/graph.mlir --from=graph --emit=plan | FileCheck %s
// RUN: graph-compile %t/graph.mlir --from=graph --emit=json -o %t/graph.json
// RUN: graph-compile %t/graph.json --emit=graph | FileCheck %s --check-prefix=AGAIN
// RUN: not graph-compile %t/graph.mlir --from=graph --emit=onnx -o %t/x.onnx 2>&1 | FileCheck %s --check-prefix=ONNX
// RUN: graph-compile %t/graph.mlir --from=graph --emit=normalised -o %t/normalised.mlir
// RUN: not graph-compile %t/normalised.mlir --from=normalised --emit=json -o %t/x.json 2>&1 | FileCheck %s --check-prefix=JSON
// RUN: not graph-compile %t/graph.mlir --from=normalised --emit=so -o %t/x.so 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not graph-compile %t/nameless.mlir --from=normalised --emit=so -o %t/x.so 2>&1 | FileCheck %s --check-prefix=NAMELESS

// CHECK: outputs("y": tensor<8xf32> sizes ["y.size0"],
// CHECK-NEXT: "y.size0": tensor<i64>)
// AGAIN: graph.set_dimension_size %arg0, %arg1 dimension 0 : tensor<8xf32>
// ONNX: the model has 1 op that ONNX cannot express:
// ONNX-NEXT: graph.set_dimension_size
// JSON: error: the run decides the size of output "y", which a file can say in phase 'graph' alone, by graph.set_dimension_size; export that phase
// LATE: error: 'graph.set_dimension_size' does not belong in @main in phase 'normalised'
// NAMELESS: error: the size of a dimension is said to be the result "n", which is no result of type tensor<i64>

//--- graph.mlir
func.func @main(%x: tensor<8xf32> {graph.name = "x"}, %n: tensor<i64> {graph.name = "n"})
    -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.set_dimension_size %x, %n dimension 0 : tensor<8xf32>
  %1 = graph.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
//--- nameless.mlir
func.func @main(%x: tensor<8xf32> {graph.name = "x"})
    -> (tensor<8xf32> {graph.name = "y", graph.sizes = ["n"]}) {
  %0 = graph.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
