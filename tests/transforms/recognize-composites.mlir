// RUN: graph-opt %s --split-input-file --recognize-composites | FileCheck %s

// CHECK-LABEL: func.func @gelu
// CHECK-NEXT: graph.gelu %arg0 : tensor<4x8xf32>
// CHECK-NEXT: return
func.func @gelu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = graph.constant dense<1.41421354> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.div %x, %root : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %1 = graph.erf %0 : tensor<4x8xf32>
  %2 = graph.add %1, %one : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %3 = graph.mul %x, %2 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = graph.mul %3, %half : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @gelu_tanh
// CHECK-NEXT: graph.gelu %arg0 tanh_approximation : tensor<4x8xf32>
// CHECK-NEXT: return
func.func @gelu_tanh(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %three = graph.constant dense<3.0> : tensor<f32>
  %c = graph.constant dense<0.044715> : tensor<f32>
  %s = graph.constant dense<0.797884583> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.mul %x, %half : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %1 = graph.pow %x, %three : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %2 = graph.mul %1, %c : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %3 = graph.add %x, %2 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = graph.mul %3, %s : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %5 = graph.tanh %4 : tensor<4x8xf32>
  %6 = graph.add %5, %one : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %7 = graph.mul %0, %6 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}

// -----

// Another factor than 1/2 is no GELU.
// CHECK-LABEL: func.func @no_gelu
// CHECK-NOT: graph.gelu
// CHECK: return
func.func @no_gelu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = graph.constant dense<1.41421354> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.div %x, %root : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %1 = graph.erf %0 : tensor<4x8xf32>
  %2 = graph.add %1, %one : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %3 = graph.mul %x, %2 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @layer_norm
// CHECK: graph.layer_norm %arg0, %{{.*}}, %{{.*}} axis 1 epsilon {{9.99999974.*}} : tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT: return
func.func @layer_norm(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  %e32 = graph.constant dense<9.99999974E-6> : tensor<f32>
  %scale = graph.constant dense<[1.5, 2.5]> : tensor<2xf32>
  %bias = graph.constant dense<[3.5, 4.5]> : tensor<2xf32>
  %0 = graph.reduce mean %x axes [1] keepdims : tensor<4x2xf32> -> tensor<4x1xf32>
  %1 = graph.sub %x, %0 : tensor<4x2xf32>, tensor<4x1xf32> -> tensor<4x2xf32>
  %2 = graph.pow %1, %two : tensor<4x2xf32>, tensor<f32> -> tensor<4x2xf32>
  %3 = graph.reduce mean %2 axes [1] keepdims : tensor<4x2xf32> -> tensor<4x1xf32>
  %4 = graph.add %3, %e32 : tensor<4x1xf32>, tensor<f32> -> tensor<4x1xf32>
  %5 = graph.sqrt %4 : tensor<4x1xf32>
  %6 = graph.div %1, %5 : tensor<4x2xf32>, tensor<4x1xf32> -> tensor<4x2xf32>
  %7 = graph.mul %6, %scale : tensor<4x2xf32>, tensor<2xf32> -> tensor<4x2xf32>
  %8 = graph.add %7, %bias : tensor<4x2xf32>, tensor<2xf32> -> tensor<4x2xf32>
  return %8 : tensor<4x2xf32>
}

// -----

// RMSNorm: the mean stays in.
// CHECK-LABEL: func.func @rms_norm
// CHECK: graph.layer_norm %arg0, %arg1 axis 1 epsilon {{.*}} rms
// CHECK-NEXT: return
func.func @rms_norm(%x: tensor<4x2xf32>, %scale: tensor<2xf32>) -> tensor<4x2xf32> {
  %e = graph.constant dense<1.0e-3> : tensor<f32>
  %0 = graph.mul %x, %x : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = graph.reduce mean %0 axes [1] keepdims : tensor<4x2xf32> -> tensor<4x1xf32>
  %2 = graph.add %1, %e : tensor<4x1xf32>, tensor<f32> -> tensor<4x1xf32>
  %3 = graph.rsqrt %2 : tensor<4x1xf32>
  %4 = graph.mul %x, %3 : tensor<4x2xf32>, tensor<4x1xf32> -> tensor<4x2xf32>
  %5 = graph.mul %scale, %4 : tensor<2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  return %5 : tensor<4x2xf32>
}

// -----

// A mean over other axes than the variance's is no layer norm.
// CHECK-LABEL: func.func @no_layer_norm
// CHECK-NOT: graph.layer_norm %arg0
// CHECK: return
func.func @no_layer_norm(%x: tensor<3x4x2xf32>) -> tensor<3x4x2xf32> {
  %e = graph.constant dense<1.0e-3> : tensor<f32>
  %0 = graph.reduce mean %x axes [1, 2] keepdims : tensor<3x4x2xf32> -> tensor<3x1x1xf32>
  %1 = graph.sub %x, %0 : tensor<3x4x2xf32>, tensor<3x1x1xf32> -> tensor<3x4x2xf32>
  %2 = graph.mul %1, %1 : tensor<3x4x2xf32>, tensor<3x4x2xf32> -> tensor<3x4x2xf32>
  %3 = graph.reduce mean %2 axes [2] keepdims : tensor<3x4x2xf32> -> tensor<3x4x1xf32>
  %4 = graph.add %3, %e : tensor<3x4x1xf32>, tensor<f32> -> tensor<3x4x1xf32>
  %5 = graph.sqrt %4 : tensor<3x4x1xf32>
  %6 = graph.div %1, %5 : tensor<3x4x2xf32>, tensor<3x4x1xf32> -> tensor<3x4x2xf32>
  return %6 : tensor<3x4x2xf32>
}

// -----

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: graph.softmax %arg0 axis 1
// CHECK-NEXT: return
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.reduce max %x axes [1] keepdims : tensor<4x8xf32> -> tensor<4x1xf32>
  %1 = graph.sub %x, %0 : tensor<4x8xf32>, tensor<4x1xf32> -> tensor<4x8xf32>
  %2 = graph.exp %1 : tensor<4x8xf32>
  %3 = graph.reduce sum %2 axes [1] keepdims : tensor<4x8xf32> -> tensor<4x1xf32>
  %4 = graph.div %2, %3 : tensor<4x8xf32>, tensor<4x1xf32> -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// As PyTorch writes it: factors at query and key, a guard against NaN that a
// finite mask makes void.
// CHECK-LABEL: func.func @attention
// CHECK: %[[M:.*]] = graph.where
// CHECK: graph.attention %arg0, %arg1, %arg2, %[[M]] scale 2.500000e-01
// CHECK-NEXT: return
func.func @attention(%q: tensor<1x2x6x4xf32>, %k: tensor<1x2x6x4xf32>, %v: tensor<1x2x6x4xf32>, %m: tensor<1x1x1x6xi1>) -> tensor<1x2x6x4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %low = graph.constant dense<-3.40282347E+38> : tensor<f32>
  %mask = graph.where %m, %zero, %low : tensor<1x1x1x6xi1>, tensor<f32>, tensor<f32> -> tensor<1x1x1x6xf32>
  %0 = graph.mul %q, %half : tensor<1x2x6x4xf32>, tensor<f32> -> tensor<1x2x6x4xf32>
  %1 = graph.transpose %k [0, 1, 3, 2] : tensor<1x2x6x4xf32> -> tensor<1x2x4x6xf32>
  %2 = graph.mul %1, %half : tensor<1x2x4x6xf32>, tensor<f32> -> tensor<1x2x4x6xf32>
  %3 = graph.matmul %0, %2 : tensor<1x2x6x4xf32>, tensor<1x2x4x6xf32> -> tensor<1x2x6x6xf32>
  %4 = graph.add %3, %mask : tensor<1x2x6x6xf32>, tensor<1x1x1x6xf32> -> tensor<1x2x6x6xf32>
  %5 = graph.softmax %4 axis 3 : tensor<1x2x6x6xf32>
  %6 = graph.isnan %5 : tensor<1x2x6x6xf32>
  %7 = graph.where %6, %zero, %5 : tensor<1x2x6x6xi1>, tensor<f32>, tensor<1x2x6x6xf32> -> tensor<1x2x6x6xf32>
  %8 = graph.matmul %7, %v : tensor<1x2x6x6xf32>, tensor<1x2x6x4xf32> -> tensor<1x2x6x4xf32>
  return %8 : tensor<1x2x6x4xf32>
}

// -----

// The guard stays where the mask may hide all keys.
// CHECK-LABEL: func.func @guarded
// CHECK-NOT: graph.attention
// CHECK: graph.isnan
func.func @guarded(%q: tensor<1x2x6x4xf32>, %k: tensor<1x2x6x4xf32>, %v: tensor<1x2x6x4xf32>, %mask: tensor<1x1x1x6xf32>) -> tensor<1x2x6x4xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %3 = graph.matmul %q, %k transpose_b : tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32> -> tensor<1x2x6x6xf32>
  %4 = graph.add %3, %mask : tensor<1x2x6x6xf32>, tensor<1x1x1x6xf32> -> tensor<1x2x6x6xf32>
  %5 = graph.softmax %4 axis 3 : tensor<1x2x6x6xf32>
  %6 = graph.isnan %5 : tensor<1x2x6x6xf32>
  %7 = graph.where %6, %zero, %5 : tensor<1x2x6x6xi1>, tensor<f32>, tensor<1x2x6x6xf32> -> tensor<1x2x6x6xf32>
  %8 = graph.matmul %7, %v : tensor<1x2x6x6xf32>, tensor<1x2x6x4xf32> -> tensor<1x2x6x4xf32>
  return %8 : tensor<1x2x6x4xf32>
}
