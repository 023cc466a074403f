import Foundation

/// What every client is asked to do, and what is counted.
struct Workload: Sendable {
  enum Kind: Sendable {
    case fetch(ServedFile, atOnce: Int)
    case download(ServedFile)
    case upload(Int64)
  }

  /// How the server is reached.
  enum Channel: String, Sendable {
    case plain
    /// TLS; the client and the server agree on HTTP/2.
    case secure
    /// TLS to a server that has no HTTP/2.
    case secureHTTP1
  }

  let name: String
  /// How to select it on the command line.
  let key: String
  let kind: Kind
  let channel: Channel
  /// The number of requests a round for a client that makes all of them.
  let requests: Int

  static let all = [
    Workload("1 KiB, one after another", "small", .fetch(.small, atOnce: 1), requests: 8_000),
    Workload("1 KiB, 64 at once", "small64", .fetch(.small, atOnce: 64), requests: 16_000),
    Workload("100 KiB, one after another", "medium", .fetch(.medium, atOnce: 1), requests: 4_000),
    Workload("100 KiB, 16 at once", "medium16", .fetch(.medium, atOnce: 16), requests: 8_000),
    Workload("100 KiB, 64 at once", "medium64", .fetch(.medium, atOnce: 64), requests: 8_000),
    Workload(
      "1 KiB over TLS and HTTP/2, 64 at once", "tls64", .fetch(.small, atOnce: 64), .secure, requests: 12_000),
    Workload(
      "1 KiB over TLS and HTTP/1.1, 64 at once", "tls64-http1", .fetch(.small, atOnce: 64), .secureHTTP1,
      requests: 12_000),
    Workload("256 MiB down", "down", .download(.large)),
    Workload("256 MiB up", "up", .upload(256 << 20)),
  ]

  private init(_ name: String, _ key: String, _ kind: Kind, _ channel: Channel = .plain, requests: Int = 1) {
    self.name = name
    self.key = key
    self.kind = kind
    self.channel = channel
    self.requests = requests
  }

  var unit: String {
    if case .fetch = kind { "req/s" } else { "MB/s" }
  }

  /// Lets the client do its share, and returns how much it did a second in ``unit``; nil where it cannot.
  func measure(_ client: any Client, at server: RunningServer, scale: Double) async throws -> Double? {
    guard channel == .plain || client.trustsOurAuthority else { return nil }
    let base = server.url(channel)
    let start = ContinuousClock.now
    let amount: Double
    switch kind {
    case .fetch(let file, let atOnce):
      let times = max(atOnce * 4, Int(Double(requests) * client.share * scale))
      let count = try await client.fetch(base.appending(component: file.name), times: times, atOnce: atOnce)
      try check(count, file.count * Int64(times), client)
      amount = Double(times)
    case .download(let file):
      let count = try await client.download(base.appending(component: file.name))
      try check(count, file.count, client)
      amount = Double(count) / 1_000_000
    case .upload(let length):
      guard let count = try await client.upload(length, to: base.appending(component: "upload")) else { return nil }
      amount = Double(count) / 1_000_000
    }
    return amount / ((ContinuousClock.now - start) / .seconds(1))
  }

  private func check(_ count: Int64, _ expected: Int64, _ client: any Client) throws {
    guard count == expected else {
      throw BenchError("\(client.name) got \(count) bytes in '\(name)', and \(expected) were sent")
    }
  }
}
