import MartletEngine
import MartletSemantics
import Synchronization

extension ImageLoader {
  /// Loads a file, and tells those who watch how far it has come.
  func fetch(_ asked: HTTPRequest, for load: Load) async throws -> ImageFileContent {
    var request = asked
    request.options.cachePolicy = load.identity.policy
    let limit = Int64(max(0, configuration.maximumEncodedBytes))
    request.options.bodyLimit = min(limit, session.options(of: asked).bodyLimit ?? limit)
    let (body, response) = try await session.bytes(for: request)
    guard response.status.isSuccessful else {
      let text = await body.beginning()
      throw ImageLoadError(.status, "the server answered \(response.status)").placed(at: asked.url, response.head, text)
    }
    do {
      let data = try await collect(body, for: load)
      return ImageFileContent(data: data, asked: asked.url, response: response)
    } catch let error as ImageLoadError {
      await forgetStored(asked.url, response.url, load)
      throw error.placed(at: asked.url, response.head)
    }
  }

  private func collect(_ body: ResponseBody, for load: Load) async throws -> Data {
    var data = Data()
    var isChecked = false
    for try await chunk in body {
      if data.isEmpty { data = chunk } else { data.append(chunk) }
      if !isChecked, data.count >= 16 {
        isChecked = true
        try refuseWhatIsNoImage(data, giving: body)
      }
      let progress = TransferProgress(.received, completed: Int64(data.count), total: body.length)
      for observe in state.withLock({ $0.loads.observers(of: load.number) }) { observe(.loading(progress)) }
    }
    return data
  }

  /// A page in place of a picture shows by its first bytes; the rest need not come.
  private func refuseWhatIsNoImage(_ beginning: Data, giving body: ResponseBody) throws {
    do { _ = try ImageDecoder.info(beginning) } catch  where error.kind == .notAnImage {
      body.cancel()
      var failure = ImageLoadError(wrapping: error)
      failure.body = beginning.prefix(64 << 10)
      throw failure
    } catch {}  // It may be the beginning of one.
  }
}

extension ResponseBody {
  /// At most 64 KiB, and what came before it broke off.
  fileprivate func beginning() async -> Data {
    var data = Data()
    do {
      for try await chunk in self where data.count < 64 << 10 { data.append(chunk) }
    } catch {}
    return data.prefix(64 << 10)
  }
}
