// RUN: graph-opt %s --form-kernels=remarks=true --verify-diagnostics

func.func @remarks(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // expected-remark@+1 {{computed in the registers of graph.matmul}}
  %1 = graph.relu %0 : tensor<4x8xf32>
  // expected-remark@+1 {{its own kernel: its result is returned}}
  %2 = graph.transpose %1 [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<8x4xf32>
}

// A value that is read at two indices would be computed for each of them.
func.func @several_indices(%x: tensor<4x8xf32>) -> tensor<4x7xf32> {
  // expected-remark@+1 {{computed again for each index at which it is read}}
  %0 = graph.relu %x : tensor<4x8xf32>
  // expected-remark@+1 {{computed where it is read}}
  %1 = graph.slice %0 starts [0, 0] sizes [4, 7] steps [1, 1] : tensor<4x8xf32> -> tensor<4x7xf32>
  // expected-remark@+1 {{computed where it is read}}
  %2 = graph.slice %0 starts [0, 1] sizes [4, 7] steps [1, 1] : tensor<4x8xf32> -> tensor<4x7xf32>
  // expected-remark@+1 {{its own kernel: its result is returned}}
  %3 = graph.add %1, %2 : tensor<4x7xf32>, tensor<4x7xf32> -> tensor<4x7xf32>
  return %3 : tensor<4x7xf32>
}

// What is returned is in memory already, where another kernel may read it.
func.func @several_readers(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<1x8xf32>) {
  // expected-remark@+1 {{its own kernel: its result is read by several kernels}}
  %0 = graph.exp %x : tensor<4x8xf32>
  // expected-remark@+1 {{its own kernel: its result is returned, and read by a kernel}}
  %1 = graph.log %0 : tensor<4x8xf32>
  %2 = graph.reduce sum %1 axes [1] keepdims : tensor<4x8xf32> -> tensor<4x1xf32>
  %3 = graph.reduce sum %0 axes [0] keepdims : tensor<4x8xf32> -> tensor<1x8xf32>
  return %1, %2, %3 : tensor<4x8xf32>, tensor<4x1xf32>, tensor<1x8xf32>
}
