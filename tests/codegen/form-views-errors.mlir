// RUN: graph-opt %s --form-views --split-input-file --verify-diagnostics

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @+1 {{shares kernel 'k' with another one; form views before merging kernels}}
  %1 = graph.dispatch @k(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{names no kernel function}}
  %0 = graph.dispatch @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32>
