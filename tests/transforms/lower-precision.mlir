// RUN: graph-opt %s --split-input-file --lower-precision | FileCheck %s
// RUN: graph-opt %s --split-input-file --lower-precision=weights-alone | FileCheck %s --check-prefix=WEIGHTS

// Products take bf16, and what follows them stays in it, but for small parameters.
// Weights are cast where they come from; the function's results are what they were.
// CHECK-LABEL: func.func @layers
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32> {{.*}}, %[[W:.*]]: tensor<4x6xf32> {{.*}}, %[[B:.*]]: tensor<6xf32> {{.*}}, %[[V:.*]]: tensor<6x2xf32>
// CHECK-DAG: graph.cast %[[X]] : tensor<8x4xf32> to tensor<8x4xbf16>
// CHECK-DAG: graph.cast %[[W]] : tensor<4x6xf32> to tensor<4x6xbf16>
// CHECK-DAG: graph.cast %[[V]] : tensor<6x2xf32> to tensor<6x2xbf16>
// CHECK: graph.matmul {{.*}} : tensor<8x4xbf16>, tensor<4x6xbf16> -> tensor<8x6xbf16>
// CHECK: %[[S:.*]] = graph.add {{.*}}, %[[B]] : tensor<8x6xf32>, tensor<6xf32> -> tensor<8x6xf32>
// CHECK: graph.cast %[[S]] contract : tensor<8x6xf32> to tensor<8x6xbf16>
// CHECK: %[[H:.*]] = graph.relu {{.*}} : tensor<8x6xbf16>
// CHECK: %[[Y:.*]] = graph.matmul %[[H]], {{.*}} : tensor<8x6xbf16>, tensor<6x2xbf16> -> tensor<8x2xbf16>
// CHECK: %[[R:.*]] = graph.cast %[[Y]] contract : tensor<8x2xbf16> to tensor<8x2xf32>
// CHECK: return %[[R]] : tensor<8x2xf32>
func.func @layers(%x: tensor<8x4xf32> {graph.name = "x"}, %w: tensor<4x6xf32> {graph.variable = "w"},
                  %b: tensor<6xf32> {graph.variable = "b"}, %v: tensor<6x2xf32> {graph.variable = "v"})
    -> (tensor<8x2xf32> {graph.name = "y"}) {
  %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %1 = graph.add %0, %b : tensor<8x6xf32>, tensor<6xf32> -> tensor<8x6xf32>
  %2 = graph.relu %1 : tensor<8x6xf32>
  %3 = graph.matmul %2, %v : tensor<8x6xf32>, tensor<6x2xf32> -> tensor<8x2xf32>
  return %3 : tensor<8x2xf32>
}

// -----

// A norm has its statistics and parameters in f32, and a rounded result.
// CHECK-LABEL: func.func @norm
// CHECK: %[[C:.*]] = graph.conv {{.*}} -> tensor<2x3x5x5xbf16>
// CHECK: %[[D:.*]] = graph.cast %[[C]] contract : {{.*}} to tensor<2x3x5x5xf32>
// CHECK: %[[N:.*]] = graph.batch_norm %[[D]], %{{.*}} : tensor<2x3x5x5xf32>, tensor<3xf32>
// CHECK: graph.cast %[[N]] contract : {{.*}} to tensor<2x3x5x5xbf16>
// CHECK: graph.conv {{.*}} : tensor<2x3x5x5xbf16>
// CHECK: graph.reduce mean {{.*}} axes [2, 3] : tensor<2x3x3x3xf32> -> tensor<2x3xf32>
func.func @norm(%x: tensor<2x1x5x5xf32>, %w: tensor<3x1x3x3xf32> {graph.variable = "w"},
                %s: tensor<3xf32> {graph.variable = "s"}, %v: tensor<3x3x1x1xf32> {graph.variable = "v"}) -> tensor<2x3xf32> {
  %0 = graph.conv %x, %w strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 channels_first
      : tensor<2x1x5x5xf32>, tensor<3x1x3x3xf32> -> tensor<2x3x5x5xf32>
  %1 = graph.batch_norm %0, %s, %s, %s, %s epsilon 1.000000e-05 channels_first
      : tensor<2x3x5x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  %2 = graph.conv %1, %v strides [2, 2] padding [0, 0, 0, 0] dilations [1, 1] groups 1 channels_first
      : tensor<2x3x5x5xf32>, tensor<3x3x1x1xf32> -> tensor<2x3x3x3xf32>
  %3 = graph.reduce mean %2 axes [2, 3] : tensor<2x3x3x3xf32> -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// -----

// What was computed in f32 is not rounded because it meets a rounded value: the
// distance from a mean would lose its digits. Softmax stays f32.
// CHECK-LABEL: func.func @promoted
// CHECK: %[[M:.*]] = graph.reduce mean %{{.*}} : tensor<8x4xf32>
// CHECK: %[[D:.*]] = graph.sub %{{.*}}, %[[M]] : tensor<8x4xf32>
// CHECK: graph.softmax %[[D]] axis 1 : tensor<8x4xf32>
func.func @promoted(%x: tensor<8x4xf32>, %w: tensor<4x4xf32> {graph.variable = "w"}) -> tensor<8x4xf32> {
  %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = graph.reduce mean %0 axes [1] keepdims : tensor<8x4xf32> -> tensor<8x1xf32>
  %2 = graph.sub %0, %1 : tensor<8x4xf32>, tensor<8x1xf32> -> tensor<8x4xf32>
  %3 = graph.softmax %2 axis 1 : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// -----

// What is read in f32 alone is computed in it: a variance would be left of few
// digits. The product that it is of is summed in f32 anyway.
// CHECK-LABEL: func.func @read_in_full
// CHECK: %[[M:.*]] = graph.matmul {{.*}} -> tensor<8x4xbf16>
// CHECK: %[[W:.*]] = graph.cast %[[M]] contract
// CHECK: %[[G:.*]] = graph.gelu %[[W]] : tensor<8x4xf32>
// CHECK: graph.mul %[[G]], %[[G]] : tensor<8x4xf32>
func.func @read_in_full(%x: tensor<8x4xf32>, %w: tensor<4x4xf32> {graph.variable = "w"}) -> tensor<8xf32> {
  %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = graph.gelu %0 : tensor<8x4xf32>
  %2 = graph.mul %1, %1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  %3 = graph.reduce mean %2 axes [1] : tensor<8x4xf32> -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// The lowest number of f32 must not become an infinity: a row that sees nothing
// would be NaN.
// CHECK-LABEL: func.func @masked
// CHECK-DAG: %[[LIMIT:.*]] = graph.constant dense<-3.3895313{{.*}}> : tensor<f32>
// CHECK-DAG: %[[MASK:.*]] = graph.max %arg1, %[[LIMIT]]
// CHECK-DAG: %[[LOW:.*]] = graph.cast %[[MASK]] : tensor<1x1x4x4xf32> to tensor<1x1x4x4xbf16>
// CHECK: graph.attention {{.*}}, %[[LOW]] scale {{.*}} : tensor<1x2x4x8xbf16>
// CHECK: graph.where %{{.*}} : tensor<1x2x4x8xi1>, tensor<1x2x4x8xf32>, tensor<f32> -> tensor<1x2x4x8xf32>
// CHECK: graph.where %{{.*}} : tensor<1x2x4x8xi1>, tensor<1x2x4x8xbf16>, tensor<bf16> -> tensor<1x2x4x8xbf16>
// CHECK: graph.matmul
func.func @masked(%q: tensor<1x2x4x8xf32>, %m: tensor<1x1x4x4xf32>, %c: tensor<1x2x4x8xi1>, %w: tensor<8x8xf32> {graph.variable = "w"}) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) {
  %lowest = graph.constant dense<-3.40282347E+38> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.attention %q, %q, %q, %m scale 1.250000e-01
      : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x4x4xf32>
  %1 = graph.where %c, %0, %lowest : tensor<1x2x4x8xi1>, tensor<1x2x4x8xf32>, tensor<f32> -> tensor<1x2x4x8xf32>
  %2 = graph.where %c, %0, %zero : tensor<1x2x4x8xi1>, tensor<1x2x4x8xf32>, tensor<f32> -> tensor<1x2x4x8xf32>
  %3 = graph.matmul %1, %w : tensor<1x2x4x8xf32>, tensor<8x8xf32> -> tensor<1x2x4x8xf32>
  %4 = graph.matmul %2, %w : tensor<1x2x4x8xf32>, tensor<8x8xf32> -> tensor<1x2x4x8xf32>
  return %3, %4 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>
}

// -----

// Loops carry f32; weights are cast before them. Other floats stay as they are,
// and so does what is computed of weights alone, and a custom gradient.
// CHECK-LABEL: func.func @others
// CHECK: graph.cast %arg1 : tensor<4x4xf32> to tensor<4x4xbf16>
// CHECK: graph.scan
// CHECK: graph.matmul {{.*}} : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
// CHECK: %[[T:.*]] = graph.tanh {{.*}} : tensor<2x4xf32>
// CHECK: graph.yield %[[T]] : tensor<2x4xf32>
// CHECK: graph.matmul {{.*}} : tensor<2x2xf64>, tensor<2x2xf64> -> tensor<2x2xf64>
// CHECK: graph.matmul %arg1, %arg1 : tensor<4x4xf32>
// CHECK: graph.custom_gradient
// CHECK: graph.matmul {{.*}} : tensor<2x4xf32>
func.func @others(%x: tensor<2x4xf32>, %w: tensor<4x4xf32> {graph.variable = "w"}, %d: tensor<2x2xf64>)
    -> (tensor<2x4xf32>, tensor<2x2xf64>, tensor<4x4xf32>, tensor<2x4xf32>) {
  %0 = graph.scan %i length 3 carry (%h = %x) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
    %4 = graph.matmul %h, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    %5 = graph.tanh %4 : tensor<2x4xf32>
    graph.yield %5 : tensor<2x4xf32>
  }
  %1 = graph.matmul %d, %d : tensor<2x2xf64>, tensor<2x2xf64> -> tensor<2x2xf64>
  %2 = graph.matmul %w, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = graph.custom_gradient (%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>):
    %4 = graph.matmul %a, %b : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    graph.yield %4 : tensor<2x4xf32>
  } gradient {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>, %y: tensor<2x4xf32>, %dy: tensor<2x4xf32>):
    graph.yield %dy, %b : tensor<2x4xf32>, tensor<4x4xf32>
  }
  return %0, %1, %2, %3 : tensor<2x4xf32>, tensor<2x2xf64>, tensor<4x4xf32>, tensor<2x4xf32>
}

// -----

// Rows of a constant are rounded where they are stored, those of a variable,
// whose gradients are added up, are not.
// CHECK-LABEL: func.func @embedding
// CHECK: %[[W:.*]] = graph.cast %{{.*}} : tensor<9x4xf32> to tensor<9x4xbf16>
// CHECK: graph.gather %[[W]], {{.*}} -> tensor<2x4xbf16>
// CHECK: graph.gather %arg1, {{.*}} -> tensor<2x4xf32>
// CHECK: return {{.*}} : tensor<2x4xf32>, tensor<2x4xf32>
func.func @embedding(%i: tensor<2xi64>, %v: tensor<9x4xf32> {graph.variable = "v"}) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = graph.constant dense<0.1> : tensor<9x4xf32>
  %0 = graph.gather %w, %i axis 0 : tensor<9x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  %1 = graph.gather %v, %i axis 0 : tensor<9x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// What lies in a file may be f32's lowest number as well, and what is computed of
// it; a table whose rows are taken is an embedding.
// CHECK-LABEL: func.func @in_files
// CHECK-DAG: %[[T:.*]] = graph.constant #graph.external<"m.bin", 128, 256> : tensor<16x4xf32>
// CHECK-DAG: %[[L:.*]] = graph.cast %[[T]] : tensor<16x4xf32> to tensor<16x4xbf16>
// CHECK: graph.add {{.*}} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
// CHECK: graph.gather %[[L]]
func.func @in_files(%x: tensor<8x4xf32>, %w: tensor<4x4xf32> {graph.variable = "w"}, %i: tensor<8xi64>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %m = graph.constant #graph.external<"m.bin", 0, 128> : tensor<4x8xf32>
  %t = graph.constant #graph.external<"m.bin", 128, 256> : tensor<16x4xf32>
  %mask = graph.transpose %m [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = graph.add %0, %mask : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  %2 = graph.matmul %1, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %3 = graph.gather %t, %i axis 0 : tensor<16x4xf32>, tensor<8xi64> -> tensor<8x4xf32>
  %4 = graph.matmul %3, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  return %2, %4 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Constant factors, on either side, and tables are rounded by themselves; what is
// computed, added or a variable stays f32.
// CHECK-LABEL: func.func @weights
// WEIGHTS-LABEL: func.func @weights
// WEIGHTS: %[[ROWS:.*]] = graph.gather %{{.*}}, %{{.*}} axis 0 : tensor<9x4xbf16>, tensor<3xi64> -> tensor<3x4xbf16>
// WEIGHTS: %[[E:.*]] = graph.cast %[[ROWS]] contract : tensor<3x4xbf16> to tensor<3x4xf32>
// WEIGHTS: %[[R:.*]] = graph.matmul %[[E]], %{{.*}} : tensor<3x4xf32>, tensor<4x4xbf16> -> tensor<3x4xf32>
// WEIGHTS: %[[L:.*]] = graph.matmul %{{.*}}, %[[R]] : tensor<3x3xbf16>, tensor<3x4xf32> -> tensor<3x4xf32>
// WEIGHTS: %[[A:.*]] = graph.add %[[L]], %{{.*}} : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
// WEIGHTS: graph.matmul %[[A]], %{{.*}} : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
func.func @weights(%ids: tensor<3xi64>, %v: tensor<4x4xf32> {graph.variable = "v"}) -> tensor<3x4xf32> {
  %table = graph.constant dense<0.5> : tensor<9x4xf32>
  %w = graph.constant dense<0.5> : tensor<4x4xf32>
  %u = graph.constant dense<0.5> : tensor<3x3xf32>
  %p = graph.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]> : tensor<3x4xf32>
  %0 = graph.gather %table, %ids axis 0 : tensor<9x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  %1 = graph.matmul %0, %w : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  %2 = graph.matmul %u, %1 : tensor<3x3xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  %3 = graph.add %2, %p : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  %4 = graph.matmul %3, %v : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  return %4 : tensor<3x4xf32>
}

// -----

// A query that is a weight: attention gives its result in the query's type.
// WEIGHTS-LABEL: func.func @learned_query
// WEIGHTS: %[[Q:.*]] = graph.constant dense<5.000000e-01> : tensor<1x2x4x8xf32>
// WEIGHTS: graph.attention %[[Q]], %arg0, %arg0
func.func @learned_query(%x: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %q = graph.constant dense<0.5> : tensor<1x2x4x8xf32>
  %0 = graph.attention %q, %x, %x scale 1.250000e-01
      : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>
  return %0 : tensor<1x2x4x8xf32>
}
