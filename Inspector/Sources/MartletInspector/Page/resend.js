'use strict'
// Sending a call again, as it was or edited, if the program allows it.

function resendButtons({ summary, maySend, obstacle }, answer) {
  if (!maySend) return []
  const title = obstacle ? `It cannot be sent again: ${obstacle}.` : null
  const button = (name, act) => make('button', { disabled: Boolean(obstacle), title, onclick: act }, name)
  return [
    button('Resend', () => resend(summary.id, undefined, answer)),
    button('Edit and resend', () => showEditor(summary.id, answer)),
  ]
}

async function resend(id, edited, answer) {
  try {
    state.follows = true
    await ask(`/resend/${id}`, 'POST', edited && JSON.stringify(edited))
    answer.textContent = 'Sent again: the new call is labelled “resent”.'
    return true
  } catch (error) {
    state.follows = false
    answer.textContent = clean(error.message.replace(/^\d+: /, '').trim())
    return false
  }
}

// Shows the call that was sent again as soon as it is there.
function follow(id) {
  state.follows = false
  setTimeout(() => { select(id); openDetails() })
}

async function showEditor(id, answer) {
  try {
    const edit = await (await ask(`/calls/${id}/edit`)).json()
    if (id !== state.selected) return
    at('details').querySelector('.edit')?.remove()
    drawEditor(id, edit, answer)
  } catch (error) { report(error) }
}

function drawEditor(id, edit, answer) {
  const input = (name, value, tag = 'input') => {
    const field = make(tag, { 'aria-label': name, spellcheck: 'false', autocomplete: 'off', rows: tag === 'textarea' ? Math.min(12, value.split('\n').length + 1) : null })
    field.value = value
    return field
  }
  const method = input('Method', edit.method)
  const url = input('URL', edit.url)
  const fields = input('Fields', edit.fields.map(pair => pair.join(': ')).join('\n'), 'textarea')
  const body = edit.body === undefined || edit.body === null ? null : input('Body', edit.body, 'textarea')
  const status = make('span', { class: 'bad', role: 'status' })
  const editor = make('div', { class: 'edit', role: 'group', 'aria-label': 'Edit and resend' },
    make('div', { class: 'line' }, method, url), make('h3', {}, 'Fields, one in a line'), fields,
    make('h3', {}, body ? 'Body' : 'The body is sent as it was.'), body,
    make('p', { class: 'dim' }, 'A value *** that you leave as it is stays that of the call, unless you change the origin.'),
    make('p', { class: 'actions' },
      make('button', {
        onclick: async () => {
          const edited = { method: method.value.trim(), url: url.value.trim(), fields: linesOf(fields.value), body: body?.value }
          if (await resend(id, edited, status)) editor.remove()
        },
      }, 'Send'),
      make('button', { onclick: () => editor.remove() }, 'Cancel'), status))
  answer.parentElement.after(editor)
  url.focus()
}

const linesOf = text => text.split('\n').filter(line => line.trim()).map(line => {
  const colon = line.indexOf(':')
  return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
})
