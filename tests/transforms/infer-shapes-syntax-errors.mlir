// RUN: graph-opt %s --infer-shapes=shapes=x=2xq --verify-diagnostics

// expected-error@+1 {{infer-shapes: expected a shape as in 'x=4x3', found 'x=2xq'}}
func.func @main(%x: tensor<1xf32> {graph.name = "x"}) {
  return
}
