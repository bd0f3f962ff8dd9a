// Passes that ask what is known of each op say which one is none of the graph's.

// RUN: graph-opt %s --split-input-file --rematerialise --verify-diagnostics
// RUN: graph-opt %s --split-input-file --lower-precision --verify-diagnostics

func.func @main(%x: tensor<8xf32>, %i: i32) -> tensor<8xf32> {
  // expected-error@+1 {{'arith.addi' is no op of the graph dialect, as this pass needs}}
  %0 = arith.addi %i, %i : i32
  %1 = graph.relu %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @branch(%x: tensor<8xf32>, %c: tensor<i1>) -> tensor<8xf32> {
  %0 = graph.if %c : (tensor<8xf32>) {
    // expected-error@+1 {{'arith.addf' is no op of the graph dialect, as this pass needs}}
    %1 = arith.addf %x, %x : tensor<8xf32>
    graph.yield %1 : tensor<8xf32>
  } else {
    graph.yield %x : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
