import Foundation
import MartletCombine
import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension EntryPoint {
  /// A task of SAP's session.
  private init(
    _ name: String,
    task: @escaping @Sendable (StormService, URLRequest, Ticket) throws -> SAPURLSessionTask,
    cancel: @escaping @Sendable (SAPURLSessionTask) -> Void = { $0.cancel() }
  ) {
    self.init(name) { service, ticket in
      let task = try task(service, URLRequest(url: service.url("/uri?\(ticket.mark)")), ticket)
      return Operation {
        task.resume()
      } cancel: {
        cancel(task)
      }
    }
  }

  /// All forms of tasks.
  static let sapTasks: [EntryPoint] = [
    EntryPoint("SAP: dataTask", task: { $0.sap.dataTask(with: $1, completionHandler: $2.handler) }),
    EntryPoint(
      "SAP: dataTask, cancelled by its progress", task: { $0.sap.dataTask(with: $1, completionHandler: $2.handler) },
      cancel: { $0.progress.cancel() }),
    EntryPoint("SAP: dataTask in batches") { service, request, ticket in
      service.sap.dataTask(
        with: request, receivedResponseHandler: { _ in ticket.note() }, receivedDataHandler: { _ in ticket.note() }
      ) { ticket.complete(.init(nil, $0)) }
    },
    EntryPoint("SAP: dataTask, suspended") { service, request, ticket in
      let task = service.sap.dataTask(with: request, completionHandler: ticket.handler)
      DispatchQueue.global().async {
        task.suspend()
        task.resume()
      }
      return task
    },
    EntryPoint("SAP: uploadTask") { service, request, ticket in
      var request = request
      request.httpMethod = "PUT"
      return service.sap.uploadTask(with: request, from: Data(count: 50_000), completionHandler: ticket.handler)
    },
    EntryPoint("SAP: uploadTask of a stream") { service, request, ticket in
      var request = request
      request.httpMethod = "PUT"
      return service.sap.uploadTask(
        withStreamedRequest: request, needNewBodyStream: { InputStream(data: Data(count: 20_000)) },
        completionHandler: ticket.handler)
    },
    EntryPoint("SAP: downloadTask") { service, request, ticket in
      service.sap.downloadTask(with: request) { url, _, error in
        ticket.complete(.init(url.flatMap { try? Data(contentsOf: $0) }, error))
      }
    },
    EntryPoint(
      "SAP: downloadTask, cancelled with resume data",
      task: { service, request, ticket in
        service.sap.downloadTask(with: request) { _, _, error in ticket.complete(.init(nil, error)) }
      }, cancel: { ($0 as? SAPURLSessionDownloadTask)?.cancel { _ in } }),
    EntryPoint("SAP: observers") { service, request, ticket in
      let session = SAPURLSession(configuration: .ephemeral, connection: service.connection)
      session.register(NotingObserver(ticket: ticket))
      return session.dataTask(with: request, completionHandler: ticket.handler)
    },
    EntryPoint("SAP: data") { try await string($0.sap.data(from: $0.url("/uri?\($1.mark)")).0) },
    EntryPoint("SAP: bytes") { service, ticket in
      var text: [UInt8] = []
      for try await byte in try await service.sap.bytes(from: service.url("/uri?\(ticket.mark)")).0 {
        text.append(byte)
      }
      return string(text)
    },
    EntryPoint("SAP: download") { service, ticket in
      let file = try await service.sap.download(from: service.url("/uri?\(ticket.mark)")).0
      defer { try? FileManager.default.removeItem(at: file) }
      return try String(contentsOf: file, encoding: .utf8)
    },
    EntryPoint("SAP: invalidated session") { service, ticket in
      let session = SAPURLSession(configuration: .ephemeral, connection: service.connection)
      let task = session.dataTask(
        with: service.url("/uri?\(ticket.mark)"), completionHandler: ticket.handler)
      return Operation {
        task.resume()
      } cancel: {
        session.invalidateAndCancel()
      }
    },
    EntryPoint("SAP: dataTaskPublisher") { service, ticket in
      .subscription(ticket) {
        service.sap.dataTaskPublisher(for: service.url("/uri?\(ticket.mark)"))
      } text: {
        string($0.data)
      }
    },
  ]

  static let sapConversations: [EntryPoint] = [
    EntryPoint("SAP: webSocketTask") { service, ticket in
      let task = service.sap.webSocketTask(with: service.url("/socket?\(ticket.mark)"))
      return Operation {
        task.resume()
        task.receive { result in
          switch result {
          case .success(.string(let text)): ticket.complete(.answer(text))
          case .success: ticket.complete(.answer(nil))
          case .failure(let error): ticket.complete(.failure(error))
          }
          task.cancel(with: .normalClosure, reason: nil)
        }
      } cancel: {
        task.cancel()
      }
    }
  ]
}

/// Lets each callback be the moment of the cancellation.
private final class NotingObserver: SAPURLSessionObserving {
  let ticket: Ticket

  init(ticket: Ticket) { self.ticket = ticket }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) {
    ticket.note()
    completionHandler(.allow(request))
  }

  func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) {
    ticket.note()
    completionHandler(.allow(response))
  }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
    completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
  ) {
    ticket.note()
    completionHandler(.allow)
  }
}

extension Ticket.Outcome {
  init(_ data: Data?, _ error: (any Error)?) {
    self = error.map { .failure($0) } ?? .answer(data.map { EntryPoint.string($0) })
  }
}

extension Ticket {
  var handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void {
    { data, _, error in self.complete(.init(data, error)) }
  }
}

extension Operation {
  /// A subscription that is cancelled. Its subscriber receives at most one value, and one completion unless it was
  /// cancelled.
  static func subscription<P: Publisher & SendableMetatype>(
    _ ticket: Ticket, to makePublisher: @escaping @Sendable () -> P,
    text: @escaping @Sendable (P.Output) -> String?
  ) -> Operation {
    let running = Running()
    return Operation(completesWhenCancelled: false) {
      let last = LastValue()
      let watching = makePublisher().sink { completion in
        if case .failure(let error) = completion {
          ticket.complete(.failure(error))
        } else {
          ticket.complete(.answer(last.text))
        }
      } receiveValue: {
        last.set(text($0))
        ticket.note()
      }
      running.began { watching.cancel() }
    } cancel: {
      running.cancel()
    }
  }
}
