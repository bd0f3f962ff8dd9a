// What a CPU does not multiply, only weights have; training and GPUs are another thing.

// RUN: graph-compile %s --from=normalised --precision=bf16 --cpu=x86-64-v3 --emit=differentiated | FileCheck %s --check-prefix=WEIGHTS -DTYPE=bf16
// RUN: graph-compile %s --from=normalised --precision=bf16 --cpu=cooperlake --emit=differentiated | FileCheck %s --check-prefix=WEIGHTS -DTYPE=bf16
// RUN: graph-compile %s --from=normalised --precision=f16 --cpu=sapphirerapids --emit=differentiated | FileCheck %s --check-prefix=WEIGHTS -DTYPE=f16
// RUN: graph-compile %s --from=normalised --precision=bf16 --cpu=znver4 --emit=differentiated | FileCheck %s --check-prefix=ALL -DTYPE=bf16
// RUN: graph-compile %s --from=normalised --precision=f16 --cpu=x86-64-v3 --target=cpu,cuda --emit=differentiated | FileCheck %s --check-prefix=ALL -DTYPE=f16

// WEIGHTS: graph.matmul {{.*}} : tensor<8x4xf32>, tensor<4x6x[[TYPE]]> -> tensor<8x6xf32>
// WEIGHTS: graph.relu {{.*}} : tensor<8x6xf32>
// WEIGHTS: graph.matmul {{.*}} : tensor<8x6xf32>, tensor<6x2x[[TYPE]]> -> tensor<8x2xf32>
// ALL: graph.matmul {{.*}} : tensor<8x4x[[TYPE]]>, tensor<4x6x[[TYPE]]> -> tensor<8x6x[[TYPE]]>
// ALL: graph.relu {{.*}} : tensor<8x6x[[TYPE]]>
// ALL: graph.matmul {{.*}} : tensor<8x6x[[TYPE]]>, tensor<6x2x[[TYPE]]> -> tensor<8x2x[[TYPE]]>

// Products of what is computed stay f32, which is no error on such a CPU alone.
// RUN: sed 's/constant dense<0.25>/relu %%j/; s/constant dense<0.5>/relu %%i/' %s > %t.mlir
// RUN: graph-compile %t.mlir --from=normalised --precision=bf16 --cpu=x86-64-v3 --emit=differentiated | FileCheck %s --check-prefix=NONE
// NONE-NOT: bf16
// NONE: graph.matmul {{.*}} : tensor<8x4xf32>, tensor<4x6xf32>
// NONE-NOT: bf16

func.func @main(%x: tensor<8x4xf32> {graph.name = "x"}, %i: tensor<4x6xf32> {graph.name = "i"}, %j: tensor<6x2xf32> {graph.name = "j"})
    -> (tensor<8x2xf32> {graph.name = "y"}) {
  %w = graph.constant dense<0.5> : tensor<4x6xf32>
  %v = graph.constant dense<0.25> : tensor<6x2xf32>
  %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %1 = graph.relu %0 : tensor<8x6xf32>
  %2 = graph.matmul %1, %v : tensor<8x6xf32>, tensor<6x2xf32> -> tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}
