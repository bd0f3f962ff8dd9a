// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What is known of the selected op, step, kernel or buffer: a panel at the right or, on
// small screens, at the bottom.

const panel = document.getElementById('details');

function showDetails(fn, selection) {
  const {title, content} = describe[selection.type](fn, selection);
  const close = element('button', {
    type: 'button',
    class: 'close',
    'aria-label': 'Close the details',
    click: () => closeDetails()
  },
      '✕');
  const show = element(
      'button', {type: 'button', class: 'link', click: () => showInGraph()}, 'Show in the graph');
  panel.replaceChildren(element('header', {}, element('h2', {}, ...title), close),
      element('div', {class: 'content'},
          selection.ops.size + selection.steps.size ? element('p', {}, show) : null, ...content));
}

const describe = {
  op: (fn, {index}) => ({title: [fn.ops[index].op], content: opDetails(fn, fn.ops[index])}),
  step: (fn, {index}) =>
      ({title: stepTitle(fn.steps[index]), content: stepDetails(fn, fn.steps[index])}),
  buffer: (fn, {index, buffer}) => ({
    title: ['Buffer of step ', ...stepTitle(fn.steps[index])],
    content: [
      bufferFacts(fn, fn.arena.buffers[buffer]), element('h3', {}, 'Step'),
      ...stepDetails(fn, fn.steps[index])
    ]
  }),
  kernel: (fn, {name}) => ({
    title: [nameElement(name)],
    content: [
      facts([['Steps', links(stepsOfKernel(fn, name).map((step) => stepLink(fn, step)))]]),
      ...kernelDetails(name)
    ]
  }),
};

const stepTitle = (step) => [`${step.index}${space}`, nameElement(stepName(step))];

const isNothing = (value) =>
    value == null || value === '' || value === missing || (Array.isArray(value) && !value.length);

// Terms and what they are; those without anything are left out.
function facts(pairs) {
  const known = pairs.filter(([, value]) => !isNothing(value));
  if (!known.length) return null;
  return element('dl', {}, ...known.flatMap(([
    term, value
  ]) => [element('dt', {}, term), element('dd', {}, ...(Array.isArray(value) ? value : [value]))]));
}

const headed = (title, content) => (content ? [element('h3', {}, title), content] : []);
const texts = (values) => values.map((value) => element('div', {}, nameElement(value)));
const links = (buttons) => buttons.map((button) => element('div', {}, button));

function linkTo(selection, ...content) {
  return element('button',
      {type: 'button', class: 'link', click: () => select(selection, null, true)}, ...content);
}

function opLink(fn, index, note = '') {
  const {op, nodes} = fn.ops[index];
  return linkTo(
      selections.op(fn, index), `${op} `, nodes.length ? nameElement(nodes[0]) : null, note);
}

const stepLink = (fn, step, note = '') =>
    linkTo(selections.step(fn, step.index), ...stepTitle(step), note);
const stepLinks = (fn, near, far) => links([
  ...near.map((step) => stepLink(fn, fn.steps[step])),
  ...far.map((step) => stepLink(fn, fn.steps[step], ' (far)'))
]);
const opLinks = (fn, near, far) =>
    links([...near.map((op) => opLink(fn, op)), ...far.map((op) => opLink(fn, op, ' (far)'))]);

function opDetails(fn, op) {
  const steps = op.block ? op.block.steps : [];
  return [
    facts([
      [op.nodes.length > 1 ? 'Nodes' : 'Node', texts(op.nodes)],
      ['Type', element('code', {}, op.type)],
      ['Attributes', op.attributes && element('code', {}, op.attributes)],
      ['Reads', [...opLinks(fn, op.reads, op.far), ...texts(op.reads_also || [])]],
      ['Read by', opLinks(fn, op.readers, op.farReaders)],
      [
        'Computed by',
        steps.length  ? stepLinks(fn, steps, [])
            : op.view ? 'no step: the same bytes, seen in another shape'
                      : 'no step: computed when the model was compiled'
      ],
    ]),
    ...steps.slice(0, 1).flatMap(
        (step) => headed('Kernel', facts(kernelFacts(fn.steps[step].code)))),
  ];
}

function stepDetails(fn, step) {
  const ops = step.block ? step.block.ops : [];
  return [
    facts([
      ['Ops', opLinks(fn, ops, [])],
      [step.nodes.length > 1 ? 'Nodes' : 'Node', texts(step.nodes)],
      ['Reads', stepLinks(fn, step.reads, step.far)],
      ['Read by', stepLinks(fn, step.readers, step.farReaders)],
      ['Device', step.device],
      [
        'Threads share',
        step.kind !== 'loop' && step.chunks > 1 ? plural(step.chunks, 'chunk') : null
      ],
      [
        'Iterations at most',
        step.kind === 'loop' && step.chunks < 2 ** 63 ? formatCount(step.chunks) : null
      ],
      [
        'Waits for',
        step.wait_for >= 0 && fn.steps[step.wait_for] ? stepLink(fn, fn.steps[step.wait_for]) : null
      ],
      ['Loops, branches around it', step.depth || null],
    ]),
    ...headed('Time', facts(timeFacts(step))),
    ...headed('Arena', arenaFacts(fn, step)),
    ...(step.kernel == null ? [] : kernelDetails(step.kernel)),
  ];
}

function timeFacts(step) {
  const measured = step.measured || {};
  const ratio = (value) => (value == null ? null : formatShare(value));
  return [
    ['Median', step.measured && formatTime(measured.ms)],
    ['Minimum', step.measured && formatTime(measured.min_ms)],
    ['Share', step.measured && formatShare(step.share)],
    ['Estimate', step.estimate == null ? null : formatTime(step.estimate)],
    ['Estimate by measured', formatRatio(measured.estimate_ratio)],
    ['Threads at work', ratio(measured.busy)],
    ['Executions in a run', measured.executions > 1 ? formatCount(measured.executions) : null],
    ['GFLOP/s', formatRate(measured.gflops)],
    ['of the peak', ratio(measured.peak)],
    ['GB/s', formatRate(measured.gbytes)],
    ['of the memory’s', ratio(measured.memory_peak)],
  ];
}

function kernelFacts(code) {
  if (!code) return [];
  const intensity = code.operations && code.bytes ? code.operations / code.bytes : null;
  return [
    ['Strategy', code.strategy],
    ['Plan', code.plan && element('code', {}, code.plan)],
    ['Operations', code.operations ? formatCount(code.operations) : null],
    ['Bytes read, written', code.bytes ? formatCount(code.bytes) : null],
    ['Operations per byte', formatRatio(intensity)],
    [
      'Estimated cycles',
      code.estimated_cycles ? formatCount(Math.round(code.estimated_cycles)) : null
    ],
    ['Code', code.code_bytes == null ? null : formatBytes(code.code_bytes)],
    ['Compiled in', code.compile_ms == null ? null : formatTime(code.compile_ms)],
    ['From the cache',
      code.cached == null ? null
          : code.cached   ? 'yes'
                          : 'no'],
  ];
}

function kernelDetails(name) {
  const code = kernels.get(name);
  if (!code) return [];
  return [
    ...headed('Kernel', facts([['Name', nameElement(name)], ...kernelFacts(code)])),
    ...(code.ir ? headed('IR', listing('ir', 'IR', code.ir)) : []),
    ...(code.assembly
            ? headed('Assembly, the hottest part', element('p', {}, code.assembly.what || ''))
            : []),
    code.assembly && code.assembly.text ? listing('assembly', 'Assembly', code.assembly.text)
                                        : null,
  ];
}

const listing = (className, label, text) =>
    element('pre', {class: className, tabindex: 0, role: 'region', 'aria-label': label}, text);

function closeDetails() { select(null); }
