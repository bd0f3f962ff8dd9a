// What a run takes is known when a model is compiled.

// RUN: graph-compile %s -o %t.so 2>&1 | FileCheck %s --check-prefix=WARNING
// WARNING: memory-needs.mlir: warning: to run, 'main' needs 35184422420480 bytes of memory: 35184372088832 for intermediate tensors, 33554432 for inputs, 16777216 for outputs and 0 for variables; this machine has {{[0-9]+}} bytes

// RUN: not bash -c "ulimit -v 8000000; exec graph-run %t.so --inputs=zeros" 2>&1 | FileCheck %s --check-prefix=ARENA
// ARENA: graph-run: error: cannot allocate 35184372088832 bytes for the arena, which holds the intermediate tensors of 'main'

// RUN: sed "s/2097152/4194303/g; s/f32/f64/g" %s > %t.mlir
// RUN: not graph-compile %t.mlir -o %t.none.so 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: to run, 'main' needs {{[0-9]+}} bytes of memory: 140737454800896 for intermediate tensors, {{.*}} for variables; no process can have more than 140737488355328 bytes: give the model smaller shapes
// RUN: not test -e %t.none.so

func.func @main(%a: tensor<4194304x1xf32> {graph.name = "a"}, %b: tensor<1x2097152xf32> {graph.name = "b"}, %c: tensor<2097152x1xf32> {graph.name = "c"}) -> (tensor<4194304x1xf32> {graph.name = "y"}) {
  %0 = graph.matmul %a, %b : tensor<4194304x1xf32>, tensor<1x2097152xf32> -> tensor<4194304x2097152xf32>
  %1 = graph.matmul %0, %c : tensor<4194304x2097152xf32>, tensor<2097152x1xf32> -> tensor<4194304x1xf32>
  return %1 : tensor<4194304x1xf32>
}
