'use strict'
// The page of the inspector. It shows what the process tells it: a summary of each call as server-sent events, and the
// details of the selected one. Text of others becomes text nodes only.

const key = location.hash.slice(1)
const rowHeight = 28
const minute = 60_000
const chartSeconds = 180

const state = {
  calls: new Map(), shown: [], selected: null, isPaused: false, held: null, total: 0, offset: 0, isLive: true, began: 0,
  filter: [], found: null, details: null, seconds: new Map(), pool: null, bodyLimit: 0, follows: false,
  sort: { name: 'start', isDown: true },
}

const at = id => document.getElementById(id)

// --- Text and elements ------------------------------------------------------------------------------------------------

// Characters that control a terminal or the direction of a text become visible ones.
function clean(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, c => {
    const code = c.charCodeAt(0)
    return code < 32 ? String.fromCharCode(0x2400 + code) : '\ufffd'
  })
}

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue
    if (name === 'class') element.className = value
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? '' : value)
  }
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === '') continue
    element.append(child instanceof Node ? child : document.createTextNode(clean(child)))
  }
  return element
}

function sizeText(bytes) {
  if (bytes < 1000) return `${bytes} B`
  let value = bytes
  for (const unit of ['kB', 'MB', 'GB']) {
    value /= 1000
    if (value < 999.5) return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`
  }
  return `${(value / 1000).toFixed(1)} TB`
}

function timeText(milliseconds) {
  if (milliseconds < 9.95) return `${milliseconds.toFixed(1)} ms`
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`
  return milliseconds < 59_950 ? `${(milliseconds / 1000).toFixed(1)} s` : `${(milliseconds / minute).toFixed(1)} min`
}

const now = () => performance.now() + state.offset
const duration = call => Math.max(0, (call.end ?? (state.isLive ? now() : call.start)) - call.start)

function statusText(call) {
  if (call.status) return `${call.status}${call.state === 'failed' ? ' failed' : ''}`
  return { running: '…', failed: 'failed', cancelled: 'cancelled' }[call.state] ?? '–'
}

function statusStyle(call) {
  if (call.state === 'failed' || call.status >= 400) return 'bad'
  return call.state === 'running' ? 'dim' : call.state === 'cancelled' || call.status >= 300 ? 'notice' : 'good'
}

// The error of a call is a kind and a message, which may begin with the host of its URL.
const errorKind = call => call.error.split(': ', 1)[0]
const errorText = call => {
  const text = call.error.slice(errorKind(call).length + 2)
  const host = call.url.split('/')[2] ?? ''
  return text.startsWith(`${host}: `) ? text.slice(host.length + 2) : text
}

// The drawing: bars that the process computed, placed in the width of a duration.
function drawing(bars, start, length, role) {
  const element = make('span', { class: 'bars', role })
  for (const bar of bars) {
    const left = Math.min(100, (bar.start - start) / length * 100)
    const part = make('i', { class: bar.style, title: bar.title })
    part.style.left = `${left}%`
    part.style.width = `max(2px, ${Math.max(0, Math.min(100 - left, bar.length / length * 100))}%)`
    element.append(part)
  }
  return element
}

// --- The process ------------------------------------------------------------------------------------------------------

async function ask(path, method = 'GET', body) {
  const response = await fetch(path, { method, body, headers: { 'Inspector-Key': key }, cache: 'no-store' })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  return response
}

const act = path => ask(path, 'POST').catch(report)

function report(error) { tell(error.message.trim(), true) }

function tell(text, isBad = false) {
  at('connection').textContent = clean(text)
  at('connection').className = isBad ? 'bad' : ''
}

async function listen() {
  try {
    const response = await ask('/changes')
    forgetAll()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      const parts = (rest + value).split('\n\n')
      rest = parts.pop()
      parts.forEach(receive)
    }
    tell('the program has ended; what is shown stays until it starts again', true)
  } catch (error) {
    const isRefused = error.message.startsWith('401')
    tell(isRefused ? 'The key is missing or wrong: open the URL that the inspector printed.'
      : 'The program cannot be reached.', true)
    if (isRefused) return
  }
  setTimeout(listen, 2000)
}

function receive(text) {
  const lines = text.split('\n')
  const name = lines.find(line => line.startsWith('event: '))?.slice(7)
  const data = lines.find(line => line.startsWith('data: '))?.slice(6)
  if (!name || !data) return
  const change = { name, value: JSON.parse(data) }
  if (state.isPaused && name !== 'hello') hold(change)
  else apply(change)
}

// During a pause, only the newest state of each call is held.
function hold({ name, value }) {
  state.held ??= { kept: null, calls: new Map(), total: state.total }
  if (name === 'kept') {
    const kept = new Set(value)
    for (const id of state.held.calls.keys()) if (!kept.has(id)) state.held.calls.delete(id)
    state.held.kept = value
  } else if (name === 'calls') {
    state.held.total = value.total
    for (const call of value.calls) state.held.calls.set(call.id, call)
  } else if (name === 'counters') {
    count(value)
  }
}

// What the process counted in each second, which does not depend on the calls that it still has.
function count(value) {
  for (const [second, ...numbers] of value.seconds) state.seconds.set(second, numbers)
  const oldest = value.now / 1000 - chartSeconds - 1
  for (const second of state.seconds.keys()) if (second < oldest) state.seconds.delete(second)
  state.pool = value.pool ?? null
  if (value.problem) tell(`The calls are not kept: ${value.problem}`, true)
}

function release() {
  const held = state.held
  state.held = null
  if (!held) return
  if (held.kept) apply({ name: 'kept', value: held.kept })
  apply({ name: 'calls', value: { total: held.total, calls: [...held.calls.values()] } })
}

function apply({ name, value }) {
  if (name === 'hello') {
    state.isLive = value.isLive
    state.offset = value.now - performance.now()
    state.began = value.began * 1000
    state.bodyLimit = value.bodyLimit
    tell(value.isLive ? `live, since ${new Date(state.began).toLocaleTimeString()}` : 'an archive')
  } else if (name === 'kept') {
    const kept = new Set(value)
    for (const id of state.calls.keys()) if (!kept.has(id)) state.calls.delete(id)
  } else if (name === 'calls') {
    state.total = value.total
    for (const call of value.calls) {
      if (state.follows && call.label === 'resent' && !state.calls.has(call.id)) follow(call.id)
      state.calls.set(call.id, call)
      state.found?.changed.add(call.id)
      if (call.id === state.selected) loadDetails()
    }
    if (state.found) planSearch()
  } else if (name === 'counters') {
    count(value)
  }
  plan()
}

function forgetAll() {
  state.calls.clear()
  state.seconds.clear()
  state.held = null
}

// --- The filter -------------------------------------------------------------------------------------------------------

// Words, and phrases in quotes: body:"not found".
function parseFilter(text) {
  return (text.match(/(?:[^\s"]|"[^"]*(?:"|$))+/g) ?? []).map(part => part.replaceAll('"', '')).filter(Boolean).map(word => {
    const colon = word.indexOf(':')
    const name = word.slice(0, colon).toLowerCase()
    const value = word.slice(colon + 1).toLowerCase()
    if (colon > 0 && Object.hasOwn(tests, name)) return { name, value }
    const isURL = value.startsWith('//')
    return { name: 'text', value: word.toLowerCase(), unknown: colon > 0 && !isURL ? name : null }
  })
}

// Where text is searched, and which words are no filters.
function filterHint(parts) {
  const texts = parts.filter(part => part.name === 'text')
  const bodies = searchedTexts(parts)
  const hints = []
  if (texts.length) {
    const names = Object.keys(tests).filter(name => name !== 'text').map(name => `${name}:`).join(' ')
    const unknown = texts.find(part => part.unknown)
    const value = (unknown ?? texts[0]).value
    hints.push(unknown ? `No filter is called “${unknown.unknown}”, so “${value}” is searched as text. Filters: ${names}`
      : `“${value}” is searched in URLs, methods, types, labels, statuses and errors; body:${value} searches heads and bodies.`)
  }
  if (bodies.length) {
    hints.push(`${bodies.map(text => `“${text}”`).join(' and ')} ${bodies.length > 1 ? 'are' : 'is'} searched in URLs, fields, `
      + `messages and the text of bodies, of which the first ${sizeText(state.bodyLimit)} are kept. Hidden values are not found.`)
  }
  return hints.join(' ')
}

const searchedTexts = parts => parts.filter(part => part.name === 'body' && part.value).map(part => part.value)

function milliseconds(text) {
  const match = /^([\d.]+)(ms|s)?$/.exec(text)
  return match ? Number(match[1]) * (match[2] === 's' ? 1000 : 1) : 0
}

const tests = {
  status: (call, value) => /^\dxx$/.test(value) ? String(call.status ?? '')[0] === value[0]
    : String(call.status ?? '').startsWith(value),
  method: (call, value) => call.method.toLowerCase() === value,
  label: (call, value) => (call.label ?? '').toLowerCase().includes(value),
  over: (call, value) => duration(call) >= milliseconds(value),
  under: (call, value) => duration(call) <= milliseconds(value),
  is: (call, value) => value === 'cached' ? call.source !== 'network' : value === 'pinned' ? call.isPinned
    : value === 'failed' ? call.state === 'failed' || call.status >= 400 : call.state === value,
  body: (call, value) => !value || (state.found?.texts.includes(value) && state.found.ids.has(call.id)),
  text: (call, value) => [call.url, call.method, call.type, call.error, call.label, call.status]
    .some(part => part && String(part).toLowerCase().includes(value)),
}

const matches = call => state.filter.every(({ name, value }) => tests[name](call, value))

// Asks the process which calls have the texts: at first all of them, later those that have changed.
async function searchBodies() {
  planSearch.timer = null
  const texts = searchedTexts(state.filter)
  if (!texts.length) return
  const known = state.found
  const changed = known ? [...known.changed].slice(0, 200) : []
  if (known && !changed.length) return
  changed.forEach(id => known.changed.delete(id))
  const query = texts.map(text => `text=${encodeURIComponent(text)}`).concat(known ? `calls=${changed.join(',')}` : [])
  const filter = state.filter
  try {
    const ids = await (await ask(`/search?${query.join('&')}`)).json()
    if (filter !== state.filter || known !== state.found) return
    const found = known ?? (state.found = { texts, ids: new Set(), changed: new Set() })
    changed.forEach(id => found.ids.delete(id))
    ids.forEach(id => found.ids.add(id))
    if (found.changed.size) planSearch()
    drawCount.isDue = true
    plan()
  } catch (error) { report(error) }
}

function planSearch() { planSearch.timer ??= setTimeout(searchBodies, 300) }

function changeFilter() {
  state.filter = parseFilter(at('filter').value)
  at('hint').textContent = clean(filterHint(state.filter))
  state.found = null
  clearTimeout(planSearch.timer)
  planSearch.timer = setTimeout(searchBodies, 200)
  drawCount.isDue = true
  at('rows').scrollTop = 0
  plan()
}

// --- Counters ---------------------------------------------------------------------------------------------------------

// Seconds with what ended in them: the number of calls, failures, answers of the cache, and bytes. Those of an archive are
// made of its calls.
function secondsOf(calls) {
  if (state.isLive) return state.seconds
  const seconds = new Map()
  for (const call of calls) {
    const second = Math.floor((call.end ?? call.start) / 1000)
    const numbers = seconds.get(second) ?? [0, 0, 0, 0]
    seconds.set(second, numbers)
    numbers[0] += 1
    numbers[1] += call.state === 'failed' || call.status >= 400
    numbers[2] += call.source !== 'network'
    numbers[3] += call.received
  }
  return seconds
}

function drawCounters() {
  const calls = [...state.calls.values()]
  const latest = state.isLive ? now() : Math.max(0, ...calls.map(call => call.end ?? call.start))
  const ended = calls.filter(call => call.end && call.end > latest - minute)
  const times = ended.map(duration).sort((a, b) => a - b)
  const quantile = part => times.length ? timeText(times[Math.min(times.length - 1, Math.floor(times.length * part))]) : '–'
  const last = Math.floor(latest / 1000)
  const seconds = secondsOf(calls)
  const sum = (index, count) => {
    let result = 0
    for (let second = last - count + 1; second <= last; second++) result += seconds.get(second)?.[index] ?? 0
    return result
  }
  const count = sum(0, 60), errors = sum(1, 60)
  fill('counters', {
    calls: state.total, running: calls.filter(call => call.state === 'running').length,
    'calls/s': (sum(0, 10) / 10).toFixed(1),
    ...state.pool ? { connections: `${state.pool.active} + ${state.pool.idle} idle`, 'in queue': state.pool.queued } : {},
  })
  fill('sums', {
    errors, p50: quantile(.5), p99: quantile(.99), received: sizeText(sum(3, 60)),
    'from cache': count ? `${Math.round(sum(2, 60) / count * 100)} %` : '–',
  })
  drawChart(seconds, last)
}

function fill(id, values) {
  at(id).replaceChildren(...Object.entries(values).map(([name, value]) =>
    make('div', {}, make('dt', {}, name), make('dd', { class: name === 'errors' && value ? 'bad' : '' }, value))))
}

function drawChart(seconds, last) {
  const shown = Array.from({ length: chartSeconds }, (_, age) => seconds.get(last - age) ?? [0, 0])
  const top = Math.max(1, ...shown.map(numbers => numbers[0]))
  const bars = (index, style) => shown.flatMap((numbers, age) => {
    if (!numbers[index]) return []
    const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
    const height = numbers[index] / top * 38
    const place = { x: (chartSeconds - 1 - age) * 3, y: 40 - height, width: 2.5, height, class: style }
    for (const [name, value] of Object.entries(place)) bar.setAttribute(name, value)
    return [bar]
  })
  at('chart').replaceChildren(...bars(0, 'all'), ...bars(1, 'errors'))
}

// --- Tools ------------------------------------------------------------------------------------------------------------

function togglePause() {
  state.isPaused = !state.isPaused
  at('pause').setAttribute('aria-pressed', String(state.isPaused))
  at('pause').textContent = state.isPaused ? 'Resume' : 'Pause'
  if (!state.isPaused) release()
}

function clearCalls() {
  if (!at('details').hidden) closeDetails()
  state.selected = null
  act('/clear')
}

async function exportArchive() {
  try {
    const url = URL.createObjectURL(await (await ask('/archive')).blob())
    make('a', { href: url, download: 'calls.har' }).click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  } catch (error) { report(error) }
}

function toggleHelp() {
  at('keys').hidden = !at('keys').hidden
  at('help').setAttribute('aria-expanded', String(!at('keys').hidden))
}

const page = () => Math.max(1, Math.floor(listHeight() / rowHeight) - 1)
const keys = {
  ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page()), PageUp: () => move(-page()),
  Home: () => move(-Infinity), End: () => move(Infinity), Enter: openDetails, Escape: closeDetails,
  '/': () => at('filter').focus(), p: togglePause, c: clearCalls, x: togglePin, '?': toggleHelp,
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.closest('input, textarea, select')) {
    if (event.target === at('filter') && (event.key === 'Escape' || event.key === 'Enter')) at('rows').focus()
    return
  }
  const isControl = event.target.closest('button, summary, a')
  if (!(event.key in keys) || (isControl && event.key === 'Enter')) return
  event.preventDefault()
  keys[event.key]()
}

document.addEventListener('keydown', press)
at('filter').addEventListener('input', changeFilter)
at('pause').addEventListener('click', togglePause)
at('clear').addEventListener('click', clearCalls)
at('export').addEventListener('click', exportArchive)
at('help').addEventListener('click', toggleHelp)
at('scale').addEventListener('change', plan)
for (const column of document.querySelectorAll('#columns button')) column.addEventListener('click', () => sortBy(column.dataset.sort))
at('rows').addEventListener('scroll', () => requestAnimationFrame(drawRows))
addEventListener('resize', plan)
addEventListener('hashchange', () => location.reload())
setInterval(() => { if (state.isLive && !state.isPaused && !document.hidden) plan() }, 1000)
listen()
