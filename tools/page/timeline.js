// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One run: which thread was at work in which step, and when.

const timelineSection = {
  id: 'timeline',
  title: 'Timeline',
  isPresent: (fn) => fn.timeline != null,
  build: buildTimeline,
};

const threadGap = 16;  // with the thread's name

function buildTimeline(body, fn) {
  const {ms, threads} = fn.timeline;
  const bars =
      threads.flatMap((parts, thread) => parts.map(
                          ([step, begin, end]) => ({step: fn.steps[step], thread, begin, end})));
  const picture =
      createPicture(body, 'Steps by thread and time', {top: 4, right: 22, bottom: 46, left: 22});
  const timeline = {
    ...picture,
    body,
    ms,
    threads,
    bars,
    threadHeight: threads.length > 4 ? 20 : 34,
    transform: d3.zoomIdentity
  };
  timeline.zoom =
      d3.zoom().scaleExtent([1, 2000]).filter(() => zoomsNow(timeline)).on('zoom', () => {
        timeline.transform = d3.event.transform;
        drawBars(timeline);
      });
  body.prepend(
      timelineNote(timeline), kindLegend(bars.map((bar) => bar.step)), zoomButtons(timeline));
  prepareTimeline(timeline, fn);
  rove(timeline.marks.node(), 'rect', (rects, rect, key) => neighbourBar(timeline, rect, key));
  return {
    resize: (width) => resizeTimeline(timeline, width),
    mark: (selection) => markBars(timeline, selection)
  };
}

function timelineNote({ms, threads, bars}) {
  const work = d3.sum(bars, ({begin, end}) => end - begin);
  return element('p', {class: 'note'},
      `One run of ${formatTime(ms)} on ${plural(threads.length, 'thread')}, which ` +
          `${threads.length === 1 ? 'is' : 'are'} at work in ${
              formatShare(work / (ms * threads.length))} of it. `,
      element('span', {class: 'screen'},
          'Zoom with the buttons, by pinching, by Ctrl and the wheel, or by the wheel alone ' +
              'after a click; drag to move.'));
}

// The wheel scrolls the page until the picture has been clicked or focused.
function zoomsNow({body}) {
  const event = d3.event;
  if (event.type !== 'wheel') return !event.button;
  return event.ctrlKey || event.metaKey ||
      body.querySelector('svg').contains(document.activeElement);
}

function zoomButtons(timeline) {
  const button = (label, text, action) =>
      element('button', {type: 'button', 'aria-label': label, click: action}, text);
  const scale = (factor) => () => timeline.svg.call(timeline.zoom.scaleBy, factor);
  return element('div', {class: 'buttons', role: 'group', 'aria-label': 'Zoom'},
      button('Zoom in', '+', scale(2)), button('Zoom out', '−', scale(0.5)),
      button('Show the whole run', 'All',
          () => timeline.svg.call(timeline.zoom.transform, d3.zoomIdentity)));
}

// Behind the threads there may be a row of what the GPU did.
const threadName = (fn, index) =>
    (fn.profile && index >= fn.profile.threads ? 'GPU' : `thread ${index}`);

function prepareTimeline(timeline, fn) {
  timeline.clip = timeline.svg.append('clipPath').attr('id', 'timeline-clip').append('rect');
  timeline.names = timeline.layer('names')
                       .selectAll('text')
                       .data(timeline.threads)
                       .enter()
                       .append('text')
                       .text((thread, index) => threadName(fn, index));
  const clipped = timeline.layer('clipped').attr('clip-path', 'url(#timeline-clip)');
  timeline.marks = clipped.append('g').attr('class', 'marks');
  timeline.texts = clipped.append('g').attr('class', 'mark-texts').attr('aria-hidden', 'true');
  timeline.axis = timeline.layer('axis');
  timeline.titles = timeline.layer('titles');
  timeline.rects = timeline.marks.selectAll('rect')
                       .data(timeline.bars)
                       .enter()
                       .append('rect')
                       .attr('class', (bar) => `mark k-${bar.step.color}`);
  makeSelectable(timeline.rects,
      (bar) => `${stepName(bar.step)}, ${threadName(fn, bar.thread)}, ${
          formatTime(bar.end - bar.begin)}`,
      (bar) => selections.step(page.fn, bar.step.index));
  ensureTabStop(timeline.marks, 'rect');
  timeline.svg.call(timeline.zoom)
      .on('dblclick.zoom', null)
      .attr('tabindex', -1)
      .style('touch-action', 'pan-y');
}

function resizeTimeline(timeline, width) {
  const {margin, threads, zoom, threadHeight} = timeline;
  const height = margin.top + threads.length * (threadHeight + threadGap) + margin.bottom;
  resizePicture(timeline, width, height);
  const inner = [[margin.left, margin.top], [width - margin.right, height - margin.bottom]];
  timeline.x = d3.scaleLinear([0, timeline.ms], [margin.left, width - margin.right]);
  timeline.y = (thread) => margin.top + thread * (threadHeight + threadGap) + threadGap;
  timeline.height = height;
  zoom.extent(inner).translateExtent(inner);
  timeline.clip.attr('x', margin.left)
      .attr('y', 0)
      .attr('width', inner[1][0] - inner[0][0])
      .attr('height', height);
  timeline.names.attr('x', margin.left).attr('y', (thread, index) => timeline.y(index) - 4);
  drawBars(timeline);
}

function drawBars(timeline) {
  const x = timeline.transform.rescaleX(timeline.x);
  const [from, to] = x.domain();
  timeline.visible = x;
  timeline.rects.attr('display', ({begin, end}) => (end < from || begin > to ? 'none' : null))
      .attr('x', ({begin}) => x(begin))
      .attr('y', ({thread}) => timeline.y(thread))
      .attr('width', ({begin, end}) => Math.max(0.75, x(end) - x(begin)))
      .attr('height', timeline.threadHeight);
  drawBarTexts(timeline, x);
  drawTimeAxis(timeline, x);
}

function drawBarTexts(timeline, x) {
  const [left, right] = timeline.x.range();
  const room = (bar) => [Math.max(left, x(bar.begin)), Math.min(right, x(bar.end))];
  const wide = timeline.bars.filter((bar) => room(bar)[1] - room(bar)[0] > 18);
  const text = (bar) => fitting([`${bar.step.index} ${stepName(bar.step)}`, String(bar.step.index)],
      room(bar)[1] - room(bar)[0] - 8);
  timeline.texts.selectAll('text')
      .data(wide)
      .join('text')
      .attr('class', (bar) => `k-${bar.step.color}`)
      .text(text)
      .attr('x', (bar) => d3.mean(room(bar)))
      .attr('y', ({thread}) => timeline.y(thread) + timeline.threadHeight / 2 + 4);
}

function drawTimeAxis(timeline, x) {
  const [from, to] = x.domain();
  const micro = to - from < 1;
  const shown = micro ? x.copy().domain([from * 1000, to * 1000]) : x;
  const [left, right] = x.range();
  drawAxis(timeline.axis, d3.axisBottom(shown).ticks((right - left) / 80), 0,
      timeline.height - timeline.margin.bottom + 6);
  drawTitles(timeline.titles, {right, bottom: timeline.height - 6}, {right: micro ? 'µs' : 'ms'});
}

// Left and right on a thread; up and down to what another one does at that time.
function neighbourBar(timeline, rect, key) {
  const bar = d3.select(rect).datum();
  const thread = bar.thread + (key === 'ArrowDown') - (key === 'ArrowUp');
  const row = timeline.bars.filter((other) => other.thread === thread);
  if (!row.length) return rect;
  const next = thread === bar.thread
      ? inList(row, bar, key)
      : row[d3.scan(row, (a, b) => Math.abs(a.begin - bar.begin) - Math.abs(b.begin - bar.begin))];
  const [from, to] = timeline.visible.domain();
  if (next.end < from || next.begin > to)
    timeline.svg.call(timeline.zoom.translateTo, timeline.x(next.begin), 0);
  return timeline.rects.nodes()[timeline.bars.indexOf(next)];
}

function markBars(timeline, selection) {
  const isSelected = byStep(selection);
  markSelected(timeline.rects, (bar) => isSelected(bar.step.index));
}
