// RUN: graph-opt %s --split-input-file --verify-diagnostics

// A kernel for the GPU finds nothing in the CPU's memory.
plan.function @main inputs("x": tensor<16xf32>) outputs("y": tensor<16xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses input 0[0 to 64], which lies in the memory of the CPU, on the GPU}}
  %0 = plan.dispatch @gpu chunks 1 threads 32 scratch 0 reads(input 0[0 to 64]) writes(output 0[0 to 64])
}
func.func private @gpu(%a: tensor<16xf32>) -> tensor<16xf32> attributes {graph.device = "cuda", graph.chunks = 1 : i64, graph.threads = 32 : i64, graph.scratch = 0 : i64}

// -----

// And a kernel for the CPU nothing in the GPU's.
plan.function @main inputs("x": tensor<16xf32>) outputs("y": tensor<16xf32>)
    arena 0 unplanned 0 lower_bound 0
    device_arena 64 unplanned 64 lower_bound 64 {
  %0 = plan.copy input 0[0 to 64] to device[0 to 64]
  // expected-error @+1 {{accesses device[0 to 64], which lies in the memory of the GPU, on the CPU}}
  %1 = plan.dispatch @cpu after %0 chunks 1 scratch 0 reads(device[0 to 64]) writes(output 0[0 to 64])
}
func.func private @cpu(%a: tensor<16xf32>) -> tensor<16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

plan.weight "w" at 0 : tensor<16xf32>
plan.function @main inputs() outputs("y": tensor<16xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses device_weights[0 to 64], which lies in the memory of the GPU, on the CPU}}
  %1 = plan.dispatch @cpu chunks 1 scratch 0 reads(device_weights[0 to 64]) writes(output 0[0 to 64])
}
func.func private @cpu(%a: tensor<16xf32>) -> tensor<16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

// So does a variable that is on the device.
plan.variable "w" : tensor<16xf32> on_device
plan.function @main inputs("w": tensor<16xf32> variable) outputs("y": tensor<16xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{accesses input 0[0 to 64], which lies in the memory of the GPU, on the CPU}}
  %1 = plan.dispatch @cpu chunks 1 scratch 0 reads(input 0[0 to 64]) writes(output 0[0 to 64])
}
func.func private @cpu(%a: tensor<16xf32>) -> tensor<16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

// Branches are taken on the CPU.
plan.function @main inputs("x": tensor<i1>) outputs()
    arena 0 unplanned 0 lower_bound 0
    device_arena 64 unplanned 64 lower_bound 64 {
  %0 = plan.copy input 0[0 to 1] to device[0 to 1]
  // expected-error @+1 {{accesses device[0 to 1], which lies in the memory of the GPU, on the CPU}}
  %1 = plan.if after %0 device[0 to 1]
  %2 = plan.else
  %3 = plan.end_if
}

// -----

plan.function @main inputs("x": tensor<16xf32>) outputs()
    arena 0 unplanned 0 lower_bound 0
    device_arena 32 unplanned 32 lower_bound 32 {
  // expected-error @+1 {{accesses device[0 to 64], but the device has 32 bytes}}
  %0 = plan.copy input 0[0 to 64] to device[0 to 64]
}

// -----

plan.function @main inputs() outputs("y": tensor<16xf32>)
    arena 0 unplanned 0 lower_bound 0
    device_arena 64 unplanned 64 lower_bound 64 {
  // expected-error @+1 {{reads device[0 to 64], which no earlier step writes}}
  %0 = plan.copy device[0 to 64] to output 0[0 to 64]
}

// -----

plan.weight "w" at 0 : tensor<16xf32>
plan.function @main inputs("x": tensor<16xf32>) outputs()
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{writes device_weights[0 to 64], but only arenas, outputs and variables may be written}}
  %0 = plan.copy input 0[0 to 64] to device_weights[0 to 64]
}

// -----

plan.function @main inputs() outputs()
    arena 0 unplanned 0 lower_bound 0
    device_arena 128 unplanned 128 lower_bound 128 {
  %x = plan.zero device[0 to 64]
  // expected-error @+1 {{kernel 'cpu' is for the CPU, which has no blocks of threads}}
  %0 = plan.dispatch @cpu after %x chunks 1 threads 32 scratch 0 reads(device[0 to 64]) writes(device[64 to 128])
}
func.func private @cpu(%a: tensor<16xf32>) -> tensor<16xf32> attributes {graph.chunks = 1 : i64, graph.scratch = 0 : i64}

// -----

plan.function @main inputs("x": tensor<16xf32>) outputs("y": tensor<16xf32>)
    arena 0 unplanned 0 lower_bound 0 {
  // expected-error @+1 {{kernel 'gpu' is for the GPU, which needs the threads of a block}}
  %0 = plan.dispatch @gpu chunks 1 scratch 0 reads(input 0[0 to 64]) writes(output 0[0 to 64])
}
func.func private @gpu(%a: tensor<16xf32>) -> tensor<16xf32> attributes {graph.device = "cuda", graph.chunks = 1 : i64, graph.threads = 32 : i64, graph.scratch = 0 : i64}

// -----

plan.function @main inputs() outputs()
    arena 0 unplanned 0 lower_bound 0
    device_arena 128 unplanned 128 lower_bound 128 {
  %x = plan.zero device[0 to 64]
  // expected-error @+1 {{kernel 'gpu' has blocks of 32 threads, not 64}}
  %0 = plan.dispatch @gpu after %x chunks 1 threads 64 scratch 0 reads(device[0 to 64]) writes(device[64 to 128])
}
func.func private @gpu(%a: tensor<16xf32>) -> tensor<16xf32> attributes {graph.device = "cuda", graph.chunks = 1 : i64, graph.threads = 32 : i64, graph.scratch = 0 : i64}

// -----

// expected-error @+1 {{is on the device, where variables lie as their types say, but has a layout}}
plan.variable "w" : tensor<16xf32> on_device layout <tensor<2x8xf32>, pack @pack chunks 1, unpack @unpack chunks 1>

// -----

// expected-error @+1 {{expected sizes that are not negative}}
plan.function @main inputs() outputs()
    arena 0 unplanned 0 lower_bound 0
    device_arena -1 unplanned 0 lower_bound 0 {
}
