// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A table of the kernels of the function, which can be sorted: the first ones, and the
// others when they are asked for.

const kernelsAtOnce = 40;

const kernelsSection = {
  id: 'kernels',
  title: 'Kernels',
  isPresent: (fn) => fn.steps.some((step) => step.kernel != null),
  build: buildKernels,
};

function kernelRows(fn) {
  const names = [...new Set(fn.steps.map((step) => step.kernel).filter((name) => name != null))];
  return names.map((name) => {
    const steps = stepsOfKernel(fn, name);
    const code = kernels.get(name) || {};
    const cycles =
        code.estimated_cycles ? code.estimated_cycles * d3.sum(steps, (step) => step.times) : null;
    const sum = (value) =>
        (steps.some((step) => value(step) != null) ? d3.sum(steps, value) : null);
    const ms = sum((step) => step.ms);
    return {
      name,
      color: steps[0].color,
      steps: steps.length,
      ms,
      cycles,
      share: sum((step) => step.share),
      rate: d3.mean(steps, stepRate),
      bytes: code.code_bytes,
      strategy: code.strategy
    };
  });
}

function kernelColumns(fn) {
  const estimated = isEstimate(fn);
  return [
    {key: 'name', title: 'Kernel', format: nameElement, text: true},
    {key: 'steps', title: 'Steps', format: formatCount},
    estimated ? {
      key: 'cycles',
      title: 'Estimated cycles',
      format: (cycles) => formatCount(cycles && Math.round(cycles))
    }
              : {key: 'ms', title: 'Time', format: formatTime},
    {key: 'share', title: 'Share', format: formatShare},
    {key: 'rate', title: estimated ? 'GFLOP/s, estimated' : 'GFLOP/s', format: formatRate},
    {key: 'bytes', title: 'Code', format: formatBytes},
    {key: 'strategy', title: 'Strategy', format: (strategy) => strategy || missing, text: true},
  ];
}

function buildKernels(body, fn) {
  const rows = kernelRows(fn);
  const columns =
      kernelColumns(fn).filter(({key}) => key === 'name' || rows.some((row) => row[key] != null));
  const table = {
    fn,
    columns,
    rows,
    shown: kernelsAtOnce,
    body: element('tbody'),
    key: null,
    descending: true
  };
  table.head = columns.map((column) => headerCell(table, column));
  body.append(element('table', {class: 'kernels'},
      element(
          'caption', {}, `${plural(rows.length, 'kernel')} of ${plural(fn.steps.length, 'step')}`),
      element('thead', {}, element('tr', {}, ...table.head)), table.body));
  if (rows.length > table.shown) body.append(moreButton(table));
  sortKernels(table, columns.find(({key}) => key === 'share') || columns[0]);
  rove(table.body, 'button');
  return {mark: (selection) => markPressed(body, selection)};
}

function moreButton(table) {
  const button = element('button', {
    type: 'button',
    class: 'more',
    click: () => {
      table.shown = Infinity;
      drawKernels(table);
      button.remove();
    }
  },
      `Show all ${table.rows.length} kernels`);
  return button;
}

const headerCell = (table, column) =>
    element('th', {scope: 'col', class: column.text ? 'text' : 'numeric'},
        element('button', {type: 'button', click: () => sortKernels(table, column)}, column.title));

function sortKernels(table, column) {
  table.descending = table.key === column.key ? !table.descending : !column.text;
  table.key = column.key;
  const order = table.descending ? d3.descending : d3.ascending;
  table.rows.sort((a, b) => (a[column.key] == null) - (b[column.key] == null) ||
          order(a[column.key], b[column.key]));
  table.head.forEach((cell, index) => cell.setAttribute('aria-sort',
                         table.columns[index] !== column ? 'none'
                             : table.descending          ? 'descending'
                                                         : 'ascending'));
  drawKernels(table);
}

function drawKernels(table) {
  const shown = table.rows.slice(0, table.shown);
  table.body.replaceChildren(...shown.map((row) => kernelRow(table, row)));
  setTabStop(table.body, table.body.querySelector('button'));
  markPressed(table.body, page.selection);
}

function kernelRow({fn, columns}, row) {
  const cell = ({key, title, format, text}) =>
      element('td', {class: text ? 'text' : 'numeric', 'data-title': title}, format(row[key]));
  const link = element('button', {
    type: 'button',
    class: 'link',
    tabindex: -1,
    'data-kernel': row.name,
    click: (event) => select(selections.kernel(fn, row.name), event.currentTarget)
  },
      nameElement(row.name));
  return element('tr', {},
      element('th', {scope: 'row'}, element('i', {class: `swatch k-${row.color}`}), link),
      ...columns.slice(1).map(cell));
}
