// RUN: graph-opt %s --place-kernels --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// What waits for the GPU comes behind what does not, and what waits for that
// behind it.
module attributes {graph.cuda = ["sm_80"], graph.place = ["relu=cpu"]} {
  // CHECK-LABEL: func.func @chains
  // CHECK: graph.neg
  // CHECK: graph.transfer {{.*}} to "cpu"
  // CHECK-NOT: graph.relu
  // CHECK: graph.tanh
  // CHECK: graph.relu %{{.*}} loc("independent")
  // CHECK: graph.relu %{{.*}} loc("dependent")
  // CHECK: graph.exp
  func.func @chains(%x: tensor<8xf32> {graph.name = "x"})
      -> (tensor<8xf32> {graph.name = "a"}, tensor<8xf32> {graph.name = "b"}, tensor<8xf32> {graph.name = "c"}) {
    %0 = graph.kernel (%k = %x) : (tensor<8xf32>) -> tensor<8xf32> {
      %o = graph.neg %k : tensor<8xf32>
      graph.yield %o : tensor<8xf32>
    }
    %1 = graph.kernel (%k = %0) : (tensor<8xf32>) -> tensor<8xf32> {
      %o = graph.relu %k : tensor<8xf32> loc("dependent")
      graph.yield %o : tensor<8xf32>
    }
    %2 = graph.kernel (%k = %1) : (tensor<8xf32>) -> tensor<8xf32> {
      %o = graph.exp %k : tensor<8xf32>
      graph.yield %o : tensor<8xf32>
    }
    %3 = graph.kernel (%k = %0) : (tensor<8xf32>) -> tensor<8xf32> {
      %o = graph.tanh %k : tensor<8xf32>
      graph.yield %o : tensor<8xf32>
    }
    %4 = graph.kernel (%k = %x) : (tensor<8xf32>) -> tensor<8xf32> {
      %o = graph.relu %k : tensor<8xf32> loc("independent")
      graph.yield %o : tensor<8xf32>
    }
    return %2, %3, %4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}
