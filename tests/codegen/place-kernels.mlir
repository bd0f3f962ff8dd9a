// RUN: graph-opt %s --split-input-file --place-kernels | FileCheck %s

// All kernels are on the GPU but those on constants alone. Arguments go there
// first, each once; views follow their values.
module attributes {graph.cuda = ["sm_80"]} {
  // CHECK-LABEL: func.func @once
  // CHECK-NEXT: %[[X:.*]] = graph.transfer %arg0 to "cuda" : tensor<4x8xf32>
  // CHECK-NEXT: %[[I:.*]] = graph.transfer %arg1 to "cuda" : tensor<8x4xf32>
  // CHECK-NEXT: %[[C:.*]] = graph.constant
  // CHECK-NEXT: %[[W:.*]] = graph.kernel (%{{.*}} = %[[C]]) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: %[[A:.*]] = graph.kernel (%{{.*}} = %[[X]], %{{.*}} = %[[W]]) {{.*}} attributes {graph.device = "cuda"}
  // CHECK: %[[OUT:.*]] = graph.transfer %[[A]] to "cpu" : tensor<4x4xf32>
  // CHECK: %[[R:.*]] = graph.reshape %[[X]]
  // CHECK: graph.kernel (%{{.*}} = %[[R]], %{{.*}} = %[[I]], %{{.*}} = %[[X]])
  // CHECK: return %[[OUT]], %{{.*}}, %[[OUT]], %arg0
  func.func @once(%x: tensor<4x8xf32> {graph.name = "x"}, %i: tensor<8x4xf32> {graph.name = "i"})
      -> (tensor<4x4xf32> {graph.name = "a"}, tensor<8x4xf32> {graph.name = "b"}, tensor<4x4xf32> {graph.name = "c"}, tensor<4x8xf32> {graph.name = "d"}) {
    %c = graph.constant dense<2.0> : tensor<8x4xf32>
    %w = graph.kernel (%k = %c) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0 = graph.relu %k : tensor<8x4xf32>
      graph.yield %0 : tensor<8x4xf32>
    }
    %a = graph.kernel (%l = %x, %r = %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> {
      %0 = graph.matmul %l, %r : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
      graph.yield %0 : tensor<4x4xf32>
    }
    %v = graph.reshape %x : tensor<4x8xf32> to tensor<8x4xf32>
    %b = graph.kernel (%l = %v, %r = %i, %z = %x) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x4xf32> {
      %0 = graph.add %l, %r : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
      graph.yield %0 : tensor<8x4xf32>
    }
    return %a, %b, %a, %x : tensor<4x4xf32>, tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x8xf32>
  }
}

// -----

// Without chips there is no GPU.
// CHECK-LABEL: func.func @none
// CHECK-NOT: graph.transfer
// CHECK-NOT: graph.device
func.func @none(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
  %y = graph.kernel (%a = %x) : (tensor<8xf32>) -> tensor<8xf32> {
    %0 = graph.relu %a : tensor<8xf32>
    graph.yield %0 : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

// Rules are about names of ops and of nodes; the last one that fits counts.
// CHECK-NOT: graph.place
module attributes {graph.cuda = ["sm_80"], graph.place = ["*=cpu", "ta*=cuda", "second=cuda"]} {
  // CHECK-LABEL: func.func @rules
  // CHECK-NEXT: %[[A:.*]] = graph.kernel (%{{.*}} = %arg0) : (tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[B:.*]] = graph.transfer %[[A]] to "cuda"
  // CHECK-NEXT: %[[C:.*]] = graph.kernel (%{{.*}} = %[[B]]) {{.*}} attributes {graph.device = "cuda"}
  // CHECK: %[[D:.*]] = graph.kernel (%{{.*}} = %[[C]]) {{.*}} attributes {graph.device = "cuda"}
  // CHECK: %[[E:.*]] = graph.transfer %[[D]] to "cpu"
  // CHECK: %[[F:.*]] = graph.kernel (%{{.*}} = %[[E]], %{{.*}} = %[[A]]) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: return %[[F]]
  func.func @rules(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    %a = graph.kernel (%k = %x) : (tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.relu %k : tensor<8xf32> loc("first")
      graph.yield %0 : tensor<8xf32>
    }
    %b = graph.kernel (%k = %a) : (tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.relu %k : tensor<8xf32> loc("second")
      graph.yield %0 : tensor<8xf32>
    }
    %c = graph.kernel (%k = %b) : (tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.neg %k : tensor<8xf32>
      %1 = graph.tanh %0 : tensor<8xf32>
      graph.yield %1 : tensor<8xf32>
    }
    %d = graph.kernel (%k = %c, %l = %a) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.add %k, %l : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
      graph.yield %0 : tensor<8xf32>
    }
    return %d : tensor<8xf32>
  }
}

// -----

// Variables lie where kernels on the GPU use them; others stay.
module attributes {graph.cuda = ["sm_80"], graph.place = ["neg=cpu"]} {
  // CHECK: graph.variable "w" = dense<1.000000e+00> : tensor<8xf32> trainable on "cuda"
  // CHECK: graph.variable "steps" = dense<0.000000e+00> : tensor<8xf32>
  // CHECK-NOT: on "cuda"
  graph.variable "w" = dense<1.0> : tensor<8xf32> trainable
  graph.variable "steps" = dense<0.0> : tensor<8xf32>
  // CHECK-LABEL: func.func @step
  // CHECK-NEXT: %[[D:.*]] = graph.transfer %arg0 to "cuda"
  // CHECK-NEXT: %[[NEXT:.*]] = graph.kernel (%{{.*}} = %[[D]], %{{.*}} = %arg1)
  // CHECK: %[[M:.*]] = graph.kernel (%{{.*}} = %arg2)
  // CHECK: return %[[NEXT]], %[[M]]
  func.func @step(%x: tensor<8xf32> {graph.name = "x"}, %w: tensor<8xf32> {graph.variable = "w"}, %n: tensor<8xf32> {graph.variable = "steps"})
      -> (tensor<8xf32> {graph.variable = "w"}, tensor<8xf32> {graph.variable = "steps"}) {
    %a = graph.kernel (%k = %x, %l = %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.add %k, %l : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
      graph.yield %0 : tensor<8xf32>
    }
    %m = graph.kernel (%k = %n) : (tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.neg %k : tensor<8xf32>
      graph.yield %0 : tensor<8xf32>
    }
    return %a, %m : tensor<8xf32>, tensor<8xf32>
  }
  // A caller reads it on the CPU.
  // CHECK-LABEL: func.func @read
  // CHECK-NEXT: %[[H:.*]] = graph.transfer %arg0 to "cpu"
  // CHECK-NEXT: return %[[H]]
  func.func @read(%w: tensor<8xf32> {graph.variable = "w"}) -> (tensor<8xf32> {graph.name = "w"}) {
    return %w : tensor<8xf32>
  }
}

// -----

// Conditions and indices lie on the CPU; what a loop carries, stacks and finds
// rows of lies where its kernels are.
module attributes {graph.cuda = ["sm_80"]} {
  // CHECK-LABEL: func.func @loop
  // CHECK-NEXT: %[[XS:.*]] = graph.transfer %arg0 to "cuda"
  // CHECK-NEXT: %[[ZERO:.*]] = graph.constant
  // CHECK-NEXT: %[[SUM:.*]]:2 = graph.scan %[[I:.*]] length 10 while %arg1 carry (%[[A:.*]] = %[[ZERO]]) over (%[[ROW:.*]] = %[[XS]])
  // CHECK-NEXT: %[[AT:.*]] = graph.transfer %[[I]] to "cuda" : tensor<i64>
  // CHECK-NEXT: %[[NEXT:.*]]:2 = graph.kernel (%{{.*}} = %[[A]], %{{.*}} = %[[ROW]], %{{.*}} = %[[AT]])
  // CHECK: %[[ON:.*]] = graph.transfer %[[NEXT]]#1 to "cpu" : tensor<i1>
  // CHECK-NEXT: graph.yield %[[ON]], %[[NEXT]]#0, %[[NEXT]]#0
  // CHECK: graph.transfer %[[SUM]]#1 to "cpu"
  // CHECK: graph.transfer %[[SUM]]#0 to "cpu"
  func.func @loop(%x: tensor<10x4xf32> {graph.name = "x"}, %go: tensor<i1> {graph.name = "go"})
      -> (tensor<4xf32> {graph.name = "sum"}, tensor<10x4xf32> {graph.name = "sums"}) {
    %zero = graph.constant dense<0.0> : tensor<4xf32>
    %sum, %sums = graph.scan %i length 10 while %go carry (%a = %zero) over (%row = %x)
        : (tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>) {
      %n, %on = graph.kernel (%k = %a, %l = %row, %m = %i) : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<i1>) {
        %0 = graph.add %k, %l : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
        %1 = graph.constant dense<5> : tensor<i64>
        %2 = graph.compare less %m, %1 : tensor<i64>, tensor<i64> -> tensor<i1>
        graph.yield %0, %2 : tensor<4xf32>, tensor<i1>
      }
      graph.yield %on, %n, %n : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    return %sum, %sums : tensor<4xf32>, tensor<10x4xf32>
  }
}

// -----

// Rows of a constant can be read on both devices; what is computed of one, in
// each iteration, lies where its kernel is.
module attributes {graph.cuda = ["sm_80"]} {
  // CHECK-LABEL: func.func @rows_of_constant
  // CHECK: graph.scan %{{.*}} over (%[[ROW:.*]] = %{{.*}})
  // CHECK-NEXT: %[[T:.*]] = graph.kernel (%{{.*}} = %[[ROW]]) : {{.*}} attributes {graph.device = "cuda"}
  // CHECK: graph.kernel (%{{.*}} = %[[T]], %{{.*}} = %{{.*}}) : {{.*}} attributes {graph.device = "cuda"}
  func.func @rows_of_constant(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<3x4xf32> {graph.name = "y"}) {
    %c = graph.constant dense<1.0> : tensor<3x4xf32>
    %go = graph.constant dense<true> : tensor<i1>
    %y = graph.scan %i length 3 while %go over (%row = %c) : (tensor<3x4xf32>) -> (tensor<3x4xf32>) {
      %t = graph.kernel (%k = %row) : (tensor<4xf32>) -> tensor<4xf32> {
        %0 = graph.tanh %k : tensor<4xf32>
        graph.yield %0 : tensor<4xf32>
      }
      %s = graph.kernel (%k = %t, %l = %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
        %0 = graph.add %k, %l : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
        graph.yield %0 : tensor<4xf32>
      }
      graph.yield %go, %s : tensor<i1>, tensor<4xf32>
    }
    return %y : tensor<3x4xf32>
  }
}

// -----

// What a branch chooses from lies on the CPU if no kernel on the GPU has to do
// with it.
module attributes {graph.cuda = ["sm_80"], graph.place = ["tanh=cpu"]} {
  // CHECK-LABEL: func.func @branch
  // CHECK-NOT: graph.transfer
  // CHECK: graph.if %arg1 : (tensor<4xf32>)
  // CHECK: graph.kernel
  // CHECK-NOT: graph.transfer
  // CHECK: return
  func.func @branch(%x: tensor<4xf32> {graph.name = "x"}, %c: tensor<i1> {graph.name = "c"}) -> (tensor<4xf32> {graph.name = "y"}) {
    %y = graph.if %c : (tensor<4xf32>) {
      %t = graph.kernel (%k = %x) : (tensor<4xf32>) -> tensor<4xf32> {
        %0 = graph.tanh %k : tensor<4xf32>
        graph.yield %0 : tensor<4xf32>
      }
      graph.yield %t : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    }
    return %y : tensor<4xf32>
  }
}

// -----

// What ranks reduce together is the CPU's,
module attributes {graph.cuda = ["sm_80"]} {
  // CHECK-LABEL: func.func @by_mpi
  // CHECK: %[[A:.*]] = graph.kernel {{.*}} attributes {graph.device = "cuda"}
  // CHECK: %[[ON_CPU:.*]] = graph.transfer %[[A]] to "cpu"
  // CHECK: %[[MEAN:.*]] = graph.all_reduce mean %[[ON_CPU]] : tensor<8xf32>
  // CHECK: return %[[MEAN]]
  func.func @by_mpi(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    %a = graph.kernel (%k = %x) : (tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.relu %k : tensor<8xf32>
      graph.yield %0 : tensor<8xf32>
    }
    %y = graph.all_reduce mean %a : tensor<8xf32>
    return %y : tensor<8xf32>
  }
}

// -----

// unless NCCL is to do it; but not in functions for machines without a GPU.
// CHECK-NOT: graph.collectives
module attributes {graph.cuda = ["sm_80"], graph.collectives = "nccl"} {
  // CHECK-LABEL: func.func @by_nccl
  // CHECK: %[[A:.*]] = graph.kernel {{.*}} attributes {graph.device = "cuda"}
  // CHECK: %[[MEAN:.*]] = graph.all_reduce mean %[[A]] {graph.device = "cuda"} : tensor<8xf32>
  // CHECK-NEXT: %[[OUT:.*]] = graph.transfer %[[MEAN]] to "cpu"
  // CHECK: return %[[OUT]]
  func.func @by_nccl(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"}) {
    %a = graph.kernel (%k = %x) : (tensor<8xf32>) -> tensor<8xf32> {
      %0 = graph.relu %k : tensor<8xf32>
      graph.yield %0 : tensor<8xf32>
    }
    %y = graph.all_reduce mean %a : tensor<8xf32>
    return %y : tensor<8xf32>
  }
  // CHECK-LABEL: func.func @without_gpu
  // CHECK: graph.all_reduce mean %arg0 : tensor<8xf32>
  func.func @without_gpu(%x: tensor<8xf32> {graph.name = "x"}) -> (tensor<8xf32> {graph.name = "y"})
      attributes {graph.instead_of = "by_nccl"} {
    %y = graph.all_reduce mean %x : tensor<8xf32>
    return %y : tensor<8xf32>
  }
}
