'use strict'
// The table of the calls: their number, their order, the time axis and the rows.

// --- The table --------------------------------------------------------------------------------------------------------

// Draws once for all changes of a frame.
function plan() {
  if (plan.isPlanned) return
  plan.isPlanned = true
  requestAnimationFrame(() => {
    plan.isPlanned = false
    state.shown = [...state.calls.values()].filter(matches).sort(order)
    drawRows()
    drawCounters()
    drawCount()
  })
}

// The number is right at once. A screen reader tells it after a change of the filter, otherwise now and then.
function drawCount() {
  const text = `${state.shown.length} of ${state.calls.size} calls`
  if (at('count').textContent !== text) at('count').textContent = text
  if (!drawCount.isDue && performance.now() < (drawCount.next ?? 0)) return
  drawCount.isDue = false
  drawCount.next = performance.now() + 5000
  if (at('told').textContent !== text) at('told').textContent = text
}

// --- The order --------------------------------------------------------------------------------------------------------

const sortKeys = {
  status: call => call.status ?? 0, method: call => call.method, url: call => call.url, start: call => call.start,
  size: call => call.received, time: call => duration(call),
}

// Pinned calls first, then the chosen column; equal ones with the newest first.
function order(a, b) {
  const [left, right] = [a, b].map(sortKeys[state.sort.name])
  const chosen = left < right ? -1 : left > right ? 1 : 0
  return b.isPinned - a.isPinned || (state.sort.isDown ? -chosen : chosen) || b.start - a.start || b.id - a.id
}

// Another column begins with the largest number or the first letter; the same one is reversed.
function sortBy(name) {
  const isText = name === 'url' || name === 'method'
  state.sort = { name, isDown: state.sort.name === name ? !state.sort.isDown : !isText }
  for (const button of document.querySelectorAll('#columns button')) {
    const isSorted = button.dataset.sort === name
    const direction = state.sort.isDown ? 'descending' : 'ascending'
    button.parentElement.setAttribute('aria-sort', isSorted ? direction : 'none')
  }
  at('rows').scrollTop = 0
  plan()
}

// --- The time axis ----------------------------------------------------------------------------------------------------

const endOf = call => call.start + duration(call)

// The time that the width of the drawings stands for: that of these calls together.
function axisOf(calls) {
  let [start, end] = [Infinity, -Infinity]
  for (const call of calls) {
    start = Math.min(start, call.start)
    end = Math.max(end, endOf(call))
  }
  return calls.length ? { start, length: Math.max(1, end - start) } : { start: 0, length: 1 }
}

function drawAxis(axis) {
  at('axis').replaceChildren(...[0, .25, .5, .75].map(part => {
    const mark = make('span', {}, part ? timeText(axis.length * part) : '0')
    mark.style.left = `${part * 100}%`
    return mark
  }))
}

const twoDigits = number => String(number).padStart(2, '0')

// The time of day; that of another day with its date.
function startText(call) {
  const date = new Date(state.began + call.start)
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')
  const isToday = date.toDateString() === new Date().toDateString()
  return isToday ? `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
    : `${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${time.slice(0, 5)}`
}

const startTitle = call => {
  const date = new Date(state.began + call.start)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

// --- The rows ---------------------------------------------------------------------------------------------------------

// Only the rows in sight are elements.
function drawRows() {
  const list = at('rows')
  const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 4)
  const last = Math.min(state.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / rowHeight) + 4)
  const visible = state.shown.slice(first, last)
  const scale = at('scale').value
  // In the drawings of single calls, the longest one in sight has the whole width.
  const longest = Math.max(1, ...visible.map(duration))
  const common = scale === 'each' ? null : axisOf(scale === 'all' ? state.shown : visible)
  drawAxis(common ?? { start: 0, length: longest })
  const space = at('space')
  space.style.height = `${state.shown.length * rowHeight}px`
  space.replaceChildren(...visible.map((call, index) => row(call, first + index, common ?? { start: call.start, length: longest })))
  list.setAttribute('aria-rowcount', state.shown.length + 1)
  at('empty').hidden = state.shown.length > 0
  at('empty').textContent = state.calls.size ? 'No call matches the filter.' : 'No calls yet.'
  const isVisible = visible.some(call => call.id === state.selected)
  if (isVisible) list.setAttribute('aria-activedescendant', `call-${state.selected}`)
  else list.removeAttribute('aria-activedescendant')
}

// In a narrow list, the path stands before the host.
function urlParts(url) {
  const [, origin, path] = /^([\w+.-]+:\/\/[^/?#]*)(.+)$/.exec(url) ?? []
  if (!path || at('rows').clientWidth > 800) return [make('bdi', {}, url)]
  return [make('bdi', {}, path), make('bdi', { class: 'origin' }, origin)]
}

function row(call, index, axis) {
  const pin = call.isPinned ? '📌 ' : ''
  const label = call.label ? make('span', { class: 'tag' }, call.label) : ''
  const source = call.source === 'network' ? '' : make('span', { class: 'tag' }, call.source)
  const again = call.attempts > 1 ? make('span', { class: 'tag' }, `${call.attempts} attempts`) : ''
  const failure = call.error ? make('span', { class: 'cause' }, errorText(call)) : ''
  const element = make('div', {
    class: 'row', role: 'row', id: `call-${call.id}`, 'aria-selected': String(call.id === state.selected),
    'aria-rowindex': index + 2,
    onclick: () => { select(call.id); openDetails() },
  },
  make('b', { role: 'gridcell', class: statusStyle(call) }, statusText(call)), make('span', { role: 'gridcell' }, call.method),
  make('span', { role: 'gridcell', class: 'url', title: clean(call.error ?? call.url) }, pin, ...urlParts(call.url), label, source, again, failure),
  make('span', { role: 'gridcell', class: 'number start', title: startTitle(call) }, startText(call)),
  make('span', { role: 'gridcell', class: 'number size' }, sizeText(call.received)),
  make('span', { role: 'gridcell', class: 'number' }, timeText(duration(call))), drawing(call.bars, axis.start, axis.length, 'gridcell'))
  element.style.top = `${index * rowHeight}px`
  return element
}

// The height that rows have, below the names of the columns.
const listHeight = () => at('rows').clientHeight - at('columns').offsetHeight

function select(id) {
  state.selected = id
  const index = state.shown.findIndex(call => call.id === id)
  const list = at('rows')
  const top = index * rowHeight
  if (top < list.scrollTop) list.scrollTop = top
  const height = listHeight()
  if (top + rowHeight > list.scrollTop + height) list.scrollTop = top + rowHeight - height
  drawRows()
}

function move(step) {
  if (!state.shown.length) return
  const index = state.shown.findIndex(call => call.id === state.selected)
  const next = index < 0 ? 0 : Math.max(0, Math.min(state.shown.length - 1, index + step))
  select(state.shown[next].id)
  if (!at('details').hidden) openDetails()
}

