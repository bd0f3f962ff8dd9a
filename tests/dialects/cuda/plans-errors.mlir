// Plans that are wrong whatever their kernel and chips are.
//
// RUN: graph-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'loads' must be [rows, columns], found [4]}}
func.func private @k() attributes {graph.plan = #cuda.contraction<tile = [64, 64], thread = [4, 4], depth = 16, loads = [4], stores = 4>}

// -----

// expected-error @+1 {{'stores' must be 1 or 4, found 2}}
func.func private @k() attributes {graph.plan = #cuda.contraction<tile = [64, 64], thread = [4, 4], depth = 16, loads = [4, 4], stores = 2>}

// -----

// expected-error @+1 {{'warpgroups' needs 'tensor_cores', whose code brings its factors}}
func.func private @k() attributes {graph.plan = #cuda.contraction<tile = [64, 64], thread = [4, 4], depth = 16, loads = [4, 4], stores = 4, warpgroups = <stages = 4, stores = 4>>}

// -----

// expected-error @+2 {{'stages' must be from 3 to 8, found 2}}
// expected-error @+1 {{failed to parse Cuda_ContractionPlan parameter 'warpgroups'}}
func.func private @k() attributes {graph.plan = #cuda.contraction<tile = [64, 64], thread = [4, 4], depth = 16, loads = [4, 4], stores = 4, warpgroups = <stages = 2, stores = 4>>}

// -----

// expected-error @+1 {{'keys' must be 64, of which 16 threads have four each, found 32}}
func.func private @k() attributes {graph.plan = #cuda.attention<queries = 32, keys = 32, rows = 8, depth = 16, step = 16, loads = [4, 4, 4], masks = 4, stores = 4>}

// -----

// expected-error @+1 {{'rows' must be 8 with 'tensor_cores', found 4}}
func.func private @k() attributes {graph.plan = #cuda.attention<queries = 32, keys = 64, rows = 4, depth = 16, step = 16, loads = [4, 4, 4], masks = 4, stores = 4, tensor_cores = <keys = 64, queries = registers, loads = [8, 8, 8], masks = 2, stores = 2>>}

// -----

// expected-error @+1 {{'columns' must be 0, or a power of two from 1 to 32, found 12}}
func.func private @k() attributes {graph.plan = #cuda.rows<outer = 1, columns = 12, lanes = 4, team = 32, threads = 128, unrolled = 1>}

// -----

// A block has whole teams, and whole warps.
// expected-error @+1 {{'threads' must be a power of two from 256 to 1024, found 128}}
func.func private @k() attributes {graph.plan = #cuda.rows<outer = 1, columns = 0, lanes = 4, team = 256, threads = 128, unrolled = 1>}

// -----

// expected-error @+1 {{'threads' must be a power of two from 32 to 1024, found 16}}
func.func private @k() attributes {graph.plan = #cuda.rows<outer = 1, columns = 0, lanes = 4, team = 8, threads = 16, unrolled = 1>}

// -----

// expected-error @+1 {{'slots' must be 1 where 'rows' is 0, found 2}}
func.func private @k() attributes {graph.plan = #cuda.scatter<lanes = 4, columns = 64, slots = 2, rows = 0, group = 4>}

// -----

// expected-error @+1 {{'rows' must be a multiple of 2, as 'slots' says, found 3}}
func.func private @k() attributes {graph.plan = #cuda.scatter<lanes = 4, columns = 64, slots = 2, rows = 3, group = 4>}

// -----

// expected-error @+1 {{'lanes' must be a power of two from 1 to 16, found 3}}
func.func private @k() attributes {graph.plan = #cuda.threads<lanes = [4, 3], threads = 256>}

// -----

// expected-error @+1 {{'columns' must be from 1 to 1024, found 4611686018427387912}}
func.func private @k() attributes {graph.plan = #cuda.scatter<lanes = 1, columns = 4611686018427387912, slots = 4, rows = 4, group = 1>}
