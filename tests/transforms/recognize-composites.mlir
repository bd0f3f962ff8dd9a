// RUN: graph-opt %s --split-input-file --recognize-composites | FileCheck %s

// CHECK-LABEL: func.func @gelu
// CHECK: %[[Y:.*]] = graph.gelu %arg0 : tensor<4xf32>
// CHECK: return %[[Y]]
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = graph.constant dense<1.41421354> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.div %x, %root : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %1 = graph.erf %0 : tensor<4xf32>
  %2 = graph.add %1, %one : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %3 = graph.mul %x, %2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %4 = graph.mul %3, %half : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @gelu_tanh
// CHECK: graph.gelu %arg0 tanh_approximation
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %c = graph.constant dense<0.044715> : tensor<f32>
  %r = graph.constant dense<0.797884583> : tensor<f32>
  %0 = graph.mul %x, %half : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %1 = graph.pow %x, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %2 = graph.mul %1, %c : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %3 = graph.add %x, %2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %4 = graph.mul %3, %r : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %5 = graph.tanh %4 : tensor<4xf32>
  %6 = graph.add %5, %one : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %7 = graph.mul %0, %6 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %7 : tensor<4xf32>
}

// -----

// Another constant than 1/√2 is no GELU.
// CHECK-LABEL: func.func @no_gelu
// CHECK-NOT: graph.gelu
// CHECK: return
func.func @no_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = graph.constant dense<2.0> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.div %x, %root : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %1 = graph.erf %0 : tensor<4xf32>
  %2 = graph.add %1, %one : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %3 = graph.mul %x, %2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %4 = graph.mul %3, %half : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @layer_norm
// CHECK: %[[B:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// CHECK: %[[Y:.*]] = graph.layer_norm %arg0, %arg1, %[[B]] axis 1 epsilon {{1.0.*e-05|9.9.*E-6}} : tensor<2x3xf32>
// CHECK: return %[[Y]]
func.func @layer_norm(%x: tensor<2x3xf32>, %scale: tensor<3xf32>) -> tensor<2x3xf32> {
  %bias = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %epsilon = graph.constant dense<1.0e-05> : tensor<f32>
  %0 = graph.reduce mean %x axes [1] keepdims : tensor<2x3xf32> -> tensor<2x1xf32>
  %1 = graph.sub %x, %0 : tensor<2x3xf32>, tensor<2x1xf32> -> tensor<2x3xf32>
  %2 = graph.mul %1, %1 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = graph.reduce mean %2 axes [1] keepdims : tensor<2x3xf32> -> tensor<2x1xf32>
  %4 = graph.add %3, %epsilon : tensor<2x1xf32>, tensor<f32> -> tensor<2x1xf32>
  %5 = graph.sqrt %4 : tensor<2x1xf32>
  %6 = graph.div %1, %5 : tensor<2x3xf32>, tensor<2x1xf32> -> tensor<2x3xf32>
  %7 = graph.mul %6, %scale : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %8 = graph.add %7, %bias : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  return %8 : tensor<2x3xf32>
}

// -----

// Without subtracting the mean it is RMSNorm.
// CHECK-LABEL: func.func @rms_norm
// CHECK: graph.layer_norm %arg0, %arg1 axis 1 epsilon {{.*}} rms
func.func @rms_norm(%x: tensor<2x3xf32>, %scale: tensor<3xf32>) -> tensor<2x3xf32> {
  %epsilon = graph.constant dense<1.0e-05> : tensor<f32>
  %2 = graph.mul %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = graph.reduce mean %2 axes [1] keepdims : tensor<2x3xf32> -> tensor<2x1xf32>
  %4 = graph.add %3, %epsilon : tensor<2x1xf32>, tensor<f32> -> tensor<2x1xf32>
  %5 = graph.rsqrt %4 : tensor<2x1xf32>
  %6 = graph.mul %x, %5 : tensor<2x3xf32>, tensor<2x1xf32> -> tensor<2x3xf32>
  %7 = graph.mul %scale, %6 : tensor<3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return %7 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @softmax
// CHECK: %[[Y:.*]] = graph.softmax %arg0 axis 1
// CHECK: return %[[Y]]
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.reduce max %x axes [1] keepdims : tensor<2x3xf32> -> tensor<2x1xf32>
  %1 = graph.sub %x, %0 : tensor<2x3xf32>, tensor<2x1xf32> -> tensor<2x3xf32>
  %2 = graph.exp %1 : tensor<2x3xf32>
  %3 = graph.reduce sum %2 axes [1] keepdims : tensor<2x3xf32> -> tensor<2x1xf32>
  %4 = graph.div %2, %3 : tensor<2x3xf32>, tensor<2x1xf32> -> tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}

// -----

// As PyTorch exports it: both sides scaled by the root, a mask of finite
// values, and the guard against rows without any key.
// CHECK-LABEL: func.func @attention
// CHECK: %[[M:.*]] = graph.where %arg3
// CHECK: %[[Y:.*]] = graph.attention %arg0, %arg1, %arg2, %[[M]] scale 2.500000e-01
// CHECK: return %[[Y]]
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x6x8xf32>, %v: tensor<1x2x6x8xf32>, %m: tensor<1x1x4x6xi1>) -> tensor<1x2x4x8xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %low = graph.constant dense<-3.0e+38> : tensor<f32>
  %0 = graph.transpose %k [0, 1, 3, 2] : tensor<1x2x6x8xf32> -> tensor<1x2x8x6xf32>
  %1 = graph.mul %q, %s : tensor<1x2x4x8xf32>, tensor<f32> -> tensor<1x2x4x8xf32>
  %2 = graph.mul %0, %s : tensor<1x2x8x6xf32>, tensor<f32> -> tensor<1x2x8x6xf32>
  %3 = graph.where %m, %zero, %low : tensor<1x1x4x6xi1>, tensor<f32>, tensor<f32> -> tensor<1x1x4x6xf32>
  %4 = graph.matmul %1, %2 : tensor<1x2x4x8xf32>, tensor<1x2x8x6xf32> -> tensor<1x2x4x6xf32>
  %5 = graph.add %4, %3 : tensor<1x2x4x6xf32>, tensor<1x1x4x6xf32> -> tensor<1x2x4x6xf32>
  %6 = graph.softmax %5 axis 3 : tensor<1x2x4x6xf32>
  %7 = graph.isnan %6 : tensor<1x2x4x6xf32>
  %8 = graph.where %7, %zero, %6 : tensor<1x2x4x6xi1>, tensor<f32>, tensor<1x2x4x6xf32> -> tensor<1x2x4x6xf32>
  %9 = graph.matmul %8, %v : tensor<1x2x4x6xf32>, tensor<1x2x6x8xf32> -> tensor<1x2x4x8xf32>
  return %9 : tensor<1x2x4x8xf32>
}

// -----

// A mask with -inf everywhere in a row gives NaN, which the guard replaces.
// CHECK-LABEL: func.func @guarded
// CHECK-NOT: graph.attention
// CHECK: return
func.func @guarded(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x2x4xf32>, %v: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %m = graph.constant dense<[[0.0, 0.0], [0xFF800000, 0xFF800000]]> : tensor<2x2xf32>
  %0 = graph.matmul %q, %k transpose_b : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x2xf32>
  %1 = graph.add %0, %m : tensor<1x1x2x2xf32>, tensor<2x2xf32> -> tensor<1x1x2x2xf32>
  %2 = graph.softmax %1 axis 3 : tensor<1x1x2x2xf32>
  %3 = graph.isnan %2 : tensor<1x1x2x2xf32>
  %4 = graph.where %3, %zero, %2 : tensor<1x1x2x2xi1>, tensor<f32>, tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32>
  %5 = graph.matmul %4, %v : tensor<1x1x2x2xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x4xf32>
  return %5 : tensor<1x1x2x4xf32>
}

// -----

// The mask must not enlarge the scores: attention has the query's batch.
// CHECK-LABEL: func.func @larger_mask
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @larger_mask(%q: tensor<1x2x6x4xf32>, %k: tensor<1x2x6x4xf32>, %v: tensor<3x2x6x4xf32>, %mask: tensor<3x1x1x6xf32>) -> tensor<3x2x6x4xf32> {
  %0 = graph.matmul %q, %k transpose_b : tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32> -> tensor<1x2x6x6xf32>
  %1 = graph.add %0, %mask : tensor<1x2x6x6xf32>, tensor<3x1x1x6xf32> -> tensor<3x2x6x6xf32>
  %2 = graph.softmax %1 axis 3 : tensor<3x2x6x6xf32>
  %3 = graph.matmul %2, %v : tensor<3x2x6x6xf32>, tensor<3x2x6x4xf32> -> tensor<3x2x6x4xf32>
  return %3 : tensor<3x2x6x4xf32>
}
