// What #cpu.panels may say, and where.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'order' must have each of the 2 dimensions once, found [0, 0]}}
func.func private @k(%w: tensor<4x1000x32xf32> {cpu.layout = #cpu.panels<of = tensor<1000x100xf32>, order = [0, 0], batch = 0, width = 32>})

// -----

// expected-error @+1 {{'shape' must be a reshape of 'tensor<1000x100xf32>', found [100, 100]}}
func.func private @k(%w: tensor<4x1000x32xf32> {cpu.layout = #cpu.panels<of = tensor<1000x100xf32>, shape = [100, 100], order = [0, 1], batch = 0, width = 32>})

// -----

// expected-error @+1 {{'batch' must be from 0 to 1, found 2}}
func.func private @k(%w: tensor<4x1000x32xf32> {cpu.layout = #cpu.panels<of = tensor<1000x100xf32>, order = [0, 1], batch = 2, width = 32>})

// -----

// expected-error @+1 {{'width' must be at least 1, found 0}}
func.func private @k(%w: tensor<4x1000x32xf32> {cpu.layout = #cpu.panels<of = tensor<1000x100xf32>, order = [0, 1], batch = 0, width = 0>})

// -----

// expected-error @+1 {{lies as 'tensor<4x1000x16xf32>', but #cpu.panels<of = tensor<1000x100xf32>, order = [0, 1], batch = 0, width = 32> is 'tensor<4x1000x32xf32>'}}
func.func private @k(%w: tensor<4x1000x16xf32> {cpu.layout = #cpu.panels<of = tensor<1000x100xf32>, order = [0, 1], batch = 0, width = 32>})

// -----

// expected-error @+1 {{'cpu.layout' must be #cpu.panels<…>, found 32 : i64}}
func.func private @k(%w: tensor<4x1000x32xf32> {cpu.layout = 32 : i64})

// -----

// expected-error @+1 {{'cpu.panels' is no attribute of the cpu dialect}}
func.func private @k(%w: tensor<4x1000x32xf32> {cpu.panels = 32 : i64})

// -----

// expected-error @+1 {{'cpu.layout' is for variables and arguments of kernels}}
module attributes {cpu.layout = #cpu.panels<of = tensor<1000x100xf32>, order = [0, 1], batch = 0, width = 32>} {}

// -----

// expected-error @+1 {{lies as 'tensor<1000x100xf32>', but}}
graph.variable "w" = dense<0.0> : tensor<1000x100xf32> {cpu.layout = #cpu.panels<of = tensor<1000x100xf32>, order = [0, 1], batch = 0, width = 32>}

// -----

// expected-error @+1 {{'cpu.group_order' must have no value, found 1 : i64}}
func.func private @k(%w: tensor<1x51xi16> {cpu.group_order = 1 : i64})

// -----

// expected-error @+1 {{'cpu.group_order' must be a matrix of i16, found 'tensor<51xi16>'}}
func.func private @k(%w: tensor<51xi16> {cpu.group_order})

// -----

// expected-error @+1 {{'cpu.group_order' is for arguments of kernels}}
module attributes {cpu.group_order} {}
