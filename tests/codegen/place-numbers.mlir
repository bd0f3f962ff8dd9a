// RUN: graph-opt %s --split-input-file --place-kernels | FileCheck %s

// What decides on a loop stays on the CPU: a counter, its limit, which is an
// argument, and the condition.
module attributes {graph.cuda = ["sm_80"]} {
  // CHECK-LABEL: func.func @counts
  // CHECK-NOT: graph.transfer %arg1
  // CHECK: graph.while
  // CHECK: graph.kernel ({{.*}}) : (tensor<i64>, tensor<i64>) -> tensor<i1> {
  // CHECK: graph.condition
  // CHECK: graph.kernel ({{.*}}) : (tensor<i64>) -> tensor<i64> {
  // CHECK: graph.kernel ({{.*}}) : (tensor<8xf32>) -> tensor<8xf32> attributes {graph.device = "cuda"} {
  // CHECK-NOT: graph.transfer
  // CHECK: graph.yield
  func.func @counts(%x: tensor<8xf32> {graph.name = "x"}, %limit: tensor<i64> {graph.name = "limit"})
      -> (tensor<8xf32> {graph.name = "y"}, tensor<i64> {graph.name = "n"}) {
    %zero = graph.constant dense<0> : tensor<i64>
    %n, %y = graph.while (%i = %zero, %v = %x) : (tensor<i64>, tensor<8xf32>) {
      %c = graph.kernel (%k = %i, %l = %limit) : (tensor<i64>, tensor<i64>) -> tensor<i1> {
        %o = graph.compare less %k, %l : tensor<i64>, tensor<i64> -> tensor<i1>
        graph.yield %o : tensor<i1>
      }
      graph.condition %c
    } do (%i, %v) {
      %next = graph.kernel (%k = %i) : (tensor<i64>) -> tensor<i64> {
        %one = graph.constant dense<1> : tensor<i64>
        %o = graph.add %k, %one : tensor<i64>, tensor<i64> -> tensor<i64>
        graph.yield %o : tensor<i64>
      }
      %w = graph.kernel (%k = %v) : (tensor<8xf32>) -> tensor<8xf32> {
        %o = graph.relu %k : tensor<8xf32>
        graph.yield %o : tensor<8xf32>
      }
      graph.yield %next, %w : tensor<i64>, tensor<8xf32>
    }
    return %y, %n : tensor<8xf32>, tensor<i64>
  }
}

// -----

// One that a kernel on the GPU reads lies there, and what depends on it runs
// there; what nothing is decided by, too.
module attributes {graph.cuda = ["sm_80"]} {
  // CHECK-LABEL: func.func @indexes
  // CHECK: graph.kernel ({{.*}}) : (tensor<2xi64>) -> tensor<2xi64> attributes {graph.device = "cuda"}
  // CHECK: graph.while
  // CHECK: graph.kernel ({{.*}}) : (tensor<i64>) -> tensor<i1> attributes {graph.device = "cuda"}
  // CHECK: graph.transfer {{.*}} to "cpu" : tensor<i1>
  // CHECK: graph.condition
  // CHECK: graph.kernel ({{.*}}) : (tensor<i64>) -> tensor<i64> attributes {graph.device = "cuda"}
  // CHECK: graph.kernel ({{.*}}) : (tensor<i64>, tensor<f32>) -> tensor<f32> attributes {graph.device = "cuda"}
  func.func @indexes(%x: tensor<f32> {graph.name = "x"}, %s: tensor<2xi64> {graph.name = "s"})
      -> (tensor<f32> {graph.name = "y"}, tensor<2xi64> {graph.name = "t"}) {
    %zero = graph.constant dense<0> : tensor<i64>
    %t = graph.kernel (%k = %s) : (tensor<2xi64>) -> tensor<2xi64> {
      %o = graph.add %k, %k : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
      graph.yield %o : tensor<2xi64>
    }
    %n, %y = graph.while (%i = %zero, %v = %x) : (tensor<i64>, tensor<f32>) {
      %c = graph.kernel (%k = %i) : (tensor<i64>) -> tensor<i1> {
        %five = graph.constant dense<5> : tensor<i64>
        %o = graph.compare less %k, %five : tensor<i64>, tensor<i64> -> tensor<i1>
        graph.yield %o : tensor<i1>
      }
      graph.condition %c
    } do (%i, %v) {
      %next = graph.kernel (%k = %i) : (tensor<i64>) -> tensor<i64> {
        %one = graph.constant dense<1> : tensor<i64>
        %o = graph.add %k, %one : tensor<i64>, tensor<i64> -> tensor<i64>
        graph.yield %o : tensor<i64>
      }
      %w = graph.kernel (%k = %i, %l = %v) : (tensor<i64>, tensor<f32>) -> tensor<f32> {
        %o = graph.cast %k : tensor<i64> to tensor<f32>
        %1 = graph.add %o, %l : tensor<f32>, tensor<f32> -> tensor<f32>
        graph.yield %1 : tensor<f32>
      }
      graph.yield %next, %w : tensor<i64>, tensor<f32>
    }
    return %y, %t : tensor<f32>, tensor<2xi64>
  }
}

// -----

// Rules come first, and more than a few elements are no numbers to count with.
module attributes {graph.cuda = ["sm_80"], graph.place = ["not=cuda"]} {
  // CHECK-LABEL: func.func @rules
  // CHECK-DAG: graph.kernel ({{.*}}) : (tensor<i1>) -> tensor<i1> attributes {graph.device = "cuda"}
  // CHECK-DAG: graph.kernel ({{.*}}) : (tensor<32xi1>) -> tensor<i1> attributes {graph.device = "cuda"}
  // CHECK-DAG: graph.kernel ({{.*}}) : (tensor<16xi1>) -> tensor<i1> {
  func.func @rules(%x: tensor<8xf32> {graph.name = "x"}, %a: tensor<i1> {graph.name = "a"},
      %b: tensor<32xi1> {graph.name = "b"}, %c: tensor<16xi1> {graph.name = "c"}) -> (tensor<8xf32> {graph.name = "y"}) {
    %0 = graph.kernel (%k = %a) : (tensor<i1>) -> tensor<i1> {
      %o = graph.not %k : tensor<i1>
      graph.yield %o : tensor<i1>
    }
    %1 = graph.kernel (%k = %b) : (tensor<32xi1>) -> tensor<i1> {
      %o = graph.reduce max %k axes [0] : tensor<32xi1> -> tensor<i1>
      graph.yield %o : tensor<i1>
    }
    %2 = graph.kernel (%k = %c) : (tensor<16xi1>) -> tensor<i1> {
      %o = graph.reduce max %k axes [0] : tensor<16xi1> -> tensor<i1>
      graph.yield %o : tensor<i1>
    }
    %y = graph.if %0 : (tensor<8xf32>) {
      graph.yield %x : tensor<8xf32>
    } else {
      %r = graph.if %1 : (tensor<8xf32>) {
        graph.yield %x : tensor<8xf32>
      } else {
        %s = graph.if %2 : (tensor<8xf32>) {
          graph.yield %x : tensor<8xf32>
        } else {
          %t = graph.kernel (%k = %x) : (tensor<8xf32>) -> tensor<8xf32> {
            %o = graph.relu %k : tensor<8xf32>
            graph.yield %o : tensor<8xf32>
          }
          graph.yield %t : tensor<8xf32>
        }
        graph.yield %s : tensor<8xf32>
      }
      graph.yield %r : tensor<8xf32>
    }
    return %y : tensor<8xf32>
  }
}
