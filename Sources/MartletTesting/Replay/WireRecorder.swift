import MartletEngine
import MartletSemantics
import Synchronization

/// A transport around another that tells a recorder what goes through: at the wire, below cookies and cache.
struct WireRecorder: Transport {
  let base: any Transport
  let recorder: HARRecorder

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    // Exchanges of the recorder's own: one of the session may be at the wire twice at the same time.
    let (own, recorder) = (Exchange(), recorder)
    recorder.receive(.attempt(1, request), in: own)
    recorder.receive(.sending(request.head), in: own)
    var request = request
    if let bytes = request.body.bytes {
      recorder.receive(.bytes(bytes, .sent, attempt: 1), in: own)
    } else {
      request.body = request.body.tapped { recorder.receive(.bytes($0, .sent, attempt: 1), in: own) }
    }
    do {
      var response = try await base.send(request, in: exchange)
      recorder.receive(.response(response.head, from: response.url), in: own)
      guard response.body.length != 0 else {
        recorder.receiveEnd(after: 0, in: own)
        return response
      }
      let body = RecordedBody(response.body.source, recorder, own)
      response.body = ResponseBody(length: response.body.length, from: body)
      return response
    } catch {
      recorder.receive(.finished(HTTPError(wrapping: error)), in: own)
      throw error
    }
  }
}

/// A body that a recorder sees on its way. Its end is told, whichever it is: the recorder takes the first.
private final class RecordedBody: BodySource {
  private let base: any BodySource
  private let recorder: HARRecorder
  private let exchange: Exchange
  private let count = Atomic<Int64>(0)

  init(_ base: any BodySource, _ recorder: HARRecorder, _ exchange: Exchange) {
    self.base = base
    self.recorder = recorder
    self.exchange = exchange
  }

  func next() async throws -> Data? {
    do {
      guard let chunk = try await base.next() else {
        recorder.receiveEnd(after: count.load(ordering: .relaxed), in: exchange)
        return nil
      }
      count.add(Int64(chunk.count), ordering: .relaxed)
      recorder.receive(.bytes(chunk, .received, attempt: 1), in: exchange)
      return chunk
    } catch {
      recorder.receive(.finished(HTTPError(wrapping: error)), in: exchange)
      throw error
    }
  }

  /// A body that nobody wanted, such as a redirect's, is no failure; one that was left in the middle is.
  func cancel() {
    base.cancel()
    let isUntouched = count.load(ordering: .relaxed) == 0
    let error = HTTPError(.cancelled, "the response's body was given up before its end")
    recorder.receive(.finished(isUntouched ? nil : error), in: exchange)
  }

  var trailers: HTTPFields { base.trailers }

  deinit { cancel() }
}

extension HARRecorder {
  /// A response's body came to its end. The count makes an empty body one that was read.
  fileprivate func receiveEnd(after count: Int64, in exchange: Exchange) {
    receive(.progress(TransferProgress(.received, completed: count, total: nil)), in: exchange)
    receive(.finished(nil), in: exchange)
  }
}
