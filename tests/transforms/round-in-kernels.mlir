// RUN: graph-opt %s --form-kernels --round-in-kernels | FileCheck %s

// Two numbers that are rounded before they are added never become bytes.
// CHECK-LABEL: func.func @f
// CHECK:       graph.kernel
// CHECK:         %[[LOW:.*]] = graph.constant dense<-3.000000e+00>
// CHECK:         %[[MAX:.*]] = graph.max %{{.*}}, %[[LOW]]
// CHECK:         %[[HIGH:.*]] = graph.constant dense<2.520000e+02>
// CHECK:         %[[MIN:.*]] = graph.min %[[MAX]], %[[HIGH]]
// CHECK:         %[[ROUND:.*]] = graph.round %[[MIN]]
// CHECK:         graph.mul %[[ROUND]]
// CHECK:         graph.add
// CHECK:         %[[Q:.*]] = graph.quantize
// CHECK:         graph.yield %[[Q]]
func.func @f(%x: tensor<8xf32>, %r: tensor<8xf32>) -> tensor<8xui8> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<ui8>
  %q = graph.quantize %x scale %one zero_point %z : tensor<8xf32>, tensor<f32>, tensor<ui8> -> tensor<8xui8>
  %0 = graph.dequantize %q scale %s zero_point %z : tensor<8xui8>, tensor<f32>, tensor<ui8> -> tensor<8xf32>
  %1 = graph.add %0, %r : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %2 = graph.quantize %1 scale %s zero_point %z : tensor<8xf32>, tensor<f32>, tensor<ui8> -> tensor<8xui8>
  return %2 : tensor<8xui8>
}
