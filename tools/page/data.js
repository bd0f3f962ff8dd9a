// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The data of the page, and what follows from it: who reads what, kinds, costs.

const data = JSON.parse(document.getElementById('data').textContent);
const kernels = new Map(Object.entries(data.kernels || {}));
const machine = data.machine || {};

// The kinds of ops, each with a colour. A step has the first of these kinds that its
// ops have: the one that decides how it is computed.
const kinds = [
  {
    id: 'product',
    title: 'matmuls, convolutions',
    ops: 'matmul conv conv_transpose conv_weight_gradient attention'
  },
  {
    id: 'reduction',
    title: 'reductions, softmax, norms',
    ops: 'reduce variance argmax argmin cumsum cumprod softmax log_softmax layer_norm batch_norm lrn'
  },
  {id: 'pooling', title: 'pooling', ops: 'max_pool avg_pool max_pool_gradient'},
  {id: 'control', title: 'branches, loops', ops: 'if while scan condition loop branch jump next'},
  {id: 'pointwise', title: 'element by element', ops: ''},  // all that are not named here
  {id: 'conversion', title: 'conversions', ops: 'cast quantize dequantize unpack_int4'},
  {
    id: 'movement',
    title: 'movement',
    ops: 'reshape broadcast transpose concat slice pad gather gather_elements gather_nd scatter ' +
        'scatter_elements scatter_nd iota transfer copy zero constant weight variable'
  },
];
const kindOfOp = new Map(kinds.flatMap((kind) => kind.ops.split(' ').map((op) => [op, kind.id])));
const opKind = (op) => kindOfOp.get(op) || 'pointwise';

function mainKind(found) {
  const kind = kinds.find(({id}) => found.has(id));
  return kind ? kind.id : 'pointwise';
}

// A kernel's name has those of its ops: conv_add_relu_3.
function namedKind(kernel) {
  const known = [...kindOfOp.keys()].filter((op) => op && `_${kernel}_`.includes(`_${op}_`));
  return mainKind(new Set(known.map(opKind)));
}

function stepKind(fn, step) {
  if (step.kind !== 'kernel') return opKind(step.kind);
  const ops = step.block ? step.block.ops : [];
  return ops.length ? mainKind(new Set(ops.map((op) => fn.ops[op].color)))
                    : namedKind(step.kernel || '');
}

function addReaders(nodes) {
  nodes.forEach((node, index) => Object.assign(node, {index, readers: [], farReaders: []}));
  for (const node of nodes) {
    for (const read of node.reads) nodes[read].readers.push(node.index);
    for (const read of node.far) nodes[read].farReaders.push(node.index);
  }
}

// Cycles of one core become time when it is known how fast and how many cores are.
function estimatedTime(step) {
  const cycles = step.code && step.code.estimated_cycles;
  if (!cycles || !machine.ghz) return null;
  return cycles / (machine.ghz * 1e6) /
      Math.max(1, Math.min(machine.threads || 1, step.chunks || 1));
}

// What a step costs: as measured or, without a profile, as estimated.
function addCosts(fn) {
  for (const step of fn.steps) {
    step.measured = (fn.profile && fn.profile.steps[step.index]) || null;
    step.estimate = estimatedTime(step);
    step.ms = fn.profile ? step.measured && step.measured.ms : step.estimate;
    step.cost =
        fn.profile || step.ms != null ? step.ms : (step.code && step.code.estimated_cycles) || null;
    if (!fn.profile && step.cost != null) step.cost *= step.times;
  }
  const total = d3.sum(fn.steps, (step) => step.cost);
  for (const step of fn.steps) step.share = shareOf(step, total);
  fn.largestShare = d3.max(fn.steps, ({share}) => share);
}

// Iterations of loops that say how many they have; others count once.
const iterationsOf = ({kind, chunks}) => (kind === 'loop' && chunks < 2 ** 63 ? chunks : 1);

// How often each step is executed in a run.
function addTimes(fn) {
  const loops = [];
  for (const step of fn.steps) {
    step.times = loops.reduce((a, b) => a * b, 1);
    if (step.kind === 'loop') loops.push(iterationsOf(step));
    if (step.kind === 'next') loops.pop();
  }
}

// A loop has none: the steps in it have theirs.
function shareOf(step, total) {
  if (step.kind === 'loop') return null;
  if (step.measured && step.measured.share != null) return step.measured.share;
  return total && step.cost != null ? step.cost / total : null;
}

function stepRate(step) {
  if (step.measured) return step.measured.gflops;
  const operations = step.code && step.code.operations;
  return operations && step.ms ? operations / (step.ms * 1e6) : null;
}

function addBlocks(fn) {
  let row = 0;
  for (const block of fn.blocks) {
    block.row = row;
    row += Math.max(block.ops.length, block.steps.length);
    for (const op of block.ops) fn.ops[op].block = block;
    for (const step of block.steps) fn.steps[step].block = block;
  }
}

function prepare(fn) {
  if (fn.prepared) return fn;
  addReaders(fn.ops);
  addReaders(fn.steps);
  addBlocks(fn);
  addTimes(fn);
  for (const op of fn.ops) op.color = opKind(op.op);
  for (const step of fn.steps) {
    step.code = step.kernel == null ? null : kernels.get(step.kernel) || null;
    step.color = stepKind(fn, step);
  }
  addCosts(fn);
  fn.prepared = true;
  return fn;
}

const stepName = (step) => step.kernel || step.kind;
const stepsOfKernel = (fn, name) => fn.steps.filter((step) => step.kernel === name);
const isEstimate = (fn) => !fn.profile;

// What a selection covers, for pictures to mark: a buffer is its writer's.
const selections = {
  op: (fn, index) => ({
    type: 'op',
    index,
    ops: new Set([index]),
    steps: new Set(fn.ops[index].block ? fn.ops[index].block.steps : [])
  }),
  step: (fn, index) => ({
    type: 'step',
    index,
    steps: new Set([index]),
    ops: new Set(fn.steps[index].block ? fn.steps[index].block.ops : [])
  }),
  buffer: (fn, index) =>
      ({...selections.step(fn, fn.arena.buffers[index].first), type: 'buffer', buffer: index}),
  kernel: (fn, name) => {
    const steps = stepsOfKernel(fn, name);
    return {
      type: 'kernel',
      name,
      steps: new Set(steps.map((step) => step.index)),
      ops: new Set(steps.flatMap((step) => (step.block ? step.block.ops : [])))
    };
  },
};
