// RUN: graph-opt %s --split-input-file --fold-quantization-scales --fold-constants | FileCheck %s

// CHECK-LABEL: func.func @epilogue
// CHECK-DAG:   %[[S:.*]] = graph.constant dense<[4.000000e+00, 8.000000e+00]> : tensor<2xf32>
// CHECK-DAG:   %[[B:.*]] = graph.constant dense<[2.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-DAG:   %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG:   %[[X:.*]] = graph.dequantize %arg0 scale %[[S]]
// CHECK-DAG:   %[[Y:.*]] = graph.add %[[X]], %[[B]]
// CHECK:       graph.quantize %[[Y]] scale %[[ONE]]
func.func @epilogue(%sums: tensor<3x2xi32>) -> tensor<3x2xui8> {
  %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %b = graph.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %t = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.dequantize %sums scale %s : tensor<3x2xi32>, tensor<2xf32> -> tensor<3x2xf32>
  %1 = graph.add %0, %b : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %2 = graph.quantize %1 scale %t : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xui8>
  return %2 : tensor<3x2xui8>
}

// -----

// What others read, too, stays as it is.
// CHECK-LABEL: func.func @shared
// CHECK-DAG:   %[[T:.*]] = graph.constant dense<5.000000e-01>
// CHECK:       %[[SUM:.*]] = graph.add
// CHECK:       graph.quantize %[[SUM]] scale %[[T]]
func.func @shared(%q: tensor<2xi8>) -> (tensor<2xf32>, tensor<2xui8>) {
  %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %b = graph.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %t = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.dequantize %q scale %s : tensor<2xi8>, tensor<2xf32> -> tensor<2xf32>
  %1 = graph.add %0, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %2 = graph.quantize %1 scale %t : tensor<2xf32>, tensor<f32> -> tensor<2xui8>
  return %1, %2 : tensor<2xf32>, tensor<2xui8>
}
