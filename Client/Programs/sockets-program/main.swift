import CCrypto
import CallDoubles
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletSockets
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// A program with the transport over sockets, for tests that need a process of their own.
//
//     sockets-program exit COUNT AUTHORITY URL        calls exit() when so many bytes of eight transfers were received
//     sockets-program clean-up AUTHORITY URL          hashes, uses a transport, and prints if OpenSSL cleans up at the
//     end sockets-program signals AUTHORITY URL...        sends a body to each, and prints how SIGPIPE is handled
//     sockets-program descriptors COUNT URL           sends so many requests at once with few descriptors, then with
//     none sockets-program idle COUNT URL             keeps COUNT idle connections, and needs their descriptors
//     sockets-program spare AUTHORITY URL FOLDER      connects and uses files without a descriptor that is free
//     sockets-program release AUTHORITY URL...        uses transports, releases them, and prints what is left of
//     them
let arguments = Array(CommandLine.arguments.dropFirst())

func fail(_ message: String) -> Never {
  print(message)
  exit(2)
}

func makeTransport(_ authority: String) -> SocketTransport {
  var connection = ConnectionConfiguration()
  connection.tls.authorities = URL(filePath: authority)
  return SocketTransport(connection)
}

func makeURL(_ text: String) -> URL {
  guard let url = URL(string: text) else { fail("\(text) is not a URL") }
  return url
}

final class ByteCount: Sendable {
  private let count = Atomic(0)

  func add(_ more: Int) -> Int { count.add(more, ordering: .relaxed).newValue }
}

/// Lets transfers continue for a moment after libraries have freed their data: the first registered handler runs last.
func lengthenExit() { atexit { usleep(20_000) } }

/// Receives bodies endlessly in eight tasks, and exits in the middle.
func exitDuringTransfers(after count: Int, _ transport: SocketTransport, _ url: URL) async {
  let received = ByteCount()
  await withTaskGroup(of: Void.self) { group in
    for _ in 0..<8 {
      group.addTask {
        while true {
          guard let response = try? await transport.send(HTTPRequest(.get, url), in: Call()) else { continue }
          do {
            for try await chunk in response.body {
              if received.add(chunk.count) >= count { exit(0) }
            }
          } catch { fail("\(error)") }
        }
      }
    }
    if count == 0 { exit(0) }
    await group.waitForAll()
  }
}

func handlesPipeSignalByDefault() -> Bool {
  var action = sigaction()
  sigaction(SIGPIPE, nil, &action)
  return action.__sigaction_handler.sa_handler == nil
}

func sendBodies(_ transport: SocketTransport, _ urls: [URL]) async -> Int {
  var failures = 0
  for url in urls {
    for _ in 0..<10 {
      let body = RequestBody.data(Data(count: 1 << 20))
      do {
        let response = try await transport.send(HTTPRequest(.put, url, body: body), in: Call())
        _ = try await response.body.collect(upTo: 1 << 20)
      } catch { failures += 1 }
    }
  }
  return failures
}

/// The number of the process's threads that run a transport, and of its sockets.
func countResources() -> [Int] {
  let files = FileManager.default
  let threads = (try? files.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
  let names = threads.map { (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)) ?? "" }
  let descriptors = (try? files.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
  let targets = descriptors.map { (try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) ?? "" }
  return [
    names.count { $0.hasPrefix("martlet-sockets") },
    targets.count { $0.hasPrefix("socket:") || $0.contains("eventpoll") || $0.contains("eventfd") },
  ]
}

/// Uses a transport: with whole responses, with one that is not read, and with one that is cancelled.
func use(_ transport: SocketTransport, _ url: URL) async throws -> [Int] {
  for _ in 0..<3 { _ = try await transport.send(HTTPRequest(.get, url), in: Call()).body.collect(upTo: 8 << 20) }
  _ = try await transport.send(HTTPRequest(.get, url), in: Call())
  try await transport.send(HTTPRequest(.get, url), in: Call()).body.cancel()
  return countResources()
}

/// Leaves the process this number of further descriptors.
func limitDescriptors(to more: Int) {
  let used = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int($0) }.max()) ?? 0
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  limit.rlim_cur = rlim_t(used + 1 + more)
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// Lets the process have a hundred descriptors at most.
func limitDescriptors() {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  limit.rlim_cur = 100
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// Takes all descriptors that are left. Returns their number.
@discardableResult func takeDescriptors() -> Int {
  var count = 0
  while open("/dev/null", O_RDONLY) >= 0 { count += 1 }
  return count
}

/// Sends requests at the same time. Returns how many received a response.
func sendAtOnce(_ count: Int, _ transport: SocketTransport, _ url: URL) async -> Int {
  await withTaskGroup(of: Bool.self) { group in
    for _ in 0..<count {
      group.addTask {
        guard let response = try? await transport.send(HTTPRequest(.get, url), in: Call()) else { return false }
        return (try? await response.body.collect(upTo: 1 << 20)) != nil
      }
    }
    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
  }
}

guard arguments.count >= 3 else { fail("what to do?") }
switch arguments[0] {
case "exit":
  lengthenExit()
  let transport = makeTransport(arguments[2])
  await exitDuringTransfers(after: Int(arguments[1]) ?? 0, transport, makeURL(arguments[3]))
case "clean-up":
  // the engine's hashes come first, so that libcrypto is prepared for them
  _ = MessageDigest.hash(.sha256, Data())
  let response = try? await makeTransport(arguments[1]).send(HTTPRequest(.get, makeURL(arguments[2])), in: Call())
  OPENSSL_atexit { puts("OpenSSL has cleaned up") }
  print(response?.status.code ?? 0)
  exit(0)
case "signals":
  let wasDefault = handlesPipeSignalByDefault()
  let failures = await sendBodies(makeTransport(arguments[1]), arguments[2...].map(makeURL))
  print(wasDefault, handlesPipeSignalByDefault(), failures > 0)
case "descriptors":
  let url = makeURL(arguments[2])
  let transport = SocketTransport()
  _ = await sendAtOnce(1, transport, url)
  limitDescriptors(to: 10)
  let served = await sendAtOnce(Int(arguments[1]) ?? 0, transport, url)
  try? await transport.preconnect(to: url, requests: 10)
  let left = takeDescriptors()
  limitDescriptors(to: -1)
  let late = SocketTransport()
  let none = await sendAtOnce(1, late, url)
  limitDescriptors(to: 100)
  print(served, left, none, await sendAtOnce(1, late, url))
case "idle":
  let url = makeURL(arguments[2])
  let idle = SocketTransport()
  let other = SocketTransport()
  try await idle.preconnect(to: url, requests: Int(arguments[1]) ?? 0)
  limitDescriptors()
  takeDescriptors()
  let started = await sendAtOnce(1, SocketTransport(), url)
  takeDescriptors()
  let connected = await sendAtOnce(1, other, url)
  takeDescriptors()
  let body = RequestBody.file(URL(filePath: "/etc/hostname"))
  let response = try? await other.send(HTTPRequest(.put, url, body: body), in: Call())
  print(started, connected, response?.status.code ?? 0)
case "spare":
  let (keeper, folder) = (DescriptorKeeper(), URL(filePath: arguments[3]))
  keeper.takeAll()
  let served = await sendAtOnce(1, makeTransport(arguments[1]), makeURL(arguments[2]))
  keeper.takeAll()
  let isRead = (try? Netrc.file(folder.appending(path: "netrc"))) != nil
  keeper.takeAll()
  let new = folder.appending(path: "new")
  let isMoved = (try? FileReplacement.move(new, to: folder.appending(path: "old"))) != nil
  print(served, isRead, isMoved)
case "release":
  let before = countResources()
  for url in arguments[2...].map(makeURL) + arguments[2...].map(makeURL) {
    let used = try await use(makeTransport(arguments[1]), url)
    guard used[0] > before[0], used[1] > before[1] else { fail("a transport was not counted") }
  }
  // the threads end on their own; libdispatch keeps one epoll and one eventfd itself
  let end = ContinuousClock.now + .seconds(60)
  func isReleased() -> Bool { zip(countResources(), [before[0], before[1] + 2]).allSatisfy { $0 <= $1 } }
  while !isReleased(), ContinuousClock.now < end { usleep(1000) }
  print(isReleased() ? "released" : "left: \(countResources()), before: \(before)")
default: fail("what is '\(arguments[0])'?")
}
