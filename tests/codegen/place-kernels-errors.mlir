// RUN: graph-opt %s --split-input-file --verify-diagnostics --place-kernels

// expected-error @unknown {{the place "relu" is malformed: expected PATTERN=cpu or PATTERN=cuda, with a pattern, such as conv*, of names of ops or of the model's nodes}}
module attributes {graph.cuda = ["sm_80"], graph.place = ["relu"]} {
  func.func @main() { return }
}

// -----

// expected-error @unknown {{the place "relu=gpu" is malformed: expected PATTERN=cpu or PATTERN=cuda}}
module attributes {graph.cuda = ["sm_80"], graph.place = ["relu=gpu"]} {
  func.func @main() { return }
}

// -----

// expected-error @unknown {{the place "[=cpu" is malformed:}}
module attributes {graph.cuda = ["sm_80"], graph.place = ["[=cpu"]} {
  func.func @main() { return }
}

// -----

// expected-error @unknown {{no op and no node of the model fits the place "conv*=cpu"}}
module attributes {graph.cuda = ["sm_80"], graph.place = ["relu=cpu", "conv*=cpu"]} {
  func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    %y = graph.kernel (%a = %x) : (tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.relu %a : tensor<8xf32>
      graph.yield %0 : tensor<8xf32>
    }
    return %y : tensor<8xf32>
  }
}

// -----

module attributes {graph.cuda = ["sm_80"], graph.collectives = "nccl"} {
  func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    // expected-error @below {{the maximum of floats loses NaN in NCCL; compile with --collectives=mpi}}
    %y = graph.all_reduce max %x : tensor<8xf32>
    return %y : tensor<8xf32>
  }
}

// -----

module attributes {graph.cuda = ["sm_80"], graph.collectives = "nccl"} {
  func.func @main(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    // expected-error @below {{NCCL sends elements as they are, and not as another type; leave out --communication-dtype, or compile with --collectives=mpi}}
    %y = graph.all_reduce mean %x communication_dtype bf16 : tensor<8xf32>
    return %y : tensor<8xf32>
  }
}
