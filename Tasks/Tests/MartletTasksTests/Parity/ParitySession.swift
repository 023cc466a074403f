import MartletEngine
import MartletSemantics

import Martlet

extension ParityWay {
  /// The column of `HTTPSession`: its verbs.
  static let session: [ParityWay] = [
    .verb("data") { session, request, _ in
      let (data, response) = try await session.data(for: request)
      return .answer(response.status, text(data))
    },
    .verb("upload") { session, request, _ in
      let (data, response) = try await session.upload(for: request, from: request.body)
      return .answer(response.status, text(data))
    },
    .verb("bytes") { session, request, _ in
      let (body, response) = try await session.bytes(for: request)
      return .answer(response.status, text(try await body.collect(upTo: 16 << 20)))
    },
    .verb("download") { session, request, file in
      var request = request
      request.options.storesDownloads = true
      let response = try await session.download(for: request, to: file, expecting: .any)
      let isWritten = response.status.isSuccessful
      let data = isWritten ? try Data(contentsOf: file) : try await response.body.collect(upTo: 16 << 20)
      return .answer(response.status, text(data))
    },
    .verb("value", decodes: true) { session, request, _ in
      do throws(HTTPError) {
        let (value, response) = try await session.value(of: String?.self, for: request)
        return .answer(response.status, value.map { "\"\($0)\"" } ?? "")
      } catch {
        guard error.kind == .unexpectedResponse, let status = error.response?.status else { throw error }
        return status.isSuccessful ? .undecodable : .answer(status, text(error.body ?? Data()))
      }
    },
  ]

  private typealias Verb = @Sendable (HTTPSession, HTTPRequest, _ file: URL) async throws -> ParityOutcome

  private static func verb(_ name: String, decodes: Bool = false, _ perform: @escaping Verb) -> ParityWay {
    ParityWay(name: "HTTPSession.\(name)", decodes: decodes) { scenario, url, configuration in
      var configuration = configuration
      if scenario.hasToken {
        configuration.credentials = [
          TokenSource(AccessToken("old"), for: .origin(of: url)) { _ in
            let token = HTTPRequest(.post, url.appending(path: "token"), fields: [.accept: "application/json"])
            return AccessToken(try await HTTPSession().value(of: String.self, for: token).0)
          }
        ]
      }
      let session = HTTPSession(configuration: configuration)
      return {
        do {
          let file = FileManager.default.temporaryDirectory.appending(path: "parity-\(UUID().uuidString)")
          defer { try? FileManager.default.removeItem(at: file) }
          return try await perform(session, try scenario.request(at: url), file)
        } catch { return .failure(HTTPError(wrapping: error).kind.name) }
      }
    }
  }

  static func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }
}

extension ParityScenario {
  fileprivate func request(at server: URL) throws -> HTTPRequest {
    guard let url = URL(string: target, relativeTo: server)?.absoluteURL else {
      throw HTTPError(.invalidRequest, target)
    }
    var request = HTTPRequest(method, url, fields: [.accept: "application/json"])
    if let body { request.body = try .json(body) }
    request.options.deadline = deadline
    return request
  }
}
