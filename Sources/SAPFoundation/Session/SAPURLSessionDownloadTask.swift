public import Foundation
import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A task that writes the response's body to a file.
///
/// SAFETY: as its superclass, it has constants only.
public final class SAPURLSessionDownloadTask: SAPURLSessionTask, @unchecked Sendable {
  private let resumption: DownloadResumption?

  init(_ request: URLRequest, of session: SAPURLSession, to delivery: Delivery) {
    resumption = nil
    super.init(request, of: session, to: delivery)
  }

  init(resuming data: Data, of session: SAPURLSession, to delivery: Delivery) {
    // A local, because the optimiser of Swift 6.3.1 crashes on a property that is set from an optional decoding.
    let resumption = try? JSONDecoder().decode(DownloadResumption.self, from: data)
    self.resumption = resumption
    super.init(resumption.map { URLRequest(url: $0.url) }, of: session, to: delivery)
  }

  /// Cancels the task, and hands over what ``SAPURLSession/downloadTask(withResumeData:completionHandler:)`` goes on with; nil
  /// where there is nothing to go on with: nothing has come, or the server names no validator that is strong enough.
  ///
  /// The handler is called on the session's `delegateQueue`, when the task is over.
  public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
    mutable.withLock { $0.resumeHandlers.append(completionHandler) }
    cancel()
  }

  /// Downloads to a temporary file. What is no 2xx goes to the file as well: what it means is the caller's affair.
  func perform(_ request: HTTPRequest) async throws {
    let location = Self.temporaryFile()
    let destination = DownloadDestination(location, label: Self.temporaryFileLabel, access: .ownerOnly)
    let response: HTTPResponse
    do {
      response = try await session.engine.resumableDownload(for: request, to: destination, resuming: resumption)
    } catch {
      keep(error.resumption)
      throw error
    }
    guard response.status.isSuccessful else { return try await write(response.body) }
    mutable.withLock { $0.location = location }
  }

  /// What has come stays only where somebody may want it: he who cancelled for it, or who gets the error of a lost connection.
  private func keep(_ resumption: DownloadResumption?) {
    let isWanted = mutable.withLock { state in
      state.resumption = state.resumeHandlers.isEmpty ? nil : resumption
      return !state.isCancelled || !state.resumeHandlers.isEmpty
    }
    if !isWanted { resumption?.discard() }
  }
}
