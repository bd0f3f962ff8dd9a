// Each phase, printed and read again, gives the same next phase.

// RUN: graph-compile %s --emit=graph -o %t.graph.mlir
// RUN: graph-compile %s --emit=normalised -o %t.normalised.mlir
// RUN: graph-compile %t.graph.mlir --from=graph --emit=normalised -o %t.normalised2.mlir
// RUN: diff %t.normalised.mlir %t.normalised2.mlir
// RUN: graph-compile %s --emit=fused -o %t.fused.mlir
// RUN: graph-compile %t.normalised.mlir --from=normalised --emit=fused -o %t.fused2.mlir
// RUN: diff %t.fused.mlir %t.fused2.mlir
// RUN: graph-compile %s --emit=kernels -o %t.kernels.mlir
// RUN: graph-compile %t.fused.mlir --from=fused --emit=kernels -o %t.kernels2.mlir
// RUN: diff %t.kernels.mlir %t.kernels2.mlir

// Compiled twice, the artifact is the same to the byte.
// RUN: mkdir -p %t.a %t.b
// RUN: graph-compile %s -o %t.a/model.so
// RUN: graph-compile %s -o %t.b/model.so
// RUN: cmp %t.a/model.so %t.b/model.so
// RUN: graph-run %t.a/model.so --list | FileCheck %s
// CHECK: input   x                                f32 8x16
// CHECK: output  y                                f32 8x4

func.func @main(%x: tensor<8x16xf32> {graph.name = "x"}) -> (tensor<8x4xf32> {graph.name = "y"}) {
  %w = graph.constant dense<0.25> : tensor<16x4xf32>
  %b = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.matmul %x, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %1 = graph.add %0, %b : tensor<8x4xf32>, tensor<4xf32> -> tensor<8x4xf32>
  %2 = graph.relu %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
