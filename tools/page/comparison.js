// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Eager against compiled: numbers, after how many calls compiling pays, single runs.

const comparisonSection = {
  id: 'comparison',
  title: 'Comparison',
  isPresent: () => data.comparison != null && data.comparison.sides.length > 0,
  build: buildComparison,
};

const sideClass = (index) => `side-${index % 4}`;

function buildComparison(body) {
  const {sides} = data.comparison;
  body.append(comparisonNote(data.comparison), comparisonTable(sides));
  const legend = element(
      'p', {class: 'legend'}, ...sides.map(({name}, index) => legendEntry(sideClass(index), name)));
  const pictures = element('div', {class: 'pair'});
  body.append(pictures);
  const draws = [];
  if (sides.some(({median_ms: median}) => median > 0))
    draws.push(buildBreakEven(
        figure(pictures, 'Time of n calls like the median, compiling included', legend)));
  if (sides.some(({times_ms: times}) => times && times.length))
    draws.push(buildStrips(figure(pictures, 'Single runs')));
  return {
    resize: (width) =>
        draws.forEach((draw) => draw(page.paper ? width / 2 - 14 : pictures.firstChild.clientWidth))
  };
}

function figure(parent, title, legend = null) {
  const node = element('div', {class: 'figure'}, element('h3', {}, title), legend);
  parent.append(node);
  return node;
}

function comparisonNote({runs, speedup, break_even_calls: calls, max_rel_difference: difference}) {
  const pays =
      calls == null ? 'compiling never pays' : `compiling pays after ${plural(calls, 'call')}`;
  const parts = [
    speedup == null ? null : `Compiled is ${formatRatio(speedup)} times as fast; ${pays}. `,
    runs == null ? null : `${plural(runs, 'run')} each. `,
    difference == null ? null
                       : `Largest relative difference of results: ${d3.format('.2~g')(difference)}.`
  ];
  return element('p', {class: 'note'}, ...parts);
}

const comparisonRows = [
  ['compile', 'compile_ms', formatTime],
  ['first call', 'first_ms', formatTime],
  ['median', 'median_ms', formatTime],
  ['99th percentile', 'p99_ms', formatTime],
  ['kernel calls', 'kernels', formatCount],
  ['intermediate bytes', 'bytes', formatBytes],
];

function comparisonTable(sides) {
  const head = element('tr', {}, element('td'),
      ...sides.map(({name}) => element('th', {scope: 'col'}, nameElement(name))));
  const rows =
      comparisonRows.filter(([, key]) => sides.some((side) => side[key] != null))
          .map(([title, key, format]) => element('tr', {}, element('th', {scope: 'row'}, title),
                   ...sides.map(
                       (side) => element('td', {'data-title': side.name}, format(side[key])))));
  return element('table', {class: `comparison ${sides.length > 2 ? 'many' : ''}`},
      element('thead', {}, head), element('tbody', {}, ...rows));
}

// First calls fill caches, some of them for all programs to come: they are not in it, so
// that the lines cross where break_even_calls says.
const totalTime = (side, calls) => (side.compile_ms || 0) + calls * side.median_ms;

function buildBreakEven(node) {
  const picture = createPicture(
      node, 'Total time by number of calls', {top: 24, right: 16, bottom: 44, left: 58});
  const sides = data.comparison.sides.map((side, index) => ({...side, index})).filter(({
    median_ms: median
  }) => median > 0);
  const layers = {
    x: picture.layer('axis'),
    y: picture.layer('axis'),
    lines: picture.layer('lines'),
    crossing: picture.layer('crossing'),
    titles: picture.layer('titles')
  };
  return (width) => drawBreakEven({...picture, ...layers, sides, width});
}

function drawBreakEven(chart) {
  const {margin, sides, width} = chart;
  const height = 300;
  const most =
      Math.max(1000, 10 ** Math.ceil(Math.log10(5 * (data.comparison.break_even_calls || 1))));
  const times = sides.flatMap((side) => [totalTime(side, 1), totalTime(side, most)]);
  const x = d3.scaleLog([1, most], [margin.left, width - margin.right]);
  const y =
      d3.scaleLog([d3.min(times) / 1.5, d3.max(times) * 1.2], [height - margin.bottom, margin.top]);
  resizePicture(chart, width, height);
  drawAxis(chart.x, d3.axisBottom(x).tickValues(logTicks(x, 40)).tickFormat(formatTick), 0,
      height - margin.bottom);
  drawAxis(chart.y, d3.axisLeft(y).tickValues(logTicks(y, 18)).tickFormat(formatTimeTick),
      margin.left, 0);
  const calls = d3.range(121).map((index) => most ** (index / 120));
  chart.lines.selectAll('path')
      .data(sides)
      .join('path')
      .attr('class', ({index}) => sideClass(index))
      .attr('d', (side) => d3.line().x(x).y((n) => y(totalTime(side, n)))(calls));
  drawCrossing({...chart, x, y, height});
  drawTitles(chart.titles, {right: width - margin.right, bottom: height - 8}, {right: 'calls'});
}

// Where compiling begins to pay. Left of it all lines are below, right of it above.
function drawCrossing({crossing, sides, x, y, height, margin}) {
  const calls = data.comparison.break_even_calls;
  const compiled = sides.find(({name}) => name === 'compiled');
  const points = calls >= 1 && compiled ? [{x: x(calls), y: y(totalTime(compiled, calls))}] : [];
  const text = calls == null ? '' : plural(calls, 'call');
  const left = points.length && points[0].x - margin.left > textWidth(text, 12) + 16;
  crossing.selectAll('line')
      .data(points)
      .join('line')
      .attr('x1', (point) => point.x)
      .attr('x2', (point) => point.x)
      .attr('y1', (point) => point.y)
      .attr('y2', height - margin.bottom);
  crossing.selectAll('circle')
      .data(points)
      .join('circle')
      .attr('r', 5)
      .attr('cx', (point) => point.x)
      .attr('cy', (point) => point.y);
  crossing.selectAll('text')
      .data(points)
      .join('text')
      .text(text)
      .attr('text-anchor', left ? 'end' : 'start')
      .attr('x', (point) => point.x + (left ? -8 : 10))
      .attr('y', (point) => point.y + (left ? -8 : 20));
}

const stripHeight = 44;
const stripMargin = 20;

// A row of dots for each side, all over the axis below the last one.
function buildStrips(node) {
  const sides = data.comparison.sides.map((side, index) => ({...side, index})).filter(({
    times_ms: times
  }) => times && times.length);
  const strips = sides.map((side) => {
    node.append(element('p', {class: 'legend'},
        legendEntry(sideClass(side.index), `${side.name}, median ${formatTime(side.median_ms)}`)));
    return {...createPicture(node, `Times of single runs: ${side.name}`), side};
  });
  const axis = createPicture(node, 'Time');
  const layer = axis.layer('axis');
  return (width) => drawStrips(strips, {...axis, layer}, width);
}

function drawStrips(strips, axis, width) {
  const [low, high] = d3.extent(strips.flatMap(({side}) => side.times_ms));
  const isWide = high > 8 * low;
  const range = [stripMargin, width - stripMargin];
  const x = isWide ? d3.scaleLog([low / 1.1, high * 1.1], range)
                   : d3.scaleLinear([0, high * 1.04], range);
  for (const strip of strips) drawStrip(strip, x, width);
  resizePicture(axis, width, 26);
  const ticks = isWide ? logTicks(x, 56) : x.ticks(width / 90);
  drawAxis(axis.layer, d3.axisBottom(x).tickValues(ticks).tickFormat(formatTimeTick), 0, 2);
}

function drawStrip({svg, side}, x, width) {
  resizePicture({svg}, width, stripHeight);
  const height = (ms, run) => 6 + (stripHeight - 12) * ((run * 0.618034) % 1);
  svg.attr('class', `picture strip ${sideClass(side.index)}`);
  svg.selectAll('circle')
      .data(side.times_ms)
      .join('circle')
      .attr('r', 3)
      .attr('cx', x)
      .attr('cy', height);
  svg.selectAll('line')
      .data([side.median_ms])
      .join('line')
      .attr('x1', x)
      .attr('x2', x)
      .attr('y2', stripHeight);
}
