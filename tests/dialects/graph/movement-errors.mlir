// What can be taken from a tensor, and put into it.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<0x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  // expected-error @+2 {{0x4xf32 has no elements to make 2x4xf32 of}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.gather %x, %i axis 0 : tensor<0x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @f(%x: tensor<2x3xf32>) -> tensor<1x3xf32> {
  // expected-error @+2 {{2 elements from 0 by 9223372036854775807 leave dimension 0 of 2x3xf32}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.slice %x starts [0, 0] sizes [2, 3] steps [9223372036854775807, 1] : tensor<2x3xf32> -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}
