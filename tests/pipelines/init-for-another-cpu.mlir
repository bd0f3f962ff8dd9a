// Weights are computed on the machine that compiles, by kernels whose strategy
// was chosen for the artifact's CPU, with vectors of other lengths.

// RUN: graph-compare %s --cpu=x86-64-v3 --runs=1 --verify --json | FileCheck %s
// RUN: graph-compare %s --cpu=x86-64-v3 --runs=1 --verify --json --threads=2 | FileCheck %s
// CHECK: "max_rel_error": {{[0-9.]+}}e-0{{[5-9]}}

func.func @main(%x: tensor<40x300xf32> {graph.name = "x"}) -> (tensor<40x60xf32> {graph.name = "y"}) {
  %0 = graph.iota start 0 step 1 : tensor<21000xf32>
  %scale = graph.constant dense<0.01> : tensor<f32>
  %angle = graph.mul %0, %scale : tensor<21000xf32>, tensor<f32> -> tensor<21000xf32>
  %1 = graph.sin %angle : tensor<21000xf32>
  %a = graph.reshape %1 : tensor<21000xf32> to tensor<300x70xf32>
  %2 = graph.slice %1 starts [3] sizes [4200] steps [5] : tensor<21000xf32> -> tensor<4200xf32>
  %b = graph.reshape %2 : tensor<4200xf32> to tensor<70x60xf32>
  %w = graph.matmul %a, %b : tensor<300x70xf32>, tensor<70x60xf32> -> tensor<300x60xf32>
  %y = graph.matmul %x, %w : tensor<40x300xf32>, tensor<300x60xf32> -> tensor<40x60xf32>
  return %y : tensor<40x60xf32>
}
