import MartletEngine
import MartletSemantics
import Synchronization

extension ImageLoader {
  /// Loads a file, and tells those who watch how far it has come.
  func fetch(_ asked: HTTPRequest, for load: Load) async throws -> ImageFileContent {
    var request = asked
    request.options.cachePolicy = load.identity.policy
    let (body, response) = try await session.bytes(for: request)
    guard response.status.isSuccessful else {
      let text = await body.beginning()
      throw ImageLoadError(.status, "the server answered \(response.status)").placed(at: asked.url, response.head, text)
    }
    do {
      return ImageFileContent(data: try await collect(body, for: load), response: response)
    } catch let error as ImageLoadError {
      if error.isFiles { await forgetStored(asked.url, response.url, load) }
      throw error.described(by: response.head, at: response.url, asked: asked.url).placed(at: asked.url, response.head)
    }
  }

  private func collect(_ body: ResponseBody, for load: Load) async throws -> Data {
    let limit = configuration.maximumEncodedBytes
    var data = Data()
    var isChecked = false
    for try await chunk in body {
      guard data.count + chunk.count <= limit, body.length ?? 0 <= Int64(limit) else {
        body.cancel()
        throw ImageLoadError(
          .tooLarge, "the file has more than \(limit) bytes: raise ImageLoader.Configuration.maximumEncodedBytes")
      }
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
      for try await chunk in self {
        data.append(chunk)
        if data.count >= 64 << 10 { break }
      }
    } catch {}
    cancel()
    return data.prefix(64 << 10)
  }
}
