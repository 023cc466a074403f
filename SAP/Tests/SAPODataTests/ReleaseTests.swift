import Foundation
import MartletTesting
import SAPFoundationTesting
import SAPOData
import TestSupport
import Testing

/// Providers, their sessions and observers are released when a call has ended, however it ended.
@Suite("The release of providers", .timeLimit(.minutes(5)))
struct ReleaseTests {
  enum Verb: CaseIterable {
    case page, pages, create, batch, download, upload
  }

  enum End: CaseIterable { case use, cancel, failure, invalidation }

  private final class Observer: SAPURLSessionObserving {}

  private struct WeakReference {
    let name: String
    weak var object: AnyObject?
  }

  private func call(_ verb: Verb, of provider: OnlineODataProvider) async throws {
    let order = Order(Status: "open")
    switch verb {
    case .page: _ = try await provider.page(of: Order.self, in: "Orders")
    case .pages: _ = try await provider.pages(of: Order.self, in: "Orders").collect(upTo: 9)
    case .create: try await provider.create(order, in: "Orders")
    case .batch:
      var batch = ODataBatch()
      batch.changeSet { _ = $0.create(order, in: "Orders") }
      _ = try await provider.send(batch)
    case .download:
      for try await _ in try await provider.download(ODataPath("Orders").key(1).appending("$value")) {}
    case .upload:
      let content = ODataContent.data(Data("picture".utf8))
      try await provider.createMedia(content, type: "image/png", in: "Orders")
    }
  }

  @Test(arguments: Verb.allCases, End.allCases)
  func itEndsWithTheCall(_ verb: Verb, _ end: End) async throws {
    let (gate, service) = (Gate(), ODataService(.init(version: .v4, sets: ["Orders": #"[{"ID":1,"Status":"open"}]"#])))
    let server = try LoopbackServer { request in
      switch end {
      case .use where verb == .download: .text("picture")
      case .use where verb == .upload: .status(.noContent)
      case .use: service.reply(to: request.received)
      case .failure: .hangUp
      case .cancel, .invalidation: .text("late").held(by: gate)
      }
    }
    var references: [WeakReference] = []
    do {
      let (observer, session) = (Observer(), SAPURLSession())
      session.register(observer)
      let provider = OnlineODataProvider(serviceRoot: server.url("/odata"), sapURLSession: session)
      provider.serviceOptions.dataVersion = .v4
      references = [
        WeakReference(name: "provider", object: provider), WeakReference(name: "session", object: session),
        WeakReference(name: "observer", object: observer),
      ]
      let call = Task { try await self.call(verb, of: provider) }
      _ = try await server.request(1)
      if end == .cancel { call.cancel() }
      if end == .invalidation { session.invalidateAndCancel() }
      let isDone = (try? await call.value) != nil
      #expect(isDone == (end == .use))
    }

    try await until { references.allSatisfy { $0.object == nil } }
    gate.open()
  }
}
