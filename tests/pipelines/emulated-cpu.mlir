// Kernels for a CPU that the machine is not, with what it lacks emulated.

// RUN: graph-compile %s --cpu=emulated+sapphirerapids --emit=kernels | FileCheck %s --check-prefix=PLAN
// PLAN: module attributes {{.*}}graph.cpu = "emulated+sapphirerapids"
// A tile for vectors of 64 bytes.
// PLAN: #cpu.contraction<tile = [12, 32]

// RUN: graph-compare %s --cpu=emulated+sapphirerapids --runs=1 --verify --json | FileCheck %s
// CHECK: "max_rel_error": {{[0-9.]+}}e-0{{[5-9]}}

// RUN: not graph-compile %s --cpu=emulated+pdp11 -o %t.so 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown CPU 'pdp11'; expected native, x86-64-v3, x86-64-v4 or a name that 'llc -mcpu=help' lists

func.func @main(%x: tensor<40x300xf32> {graph.name = "x"}) -> (tensor<40x60xf32> {graph.name = "y"}) {
  %0 = graph.iota start 0 step 1 : tensor<18000xf32>
  %scale = graph.constant dense<0.01> : tensor<f32>
  %angle = graph.mul %0, %scale : tensor<18000xf32>, tensor<f32> -> tensor<18000xf32>
  %1 = graph.sin %angle : tensor<18000xf32>
  %w = graph.reshape %1 : tensor<18000xf32> to tensor<300x60xf32>
  %y = graph.matmul %x, %w : tensor<40x300xf32>, tensor<300x60xf32> -> tensor<40x60xf32>
  return %y : tensor<40x60xf32>
}
