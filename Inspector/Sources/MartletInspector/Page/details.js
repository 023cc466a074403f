'use strict'
// The panel of one call: what happened, its attempts and their bodies.

// --- Details ----------------------------------------------------------------------------------------------------------

const storyPart = 15

function openDetails() {
  if (state.selected === null) return
  at('details').hidden = false
  document.body.classList.add('open')
  drawRows()
  loadDetails()
}

function closeDetails() {
  at('details').hidden = true
  document.body.classList.remove('open')
  state.details = null
  drawRows()
  at('rows').focus()
}

// Loads the details of the selected call; one request at a time, however often the call changes.
async function loadDetails() {
  if (at('details').hidden) return
  if (loadDetails.isLoading) return void (loadDetails.isStale = true)
  loadDetails.isLoading = true
  const id = state.selected
  try {
    const details = await (await ask(`/calls/${id}`)).json()
    if (id === state.selected) drawDetails(details)
  } catch (error) { report(error) }
  loadDetails.isLoading = false
  if (loadDetails.isStale || id !== state.selected) {
    loadDetails.isStale = false
    setTimeout(loadDetails, 150)
  }
}

function drawDetails(details) {
  const call = details.summary
  const panel = at('details')
  const isSame = state.details?.summary.id === call.id
  if (isSame && panel.querySelector('.edit')) return  // A change of the call must not remove what is being typed.
  const opened = isSame ? [...panel.querySelectorAll('.attempt')].map(part => part.open) : []
  const scroll = isSame ? panel.scrollTop : 0
  if (!isSame) for (const known of [bodies, received]) known.clear()
  state.details = details
  panel.replaceChildren(
    make('h2', {}, make('b', { class: statusStyle(call) }, statusText(call)), ' ', call.method, ' ', make('bdi', {}, call.url)),
    ...cause(details),
    actions(details), story(details.lines), waterfall(call),
    ...details.attempts.map((attempt, index) => attemptPart(call, attempt, index, details.attempts.length)))
  panel.querySelectorAll('.attempt').forEach((part, index) => { if (index in opened) part.open = opened[index] })
  panel.scrollTop = scroll
}

// Why the call failed, before everything else: its error, or what the last response says about its status.
function cause(details) {
  const call = details.summary
  if (call.error) return [make('p', { class: 'bad error' }, errorText(call), ' ', make('span', { class: 'tag' }, errorKind(call)))]
  const entry = details.attempts.at(-1)?.entry
  if (!(call.status >= 400) || !entry) return []
  const field = name => entry.response.headers.find(field => field.name.toLowerCase() === name)?.value
  const challenge = field('www-authenticate') ?? field('proxy-authenticate')
  const facts = [
    /error_description="([^"]*)"/.exec(challenge ?? '')?.[1] ?? challenge,
    field('retry-after') && `Retry-After: ${field('retry-after')}`,
  ].filter(Boolean)
  const line = make('p', { class: 'bad error' }, [`${call.status} ${entry.response.statusText}`, ...facts].join(': '))
  quoteBody(line, call, details.attempts)
  return [line]
}

// Adds the beginning of the response's body, if it is a short text.
function quoteBody(line, call, attempts) {
  const attempt = attempts.at(-1)
  const type = attempt.entry.response.content.mimeType ?? ''
  if (!attempt.received || attempt.received > 4096 || !/json|text\/plain|xml/.test(type)) return
  bytesOf(`/calls/${call.id}/${attempts.length}/response`, attempt.received).then(bytes => {
    const text = decoded(bytes, type)?.trim().replace(/\s+/g, ' ')
    if (text) line.append(document.createTextNode(clean(`: ${text.length > 200 ? `${text.slice(0, 200)} …` : text}`)))
  }).catch(report)
}

function actions(details) {
  const call = details.summary
  const answer = make('span', { class: 'dim', role: 'status' })
  const copies = ['curl', 'martlet', 'Swift'].map(name =>
    make('button', { onclick: () => copy(name, details, answer) }, `Copy as ${name}`))
  return make('p', { class: 'actions' }, ...copies, ...resendButtons(details, answer),
    make('button', { onclick: togglePin }, call.isPinned ? 'Unpin' : 'Pin'),
    make('button', { onclick: closeDetails }, 'Close'), answer)
}

// Copies, and tells what the copy lacks.
async function copy(name, { copies, omissions }, answer) {
  await navigator.clipboard.writeText(copies[name])
  const { hidden, added, body } = omissions
  answer.textContent = clean([
    `Copied as ${name}`, hidden.length ? `hidden as ***: ${hidden.join(', ')}` : '',
    body ? `without the body: ${body}` : '',
    added.length ? `left out, because the session added it: ${added.join(', ')}` : '',
  ].filter(Boolean).join('; '))
}

function togglePin() {
  const call = state.calls.get(state.selected)
  if (call) act(`/${call.isPinned ? 'unpin' : 'pin'}/${call.id}`)
}

// Of a long story, the beginning and the end.
function story(lines) {
  const items = lines.map(line =>
    make('li', { class: line.style }, make('span', { class: 'number' }, timeText(line.time)),
      make('span', {}, make('bdi', {}, line.text), line.rule ? make('span', { class: 'tag' }, line.rule) : '')))
  const list = make('ol', { class: 'story', 'aria-label': 'What happened' }, items)
  const hidden = items.slice(storyPart, -storyPart)
  if (items.length <= 2 * storyPart + 1) return list
  const more = make('li', {}, make('span'), make('button', { onclick: () => more.replaceWith(...hidden) }, `${hidden.length} more lines`))
  hidden.forEach(item => item.remove())
  items[storyPart - 1].after(more)
  return list
}

function waterfall(call) {
  const length = Math.max(.001, duration(call), ...call.bars.map(bar => bar.start + bar.length - call.start))
  const marks = make('div', { class: 'axis', 'aria-hidden': 'true' })
  for (let step = 0; step <= 4; step++) {
    const mark = make('span', {}, timeText(length * step / 4))
    mark.style.left = `${step * 25}%`
    marks.append(mark)
  }
  return make('div', { class: 'waterfall' }, marks, drawing(call.bars, call.start, length))
}

function attemptPart(call, attempt, index, count) {
  const { entry } = attempt
  const { request, response } = entry
  const none = call.state === 'running' ? 'no response yet' : 'no response'
  const status = response.status ? `${response.status} ${response.statusText}` : response._error?.replace(/^\w+: /, '') ?? none
  const place = request.url === call.url ? '' : ` ${request.url}`
  const title = `Attempt ${index + 1}: ${request.method}${place} – ${status}`
  const comment = (entry.comment ?? '').replace(/^call \d+, attempt \d+(: )?/, '')
  return make('details', { class: 'attempt', open: index === count - 1 },
    make('summary', { class: response.status >= 400 || !response.status ? 'bad' : '' }, title),
    comment ? make('p', { class: 'dim' }, comment) : '',
    facts(entry, attempt),
    head(attempt.wasSent ? 'Request' : 'Request, which was not sent', `${request.method} ${request.url} ${request.httpVersion === 'unknown' ? '' : request.httpVersion}`, request.headers, attempt.fingerprints.request),
    bodyPart(call, index, 'request', attempt.sent, request.postData?.mimeType, request.postData?.comment),
    response.status ? head('Response', `${response.httpVersion} ${status}`, response.headers, attempt.fingerprints.response) : '',
    attempt.decoded ? make('p', { class: 'dim' }, `Content-Encoding: ${attempt.decoded} was decoded: the program gets the response without it and without Content-Length.`) : '',
    bodyPart(call, index, 'response', attempt.received, response.content.mimeType, response.content.comment),
    messages(entry._webSocketMessages))
}

function facts(entry, attempt) {
  const { blocked, dns, connect, ssl, send, wait, receive } = entry.timings
  const phases = { queue: blocked, DNS: dns, connect: connect - Math.max(0, ssl), TLS: ssl, request: send, wait, receive }
  const times = Object.entries(phases).filter(([, value]) => value >= .05).map(([name, value]) => `${name} ${timeText(value)}`)
  const tls = entry._securityDetails
  const date = seconds => seconds === undefined ? '?' : new Date(seconds * 1000).toISOString().slice(0, 10)
  const isOver = tls?.validTo * 1000 < Date.parse(entry.startedDateTime)
  const values = {
    connection: attempt.connection ?? 'none',
    TLS: tls && [tls.protocol, tls.cipher, tls.applicationProtocol].filter(Boolean).join(', '),
    certificate: tls?.subjectName && `${tls.subjectName}, issued by ${tls.issuer ?? '?'}, valid from ${date(tls.validFrom)} to ${date(tls.validTo)}${isOver ? ' (expired)' : ''}`,
    times: times.join(', '),
    'body sent': entry.request.bodySize >= 0 ? sizeText(entry.request.bodySize) : '–',
    'body received': attempt.decoded
      ? `${entry.response.bodySize >= 0 ? sizeText(entry.response.bodySize) : '–'} on the wire, decoded from ${attempt.decoded} to ${sizeText(entry.response.content.size)}`
      : sizeText(entry.response.content.size),
    'cookies sent': entry.request.cookies.map(cookie => cookie.name).join(', '),
    'cookies set': entry.response.cookies.map(cookie => cookie.name).join(', '),
  }
  return make('dl', {}, Object.entries(values).filter(([, value]) => value)
    .flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]))
}

// A hidden value has a fingerprint beside it.
function head(title, line, fields, fingerprints) {
  const mark = text => text ? make('span', { class: 'dim', title: 'a fingerprint: equal values have the same one until the program ends' }, ` #${text}`) : ''
  return make('section', {}, make('h3', {}, title), make('pre', { class: 'head' }, make('b', {}, line), '\n',
    fields.flatMap((field, index) => [make('span', { class: 'dim' }, `${field.name}: `), field.value, mark(fingerprints[index]), '\n'])))
}

function messages(list) {
  if (!list) return ''
  return make('section', {}, make('h3', {}, `Messages (${list.length})`), make('ol', { class: 'messages' }, list.map(message =>
    make('li', {}, make('b', { class: message.type === 'send' ? 'notice' : 'good' }, message.type === 'send' ? '↑ ' : '↓ '),
      message.opcode === 8 ? 'close ' : '', make('bdi', {}, message.data), message.comment ? ` (${message.comment})` : ''))))
}

// --- Bodies -----------------------------------------------------------------------------------------------------------

const textLimit = 256 << 10
const hexLimit = 16 << 10
// The parts of the call that is shown: a body that did not grow is neither asked for nor drawn again.
const bodies = new Map()
// The bytes of these bodies: the cause of a failure quotes what its part shows.
const received = new Map()
const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']

// Asks for the bytes of a body once, unless it has grown.
function bytesOf(path, size) {
  const known = received.get(path)
  if (known?.size === size) return known.bytes
  const bytes = ask(path).then(response => response.arrayBuffer()).then(buffer => new Uint8Array(buffer))
  received.set(path, { size, bytes })
  bytes.catch(() => received.delete(path))
  return bytes
}

function bodyPart(call, index, side, size, type, comment) {
  const title = `${side === 'request' ? 'Request' : 'Response'}’s body`
  if (!size) return comment ? make('p', { class: 'dim' }, `${title}: ${comment}`) : ''
  const path = `/calls/${call.id}/${index + 1}/${side}`
  const known = bodies.get(path)
  if (known?.size === size && known.title === title && known.type === type) return known.part
  const place = make('div', { class: 'body' })
  const part = make('section', {}, make('h3', {}, `${title}, ${sizeText(size)}${type ? `, ${type}` : ''}`),
    comment ? make('p', { class: 'dim' }, comment) : '', place)
  bodies.set(path, { size, title, type, part })
  bytesOf(path, size).then(bytes => showBody(place, bytes, type ?? ''))
    .catch(error => { bodies.delete(path); report(error) })
  return part
}

function showBody(place, bytes, type) {
  const media = type.split(';')[0].trim().toLowerCase()
  const text = decoded(bytes, type)
  const forms = {}
  if (pictures.includes(media)) forms.Picture = () => picture(bytes, media)
  if (text !== null) {
    const tree = jsonTree(text, media)
    if (tree) forms.Tree = () => tree
    const formatted = format(text, media)
    if (formatted !== text) forms.Formatted = () => pre(formatted)
    forms.Text = () => pre(text)
  }
  forms.Hex = () => pre(hex(bytes))
  const content = make('div')
  const buttons = Object.entries(forms).map(([name, show]) =>
    make('button', { onclick: event => choose(event.target, show) }, name))
  function choose(button, show) {
    buttons.forEach(other => other.setAttribute('aria-pressed', String(other === button)))
    content.replaceChildren(show())
  }
  place.replaceChildren(make('p', { class: 'actions' }, buttons), content)
  choose(buttons[0], Object.values(forms)[0])
}

function pre(text) {
  const shown = text.slice(0, textLimit)
  const rest = text.length - shown.length
  return make('div', {}, make('pre', {}, shown), rest ? make('p', { class: 'dim' }, `and ${rest} more characters`) : '')
}

function picture(bytes, type) {
  const url = URL.createObjectURL(new Blob([bytes], { type }))
  const image = make('img', { src: url, alt: 'the picture' })
  image.addEventListener('load', () => URL.revokeObjectURL(url))
  return image
}

// The text; null if the bytes are none in the charset of the type.
function decoded(bytes, type) {
  const charset = /charset="?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8'
  if (bytes.includes(0) && !/^utf-?16/i.test(charset)) return null
  try { return new TextDecoder(charset, { fatal: true }).decode(bytes) } catch { return null }
}

function format(text, media) {
  if (text.length > textLimit) return text
  try {
    if (isJSON(media)) return indentJSON(text)
  } catch { return text }
  return media.endsWith('xml') ? indentXML(text) : text
}

// Splits in one pass: an end that is missing is searched for once.
function markup(text) {
  const parts = []
  const missing = new Set()
  const until = (end, from) => {
    const index = missing.has(end) ? -1 : text.indexOf(end, from)
    if (index < 0) missing.add(end)
    return index < 0 ? text.length : index + end.length
  }
  for (let start = 0; start < text.length;) {
    const isMarkup = text[start] === '<'
    const end = text.startsWith('<!--', start) ? until('-->', start + 4)
      : text.startsWith('<![CDATA[', start) ? until(']]>', start)
        : isMarkup ? until('>', start) : until('<', start) - (missing.has('<') ? 0 : 1)
    parts.push(text.slice(start, end))
    start = end
  }
  return parts
}

function indentXML(text) {
  let depth = 0
  return markup(text).filter(part => part.trim()).map(part => {
    if (part.startsWith('</')) depth = Math.max(0, depth - 1)
    const line = indentation(depth) + part.trim()
    if (/^<[^/!?]/.test(part) && !part.endsWith('/>')) depth += 1
    return line
  }).join('').slice(1)
}

function hex(bytes) {
  const lines = []
  for (let start = 0; start < Math.min(bytes.length, hexLimit); start += 16) {
    const line = [...bytes.subarray(start, start + 16)]
    const digits = line.map(byte => byte.toString(16).padStart(2, '0')).join(' ').padEnd(47)
    const letters = line.map(byte => byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.').join('')
    lines.push(`${start.toString(16).padStart(6, '0')}  ${digits}  ${letters}`)
  }
  if (bytes.length > hexLimit) lines.push(`and ${bytes.length - hexLimit} more bytes`)
  return lines.join('\n')
}
