// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where the time to compile went: stages, one after the other, and the slowest kernels.

const compileSection = {
  id: 'compile',
  title: 'Compilation',
  isPresent: (fn) => data.compile != null || slowestKernels(fn).length > 0,
  build: buildCompile,
};

const compileTotal = () => (data.compile ? d3.sum(data.compile.stages, ({ms}) => ms) : null);

function slowestKernels(fn) {
  const used = new Set(fn.steps.map((step) => step.kernel));
  return [...kernels]
      .filter(([name, code]) => used.has(name) && code.compile_ms > 0)
      .sort(([, a], [, b]) => d3.descending(a.compile_ms, b.compile_ms))
      .slice(0, 12);
}

function buildCompile(body, fn) {
  const slowest = slowestKernels(fn);
  if (data.compile)
    body.append(element('h3', {}, `Stages, ${formatTime(compileTotal())} in all`),
        stageBars(data.compile.stages));
  if (!slowest.length) return {};
  body.append(element('h3', {}, 'Kernels that took longest'), kernelBars(fn, slowest));
  rove(body.querySelector('.kernel-bars'), 'button');
  return {mark: (selection) => markPressed(body, selection)};
}

function barRow(tag, attributes, label, from, to, ms, kind) {
  const bar = element('i', {class: kind});
  bar.style.marginLeft = `${100 * from}%`;
  bar.style.width = `${100 * (to - from)}%`;
  return element(tag, {class: 'bar-row', ...attributes}, element('span', {class: 'label'}, label),
      element('span', {class: 'track'}, bar), element('span', {class: 'value'}, formatTime(ms)));
}

function stageBars(stages) {
  const total = compileTotal() || 1;
  let before = 0;
  return element('ul', {class: 'bars'}, ...stages.map(({name, ms}) => {
    const from = before;
    before += ms;
    return element('li', {}, barRow('div', {}, name, from / total, before / total, ms, 'stage'));
  }));
}

function kernelBars(fn, slowest) {
  const longest = slowest[0][1].compile_ms;
  return element('ul', {class: 'bars kernel-bars'},
      ...slowest.map(
          ([name, code], index) => element('li', {},
              barRow('button', {
                type: 'button',
                tabindex: index ? -1 : 0,
                'aria-pressed': 'false',
                'data-kernel': name,
                click: (event) => select(selections.kernel(fn, name), event.currentTarget)
              },
                  nameElement(name), 0, code.compile_ms / longest, code.compile_ms,
                  `k-${stepsOfKernel(fn, name)[0].color}`))));
}

// Buttons of kernels, in lists and tables.
function markPressed(body, selection) {
  const names =
      new Set(selection ? [...selection.steps].map((step) => page.fn.steps[step].kernel) : []);
  for (const button of body.querySelectorAll('[data-kernel]'))
    button.setAttribute('aria-pressed', String(names.has(button.dataset.kernel)));
}
