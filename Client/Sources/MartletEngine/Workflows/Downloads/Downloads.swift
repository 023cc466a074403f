public import MartletSemantics
import Synchronization

/// A download to a file, one of those of ``HTTPSession/downloads(_:atOnce:)``.
public struct FileDownload: Sendable {
  /// The request. It is resumed only if it is a GET without a `Range`.
  public var request: HTTPRequest
  /// The file. Each download needs another one.
  public var destination: URL
  /// The resumption of an earlier download to the same file; nil, the default, to start at the beginning.
  public var resumption: DownloadResumption?
  /// The digest that the file must have; nil, the default, if none is checked.
  public var digest: FileDigest?

  /// Makes a download; see ``HTTPSession/resumableDownload(for:to:resuming:verifying:)``.
  public init(
    _ request: HTTPRequest, to destination: URL, resuming resumption: DownloadResumption? = nil,
    verifying digest: FileDigest? = nil
  ) {
    self.request = request
    self.destination = destination
    self.resumption = resumption
    self.digest = digest
  }

  /// What has happened to one of several downloads.
  @nonexhaustive public enum Update: Sendable {
    /// More of the file at this position of the list has arrived. A reader that was busy gets the latest progress only.
    case progress(Int, Event.Progress)
    /// The download at this position has ended: the file is complete, or the error has the
    /// ``HTTPError/resumption`` with which another run continues.
    case ended(Int, Result<HTTPResponse, HTTPError>)
  }
}

extension HTTPSession {
  /// Downloads files, some of them at the same time, and returns what happens to them as a sequence.
  ///
  /// ```swift
  /// var left: [FileDownload] = []
  /// for await update in session.downloads(films, atOnce: 3) {
  ///   switch update {
  ///   case .progress(let index, let progress): show(progress.fraction, for: films[index])
  ///   case .ended(let index, .failure(let error)):
  ///     var film = films[index]
  ///     film.resumption = error.resumption  // nil if it has to start again
  ///     left.append(film)
  ///   case .ended: break
  ///   @unknown default: break
  ///   }
  /// }
  /// ```
  ///
  /// Each is a ``resumableDownload(for:to:resuming:verifying:)``, and its error ends no other one. They start with the
  /// loop, in the order of the list. If the loop's task is cancelled, the running downloads end and the others do not
  /// start, and the loop still gets the end of each, with its resumption. If the loop is left, they are cancelled; what
  /// they kept is then lost, because nothing names it.
  ///
  /// A loop that is busy delays no download: it later gets the latest progress of each, and all ends. Each loop over
  /// the sequence downloads the files again.
  ///
  /// - Parameters:
  ///   - downloads: the downloads.
  ///   - limit: how many run at the same time, 1 or more; 4 by default. The origin's own limits apply, too.
  public func downloads(
    _ downloads: [FileDownload], atOnce limit: Int = 4
  ) -> some AsyncSequence<FileDownload.Update, Never> & Sendable {
    DownloadUpdates(session: self, downloads: downloads, limit: max(1, limit))
  }

  fileprivate func run(_ download: FileDownload) async -> Result<HTTPResponse, HTTPError> {
    do throws(HTTPError) {
      guard let digest = download.digest else {
        return .success(
          try await resumableDownload(
            for: download.request, to: download.destination, resuming: download.resumption))
      }
      return .success(
        try await resumableDownload(
          for: download.request, to: download.destination, resuming: download.resumption, verifying: digest))
    } catch { return .failure(error) }
  }
}

/// The updates of several downloads.
private struct DownloadUpdates: AsyncSequence, Sendable {
  typealias Element = FileDownload.Update
  typealias Failure = Never

  let session: HTTPSession
  let downloads: [FileDownload]
  let limit: Int

  func makeAsyncIterator() -> Iterator { Iterator(batch: DownloadBatch(self)) }

  /// Starts the downloads with the first call. Releasing it cancels them.
  struct Iterator: AsyncIteratorProtocol {
    let batch: DownloadBatch

    mutating func next(isolation actor: isolated (any Actor)?) async -> FileDownload.Update? {
      await batch.next(isolation: actor)
    }

    mutating func next() async -> FileDownload.Update? { await next(isolation: nil) }
  }
}

/// The downloads of one loop. Only the loop refers to it, so that its end cancels them.
private final class DownloadBatch: Sendable {
  private let updates: DownloadUpdates
  private let queue: UpdateQueue
  private let work = Mutex<Task<Void, Never>?>(nil)

  init(_ updates: DownloadUpdates) {
    self.updates = updates
    queue = UpdateQueue(count: updates.downloads.count)
  }

  deinit { cancel() }

  func next(isolation actor: isolated (any Actor)?) async -> FileDownload.Update? {
    if work.withLock({ $0 == nil }) {
      let task = Task { [updates, queue] in await Self.run(updates, into: queue) }
      work.withLock { $0 = task }
    }
    return await withTaskCancellationHandler {
      await queue.next(isolation: actor)
    } onCancel: {
      cancel()
    }
  }

  private func cancel() { work.withLock { $0 }?.cancel() }

  private static func run(_ updates: DownloadUpdates, into queue: UpdateQueue) async {
    await withTaskGroup(of: Void.self) { group in
      for (index, download) in updates.downloads.enumerated() {
        if index >= updates.limit { await group.next() }
        group.addTask {
          var download = download
          download.request.options.listeners.append(
            EventHandler(.progress) { event, _ in
              guard case .progress(let progress) = event, progress.direction == .received else { return }
              queue.progressed(index, progress)
            })
          queue.ended(index, await updates.session.run(download))
        }
      }
    }
  }
}

/// The updates that a loop has not read yet: at most one progress and one end of each download.
private final class UpdateQueue: Sendable {
  private struct State {
    var progress: [Int: Event.Progress] = [:]
    /// The downloads that have a progress, in the order in which they got it.
    var order: [Int] = []
    var ends: [(index: Int, result: Result<HTTPResponse, HTTPError>)] = []
    /// How many downloads have no end that was read.
    var left: Int
    var reader: CheckedContinuation<Void, Never>?

    mutating func next() -> FileDownload.Update? {
      if !order.isEmpty {
        let index = order.removeFirst()
        if let progress = progress.removeValue(forKey: index) { return .progress(index, progress) }
      }
      guard !ends.isEmpty else { return nil }
      let (index, result) = ends.removeFirst()
      left -= 1
      return .ended(index, result)
    }
  }

  private let state: Mutex<State>

  init(count: Int) { state = Mutex(State(left: count)) }

  func progressed(_ index: Int, _ progress: Event.Progress) {
    add { state in
      if state.progress.updateValue(progress, forKey: index) == nil { state.order.append(index) }
    }
  }

  func ended(_ index: Int, _ result: Result<HTTPResponse, HTTPError>) { add { $0.ends.append((index, result)) } }

  private func add(_ change: (inout State) -> Void) {
    let reader = state.withLock { state in
      change(&state)
      return state.reader.take()
    }
    reader?.resume()
  }

  /// Returns the next update; nil after the last end. It ends with a cancelled task only when the downloads have.
  func next(isolation actor: isolated (any Actor)?) async -> FileDownload.Update? {
    while true {
      let (update, isAtEnd) = state.withLock { state in (state.next(), state.left == 0) }
      if update != nil || isAtEnd { return update }
      await withCheckedContinuation(isolation: actor) { continuation in
        let isReady = state.withLock { state in
          guard state.order.isEmpty, state.ends.isEmpty else { return true }
          state.reader = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    }
  }
}
