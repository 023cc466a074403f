// Runs two public suites with one HTTP client and prints a row of a Markdown table: cache-tests
// (https://github.com/http-tests/cache-tests), in the way of its own runner in a browser, and the cookie tests of
// http-state (https://github.com/abarth/http-state).
//
//   node scores.mjs CACHE_TESTS HTTP_STATE NAME COMMAND [ARGUMENT...]   runs the suites
//   node scores.mjs --published CACHE_TESTS                             rows of the browsers' published results
//
// COMMAND reads a request from each line of its input, and writes a response to a line of its output, in any order:
//   {"id", "session", "method", "url", "fields": [[name, value]…], "body", "followsRedirects", "cache"}
//   {"id", "status", "fields": [[name, value]…], "body"} or {"id", "error"}
// Requests with the same session share cookies and cache. `cache` is the mode of the Fetch standard, if there is one. The
// command gets further arguments NAME=ADDRESS after its own: the addresses of the hosts of the cookie tests.
import { spawn } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const hosts = ['example.org', 'home.example.org', 'sibling.example.org', 'subdomain.home.example.org', 'sibling.home.example.org']

// One client. It receives requests and returns responses.
class Client {
  #process
  #waiting = new Map()
  #last = 0

  constructor (command) {
    const [file, ...given] = command
    this.#process = spawn(file, [...given, ...hosts.map(host => `${host}=127.0.0.1`)], { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.#process.stdout }).on('line', line => {
      const answer = JSON.parse(line)
      this.#waiting.get(answer.id)?.resolve(answer)
      this.#waiting.delete(answer.id)
    })
    this.#process.on('close', code => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the client has ended, with the status ${code}`))
    })
  }

  ask (question) {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#process.stdin.write(JSON.stringify({ id, ...question }) + '\n')
    })
  }

  end () { this.#process.stdin.end() }
}

// Replaces a browser's fetch for cache-tests. The suite's own requests, which set up a test, are not the client's.
function makeFetch (client) {
  const own = globalThis.fetch
  return async (url, init = {}) => {
    const { pathname } = new URL(url)
    if (!pathname.startsWith('/test/')) return own(url, init)
    const answer = client.ask({
      session: pathname.split('/')[2],
      method: init.method ?? 'GET',
      url,
      fields: init.headers ?? [],
      body: init.body,
      followsRedirects: init.redirect !== 'manual',
      cache: init.cache
    })
    const aborted = new Promise((_resolve, reject) => {
      init.signal?.addEventListener('abort', () => reject(new DOMException('no response in time', 'AbortError')))
    })
    const { status, fields, body, error } = await Promise.race([answer, aborted])
    if (error) throw new TypeError(error)
    const headers = new Headers()
    for (const [name, value] of fields) {
      try { headers.append(name, value) } catch {} // Fetch has no such fields
    }
    return { status, headers, text: async () => body }
  }
}

function serverOfCacheTests (checkout) {
  const process = spawn('node', [join(checkout, 'test-engine/server/server.mjs')], {
    cwd: checkout,
    env: { ...globalThis.process.env, npm_config_protocol: 'http', npm_config_port: '0', npm_config_pidfile: '/dev/null' },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  return new Promise((resolve, reject) => {
    process.on('close', code => reject(new Error(`the server of cache-tests has ended, with the status ${code}`)))
    createInterface({ input: process.stdout }).on('line', line => {
      const port = /:(\d+)\/$/.exec(line)?.[1]
      if (port) resolve({ base: `http://localhost:${port}`, end: () => process.kill() })
    })
  })
}

async function loadCacheTests (checkout) {
  const load = file => import(pathToFileURL(join(checkout, file)))
  const tests = (await load('tests/index.mjs')).default
  const { determineTestResult, resultTypes } = await load('test-engine/lib/results.mjs')
  return { load, tests, determineTestResult, resultTypes }
}

// The tests for browsers' caches. `required` are the rules of RFC 9111, `optimal` are further features of a good cache.
function scoreOfCache ({ tests, determineTestResult, resultTypes }, results) {
  const score = { required: [0, 0], optimal: [0, 0], failed: [] }
  for (const test of tests.flatMap(suite => suite.tests)) {
    const kind = test.kind ?? 'required'
    if (test.cdn_only || test.browser_skip || kind === 'check') continue
    const result = determineTestResult(tests, test.id, results)
    const passes = result === resultTypes.pass
    score[kind][0] += passes ? 1 : 0
    score[kind][1] += 1
    if (!passes) score.failed.push(`${test.id} (${kind}): ${results[test.id]?.[1] ?? result[2]}`)
  }
  return score
}

async function runCacheTests (checkout, client) {
  const suite = await loadCacheTests(checkout)
  const { runTests, getResults } = await suite.load('test-engine/client/runner.mjs')
  const server = await serverOfCacheTests(checkout)
  const own = globalThis.fetch
  globalThis.fetch = makeFetch(client)
  try {
    await runTests(suite.tests, true, server.base)
  } finally {
    globalThis.fetch = own
    server.end()
  }
  return scoreOfCache(suite, getResults())
}

// The fields of a response of http-state's tests.
function linesOf (folder, name) {
  return readFileSync(join(folder, `${name}-test`), 'latin1').split('\n').filter(line => line !== '')
}

// The suite is older than RFC 6265bis, which keeps cookies without a name, and than some of its own dates. Some of its tests
// are marked as disabled or optional.
function isOutdated (folder, name) {
  return /^(disabled|optional)-/.test(name) || linesOf(folder, name).some(line => {
    const value = /^set-cookie:(.*)$/i.exec(line)?.[1].split(';')[0].trim() ?? 'name='
    return !/^[^=]+=/.test(value) || /expires=.* 20(1\d|2[0-5]) /i.test(line)
  })
}

// The server of http-state's tests. The response to /cookie-parser has the fields of the test's file, and leads to a page
// that shows the cookies of the request for it.
function serverOfHTTPState (folder) {
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://localhost')
    const name = url.search.slice(1)
    if (url.pathname.startsWith('/cookie-parser-result')) {
      return response.end(Buffer.from(request.headers.cookie ?? '', 'latin1'))
    }
    const fields = linesOf(folder, name).map(line => line.replaceAll(':8888', `:${server.address().port}`))
    if (!fields.some(line => /^location:/i.test(line))) fields.push(`Location: /cookie-parser-result?${name}`)
    // unchanged: some have bytes that no library would send
    request.socket.end(`HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\n${fields.join('\r\n')}\r\n\r\n`, 'latin1')
  })
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server)))
}

async function runHTTPState (checkout, client) {
  const folder = join(checkout, 'tests/data/parser')
  const server = await serverOfHTTPState(folder)
  const names = readdirSync(folder).filter(file => file.endsWith('-test')).map(file => file.slice(0, -5))
    .filter(name => !isOutdated(folder, name))
  const score = { passed: 0, all: names.length, failed: [] }
  for (const name of names) {
    const expected = readFileSync(join(folder, `${name}-expected`), 'utf8').replace(/^Cookie: /, '').trimEnd()
    const url = `http://home.example.org:${server.address().port}/cookie-parser?${name}`
    const answer = await client.ask({ session: name, method: 'GET', url, fields: [], followsRedirects: true })
    if (answer.body === expected) score.passed += 1
    else score.failed.push(`${name}: ${answer.error ?? answer.body}, not ${expected}`)
  }
  server.close()
  return score
}

const share = ([passed, all]) => `${passed} of ${all}`

const [first, ...rest] = process.argv.slice(2)
if (first === '--published') {
  const checkout = resolve(rest[0])
  const suite = await loadCacheTests(checkout)
  const index = (await suite.load('results/index.mjs')).default
  for (const { file, name, type, version } of index.filter(({ type }) => type === 'browser')) {
    const score = scoreOfCache(suite, JSON.parse(readFileSync(join(checkout, 'results', file))))
    console.log(`| ${name} ${version} (published) | ${share(score.required)} | ${share(score.optimal)} | – |`)
  }
} else {
  const [state, name, ...command] = rest
  const client = new Client(command)
  const cache = await runCacheTests(resolve(first), client)
  const cookies = await runHTTPState(resolve(state), client)
  client.end()
  for (const line of [...cache.failed, ...cookies.failed]) console.error(`${name}: ${line}`)
  console.log(`| ${name} | ${share(cache.required)} | ${share(cache.optimal)} | ${share([cookies.passed, cookies.all])} |`)
}
