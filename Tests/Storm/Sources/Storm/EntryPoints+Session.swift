import Foundation
import Martlet
import MartletSignIn
import MartletSignatures
import MartletTesting
import MartletWebSocket

extension EntryPoint {
  /// All entry points that a service has.
  package static func all(of service: StormService) -> [EntryPoint] {
    let everywhere = verbs + sapTasks + sapFlows + lifetimes + changedFiles(of: service)
    return service.isForeign
      ? everywhere : everywhere + conversations + shared + longLived + sapConversations + taskForms + images + stores
  }

  /// The session's verbs.
  private static let verbs: [EntryPoint] = [
    EntryPoint("data") { try await string($0.session.data(for: $1.request($0)).0) },
    EntryPoint("text") { try await $0.session.text(for: $1.request($0)).0 },
    EntryPoint("bytes") { service, ticket in
      try await string(service.session.bytes(for: ticket.request(service)).0.collect(upTo: 1 << 20))
    },
    EntryPoint("bytes, not read") { service, ticket in
      _ = try await service.session.bytes(for: ticket.request(service))
      return nil
    },
    EntryPoint("upload of data") { service, ticket in
      let body = RequestBody.data(Data(count: 100_000))
      return try await string(service.session.upload(for: ticket.request(service, method: .put), from: body).0)
    },
    EntryPoint("upload of a stream") { service, ticket in
      let body = RequestBody.stream {
        AsyncStream { continuation in
          for _ in 0..<20 { continuation.yield(Data(count: 5_000)) }
          continuation.finish()
        }
      }
      return try await string(service.session.upload(for: ticket.request(service, method: .put), from: body).0)
    },
    EntryPoint("download") { service, ticket in
      let file = service.folder.file("download-\(ticket.number)")
      defer { try? FileManager.default.removeItem(at: file) }
      _ = try await service.session.download(for: ticket.request(service), to: file)
      return try String(contentsOf: file, encoding: .utf8)
    },
    EntryPoint("resumableDownload") { service, ticket in
      let file = service.folder.file("resumable-\(ticket.number)")
      defer { try? FileManager.default.removeItem(at: file) }
      do { _ = try await service.session.resumableDownload(for: ticket.request(service), to: file) } catch {
        (error as? HTTPError)?.resumption?.discard()
        throw error
      }
      return try String(contentsOf: file, encoding: .utf8)
    },
    EntryPoint("downloads") { service, ticket in
      let files = (0..<3).map { service.folder.file("many-\(ticket.number)-\($0)") }
      defer { for file in files { try? FileManager.default.removeItem(at: file) } }
      var results: [Result<HTTPResponse, HTTPError>] = []
      let downloads = files.map { FileDownload(ticket.request(service), to: $0) }
      for await update in service.session.downloads(downloads, atOnce: 2) {
        if case .ended(_, let result) = update { results.append(result) }
      }
      guard results.count == files.count else { return "\(results.count) ends" }
      for result in results { if case .failure(let error) = result { error.resumption?.discard() } }
      for result in results { _ = try result.get() }
      return try String(contentsOf: files[2], encoding: .utf8)
    },
    EntryPoint("downloads, left") { service, ticket in
      let files = (0..<3).map { service.folder.file("left-\(ticket.number)-\($0)") }
      defer { for file in files { try? FileManager.default.removeItem(at: file) } }
      for await _ in service.session.downloads(files.map { FileDownload(ticket.request(service), to: $0) }) { break }
      return nil
    },
    EntryPoint("closing of a session") { service, ticket in
      let owner = ClosableSession(connection: service.connection, configuration: service.configuration)
      async let closed: Void = owner.close(within: .milliseconds(ticket.number % 3))
      let answer = try? await string(owner.session.data(for: ticket.request(service)).0)
      await closed
      return answer
    },
  ]

  /// Verbs that exchange several messages.
  private static let conversations: [EntryPoint] = [
    EntryPoint("value") {
      try await $0.session.value(of: [String: String].self, for: $1.request($0, "/json")).0["target"]
    },
    EntryPoint("long body") { service, ticket in
      try await string(service.session.data(for: ticket.request(service, "/long")).0.prefix(100))
    },
    EntryPoint("pages") { service, ticket in
      for try await page in service.session.pages(of: [String: String].self, for: ticket.request(service, "/json")) {
        return page["target"]
      }
      return nil
    },
    EntryPoint("preconnect") { service, ticket in
      let transport = SocketTransport(service.connection)
      try await transport.preconnect(to: service.url("/"))
      return try await string(
        HTTPSession(transport: transport, configuration: service.configuration).data(for: ticket.request(service)).0)
    },
    EntryPoint("redirect") { try await string($0.session.data(for: $1.request($0, "/moved")).0) },
    EntryPoint("events") { service, ticket in
      for try await event in service.session.events(for: ticket.request(service, "/events")) { return event.data }
      return nil
    },
    EntryPoint("webSocket") { service, ticket in
      let socket = try await service.session.webSocket(for: ticket.request(service, "/socket"))
      var text: String?
      if case .string(let greeting) = try await socket.receive() { text = greeting }
      try await socket.send(.string("echo"))
      _ = try await socket.receive()
      await socket.close()
      return text
    },
    EntryPoint("reconnectingWebSocket") { service, ticket in
      let socket = service.session.reconnectingWebSocket(for: ticket.request(service, "/socket")) { _ in }
      defer { Task { await socket.close() } }
      if case .string(let greeting)? = try await socket.receive() { return greeting }
      return nil
    },
    EntryPoint("OAuth") { service, ticket in
      let client = OAuthClient(
        id: "storm", tokenEndpoint: service.url("/token?\(ticket.mark)"), session: service.session)
      return try await client.token(by: .clientCredentials()).value
    },
    EntryPoint("description of an OAuth server") { service, ticket in
      try await OAuthServer.discover(service.url("/\(ticket.mark)"), with: service.session).issuer
    },
    EntryPoint("key of bound tokens") { service, ticket in
      _ = try await SignatureKey.kept(in: service.values, as: ticket.mark)
      return nil
    },
  ]

  /// Requests that wait for others, or share their work.
  private static let shared: [EntryPoint] = [
    EntryPoint("shared response") { service, ticket in
      // Eight callers in a row have one URL, which has no mark.
      var request = ticket.request(service)
      request.url = service.url("/fresh?\(ticket.number / 8)")
      _ = try await service.cached.data(for: request)
      return nil
    },
    EntryPoint("stored response") { service, ticket in
      var request = ticket.request(service)
      request.url = service.url("/fresh?always")
      _ = try await service.cached.data(for: request)
      return nil
    },
    EntryPoint("limits and hedging") { try await string($0.limited.data(for: $1.request($0)).0) },
    EntryPoint("token renewal") { service, ticket in
      let tokens = TokenSource(AccessToken("old"), for: .any) { _ in
        await Task.yield()
        return AccessToken("good")
      }
      var configuration = service.configuration
      configuration.credentials = [tokens]
      let session = HTTPSession(transport: service.transport, configuration: configuration)
      async let other = try? session.data(for: ticket.request(service, "/guarded"))
      let answer = try await session.data(for: ticket.request(service, "/guarded")).0
      _ = await other
      return string(answer)
    },
    EntryPoint("CSRF token") { try await string($0.protected.data(for: $1.request($0, "/write", method: .post)).0) },
    EntryPoint("cookies in SQLite") { try await string($0.cached.data(for: $1.request($0, "/cookie")).0) },
  ]

  static func string(_ data: some Sequence<UInt8>) -> String { String(decoding: Array(data), as: UTF8.self) }
}
