// RUN: graph-opt %s --split-input-file --lower-kernels --verify-diagnostics

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{lies outside of a graph.kernel; form kernels before lowering them}}
  %0 = graph.relu %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = graph.kernel (%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    // expected-error @below {{cannot lie in a kernel: there is no lowering to linalg for it}}
    %0 = graph.weight "w0" : tensor<2xf32>
    graph.yield %0 : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}

// -----

func.func @main(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %y = graph.if %c : (tensor<2xf32>) {
    // expected-error @below {{lies outside of a graph.kernel; form kernels before lowering them}}
    %0 = graph.relu %x : tensor<2xf32>
    graph.yield %0 : tensor<2xf32>
  } else {
    graph.yield %x : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}
