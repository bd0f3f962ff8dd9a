// An input that no memory holds is no defect of graph-run.
// RUN: graph-compile %s -o %t.so
// RUN: not graph-run %t.so 2>&1 | FileCheck %s
// CHECK: graph-run: error: cannot allocate 70368744177664 bytes for the input 'x' (f32 1099511627776x16)

func.func @main(%x: tensor<1099511627776x16xf32> {graph.name = "x"}, %z: tensor<8xf32> {graph.name = "z"})
    -> (tensor<8xf32> {graph.name = "y"}) {
  %0 = graph.relu %z : tensor<8xf32>
  return %0 : tensor<8xf32>
}
