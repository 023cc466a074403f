'use strict'
// JSON, indented and as a tree. Both keep the text of each value: numbers keep their digits, and members their order and
// number.

const treePart = 100

const isJSON = media => /[/+]([\w.-]*[.-])?json$/.test(media)

const indentation = depth => '\n' + '  '.repeat(Math.min(depth, 20))

const jsonParts = text => text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []

// Only the space between the parts changes.
function indentJSON(text) {
  JSON.parse(text)
  let depth = 0
  const parts = jsonParts(text)
  return parts.map((part, index) => {
    if (part === ':') return ': '
    if (part === ',') return ',' + indentation(depth)
    if (part === '{' || part === '[') {
      const isEmpty = /[}\]]/.test(parts[index + 1])
      depth += 1
      return isEmpty ? part : part + indentation(depth)
    }
    if (part === '}' || part === ']') {
      depth -= 1
      return /^[{[]$/.test(parts[index - 1]) ? part : indentation(depth) + part
    }
    return part
  }).join('')
}

// The tree of a text that is an object or an array; null for anything else.
function jsonTree(text, media) {
  if (text.length > textLimit || !isJSON(media) || !/^\s*[{[]/.test(text)) return null
  try { JSON.parse(text) } catch { return null }
  return make('div', { class: 'tree' }, nodePart('', parsedNode(jsonParts(text)), 0))
}

// A value with its members, which each have a name and a value. A loop, because values may be deeply nested.
function parsedNode(parts) {
  const root = { members: [] }
  const open = [root]
  let name = ''
  for (const [index, part] of parts.entries()) {
    const holder = open.at(-1)
    if (part === '{' || part === '[') {
      const node = { bracket: part, members: [] }
      holder.members.push({ name, node })
      name = ''
      open.push(node)
    } else if (part === '}' || part === ']') open.pop()
    else if (part === ',' || part === ':') continue
    else if (parts[index + 1] === ':') name = part
    else {
      holder.members.push({ name, node: { text: part } })
      name = ''
    }
  }
  return root.members[0].node
}

// A leaf, or a part whose members are made when it is opened. At first, two levels are open if they are short.
function nodePart(name, node, depth) {
  const title = name ? make('span', { class: 'name' }, `${name}: `) : ''
  const leaf = (style, text) => make('div', { class: 'leaf' }, title, make('span', { class: style }, text))
  if (!node.members) return leaf(valueStyle(node.text), node.text)
  const count = node.members.length
  const unit = node.bracket === '[' ? `item${count === 1 ? '' : 's'}` : `member${count === 1 ? '' : 's'}`
  const end = node.bracket === '[' ? ']' : '}'
  if (!count) return leaf('dim', node.bracket + end)
  const summary = make('summary', {}, title, make('span', { class: 'dim' }, `${node.bracket} ${count} ${unit} ${end}`))
  const part = make('details', {}, summary)
  const fill = () => { if (part.open && part.children.length === 1) part.append(...memberParts(node, 0, depth + 1)) }
  part.addEventListener('toggle', fill)
  part.open = depth < 2 ? count <= treePart : count <= 5 && depth < 6
  fill()
  return part
}

// A hundred members from the first one on, and a button for more.
function memberParts(node, first, depth) {
  const shown = node.members.slice(first, first + treePart)
  const parts = shown.map((member, index) => nodePart(node.bracket === '[' ? String(first + index) : member.name, member.node, depth))
  const rest = node.members.length - first - shown.length
  if (!rest) return parts
  const more = make('button', { onclick: () => more.replaceWith(...memberParts(node, first + treePart, depth)) }, `${rest} more`)
  return [...parts, more]
}

const valueStyle = text => text.startsWith('"') ? 'string' : /^[-\d]/.test(text) ? 'digits' : 'word'
