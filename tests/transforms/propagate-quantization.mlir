// RUN: graph-opt %s --split-input-file --propagate-quantization | FileCheck %s

// CHECK-LABEL: func.func @through_pool
// CHECK-NEXT:  %[[Y:.*]] = graph.max_pool %arg0 {{.*}} : tensor<1x8x4x4xui8> -> tensor<1x8x2x2xui8>
// CHECK-NEXT:  return %[[Y]]
func.func @through_pool(%q: tensor<1x8x4x4xui8>) -> tensor<1x8x2x2xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<0> : tensor<ui8>
  %0 = graph.dequantize %q scale %s zero_point %z : tensor<1x8x4x4xui8>, tensor<f32>, tensor<ui8> -> tensor<1x8x4x4xf32>
  %1 = graph.max_pool %0 kernel [2, 2] strides [2, 2] padding [0, 0, 0, 0] dilations [1, 1] channels_first : tensor<1x8x4x4xf32> -> tensor<1x8x2x2xf32>
  %2 = graph.relu %1 : tensor<1x8x2x2xf32>
  %3 = graph.quantize %2 scale %s zero_point %z : tensor<1x8x2x2xf32>, tensor<f32>, tensor<ui8> -> tensor<1x8x2x2xui8>
  return %3 : tensor<1x8x2x2xui8>
}

// -----

// Another scale stays, and so does a limit that integers are beyond.
// CHECK-LABEL: func.func @stays
// CHECK:       graph.dequantize
// CHECK:       graph.relu
// CHECK:       graph.quantize
func.func @stays(%q: tensor<8xui8>) -> tensor<8xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<0.25> : tensor<f32>
  %z = graph.constant dense<3> : tensor<ui8>
  %0 = graph.dequantize %q scale %s zero_point %z : tensor<8xui8>, tensor<f32>, tensor<ui8> -> tensor<8xf32>
  %1 = graph.relu %0 : tensor<8xf32>
  %2 = graph.quantize %1 scale %t zero_point %z : tensor<8xf32>, tensor<f32>, tensor<ui8> -> tensor<8xui8>
  return %2 : tensor<8xui8>
}

// -----

// The clip of a ReLU6 whose range is that of the integers.
// CHECK-LABEL: func.func @relu6
// CHECK-NOT:   graph.min
// CHECK-NOT:   graph.max
// CHECK:       graph.quantize %arg0
func.func @relu6(%x: tensor<8xf32>) -> tensor<8xui8> {
  %s = graph.constant dense<0.023529412> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %six = graph.constant dense<6.0> : tensor<f32>
  %0 = graph.max %x, %zero {bound} : tensor<8xf32>, tensor<f32> -> tensor<8xf32>
  %1 = graph.min %0, %six {bound} : tensor<8xf32>, tensor<f32> -> tensor<8xf32>
  %2 = graph.quantize %1 scale %s : tensor<8xf32>, tensor<f32> -> tensor<8xui8>
  return %2 : tensor<8xui8>
}

// -----

// Each part of a concatenation is quantised by itself.
// CHECK-LABEL: func.func @concat
// CHECK-DAG:   %[[A:.*]] = graph.quantize %arg0
// CHECK-DAG:   %[[B:.*]] = graph.quantize %arg1
// CHECK:       graph.concat %[[A]], %[[B]] {{.*}} -> tensor<5xui8>
func.func @concat(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<5xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.concat %a, %b axis 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %1 = graph.quantize %0 scale %s : tensor<5xf32>, tensor<f32> -> tensor<5xui8>
  return %1 : tensor<5xui8>
}

// -----

// Of a table of embeddings few rows are dequantised.
// CHECK-LABEL: func.func @gather
// CHECK:       %[[ROWS:.*]] = graph.gather %{{.*}} : tensor<8x4xi8>, tensor<2xi64> -> tensor<2x4xi8>
// CHECK:       graph.dequantize %[[ROWS]]
func.func @gather(%i: tensor<2xi64>) -> tensor<2x4xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<1> : tensor<8x4xi8>
  %0 = graph.dequantize %t scale %s : tensor<8x4xi8>, tensor<f32> -> tensor<8x4xf32>
  %1 = graph.gather %0, %i axis 0 : tensor<8x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
