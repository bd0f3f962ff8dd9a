// RUN: graph-compile %s --emit=kernels --cpu=x86-64-v4 -o %t.mlir && FileCheck %s --input-file=%t.mlir
// RUN: sed 's/block = [0-9]*, units/block = 31, units/' %t.mlir > %t.31.mlir
// RUN: not graph-compile --from=kernels %t.31.mlir -o %t.so 2>&1 | FileCheck %s --check-prefix=TILES

// Neither the scores of a head nor what is made of them fits a cache: one kernel
// computes blocks of queries, as many tiles high as its products say, and chunks
// of them share the copies of keys and values. What scales the scores is part of
// the first product's stage.
// CHECK: func.func private @attention_0(
// CHECK-SAME: graph.plan = #cpu.rows<outer = 2, lanes = 16, block = 60, units = 7, products = [#cpu.contraction<tile = [12, 32], block = [1, 5, 47], depth = 64, left = staged, right = copied>, #cpu.contraction<tile = [12, 32], block = [1, 5, 2], depth = 1500, left = staged, right = copied>]>
// CHECK-NOT: func.func private

// A block is whole tiles of products.
// TILES: error: cannot be computed as #cpu.rows<outer = 2, lanes = 16, block = 31
func.func @main(%q: tensor<1x4x1500x64xf32> {graph.name = "q"}, %k: tensor<1x4x1500x64xf32> {graph.name = "k"}, %v: tensor<1x4x1500x64xf32> {graph.name = "v"})
    -> (tensor<1x4x1500x64xf32> {graph.name = "y"}) {
  %0 = graph.attention %q, %k, %v scale 1.25e-01 : tensor<1x4x1500x64xf32>, tensor<1x4x1500x64xf32>, tensor<1x4x1500x64xf32>
  return %0 : tensor<1x4x1500x64xf32>
}
