// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How near kernels come to what the machine can do: rates over operations per byte.

const rooflineSection = {
  id: 'roofline',
  title: 'Roofline',
  isPresent: (fn) => rooflineDots(fn).length > 0,
  build: buildRoofline,
};

const numberedDots = 8;

function rooflineDots(fn) {
  const dots = [];
  for (const step of fn.steps) {
    const {operations, bytes} = step.code || {};
    const rate = stepRate(step);
    if (operations && bytes && rate > 0) dots.push({step, rate, intensity: operations / bytes});
  }
  return dots.sort((a, b) => d3.descending(a.step.share, b.step.share));
}

// GFLOP/s and GB/s that the CPU's threads reach at best.
function roofsOf(dots) {
  const {ghz, threads, core_operations: operations, core_bytes: bytes} = machine;
  if (!ghz || !threads || dots.every(({step}) => step.device !== 'cpu')) return {};
  return {
    compute: operations ? operations * ghz * threads : null,
    memory: bytes ? bytes * ghz * threads : null
  };
}

function buildRoofline(body, fn) {
  const dots = rooflineDots(fn);
  const picture = createPicture(
      body, 'GFLOP/s by operations per byte', {top: 26, right: 16, bottom: 46, left: 52});
  const roofline = {...picture, dots, roofs: roofsOf(dots), numbered: dots.slice(0, numberedDots)};
  body.classList.add('with-list');
  body.prepend(element('p', {class: 'note'}, rooflineNote(fn, roofline)),
      kindLegend(dots.map(({step}) => step)));
  body.append(numberedList(fn, roofline));
  prepareRoofline(roofline, isEstimate(fn));
  rove(roofline.marks.node(), 'circle');
  rove(body.querySelector('ol'), 'button');
  return {
    resize: (width) => resizeRoofline(roofline, Math.min(width, Math.max(width - 340, 560))),
    mark: (selection) => markDots(roofline, body, selection)
  };
}

function rooflineNote(fn, {roofs, dots}) {
  const what = isEstimate(fn) ? 'Rates are the compiler’s estimates: nothing was measured. '
                              : 'Rates as measured. ';
  const peak = roofs.compute ? `At best ${formatRate(roofs.compute)} GFLOP/s` : '';
  const memory = roofs.memory ? ` and ${formatRate(roofs.memory)} GB/s from memory` : '';
  const end =
      peak || memory ? `${peak}${memory}. ` : 'What the machine can do at best is not known. ';
  return `${what}${end}${plural(dots.length, 'step')}; areas are shares of the time.`;
}

function numberedList(fn, {numbered}) {
  const entry = ({step}, index) => element('li', {},
      element('button', {
        type: 'button',
        'data-step': step.index,
        tabindex: index ? -1 : 0,
        click: (event) => select(selections.step(fn, step.index), event.currentTarget)
      },
          element('span', {class: `number k-${step.color}`}, String(index + 1)),
          element(
              'span', {}, nameElement(stepName(step)), element('small', {}, ` step ${step.index}`)),
          element('span', {class: 'share'}, formatShare(step.share))));
  return element(
      'ol', {class: 'numbered', 'aria-label': 'The most expensive steps'}, ...numbered.map(entry));
}

function prepareRoofline(roofline, estimated) {
  roofline.axes = {x: roofline.layer('axis'), y: roofline.layer('axis')};
  roofline.roofLayer = roofline.layer('roofs');
  roofline.leaders = roofline.layer('leaders');
  roofline.marks = roofline.layer('marks');
  roofline.labels = roofline.layer('labels').attr('aria-hidden', 'true');
  roofline.titles = roofline.layer('titles');
  roofline.circles =
      roofline.marks.selectAll('circle')
          .data(roofline.dots)
          .enter()
          .append('circle')
          .attr('class', ({step}) => `mark k-${step.color} ${estimated ? 'hollow' : ''}`);
  makeSelectable(roofline.circles,
      (dot) => `${stepName(dot.step)}, step ${dot.step.index}, ${formatRate(dot.rate)} GFLOP/s, ` +
          `${formatRatio(dot.intensity)} operations per byte`,
      (dot) => selections.step(page.fn, dot.step.index));
  ensureTabStop(roofline.marks, 'circle');
}

function resizeRoofline(roofline, width) {
  const height = Math.max(300, Math.min(460, width * 0.62));
  resizePicture(roofline, width, height);
  Object.assign(roofline, {width, height}, rooflineScales(roofline, width, height));
  const {x, y, area} = roofline;
  const place = (dot) =>
      Object.assign(dot, {x: x(dot.intensity), y: y(dot.rate), r: area(dot.step.share || 0)});
  roofline.circles.each(place)
      .attr('cx', (dot) => dot.x)
      .attr('cy', (dot) => dot.y)
      .attr('r', (dot) => dot.r);
  drawRooflineAxes(roofline);
  drawRoofs(roofline);
  drawNumbers(roofline);
}

function rooflineScales({dots, roofs, margin}, width, height) {
  const {compute, memory} = roofs;
  const intensities =
      [...dots.map((dot) => dot.intensity), ...(compute && memory ? [compute / memory] : [])];
  const rates = [...dots.map((dot) => dot.rate), ...(compute ? [compute] : [])];
  const around = ([low, high]) => [low / 1.8, high * 1.8];
  return {
    x: d3.scaleLog(around(d3.extent(intensities)), [margin.left, width - margin.right]),
    y: d3.scaleLog(around(d3.extent(rates)), [height - margin.bottom, margin.top]),
    area: d3.scaleSqrt([0, d3.max(dots, ({step}) => step.share) || 1], [2.5, 15]),
  };
}

function drawRooflineAxes({x, y, axes, titles, margin, width, height}) {
  const ticks = (axis, scale, room) =>
      axis.tickValues(logTicks(scale, room)).tickFormat(formatTick);
  drawAxis(axes.x, ticks(d3.axisBottom(x), x, 34), 0, height - margin.bottom);
  drawAxis(axes.y, ticks(d3.axisLeft(y), y, 18), margin.left, 0);
  drawTitles(titles, {right: width - margin.right, bottom: height - 8},
      {left: 'GFLOP/s', right: 'operations per byte'});
}

function drawRoofs(roofline) {
  const {x, y, roofs, roofLayer} = roofline;
  const [low, high] = x.domain();
  const {compute, memory} = roofs;
  const rate = (intensity) => Math.min(compute || Infinity, memory ? memory * intensity : Infinity);
  const ridge = compute && memory ? compute / memory : null;
  const from = memory ? Math.max(low, y.domain()[0] / memory) : low;
  const points = compute || memory
      ? [from, ...(ridge ? [ridge] : []), compute ? high : y.domain()[1] / memory]
      : [];
  const inside = points.filter((point) => point >= from && point <= high);
  roofLayer.selectAll('path')
      .data(inside.length > 1 ? [inside] : [])
      .join('path')
      .attr('d', d3.line().x(x).y((point) => y(rate(point))));
  drawRoofTexts(roofline, from, ridge || (compute ? low : high));
}

// What the roofs are, each at the first place along it without dots, if there is one: it
// is said above the picture, too.
function drawRoofTexts(roofline, from, ridge) {
  const {x, y, roofs: {compute, memory}, roofLayer, margin, width} = roofline;
  const along = (begin, end) => d3.range(0.02, 1, 0.04).map((part) => begin + part * (end - begin));
  const level = compute
      ? along(x(ridge), width - margin.right).map((left) => ({left, y: y(compute) - 6}))
      : [];
  const slope = memory ? along(x(from), x(ridge))
                             .map((left) => ({left: left + 12, y: y(memory * x.invert(left)) + 8}))
                       : [];
  const places = [
    roofText(roofline, `${formatRate(compute)}${space}GFLOP/s`, level),
    roofText(roofline, `${formatRate(memory)}${space}GB/s`, slope)
  ].filter(Boolean);
  roofline.roofTexts = places;
  roofLayer.selectAll('text')
      .data(places)
      .join('text')
      .text(({text}) => text)
      .attr('x', ({left}) => left)
      .attr('y', (place) => place.y);
}

function roofText({dots, margin, width, height}, text, candidates) {
  const places = candidates.map(({left, y}) => ({text, left, y, right: left + textWidth(text)}))
                     .filter(({right, y}) => right < width - margin.right && y > margin.top &&
                             y < height - margin.bottom - 4);
  return places.find((place) => dots.every((dot) => beside(place, dot, dot.r + 2)));
}

// Whether a circle does not meet a text.
const beside = ({left, right, y}, circle, radius) => circle.x < left - radius ||
    circle.x > right + radius || circle.y < y - 11 - radius || circle.y > y + 2 + radius;

// Numbers of the most expensive steps: at the first place around the dot, near ones
// first, that covers no other number and, if there is one, no dot.
function drawNumbers(roofline) {
  const placed = [];
  for (const [index, dot] of roofline.numbered.entries())
    placed.push({...freePlace(roofline, dot, placed), dot, number: index + 1});
  const groups = roofline.labels.selectAll('g').data(placed).join((enter) => {
    const group = enter.append('g');
    group.append('circle').attr('r', 9);
    group.append('text').attr('y', 4);
    return group;
  });
  groups.attr('transform', ({x, y}) => `translate(${x},${y})`)
      .select('text')
      .text(({number}) => number);
  roofline.leaders.selectAll('line')
      .data(placed)
      .join('line')
      .attr('x1', ({dot}) => dot.x)
      .attr('y1', ({dot}) => dot.y)
      .attr('x2', ({x}) => x)
      .attr('y2', ({y}) => y);
}

function freePlace({dots, roofTexts, width, height, margin}, dot, placed) {
  const candidates =
      d3.range(1, 26)
          .flatMap((ring) => d3.range(16).map((turn) => {
            const angle = ((turn - 3) * Math.PI) / 8;
            const distance = dot.r + 6 + 6 * ring;
            return {x: dot.x + distance * Math.cos(angle), y: dot.y + distance * Math.sin(angle)};
          }))
          .filter(({x, y}) => x > margin.left + 11 && x < width - 11 && y > margin.top + 10 &&
                  y < height - margin.bottom - 11);
  const far = (place, other, distance) =>
      Math.hypot(place.x - other.x, place.y - other.y) > distance;
  const free = candidates.filter((place) => roofTexts.every((text) => beside(text, place, 10)) &&
          placed.every((other) => far(place, other, 20)));
  return free.find((place) => dots.every((other) => far(place, other, other.r + 10))) || free[0] ||
      dot;
}

function markDots(roofline, body, selection) {
  const isSelected = byStep(selection);
  markSelected(roofline.circles, (dot) => isSelected(dot.step.index));
  for (const button of body.querySelectorAll('[data-step]'))
    button.setAttribute('aria-pressed', String(isSelected(Number(button.dataset.step))));
}
