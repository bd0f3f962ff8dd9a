// The precision, and what is kept of a model: by an op's name and by a node's.

// RUN: graph-opt %s --lower-precision="type=f16 keep-f32=conv,/head/*" | FileCheck %s
// RUN: graph-opt %s --lower-precision="type=f32" | FileCheck %s --check-prefix=FULL
// RUN: not graph-opt %s --lower-precision="type=f8" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not graph-opt %s --lower-precision="keep-f32=matmul,lstm" 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not graph-opt %s --lower-precision="keep-f32=matmul,conv" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not graph-opt %s --lower-precision="type=f32 keep-f32=conv" 2>&1 | FileCheck %s --check-prefix=KEEP

// CHECK: graph.matmul {{.*}} : tensor<2x3xf16>, tensor<3x3xf16> -> tensor<2x3xf16>
// CHECK: graph.matmul {{.*}} : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
// CHECK: graph.conv {{.*}} : tensor<1x2x3xf32>, tensor<2x2x1xf32>
// FULL-NOT: f16
// NAME: error: there is no precision "f8"; there are f32, bf16 and f16
// PATTERN: error: no op and no node of the model fits "lstm", which is to say what is kept in f32
// NOTHING: error: the precision "bf16" changes nothing: the model has no matmuls or convolutions in f32, or all of them are kept
// KEEP: error: all of the model is f32; what is kept in it can be said of the precisions bf16 and f16

func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}, %w: tensor<3x3xf32> {graph.name = "w"},
                %v: tensor<2x2x1xf32> {graph.name = "v"}) -> (tensor<1x2x3xf32> {graph.name = "y"}) {
  %0 = graph.matmul %x, %w : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32> loc("/body/MatMul")
  %1 = graph.matmul %0, %w : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32> loc("/head/MatMul")
  %2 = graph.reshape %1 : tensor<2x3xf32> to tensor<1x2x3xf32>
  %3 = graph.conv %2, %v strides [1] padding [0, 0] dilations [1] groups 1 channels_first
      : tensor<1x2x3xf32>, tensor<2x2x1xf32> -> tensor<1x2x3xf32>
  return %3 : tensor<1x2x3xf32>
}
